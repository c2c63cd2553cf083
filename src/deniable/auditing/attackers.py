"""Attackers of the guessing games: from outputs whose inputs are known to scores for other outputs.

The bounds of `deniable.auditing.bounds` hold for any attacker, good or bad, as long as it is fitted on other
trials. Each is a function of the inputs, and of outputs with the indices of their inputs, and returns a function
that gives log-likelihoods (m, M), up to a constant in each row.
"""

import collections
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from deniable.auditing.float_precision import count_fractional_bits
from deniable.auditing.outputs import Outputs
from deniable.core.arrays import FloatArray, IntArray
from deniable.core.extras import import_extra

InputScorer = Callable[[Outputs], FloatArray]
Attacker = Callable[[Sequence[Any], Outputs, IntArray], InputScorer]

_MIN_RUNS_PER_INPUT = 4
"""With fewer runs of each input, only attackers that need no fitting are tried."""
_TAIL_VALUES = 4
"""At either end the range of the noise is widened by the gap that so many extreme values span."""
_MIN_RUNS_FOR_PRECISION = 100
"""Least number of runs for the attacker that reads last bits: in fewer, patterns appear by chance."""
_MIN_RUNS_FOR_FOREST = 300
"""Least number of runs for a random forest, which takes tenths of a second."""
_TREE_COUNT = 60
_SMOOTHING = 0.5
_MAX_MAGNITUDE = 1e30
_SEED = 0


def fit_nearest(inputs: Sequence[Any], outputs: Outputs, labels: IntArray) -> InputScorer:  # noqa: ARG001 - needs no fit
    """Return the attacker that names the input nearest to the output, and uses nothing else.

    Numbers are clipped to the inputs' range in every coordinate before their l1 distance is taken:
    for two inputs and Laplace noise that is the likelihood ratio. Texts are compared token by token.
    """
    if outputs.is_textual:
        tokens = [str(value).split() for value in inputs]
        return lambda new_outputs: np.array(
            [
                [_count_common_tokens(string.split(), input_tokens) for input_tokens in tokens]
                for string in new_outputs.strings
            ]
        )
    points = _stack_points(inputs)
    low, high = points.min(axis=0), points.max(axis=0)

    def scores(new_outputs: Outputs) -> FloatArray:
        clipped = np.clip(_clip_values(new_outputs), low, high)
        return np.stack([-np.abs(clipped - point).sum(axis=1) for point in points], axis=1)

    return scores


def fit_support(inputs: Sequence[Any], outputs: Outputs, labels: IntArray) -> InputScorer:
    """Return the attacker that rules out inputs from which no noise within the observed range leads to the output.

    Noise is output minus input, of all coordinates alike. Where its range moves with the input, or is
    bounded, some outputs can come from one input only (Habernal 2022, Theorem 3.2).
    """
    points = _stack_points(inputs)
    noise = np.sort((_clip_values(outputs) - points[labels]).ravel())
    # Rarer noise may occur: each end is moved out by the gap that its last few values span.
    tail = min(_TAIL_VALUES, len(noise) // 4)
    low, high = 2 * noise[0] - noise[tail], 2 * noise[-1] - noise[-1 - tail]

    def scores(new_outputs: Outputs) -> FloatArray:
        noise_by_input = [_clip_values(new_outputs) - point for point in points]
        return np.stack(
            [-((noise < low) | (noise > high)).sum(axis=1).astype(float) for noise in noise_by_input], axis=1
        )

    return scores


def _import_sklearn(name: str) -> Any:  # noqa: ANN401 - a module without types
    """Return a module of scikit-learn, whose import takes a second that only audits need."""
    return import_extra(f"sklearn.{name}", "A black-box audit", "measure")


def fit_linear(inputs: Sequence[Any], outputs: Outputs, labels: IntArray) -> InputScorer:
    """Return a logistic regression on the numbers, raw and clipped, or on tokens and their positions."""
    model = _import_sklearn("linear_model").LogisticRegression(max_iter=200)
    make_pipeline = _import_sklearn("pipeline").make_pipeline
    if outputs.is_textual:
        text = _import_sklearn("feature_extraction.text")
        classifier = make_pipeline(text.CountVectorizer(analyzer=_list_placed_tokens, binary=True), model)
        return _make_probability_scores(
            classifier.fit(list(outputs.strings), labels), lambda new_outputs: list(new_outputs.strings), len(inputs)
        )
    low, high = _find_clipping_range(inputs, outputs)

    def features(new_outputs: Outputs) -> FloatArray:
        values = _clip_values(new_outputs)
        return np.hstack([values, np.clip(values, low, high)])

    classifier = make_pipeline(_import_sklearn("preprocessing").StandardScaler(), model).fit(features(outputs), labels)
    return _make_probability_scores(classifier, features, len(inputs))


def fit_tree(inputs: Sequence[Any], outputs: Outputs, labels: IntArray) -> InputScorer:
    """Return a shallow decision tree on the numbers, their extremes and sums: it finds moved supports."""
    features = _make_summary_features(inputs, outputs)
    classifier = _import_sklearn("tree").DecisionTreeClassifier(
        max_depth=3, min_samples_leaf=max(3, len(outputs) // 200), random_state=_SEED
    )
    return _make_probability_scores(classifier.fit(features(outputs), labels), features, len(inputs))


def fit_forest(inputs: Sequence[Any], outputs: Outputs, labels: IntArray) -> InputScorer:
    """Return a random forest on the features of `fit_tree`, for laws that no line and no small tree separates."""
    features = _make_summary_features(inputs, outputs)
    classifier = _import_sklearn("ensemble").RandomForestClassifier(
        _TREE_COUNT, min_samples_leaf=max(2, len(outputs) // 300), random_state=_SEED
    )
    return _make_probability_scores(classifier.fit(features(outputs), labels), features, len(inputs))


def fit_frequency(inputs: Sequence[Any], outputs: Outputs, labels: IntArray) -> InputScorer:
    """Return the attacker that counts how often each output came from each input."""
    return _make_count_scores(inputs, _make_keys(outputs), labels, _make_keys)


def fit_precision(inputs: Sequence[Any], outputs: Outputs, labels: IntArray) -> InputScorer:
    """Return the attacker that reads how fine the last bit of a float is, see `deniable.auditing.float_precision`."""
    return _make_count_scores(inputs, _count_finest_bits(outputs), labels, _count_finest_bits)


ATTACKERS: dict[str, Attacker] = {
    "nearest": fit_nearest,
    "support": fit_support,
    "linear": fit_linear,
    "tree": fit_tree,
    "frequency": fit_frequency,
    "precision": fit_precision,
    "forest": fit_forest,
}
"""In order of preference where several do equally well."""
ATTACKER_DESCRIPTIONS = {
    "nearest": "names the nearest input",
    "support": "rules out inputs by the range of the noise",
    "linear": "logistic regression",
    "frequency": "counts outputs",
    "precision": "reads the last bits of floats, which rounding makes depend on the input: release numbers on a grid",
    "tree": "decision tree",
    "forest": "random forest",
    "none": "never played",
}
"""What each does, for verdicts."""


def list_suitable_attackers(inputs: Sequence[Any], outputs: Outputs) -> Iterator[str]:
    """Yield the names of the attackers that can be fitted to such inputs and so many outputs."""
    if outputs.is_textual:
        if all(isinstance(value, str) for value in inputs):
            yield "nearest"
    elif _has_matching_inputs(inputs, outputs):
        yield "nearest"
        if len(outputs) >= _MIN_RUNS_PER_INPUT * len(inputs):
            yield "support"
    if len(outputs) < _MIN_RUNS_PER_INPUT * len(inputs):
        return
    yield "linear"
    yield "frequency"
    if not outputs.is_textual:
        yield "tree"
        if len(outputs) >= _MIN_RUNS_FOR_FOREST:
            yield "forest"
    if outputs.kind == "real" and len(outputs) >= _MIN_RUNS_FOR_PRECISION:
        yield "precision"


def _has_matching_inputs(inputs: Sequence[Any], outputs: Outputs) -> bool:
    """Return whether every input has as many numbers as an output."""
    try:
        arrays = [np.asarray(value) for value in inputs]
    except ValueError:  # lists within lists, of several lengths
        return False
    return all(array.dtype.kind in "biuf" and array.size == outputs.values.shape[1] for array in arrays)


def _stack_points(inputs: Sequence[Any]) -> FloatArray:
    """Return numeric inputs as rows (M, n)."""
    points: FloatArray = np.clip(
        np.stack([np.ravel(value) for value in inputs]).astype(float), -_MAX_MAGNITUDE, _MAX_MAGNITUDE
    )
    return points


def _clip_values(outputs: Outputs) -> FloatArray:
    """Return outputs as float64 (m, n) that float32 can hold and whose squares float64 can."""
    values: FloatArray = np.clip(outputs.values.astype(float), -_MAX_MAGNITUDE, _MAX_MAGNITUDE)
    return values


def _find_clipping_range(inputs: Sequence[Any], outputs: Outputs) -> tuple[FloatArray, FloatArray]:
    """Return the range that numbers are clipped to: that of the inputs, or of the central 80 % of outputs."""
    if _has_matching_inputs(inputs, outputs):
        points = _stack_points(inputs)
        return points.min(axis=0), points.max(axis=0)
    low, high = np.quantile(_clip_values(outputs), [0.1, 0.9], axis=0)
    return low, high


def _make_summary_features(inputs: Sequence[Any], outputs: Outputs) -> Callable[[Outputs], FloatArray]:
    """Return the numbers of an output (m, n) with, for n > 1, their minimum, maximum and sum, raw and clipped."""
    low, high = _find_clipping_range(inputs, outputs)

    def features(new_outputs: Outputs) -> FloatArray:
        values = _clip_values(new_outputs)
        if values.shape[1] == 1:
            return values
        clipped = np.clip(values, low, high)
        return np.column_stack(
            [values, values.min(axis=1), values.max(axis=1), values.sum(axis=1), clipped.sum(axis=1)]
        )

    return features


def _make_probability_scores(classifier: Any, features: Callable[[Outputs], Any], input_count: int) -> InputScorer:  # noqa: ANN401 - sklearn
    """Return log-probabilities of all M inputs; those absent from the fit are as likely as the least."""

    def scores(new_outputs: Outputs) -> FloatArray:
        with np.errstate(divide="ignore"):
            log_probabilities = np.log(np.maximum(classifier.predict_proba(features(new_outputs)), 1e-12))
        scores_by_input = np.repeat(log_probabilities.min(axis=1, keepdims=True), input_count, axis=1)
        scores_by_input[:, classifier.classes_] = log_probabilities
        return scores_by_input

    return scores


def _make_count_scores(
    inputs: Sequence[Any], keys: Sequence[Any], labels: IntArray, make_keys: Callable[[Outputs], Sequence[Any]]
) -> InputScorer:
    """Return smoothed log-frequencies of a key by input; a key that was never observed scores 0 for every input."""
    counts_by_key: dict[Any, FloatArray] = collections.defaultdict(lambda: np.full(len(inputs), _SMOOTHING))
    for key, label in zip(keys, labels, strict=True):
        counts_by_key[key][label] += 1
    log_totals = np.log(np.bincount(labels, minlength=len(inputs)) + _SMOOTHING)
    log_frequencies = {key: np.log(counts) - log_totals for key, counts in counts_by_key.items()}
    unseen_scores = np.zeros(len(inputs))
    return lambda new_outputs: np.array([log_frequencies.get(key, unseen_scores) for key in make_keys(new_outputs)])


def _count_finest_bits(outputs: Outputs) -> list[int]:
    bits: list[int] = count_fractional_bits(outputs.values).max(axis=1).tolist()
    return bits


def _make_keys(outputs: Outputs) -> list[Any]:
    if outputs.is_textual:
        return list(outputs.strings)
    return [row.tobytes() for row in outputs.values + outputs.values.dtype.type(0)]  # -0.0 becomes 0.0


def _count_common_tokens(tokens: Sequence[str], input_tokens: Sequence[str]) -> float:
    """Return how many tokens two texts share, by position where they have one length, less the difference in length."""
    if len(tokens) == len(input_tokens):
        return float(sum(a == b for a, b in zip(tokens, input_tokens, strict=True)))
    common = collections.Counter(tokens) & collections.Counter(input_tokens)
    return sum(common.values()) - abs(len(tokens) - len(input_tokens))


def _list_placed_tokens(text: str) -> list[str]:
    tokens = text.split()
    return [*tokens, *(f"{position}\t{token}" for position, token in enumerate(tokens)), f"\t{len(tokens)}"]

"""Attackers of the guessing games: from outputs whose inputs are known to scores for other outputs.

The bounds of `deniable.auditing.bounds` hold for any attacker, good or bad, as long as it is fitted on other
trials. Each is a function of the inputs, and of outputs with the indices of their inputs, and returns a function
that gives log-likelihoods (m, M), up to a constant in each row.
"""

import collections
import itertools
import re
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
_MAX_WHOLE = 2**53
"""Integers beyond it are not all float64 numbers."""
_MAX_PLACED_SPELLINGS = 64
"""Tokens of a text of which it is seen how each is written, beside its pairs of characters."""
_MAX_PATTERN_CHARACTERS = 200
"""Length up to which it is seen how a text is written as a whole."""
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
    read = _make_reader(outputs)
    points = read(_stack_points(inputs))
    low, high = points.min(axis=0), points.max(axis=0)

    def scores(new_outputs: Outputs) -> FloatArray:
        clipped = np.clip(read(new_outputs.values), low, high)
        return np.stack([-np.abs(clipped - point).sum(axis=1) for point in points], axis=1)

    return scores


def fit_support(inputs: Sequence[Any], outputs: Outputs, labels: IntArray) -> InputScorer:
    """Return the attacker that rules out inputs from which no noise within the observed range leads to the output.

    Noise is output minus input, of all coordinates alike. Where its range moves with the input, or is
    bounded, some outputs can come from one input only (Habernal 2022, Theorem 3.2).
    """
    read = _make_reader(outputs)
    points = read(_stack_points(inputs))
    noise = np.sort((read(outputs.values) - points[labels]).ravel())
    # Rarer noise may occur: each end is moved out by the gap that its last few values span.
    tail = min(_TAIL_VALUES, len(noise) // 4)
    low, high = 2 * noise[0] - noise[tail], 2 * noise[-1] - noise[-1 - tail]

    def scores(new_outputs: Outputs) -> FloatArray:
        noise_by_input = [read(new_outputs.values) - point for point in points]
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
    read = _make_reader(outputs)
    low, high = _find_clipping_range(inputs, outputs, read)

    def features(new_outputs: Outputs) -> FloatArray:
        values = read(new_outputs.values)
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


def fit_form(inputs: Sequence[Any], outputs: Outputs, labels: IntArray) -> InputScorer:
    """Return a logistic regression on how outputs are given: their types, and the characters of texts."""
    text = _import_sklearn("feature_extraction.text")
    model = _import_sklearn("linear_model").LogisticRegression(max_iter=200)
    classifier = _import_sklearn("pipeline").make_pipeline(
        text.CountVectorizer(analyzer=_list_traits, binary=True), model
    )

    def pair(new_outputs: Outputs) -> list[tuple[str, str]]:
        strings = new_outputs.strings if new_outputs.is_textual else ("",) * len(new_outputs)
        return list(zip(new_outputs.forms, strings, strict=True))

    return _make_probability_scores(classifier.fit(pair(outputs), labels), pair, len(inputs))


def fit_frequency(inputs: Sequence[Any], outputs: Outputs, labels: IntArray) -> InputScorer:
    """Return the attacker that counts how often each output, exactly as it came, came from each input."""
    return _make_count_scores(inputs, outputs.keys, labels, lambda new_outputs: new_outputs.keys)


def fit_precision(inputs: Sequence[Any], outputs: Outputs, labels: IntArray) -> InputScorer:
    """Return the attacker that reads how fine the last bit of a float is, see `deniable.auditing.float_precision`."""
    return _make_count_scores(inputs, _count_finest_bits(outputs), labels, _count_finest_bits)


ATTACKERS: dict[str, Attacker] = {
    "nearest": fit_nearest,
    "support": fit_support,
    "linear": fit_linear,
    "tree": fit_tree,
    "form": fit_form,
    "frequency": fit_frequency,
    "precision": fit_precision,
    "forest": fit_forest,
}
"""In order of preference where several do equally well."""
ATTACKER_DESCRIPTIONS = {
    "nearest": "names the nearest input",
    "support": "rules out inputs by the range of the noise",
    "linear": "logistic regression",
    "form": "reads how outputs are given and not what they say: types, signs of zero, digits, white space",
    "frequency": "counts outputs exactly as they came",
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
    if outputs.is_textual or len(set(outputs.forms)) > 1:
        yield "form"
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
    return all(
        array.size == outputs.values.shape[1]
        and (array.dtype.kind in "biuf" or all(isinstance(value, int) for value in array.ravel()))
        for array in arrays
    )


def _make_reader(outputs: Outputs) -> Callable[[Any], FloatArray]:
    """Return the map from numbers (k, n) to float64 that float32 can hold and whose squares float64 can.

    Integers of which float64 would lose the last digits are counted from those of the first output.
    """
    values = outputs.values
    is_wide = values.dtype.kind in "iO" and bool(((values > _MAX_WHOLE) | (values < -_MAX_WHOLE)).any())
    origin = values[0].astype(object) if is_wide else None

    def read(numbers: Any) -> FloatArray:  # noqa: ANN401 - an array of any type
        gaps = numbers if origin is None else numbers.astype(object) - origin
        clipped: FloatArray = np.clip(gaps, -_MAX_MAGNITUDE, _MAX_MAGNITUDE).astype(np.float64)
        return clipped

    return read


def _stack_points(inputs: Sequence[Any]) -> Any:  # noqa: ANN401 - an array of any type
    """Return numeric inputs as rows (M, n)."""
    rows = [np.ravel(value) for value in inputs]
    return np.stack([row.astype(np.float64 if any(row.dtype.kind == "f" for row in rows) else object) for row in rows])


def _find_clipping_range(
    inputs: Sequence[Any], outputs: Outputs, read: Callable[[Any], FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Return the range that numbers are clipped to: that of the inputs, or of the central 80 % of outputs."""
    if _has_matching_inputs(inputs, outputs):
        points = read(_stack_points(inputs))
        return points.min(axis=0), points.max(axis=0)
    low, high = np.quantile(read(outputs.values), [0.1, 0.9], axis=0)
    return low, high


def _make_summary_features(inputs: Sequence[Any], outputs: Outputs) -> Callable[[Outputs], FloatArray]:
    """Return the numbers of an output (m, n) with, for n > 1, their minimum, maximum and sum, raw and clipped."""
    read = _make_reader(outputs)
    low, high = _find_clipping_range(inputs, outputs, read)

    def features(new_outputs: Outputs) -> FloatArray:
        values = read(new_outputs.values)
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


def _count_common_tokens(tokens: Sequence[str], input_tokens: Sequence[str]) -> float:
    """Return how many tokens two texts share, by position where they have one length, less the difference in length."""
    if len(tokens) == len(input_tokens):
        return float(sum(a == b for a, b in zip(tokens, input_tokens, strict=True)))
    common = collections.Counter(tokens) & collections.Counter(input_tokens)
    return sum(common.values()) - abs(len(tokens) - len(input_tokens))


def _list_placed_tokens(text: str) -> list[str]:
    tokens = text.split()
    return [*tokens, *(f"{position}\t{token}" for position, token in enumerate(tokens)), f"\t{len(tokens)}"]


def _list_traits(form_and_text: tuple[str, str]) -> list[str]:
    """Return how an output is given: its types, its pairs of characters, and its first tokens with 9 for each digit."""
    form, text = form_and_text
    closed = f"\x02{text}\x03"
    spellings = (
        re.sub("[0-9]", "9", token) for token in text.split(maxsplit=_MAX_PLACED_SPELLINGS)[:_MAX_PLACED_SPELLINGS]
    )
    return [
        *(f"form\t{line}" for line in form.split("\n")),
        *{first + second for first, second in itertools.pairwise(closed)},
        *(f"{place}\t{spelling}" for place, spelling in enumerate(spellings)),
        re.sub("[0-9]+", "9", text) if len(text) <= _MAX_PATTERN_CHARACTERS else "",
    ]

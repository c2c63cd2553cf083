"""Attackers of the guessing games: from outputs whose inputs are known to scores for other outputs.

The bounds of `deniable.auditing.bounds` hold for any attacker, good or bad, as long as it is fitted on other
trials. Each is a function of the inputs, and of outputs with the indices of their inputs, and returns a function
that gives log-likelihoods (m, M), up to a constant in each row.
"""

import collections
import contextlib
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from deniable.auditing.outputs import Outputs, count_fractional_bits
from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import import_extra

InputScorer = Callable[[Outputs], FloatArray]
Attacker = Callable[[Sequence[Any], Outputs, IntArray], InputScorer]
_Reader = tuple[Callable[[Any], FloatArray], Any, FloatArray, FloatArray]
"""How numbers are read: the map from numbers (k, n) to float64 that float32 can hold and whose squares float64 can; the
inputs (M, n) read so, None unless each has as many numbers as an output; and the range that numbers are clipped to,
that of the inputs, or of the central 80% of outputs."""

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
_MAX_PLACED_SPELLINGS = 64
"""Tokens of a text of which it is seen how each is written, beside its pairs of characters."""
_MAX_PATTERN_CHARACTERS = 200
"""Length up to which it is seen how a text is written as a whole."""
_SEED = 0


def fit_nearest(inputs: Sequence[Any], outputs: Outputs, labels: IntArray) -> InputScorer:  # noqa: ARG001 - needs no fit
    """The attacker that names the input nearest to the output, and uses nothing else.

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
    read, points, low, high = _make_reader(inputs, outputs)

    def scores(new_outputs: Outputs) -> FloatArray:
        clipped = np.clip(read(new_outputs.values), low, high)
        return np.stack([-np.abs(clipped - point).sum(axis=1) for point in points], axis=1)

    return scores


def fit_support(inputs: Sequence[Any], outputs: Outputs, labels: IntArray) -> InputScorer:
    """The attacker that rules out inputs from which no noise within the observed range leads to the output.

    Noise is output minus input, of all coordinates alike. Where its range moves with the input, or is
    bounded, some outputs can come from one input only (Habernal 2022, Theorem 3.2).
    """
    read, points, *_ = _make_reader(inputs, outputs)
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


def fit_linear(inputs: Sequence[Any], outputs: Outputs, labels: IntArray) -> InputScorer:
    """A logistic regression on the numbers, raw and clipped, or on tokens and their positions."""
    if outputs.is_textual:
        model = _make_text_model(_list_placed_tokens)
        return _fit_classifier(model, lambda new_outputs: list(new_outputs.strings), inputs, outputs, labels)
    read, _, low, high = _make_reader(inputs, outputs)

    def features(new_outputs: Outputs) -> FloatArray:
        values = read(new_outputs.values)
        return np.hstack([values, np.clip(values, low, high)])

    model = _import_sklearn("linear_model").LogisticRegression(max_iter=200)
    scaled = _import_sklearn("pipeline").make_pipeline(_import_sklearn("preprocessing").StandardScaler(), model)
    return _fit_classifier(scaled, features, inputs, outputs, labels)


def fit_tree(inputs: Sequence[Any], outputs: Outputs, labels: IntArray) -> InputScorer:
    """A shallow decision tree on the numbers, their extremes and sums: it finds moved supports."""
    tree = _import_sklearn("tree").DecisionTreeClassifier(
        max_depth=3, min_samples_leaf=max(3, len(outputs) // 200), random_state=_SEED
    )
    return _fit_classifier(tree, _make_summary_features(inputs, outputs), inputs, outputs, labels)


def fit_forest(inputs: Sequence[Any], outputs: Outputs, labels: IntArray) -> InputScorer:
    """A random forest on the features of `fit_tree`, for laws that no line and no small tree separates."""
    forest = _import_sklearn("ensemble").RandomForestClassifier(
        _TREE_COUNT, min_samples_leaf=max(2, len(outputs) // 300), random_state=_SEED
    )
    return _fit_classifier(forest, _make_summary_features(inputs, outputs), inputs, outputs, labels)


def fit_form(inputs: Sequence[Any], outputs: Outputs, labels: IntArray) -> InputScorer:
    """A logistic regression on how outputs are given: their types, and the characters of texts."""

    def pair(new_outputs: Outputs) -> list[tuple[str, str]]:
        return list(zip(new_outputs.forms, new_outputs.strings or ("",) * len(new_outputs), strict=True))

    return _fit_classifier(_make_text_model(_list_traits), pair, inputs, outputs, labels)


def fit_frequency(inputs: Sequence[Any], outputs: Outputs, labels: IntArray) -> InputScorer:
    """The attacker that counts how often each output, exactly as it came, came from each input."""
    return _make_count_scores(inputs, outputs, labels, lambda new_outputs: new_outputs.keys)


def fit_precision(inputs: Sequence[Any], outputs: Outputs, labels: IntArray) -> InputScorer:
    """The attacker that reads how fine the last bit of a float is, see `deniable.auditing.outputs`."""

    def count_finest_bits(new_outputs: Outputs) -> list[int]:
        bits: list[int] = count_fractional_bits(new_outputs.values).max(axis=1).tolist()
        return bits

    return _make_count_scores(inputs, outputs, labels, count_finest_bits)


ATTACKERS: dict[str, tuple[Attacker, str]] = {
    "nearest": (fit_nearest, "names the nearest input"),
    "support": (fit_support, "rules out inputs by the range of the noise"),
    "linear": (fit_linear, "logistic regression"),
    "tree": (fit_tree, "decision tree"),
    "form": (
        fit_form,
        "reads how outputs are given and not what they say: types, signs of zero, digits, white space",
    ),
    "frequency": (fit_frequency, "counts outputs exactly as they came"),
    "precision": (
        fit_precision,
        "reads the last bits of floats, which rounding makes depend on the input: release numbers on a grid",
    ),
    "forest": (fit_forest, "random forest"),
}
"""Each attacker, and what it does, for verdicts; in order of preference where several do equally well."""


def list_suitable_attackers(inputs: Sequence[Any], outputs: Outputs) -> Iterator[str]:
    """Yield the names of the attackers that can be fitted to such inputs and so many outputs."""
    if outputs.is_textual:
        if all(isinstance(value, str) for value in inputs):
            yield "nearest"
    elif _make_reader(inputs, outputs)[1] is not None:
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


def _make_reader(inputs: Sequence[Any], outputs: Outputs) -> _Reader:
    """How numbers are read, see `_Reader`.

    Integers, of which float64 might lose the last digits, are counted from those of the first output.
    """
    origin = outputs.values[0] if outputs.values.dtype.kind == "i" else np.float64(0)

    def read(numbers: Any) -> FloatArray:  # noqa: ANN401 - an array of any type
        clipped: FloatArray = np.clip((numbers - origin).astype(np.float64), -_MAX_MAGNITUDE, _MAX_MAGNITUDE)
        return clipped

    with contextlib.suppress(ValueError):  # lists within lists, of several lengths
        rows = [np.ravel(value) for value in inputs]
        if all(row.size == outputs.values.shape[1] and row.dtype.kind in "biuf" for row in rows):
            points = read(np.stack(rows))
            return read, points, points.min(axis=0), points.max(axis=0)
    return read, None, *np.quantile(read(outputs.values), [0.1, 0.9], axis=0)


def _make_summary_features(inputs: Sequence[Any], outputs: Outputs) -> Callable[[Outputs], FloatArray]:
    """The numbers of an output (m, n) with, for n > 1, their minimum, maximum and sum, raw and clipped."""
    read, _, low, high = _make_reader(inputs, outputs)

    def features(new_outputs: Outputs) -> FloatArray:
        values = read(new_outputs.values)
        if values.shape[1] == 1:
            return values
        clipped = np.clip(values, low, high)
        return np.column_stack(
            [values, values.min(axis=1), values.max(axis=1), values.sum(axis=1), clipped.sum(axis=1)]
        )

    return features


def _import_sklearn(name: str) -> Any:  # noqa: ANN401 - a module without types
    """A module of scikit-learn, whose import takes a second that only audits need."""
    return import_extra(f"sklearn.{name}", "A black-box audit", "measure")


def _make_text_model(analyzer: Callable[[Any], list[str]]) -> Any:  # noqa: ANN401 - sklearn
    """A logistic regression on which of the features, that the analyzer lists of an output, are there."""
    vectorizer = _import_sklearn("feature_extraction.text").CountVectorizer(analyzer=analyzer, binary=True)
    model = _import_sklearn("linear_model").LogisticRegression(max_iter=200)
    return _import_sklearn("pipeline").make_pipeline(vectorizer, model)


def _fit_classifier(
    model: Any,  # noqa: ANN401 - sklearn
    features: Callable[[Outputs], Any],
    inputs: Sequence[Any],
    outputs: Outputs,
    labels: IntArray,
) -> InputScorer:
    """Log-probabilities of all M inputs; those absent from the fit are as likely as the least."""
    classifier = model.fit(features(outputs), labels)

    def scores(new_outputs: Outputs) -> FloatArray:
        with np.errstate(divide="ignore"):
            log_probabilities = np.log(np.maximum(classifier.predict_proba(features(new_outputs)), 1e-12))
        scores_by_input = np.repeat(log_probabilities.min(axis=1, keepdims=True), len(inputs), axis=1)
        scores_by_input[:, classifier.classes_] = log_probabilities
        return scores_by_input

    return scores


def _make_count_scores(
    inputs: Sequence[Any], outputs: Outputs, labels: IntArray, make_keys: Callable[[Outputs], Sequence[Any]]
) -> InputScorer:
    """Smoothed log-frequencies of a key by input; a key that was never observed scores 0 for every input."""
    counts_by_key: dict[Any, FloatArray] = collections.defaultdict(lambda: np.full(len(inputs), _SMOOTHING))
    for key, label in zip(make_keys(outputs), labels, strict=True):
        counts_by_key[key][label] += 1
    log_totals = np.log(np.bincount(labels, minlength=len(inputs)) + _SMOOTHING)
    log_frequencies = {key: np.log(counts) - log_totals for key, counts in counts_by_key.items()}
    unseen_scores = np.zeros(len(inputs))
    return lambda new_outputs: np.array([log_frequencies.get(key, unseen_scores) for key in make_keys(new_outputs)])


def _count_common_tokens(tokens: Sequence[str], input_tokens: Sequence[str]) -> float:
    """How many tokens two texts share, by position where they have one length, less the difference in length."""
    if len(tokens) == len(input_tokens):
        return float(sum(a == b for a, b in zip(tokens, input_tokens, strict=True)))
    common = collections.Counter(tokens) & collections.Counter(input_tokens)
    return sum(common.values()) - abs(len(tokens) - len(input_tokens))


def _list_placed_tokens(text: str) -> list[str]:
    tokens = text.split()
    return [*tokens, *(f"{position}\t{token}" for position, token in enumerate(tokens)), f"\t{len(tokens)}"]


def _list_traits(form_and_text: tuple[str, str]) -> list[str]:
    """How an output is given: its types, its pairs of characters, and its first tokens with 9 for each digit."""
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

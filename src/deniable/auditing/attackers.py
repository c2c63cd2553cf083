"""Attackers of the guessing games: from outputs whose inputs are known to scores for other outputs.

An attacker may be as good or as bad as it likes: the bounds of `games` hold for any, so long as it
is fitted on other trials. Each is a function of the inputs, and of outputs with the numbers of their
inputs, and returns a function that gives log-likelihoods (m, M), up to a constant in each row.
"""

import collections
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.auditing.outputs import Outputs
from deniable.auditing.precision import fractional_bits

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Scores = Callable[[Outputs], Array]
Attacker = Callable[[Sequence[Any], Outputs, Numbers], Scores]

_FEW = 4
"""Runs of each input below which only attackers that need no fit are of use."""
_TREES = 60
_SMOOTHING = 0.5
_SEED = 0


def nearest(inputs: Sequence[Any], outputs: Outputs, labels: Numbers) -> Scores:  # noqa: ARG001 - needs no fit
    """Return the attacker who names the input nearest to the output, and knows nothing else.

    Numbers are cut off at the inputs' range in every coordinate before their l1 distance is taken:
    for two inputs and Laplace noise that is the likelihood ratio. Texts are compared token by token.
    """
    if outputs.textual:
        tokens = [str(given).split() for given in inputs]
        return lambda seen: np.array([[_overlap(out.split(), own) for own in tokens] for out in seen.strings])
    points = np.stack([np.ravel(given) for given in inputs]).astype(float)
    low, high = points.min(axis=0), points.max(axis=0)

    def scores(seen: Outputs) -> Array:
        cut = np.clip(seen.values, low, high)
        return np.stack([-np.abs(cut - point).sum(axis=1) for point in points], axis=1)

    return scores


def linear(inputs: Sequence[Any], outputs: Outputs, labels: Numbers) -> Scores:
    """Return a logistic regression on the numbers, raw and cut off, or on tokens and their places."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - a second, only for audits
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    model = LogisticRegression(max_iter=200)
    if outputs.textual:
        from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415

        fitted = make_pipeline(CountVectorizer(analyzer=_placed_tokens, binary=True), model)
        return _probabilities(fitted.fit(list(outputs.strings), labels), lambda seen: list(seen.strings), len(inputs))
    low, high = _range(inputs, outputs)

    def features(seen: Outputs) -> Array:
        return np.hstack([seen.values, np.clip(seen.values, low, high)])

    fitted = make_pipeline(StandardScaler(), model).fit(features(outputs), labels)
    return _probabilities(fitted, features, len(inputs))


def trees(inputs: Sequence[Any], outputs: Outputs, labels: Numbers) -> Scores:
    """Return a random forest on the numbers and on their extremes and sums: it finds moved supports."""
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415 - a second, only for audits

    low, high = _range(inputs, outputs)

    def features(seen: Outputs) -> Array:
        values = seen.values
        if values.shape[1] == 1:
            return values
        cut = np.clip(values, low, high)
        return np.column_stack([values, values.min(axis=1), values.max(axis=1), values.sum(axis=1), cut.sum(axis=1)])

    forest = RandomForestClassifier(_TREES, min_samples_leaf=max(2, len(outputs) // 300), random_state=_SEED)
    return _probabilities(forest.fit(features(outputs), labels), features, len(inputs))


def frequency(inputs: Sequence[Any], outputs: Outputs, labels: Numbers) -> Scores:
    """Return the attacker who counts how often each output came from each input."""
    return _counted(inputs, _keys(outputs), labels, _keys)


def precision(inputs: Sequence[Any], outputs: Outputs, labels: Numbers) -> Scores:
    """Return the attacker who reads how fine the last bit of a float is, and not its value (`precision`)."""
    return _counted(inputs, _finest(outputs), labels, _finest)


ATTACKERS: dict[str, Attacker] = {
    attacker.__name__: attacker for attacker in (nearest, linear, frequency, precision, trees)
}
"""In the order of preference among equals."""
HOW = {
    "nearest": "names the nearest input",
    "linear": "logistic regression",
    "frequency": "counts outputs",
    "precision": "reads the last bits of floats: release numbers on a grid",
    "trees": "random forest",
    "none": "never played",
}
"""What each does, for verdicts."""


def suitable(inputs: Sequence[Any], outputs: Outputs) -> Iterator[str]:
    """Yield the names of the attackers that can be fitted to such inputs and so many outputs."""
    if outputs.textual:
        if all(isinstance(given, str) for given in inputs):
            yield "nearest"
    elif all(np.size(given) == outputs.values.shape[1] and _numeric(given) for given in inputs):
        yield "nearest"
    if len(outputs) < _FEW * len(inputs):
        return
    yield "linear"
    yield "frequency"
    if not outputs.textual:
        yield "trees"
    if outputs.kind == "real":
        yield "precision"


def _numeric(value: Any) -> bool:  # noqa: ANN401 - any input
    return np.asarray(value).dtype.kind in "biuf"


def _range(inputs: Sequence[Any], outputs: Outputs) -> tuple[Array, Array]:
    """Return where to cut numbers off: the inputs' own range, or where most outputs lie."""
    width = outputs.values.shape[1]
    if all(_numeric(given) and np.size(given) == width for given in inputs):
        points = np.stack([np.ravel(given) for given in inputs]).astype(float)
        return points.min(axis=0), points.max(axis=0)
    low, high = np.quantile(outputs.values, [0.1, 0.9], axis=0)
    return low, high


def _probabilities(fitted: Any, features: Callable[[Outputs], Any], count: int) -> Scores:  # noqa: ANN401 - sklearn
    """Return log-probabilities of all M inputs; those absent from the fit are as likely as the least."""

    def scores(seen: Outputs) -> Array:
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(fitted.predict_proba(features(seen)), 1e-12))
        out = np.repeat(logs.min(axis=1, keepdims=True), count, axis=1)
        out[:, fitted.classes_] = logs
        return out

    return scores


def _counted(
    inputs: Sequence[Any], keys: Sequence[Any], labels: Numbers, read: Callable[[Outputs], Sequence[Any]]
) -> Scores:
    """Return smoothed log-frequencies of a key by input; a key never met says nothing."""
    table: dict[Any, Array] = collections.defaultdict(lambda: np.full(len(inputs), _SMOOTHING))
    for key, label in zip(keys, labels, strict=True):
        table[key][label] += 1
    totals = np.log(np.bincount(labels, minlength=len(inputs)) + _SMOOTHING)
    logs = {key: np.log(counts) - totals for key, counts in table.items()}
    unknown = np.zeros(len(inputs))
    return lambda seen: np.array([logs.get(key, unknown) for key in read(seen)])


def _finest(outputs: Outputs) -> list[int]:
    bits: list[int] = fractional_bits(outputs.values).max(axis=1).tolist()
    return bits


def _keys(outputs: Outputs) -> list[Any]:
    return list(outputs.strings) if outputs.textual else [row.tobytes() for row in outputs.values + 0.0]


def _overlap(tokens: Sequence[str], own: Sequence[str]) -> float:
    """Return the share of tokens in common, in their places if the texts are as long as each other."""
    if len(tokens) == len(own):
        return float(sum(a == b for a, b in zip(tokens, own, strict=True)))
    both = collections.Counter(tokens) & collections.Counter(own)
    return sum(both.values()) - abs(len(tokens) - len(own))


def _placed_tokens(text: str) -> list[str]:
    tokens = text.split()
    return [*tokens, *(f"{place}\t{token}" for place, token in enumerate(tokens)), f"\t{len(tokens)}"]

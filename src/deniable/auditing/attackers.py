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
_END = 4
"""Values of the noise beyond which, at either end, it is taken to go on as far as they reach."""
_BITS = 100
"""Runs from which on last bits are worth counting: in fewer, chance makes patterns."""
_MANY = 300
"""Runs from which on a forest is worth the tenths of a second that it takes."""
_TREES = 60
_SMOOTHING = 0.5
_HUGE = 1e30
_SEED = 0


def nearest(inputs: Sequence[Any], outputs: Outputs, labels: Numbers) -> Scores:  # noqa: ARG001 - needs no fit
    """Return the attacker who names the input nearest to the output, and knows nothing else.

    Numbers are cut off at the inputs' range in every coordinate before their l1 distance is taken:
    for two inputs and Laplace noise that is the likelihood ratio. Texts are compared token by token.
    """
    if outputs.textual:
        tokens = [str(given).split() for given in inputs]
        return lambda seen: np.array([[_overlap(out.split(), own) for own in tokens] for out in seen.strings])
    points = _points(inputs)
    low, high = points.min(axis=0), points.max(axis=0)

    def scores(seen: Outputs) -> Array:
        cut = np.clip(_tamed(seen), low, high)
        return np.stack([-np.abs(cut - point).sum(axis=1) for point in points], axis=1)

    return scores


def support(inputs: Sequence[Any], outputs: Outputs, labels: Numbers) -> Scores:
    """Return the attacker who rules out inputs from which no noise that was seen leads to the output.

    Noise is output minus input, of all coordinates alike. Where its range moves with the input, or is
    bounded, some outputs can come from one input only (Habernal 2022, Theorem 3.2).
    """
    points = _points(inputs)
    noise = np.sort((_tamed(outputs) - points[labels]).ravel())
    # Rarer noise may come: each end is moved out by the room that its last few values take.
    few = min(_END, len(noise) // 4)
    low, high = 2 * noise[0] - noise[few], 2 * noise[-1] - noise[-1 - few]

    def scores(seen: Outputs) -> Array:
        noises = [_tamed(seen) - point for point in points]
        return np.stack([-((noise < low) | (noise > high)).sum(axis=1).astype(float) for noise in noises], axis=1)

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
        values = _tamed(seen)
        return np.hstack([values, np.clip(values, low, high)])

    fitted = make_pipeline(StandardScaler(), model).fit(features(outputs), labels)
    return _probabilities(fitted, features, len(inputs))


def tree(inputs: Sequence[Any], outputs: Outputs, labels: Numbers) -> Scores:
    """Return a shallow decision tree on the numbers, their extremes and sums: it finds moved supports."""
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415 - a second, only for audits

    features = _summaries(inputs, outputs)
    fitted = DecisionTreeClassifier(max_depth=3, min_samples_leaf=max(3, len(outputs) // 200), random_state=_SEED)
    return _probabilities(fitted.fit(features(outputs), labels), features, len(inputs))


def forest(inputs: Sequence[Any], outputs: Outputs, labels: Numbers) -> Scores:
    """Return a random forest on what `tree` sees: for laws that no line and no short rule tells apart."""
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415 - a second, only for audits

    features = _summaries(inputs, outputs)
    fitted = RandomForestClassifier(_TREES, min_samples_leaf=max(2, len(outputs) // 300), random_state=_SEED)
    return _probabilities(fitted.fit(features(outputs), labels), features, len(inputs))


def frequency(inputs: Sequence[Any], outputs: Outputs, labels: Numbers) -> Scores:
    """Return the attacker who counts how often each output came from each input."""
    return _counted(inputs, _keys(outputs), labels, _keys)


def precision(inputs: Sequence[Any], outputs: Outputs, labels: Numbers) -> Scores:
    """Return the attacker who reads how fine the last bit of a float is, and not its value (`precision`)."""
    return _counted(inputs, _finest(outputs), labels, _finest)


ATTACKERS: dict[str, Attacker] = {
    attacker.__name__: attacker for attacker in (nearest, support, linear, tree, frequency, precision, forest)
}
"""In the order of preference among equals."""
HOW = {
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


def suitable(inputs: Sequence[Any], outputs: Outputs) -> Iterator[str]:
    """Yield the names of the attackers that can be fitted to such inputs and so many outputs."""
    if outputs.textual:
        if all(isinstance(given, str) for given in inputs):
            yield "nearest"
    elif _alike(inputs, outputs):
        yield "nearest"
        if len(outputs) >= _FEW * len(inputs):
            yield "support"
    if len(outputs) < _FEW * len(inputs):
        return
    yield "linear"
    yield "frequency"
    if not outputs.textual:
        yield "tree"
        if len(outputs) >= _MANY:
            yield "forest"
    if outputs.kind == "real" and len(outputs) >= _BITS:
        yield "precision"


def _alike(inputs: Sequence[Any], outputs: Outputs) -> bool:
    """Say whether inputs are numbers as many as outputs have."""
    try:
        arrays = [np.asarray(given) for given in inputs]
    except ValueError:  # lists within lists, of several lengths
        return False
    return all(array.dtype.kind in "biuf" and array.size == outputs.values.shape[1] for array in arrays)


def _points(inputs: Sequence[Any]) -> Array:
    """Return numeric inputs as rows (M, n)."""
    points: Array = np.clip(np.stack([np.ravel(given) for given in inputs]).astype(float), -_HUGE, _HUGE)
    return points


def _tamed(outputs: Outputs) -> Array:
    """Return outputs as float64 (m, n) that float32 can hold and whose squares float64 can."""
    values: Array = np.clip(outputs.values.astype(float), -_HUGE, _HUGE)
    return values


def _range(inputs: Sequence[Any], outputs: Outputs) -> tuple[Array, Array]:
    """Return where to cut numbers off: the inputs' own range, or where most outputs lie."""
    if _alike(inputs, outputs):
        points = _points(inputs)
        return points.min(axis=0), points.max(axis=0)
    low, high = np.quantile(_tamed(outputs), [0.1, 0.9], axis=0)
    return low, high


def _summaries(inputs: Sequence[Any], outputs: Outputs) -> Callable[[Outputs], Array]:
    """Return the numbers of an output (m, n) with, for n > 1, their least, largest and sum, raw and cut off."""
    low, high = _range(inputs, outputs)

    def features(seen: Outputs) -> Array:
        values = _tamed(seen)
        if values.shape[1] == 1:
            return values
        cut = np.clip(values, low, high)
        return np.column_stack([values, values.min(axis=1), values.max(axis=1), values.sum(axis=1), cut.sum(axis=1)])

    return features


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
    if outputs.textual:
        return list(outputs.strings)
    return [row.tobytes() for row in outputs.values + outputs.values.dtype.type(0)]  # -0.0 becomes 0.0


def _overlap(tokens: Sequence[str], own: Sequence[str]) -> float:
    """Return the share of tokens in common, in their places if the texts are as long as each other."""
    if len(tokens) == len(own):
        return float(sum(a == b for a, b in zip(tokens, own, strict=True)))
    both = collections.Counter(tokens) & collections.Counter(own)
    return sum(both.values()) - abs(len(tokens) - len(own))


def _placed_tokens(text: str) -> list[str]:
    tokens = text.split()
    return [*tokens, *(f"{place}\t{token}" for place, token in enumerate(tokens)), f"\t{len(tokens)}"]

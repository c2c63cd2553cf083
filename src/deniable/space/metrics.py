"""Metrics on the points of a space, by name or of the user's own.

A guarantee is only as good as its metric: d must be symmetric, zero only at one point, and obey the triangle
inequality. Cosine "distance" breaks the last and is refused; its angle is fine, and so are steps from near word to near
word, for which only the order of nearness counts.
"""

import dataclasses
import functools
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, check_count, make_parameter_error
from deniable.space.blocks import Distances, VectorDistances
from deniable.space.steps import CLASS_STEPS, StepOptions
from deniable.space.vector_distances import (
    EuclideanPanels,
    bound_angular_error,
    bound_euclidean_error,
    bound_sum_error,
    normalize_directions,
    prepare_angular,
    prepare_scipy,
    prepare_user_function,
)

MAX_NEIGHBOURS = 64
"""Neighbours of a word in steps, as many as its list holds."""
_NEARNESS = ("lists", "cosine", "euclidean")


def _return_unchanged(vectors: FloatArray) -> FloatArray:
    return vectors


@dataclasses.dataclass(frozen=True)
class Metric:
    """A metric by name, with the function that computes it.

    Attributes:
        name: what guarantees and certificates call it.
        measure: called once with all points (n, d); returns their `deniable.space.blocks.Distances`. None for steps.
        canonicalize: maps vectors (n, d) to points (n, d), equal where the distance is zero.
        bound_rounding_error: from the points (n, d) and a function that returns the diameter, a bound on what
            rounding can change in a distance; None for a function that the user vouches for.
        step_options: how steps are counted, as `steps` allows; None for a distance of vectors.

    Raises:
        InputError: steps that are counted otherwise.
    """

    name: str
    measure: Callable[[FloatArray], Distances] | None = None
    canonicalize: Callable[[FloatArray], FloatArray] = _return_unchanged
    bound_rounding_error: Callable[[FloatArray, Callable[[], float]], float] | None = None
    step_options: StepOptions | None = None

    def __post_init__(self) -> None:
        """Refuse steps that are counted otherwise than `steps` allows: no proof is known of them."""
        if self.step_options is not None:
            _check_steps(self.step_options)

    @classmethod
    def steps(cls, neighbours: int = 12, reach: int = 5, by: str = "lists") -> "Metric":
        """Return the number of steps from near word to near word; see `deniable.space.steps`.

        Args:
            neighbours: near words that each word is joined to: even, 2 to 64 (all, where there are fewer).
            reach: steps beyond which no two words are, 2 to 8.
            by: what near words are near by: ``cosine`` or ``euclidean`` distance of vectors, or ``lists``: those that
                come with the words, by cosine distance where none do. With the defaults it is the metric that
                ``metric="steps"`` names.

        Raises:
            InputError: a number out of range, or another name.
        """
        _check_steps(StepOptions(neighbours, reach, by))
        return _find_steps(StepOptions(int(neighbours), int(reach), str(by)))

    @property
    def is_builtin(self) -> bool:
        """Whether its name names it alone: that of any other metric is known to its user, and names nothing."""
        return _find_by_name(self.name) is self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a metric that its name names as the name, any other with its functions."""
        if self.is_builtin:
            return resolve_metric, (self.name,)
        return Metric, tuple(getattr(self, field.name) for field in dataclasses.fields(self))

    def __str__(self) -> str:
        """Return the name."""
        return self.name


def resolve_metric(choice: "str | Metric | Callable[[FloatArray, FloatArray], FloatArray]") -> Metric:
    """Return the metric of that name, or one made of a function f(X (k, d), Y (n, d)) -> (k, n).

    A function of your own must be a true metric: nothing here can prove that it is.

    Raises:
        InputError: unknown name, or cosine distance, which is no metric.
    """
    if isinstance(choice, Metric):
        return choice
    if callable(choice):
        name = "user function " + getattr(choice, "__name__", type(choice).__name__)
        return Metric(name, functools.partial(VectorDistances, functools.partial(prepare_user_function, choice, name)))
    if choice == "cosine":
        raise InputError(
            "Cosine distance is no metric: it breaks the triangle inequality, so no guarantee "
            "holds under it. Use metric='angular' (the angle itself)."
        )
    metric = _find_by_name(choice) if isinstance(choice, str) else None
    if metric is None:
        names = ", ".join(METRICS)
        raise InputError(f"The 'metric' parameter must be one of {names}, or a function. Got {choice!r}.")
    return metric


def _check_steps(options: StepOptions) -> None:
    check_count("Metric.steps", "neighbours", options.neighbours, 2, MAX_NEIGHBOURS)
    if options.neighbours % 2:
        raise make_parameter_error("Metric.steps", "neighbours", "an even number", options.neighbours)
    check_count("Metric.steps", "reach", options.reach, 2, CLASS_STEPS)
    if options.by not in _NEARNESS:
        raise make_parameter_error("Metric.steps", "by", f"one of {', '.join(_NEARNESS)}", options.by)


def _find_by_name(name: str) -> Metric | None:
    """Return the metric that a name names; None where it names none."""
    match = re.fullmatch(r"steps(?:\((.*)\))?", name)
    if match is None:
        return METRICS.get(name)
    try:
        fields = dict(field.split("=") for field in match[1].split(", ")) if match[1] else {}
        metric = Metric.steps(**{key: int(value) if value.isdigit() else value for key, value in fields.items()})  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return None
    return metric if metric.name == name else None


def _find_steps(options: StepOptions) -> Metric:
    """Return the one metric of these options; its name gives those that are not the defaults."""
    defaults = StepOptions()._asdict()
    chosen = ", ".join(f"{key}={value}" for key, value in options._asdict().items() if value != defaults[key])
    metric = Metric(
        f"steps({chosen})" if chosen else "steps", bound_rounding_error=_bound_no_error, step_options=options
    )
    # Of two threads both get what the first has put there.
    return _STEP_METRICS.setdefault(options, metric)


def _bound_no_error(points: FloatArray, diameter: Callable[[], float]) -> float:
    """Return 0: the distances are exact."""
    del points, diameter
    return 0.0


_STEP_METRICS: dict[StepOptions, Metric] = {}

# It takes no entries: what is not listed here has no fingerprint, and shares neither noise nor cached facts.
METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        "steps": Metric.steps(),
        "euclidean": Metric(
            "euclidean",
            functools.partial(VectorDistances, EuclideanPanels.of),
            bound_rounding_error=bound_euclidean_error,
        ),
        "manhattan": Metric(
            "manhattan",
            functools.partial(VectorDistances, functools.partial(prepare_scipy, "cityblock")),
            bound_rounding_error=bound_sum_error,
        ),
        "chebyshev": Metric(
            "chebyshev",
            functools.partial(VectorDistances, functools.partial(prepare_scipy, "chebyshev")),
            bound_rounding_error=bound_sum_error,
        ),
        "angular": Metric(
            "angular",
            functools.partial(VectorDistances, prepare_angular),
            normalize_directions,
            bound_angular_error,
        ),
    }
)
"""The metrics by name; ``steps(neighbours=8, reach=6)`` names one too, see `Metric.steps`."""

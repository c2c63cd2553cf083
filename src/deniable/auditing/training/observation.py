"""What an audit sees of training: released updates, what the run says of its steps, and a model that scores records.

The function under audit is ``train(records, seed)``. It trains on the records, draws all its randomness from the seed
if it can, and returns

- a model: a function from records to one score each, the higher, the likelier the record was trained on (minus its
  loss, for instance); or the scores themselves; or
- steps: as a generator it yields what it releases at each step, as an array or as a `TrainingStep`, and may return a
  model at its end. A `TrainingPlan`, yielded first, states how the run was accounted for.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from deniable.accounting.training import TrainingPlan
from deniable.auditing.calls import call_user_function, copy_records, describe_error
from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import (
    InputError,
    check_number_within,
    check_positive,
    make_parameter_error,
)

Arithmetic = Literal["float64", "float32", "float16", "bfloat16"]
"""In what numbers a sum was added up."""
UNIT_ROUNDOFFS: dict[Arithmetic, float] = {
    "float64": 2.0**-53,
    "float32": 2.0**-24,
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
}
Model = Callable[[list[Any]], npt.ArrayLike]
"""From records to one score each: the higher, the likelier the record was trained on."""
TrainFunction = Callable[[list[Any], int], Any]
"""The function under audit, see above."""
ABSENT: Final = object()
"""Stands for no record in the place of the canary."""
MAX_SEED = 1 << 62
_MAX_NUMBER = 1e100
"""Products of two released numbers stay finite below it."""


@dataclasses.dataclass(frozen=True)
class TrainingStep:
    """One step of training.

    Attributes:
        released: what others may see of the step: its noisy sum, or the parameters after it, of any shape.
        batch: numbers of the records that were drawn, from 0 and in any order, as often as they count; None where the
            run does not say.
        clipped_sum: (d,) what the noise hides; None where the run does not say.
        noise: standard deviation of the noise on each coordinate of that sum; None where the run does not say.
        clip: norm to which the gradients of this step were clipped; None for that of the plan.
        arithmetic: in what numbers ``clipped_sum`` was added up, all of it; None for float32, or for what its numbers
            show to be narrower. Rounding is granted to the movement of the sum, n^2 units for n records: large batches
            in float32 leave it undecided, and float64 decides it.
    """

    released: FloatArray
    batch: IntArray | None = None
    clipped_sum: FloatArray | None = None
    noise: float | None = None
    clip: float | None = None
    arithmetic: Arithmetic | None = None


@dataclasses.dataclass(frozen=True)
class NeighbourPair:
    """A data set with a canary, and the same without it.

    Attributes:
        records: what both have, in order.
        canary: the last record of one of them.
        other: the record in its place in the other one; `ABSENT` where there is none.
    """

    records: Sequence[Any]
    canary: Any
    other: Any = ABSENT

    @property
    def with_canary(self) -> list[Any]:
        """D'."""
        return [*self.records, self.canary]

    @property
    def without_canary(self) -> list[Any]:
        """D."""
        return [*self.records] if self.is_removal else [*self.records, self.other]

    @property
    def is_removal(self) -> bool:
        """Whether they differ by a record that is added or removed, and not by one that is replaced."""
        return self.other is ABSENT


@dataclasses.dataclass(frozen=True)
class ObservedRun:
    """What one run showed.

    Attributes:
        plan: what it stated first; None where it stated nothing.
        steps: in order; empty where it yields none.
        result: a model, or scores, or None.
    """

    plan: TrainingPlan | None
    steps: tuple[TrainingStep, ...]
    result: Any

    def score(self, canaries: Sequence[Any]) -> FloatArray:
        """The scores (m,) of canaries.

        Raises:
            InputError: the run returned neither a model nor m scores, or numbers that are not finite.
        """
        scores = self.result
        if scores is None:
            raise InputError(
                "train(records, seed) returned nothing to score canaries by: return a function from records to scores, "
                "or give one canary, so that what its steps release is judged."
            )
        if callable(scores):
            scores = call_user_function(lambda: self.result(copy_records(canaries)), "The model that train returned")
        values = _check_numbers(scores, "The scores")
        values = values.reshape(1) if values.shape == () and len(canaries) == 1 else values
        if values.shape != (len(canaries),):
            raise InputError(
                f"The scores must be {len(canaries)} finite numbers, one for each canary in order. "
                f"Got shape {values.shape}: return one float for each canary."
            )
        return values


def observe_training(train: TrainFunction, records: Sequence[Any], seed: int) -> ObservedRun:
    """Train once, and return what the run showed.

    Raises:
        InputError: training fails, or what it gives is none of what an audit can use.
    """
    given = copy_records(records)
    items, result = call_user_function(lambda: _run_to_the_end(train(given, seed)), "train(records, seed)")
    plans = [item for item in items if isinstance(item, TrainingPlan)]
    steps = tuple(_check_step(item) for item in items if not isinstance(item, TrainingPlan))
    return ObservedRun(plans[-1] if plans else None, steps, result)


def _run_to_the_end(outcome: Any) -> tuple[list[Any], Any]:  # noqa: ANN401 - whatever training returns
    """What training yields, and what it returns."""
    if not isinstance(outcome, Iterator):
        return [], outcome
    items: list[Any] = []
    while True:
        try:
            items.append(next(outcome))
        except StopIteration as end:
            return items, end.value


def _check_step(item: object) -> TrainingStep:
    """A step whose arrays are finite numbers."""
    step = item if isinstance(item, TrainingStep) else TrainingStep(item)  # type: ignore[arg-type]  # checked below
    batch: IntArray | None = None
    if step.batch is not None:
        numbers, kind = _check_numbers(step.batch, "The batch of a step"), np.asarray(step.batch).dtype
        if numbers.ndim != 1 or (numbers.size and (kind.kind not in "iu" or numbers.min() < 0)):
            raise InputError(
                f"The batch of a step must be numbers (b,) of its records, from 0. Got {kind} of shape {numbers.shape}."
            )
        batch = numbers.astype(np.int64)
    total = None if step.clipped_sum is None else _check_numbers(step.clipped_sum, "The clipped sum").ravel()
    is_half = total is not None and np.asarray(step.clipped_sum).dtype == np.float16
    if step.arithmetic not in {None, *UNIT_ROUNDOFFS}:
        raise make_parameter_error("TrainingStep", "arithmetic", f"one of {', '.join(UNIT_ROUNDOFFS)}", step.arithmetic)
    noise = None if step.noise is None else check_number_within("TrainingStep", "noise", step.noise, 0.0, _MAX_NUMBER)
    clip = None if step.clip is None else check_positive("TrainingStep", "clip", step.clip)
    released = _check_numbers(step.released, "What a step releases")
    return TrainingStep(released, batch, total, noise, clip, step.arithmetic or ("float16" if is_half else None))


def _check_numbers(values: object, description: str) -> FloatArray:
    """Finite numbers as float64; complex ones would lose a part without a word, and texts be read as numbers."""
    try:
        array = np.asarray(values)
        flaw = f"{array.dtype} of shape {array.shape}"
    except Exception as error:  # noqa: BLE001 - of tensors that need gradients, for example
        array, flaw = np.empty(0, dtype=object), describe_error(error)
    is_masked = isinstance(values, np.ma.MaskedArray)
    if is_masked or array.dtype.kind not in "biuf" or not (np.abs(array.astype(np.float64)) < _MAX_NUMBER).all():
        raise InputError(
            f"{description} must be an array of finite numbers below 1e100. Got {'masked ' if is_masked else ''}{flaw}"
            ": give plain numbers, neither NaN nor infinity."
        )
    return array.astype(np.float64)

"""What an audit sees of training: released updates, what the run says of its steps, and a model that scores records.

The function under audit is ``train(records, seed)``. It trains on the records, draws all its randomness from the seed
if it can, and returns

- a model: a function from records to one score each, the higher, the likelier the record was trained on (minus its
  loss, for instance); or the scores themselves; or
- steps: as a generator it yields what it releases at each step, as an array or as a `TrainingStep`, and may return a
  model at its end. A `TrainingPlan`, yielded first, states how the run was accounted for.
"""

import contextlib
import copy
import dataclasses
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from deniable.auditing.samplers import describe_error
from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import (
    DeniableError,
    InputError,
    check_count,
    check_number_within,
    check_positive,
    is_interruption,
    make_parameter_error,
)

Sampling = Literal["poisson", "shuffled", "fixed size", "all"]
"""How records come into the batch of a step.

- ``poisson``: each by its own coin of chance batch size / records;
- ``shuffled``: every epoch is a random order of all records, cut into batches;
- ``fixed size``: a random subset of the same size at each step;
- ``all``: every record, at every step.
"""
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
_OWNER = "TrainingPlan"
_MAX_NUMBER = 1e100
"""Products of two released numbers stay finite below it."""


@dataclasses.dataclass(frozen=True)
class TrainingPlan:
    """How a run of DP-SGD was accounted for, as it says itself.

    Attributes:
        sampling: the scheme that the accountant assumed.
        records: n, the public number of records.
        batch_size: expected number of records in the batch of a step, from 0 to n.
        steps: T.
        noise_multiplier: standard deviation of the noise on the clipped sum, per unit of ``clip``.
        clip: C, the norm by which one record is said to move that sum.

    Raises:
        InputError: a number outside its domain, or an unknown scheme.
    """

    sampling: Sampling
    records: int
    batch_size: float
    steps: int
    noise_multiplier: float
    clip: float

    def __post_init__(self) -> None:
        if self.sampling not in get_args(Sampling):
            raise make_parameter_error(_OWNER, "sampling", f"one of {', '.join(get_args(Sampling))}", self.sampling)
        check_count(_OWNER, "records", self.records)
        check_count(_OWNER, "steps", self.steps)
        check_positive(_OWNER, "batch_size", self.batch_size)
        check_positive(_OWNER, "noise_multiplier", self.noise_multiplier)
        check_positive(_OWNER, "clip", self.clip)
        if self.batch_size > self.records:
            raise make_parameter_error(_OWNER, "batch_size", f"at most the {self.records:,} records", self.batch_size)

    @property
    def rate(self) -> float:
        """The chance that the batch of a step has a record."""
        return 1.0 if self.sampling == "all" else self.batch_size / self.records


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
        """Return the scores (m,) of canaries.

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
            scores = call_user_function(lambda: self.result(_copy(canaries)), "The model that train returned")
        return check_scores(scores, len(canaries))


def observe_training(train: TrainFunction, records: Sequence[Any], seed: int) -> ObservedRun:
    """Train once, and return what the run showed.

    Raises:
        InputError: training fails, or what it gives is none of what an audit can use.
    """
    outcome = call_user_function(lambda: train(_copy(records), seed), "train(records, seed)")
    if inspect.isawaitable(outcome) or inspect.isasyncgen(outcome):
        if inspect.iscoroutine(outcome):
            outcome.close()
        raise InputError("train(records, seed) is asynchronous: give a function that trains before it returns.")
    if isinstance(outcome, list | tuple) and any(isinstance(item, TrainingPlan | TrainingStep) for item in outcome):
        outcome = iter(outcome)
    if not isinstance(outcome, Iterator):
        return ObservedRun(None, (), outcome)
    plan: TrainingPlan | None = None
    steps: list[TrainingStep] = []
    while True:
        item, is_over = _advance(outcome)
        if is_over:
            return ObservedRun(plan, tuple(steps), item)
        if isinstance(item, TrainingPlan):
            plan = item
        else:
            steps.append(_check_step(item))


def call_user_function(function: Callable[[], Any], description: str) -> Any:  # noqa: ANN401 - whatever it returns
    """Return what a user's function returns; what it raises is one line."""
    try:
        return function()
    except DeniableError:
        raise
    except BaseException as error:  # SystemExit too: training does not end an audit
        if is_interruption(error):
            raise
        raise InputError(f"{description} raised {describe_error(error)}: run it alone to mend it.") from error


def _copy(records: Sequence[Any]) -> list[Any]:
    """Return records for one run, which may change them: no other run must see that."""
    try:
        return copy.deepcopy(list(records))
    except Exception as error:
        raise InputError(f"Records must be values that can be copied. Got {describe_error(error)}.") from error


def check_scores(scores: object, count: int) -> FloatArray:
    """Return one finite score for each of so many canaries, or raise `InputError`."""
    try:
        values = np.asarray(scores)
        # Complex numbers would lose a part without a word, and texts be read as numbers.
        flaw = "" if values.dtype.kind in "biufO" else f" of type {values.dtype}"
        flaw = " of which some are masked" if isinstance(scores, np.ma.MaskedArray) else flaw
        values = np.empty(values.shape) if flaw else values.astype(np.float64)
    except Exception as error:  # noqa: BLE001 - of tensors that need gradients, or of long integers, for example
        values, flaw = np.empty(0), f" of no numbers ({describe_error(error)})"
    if not flaw and not np.isfinite(values).all():
        flaw = " with NaN or infinity"
    if values.shape == () and count == 1:
        values = values.reshape(1)
    if flaw or values.shape != (count,):
        raise InputError(
            f"The scores must be {count} finite numbers, one for each canary in order. "
            f"Got shape {values.shape}{flaw}: return one float for each canary."
        )
    return values


def _advance(steps: Iterator[Any]) -> tuple[Any, bool]:
    """Return the next item and False, or what the generator returned and True."""

    def advance() -> tuple[Any, bool]:
        try:
            return next(steps), False
        except StopIteration as end:
            return end.value, True

    item: tuple[Any, bool] = call_user_function(advance, "train(records, seed)")
    return item


def _check_step(item: object) -> TrainingStep:
    """Return a step whose arrays are finite numbers."""
    step = item if isinstance(item, TrainingStep) else TrainingStep(item)  # type: ignore[arg-type]  # checked below
    batch = step.batch
    if batch is not None:
        with contextlib.suppress(ValueError):  # rows of several lengths, which stay what they are
            batch = np.asarray(batch)
        batch = batch if isinstance(batch, np.ndarray) else np.empty((0, 0), dtype=np.int64)
        if batch.ndim != 1 or (batch.size and batch.dtype.kind not in "iu") or (batch.size and batch.min() < 0):
            raise InputError(
                f"The batch of a step must be the numbers (b,) of its records, from 0. Got {batch.dtype} of shape "
                f"{batch.shape}."
            )
        batch = batch.astype(np.int64)
    total = None if step.clipped_sum is None else _check_numbers(step.clipped_sum, "The clipped sum").ravel()
    if total is not None and np.asarray(step.clipped_sum).dtype == np.float16:
        total = total.astype(np.float16)  # whose rounding is granted to it
    if step.arithmetic not in {None, *UNIT_ROUNDOFFS}:
        raise make_parameter_error("TrainingStep", "arithmetic", f"one of {', '.join(UNIT_ROUNDOFFS)}", step.arithmetic)
    noise = None if step.noise is None else check_number_within("TrainingStep", "noise", step.noise, 0.0, _MAX_NUMBER)
    clip = None if step.clip is None else check_positive("TrainingStep", "clip", step.clip)
    released = _check_numbers(step.released, "What a step releases")
    return TrainingStep(released, batch, total, noise, clip, step.arithmetic)


def _check_numbers(values: object, description: str) -> FloatArray:
    try:
        array = np.asarray(values)
    except Exception:  # noqa: BLE001 - as above
        array = np.empty(0, dtype=object)
    is_masked = isinstance(values, np.ma.MaskedArray)
    is_numeric = array.dtype.kind in "biuf" and bool((np.abs(array.astype(np.float64)) < _MAX_NUMBER).all())
    if is_masked or not is_numeric:
        raise InputError(
            f"{description} must be an array of finite numbers below 1e100. Got {'masked ' if is_masked else ''}"
            f"{array.dtype} of shape {array.shape}: "
            "yield arrays or TrainingStep."
        )
    return array.astype(np.float64)

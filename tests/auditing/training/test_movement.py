"""What one record does to a sum, and why that is sometimes not known."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.auditing.training.movement import IN_NO_BATCH, measure_movement
from deniable.auditing.training.neighbours import NeighbourPair
from deniable.auditing.training.observation import ObservedRun, TrainingPlan, TrainingStep

PLAN = TrainingPlan("poisson", 3, 1.0, 2, 1.0, 2.0)
PAIR = NeighbourPair(["a", "b"], "canary")
PLACE = 2


def make_run(*steps, plan=PLAN):
    """Return a run of steps (batch, sum); what it releases is the sum, without noise."""
    return ObservedRun(
        plan,
        tuple(
            TrainingStep(np.array(total, float), np.array(batch, int), np.array(total, float)) for batch, total in steps
        ),
        None,
    )


def test_the_first_batch_with_the_record_is_measured():
    """The l2 norm of the difference, against the clipping norm of the plan."""
    ours = make_run(([0], [1, 0]), ([1, PLACE], [3, 4]))
    theirs = make_run(([0], [1, 0]), ([1], [0, 0]))
    movement, note = measure_movement(ours, theirs, theirs, PAIR, 1)
    assert (movement.step, movement.norm, movement.ratio, movement.copies) == (1, 5.0, 2.5, 1)
    assert note.startswith("at step 2, on neighbours")


def test_a_replaced_record_may_move_twice_as_much():
    """Twice the clipping norm is allowed, and the clipping norm of the step goes before that of the plan."""
    pair = NeighbourPair(["a", "b"], "canary", "other")
    ours, theirs = make_run(([PLACE], [6])), make_run(([PLACE], [-6]))
    movement, note = measure_movement(ours, theirs, theirs, pair, 2)
    assert movement.ratio == 12 / (2 * 2.0)
    assert "twice the clipping norm is allowed" in note
    step = dataclasses.replace(ours.steps[0], clip=6.0)
    movement, _ = measure_movement(dataclasses.replace(ours, steps=(step,)), theirs, theirs, pair, 2)
    assert movement.ratio == 12 / (2 * 6.0)


def test_a_record_that_counts_several_times():
    """Its copies are counted and named."""
    ours, theirs = make_run(([PLACE, 0, PLACE], [4])), make_run(([0], [0]))
    movement, note = measure_movement(ours, theirs, theirs, PAIR, 1)
    assert (movement.copies, movement.ratio) == (2, 2.0)
    assert "where the canary counts 2 times" in note


def test_a_sum_that_moves_without_the_record():
    """A record that acts through others is seen where it acts; rounding is not."""
    theirs = make_run(([0], [1.0]), ([1], [1.0]))
    movement, _ = measure_movement(make_run(([0], [1.5]), ([1], [1.0])), theirs, theirs, PAIR, 1)
    assert (movement.step, movement.copies, movement.norm) == (0, 0, 0.5)
    almost = make_run(([0], [1.0 + 1e-9]), ([1], [1.0]))
    released = tuple(dataclasses.replace(step, released=np.ones(1)) for step in almost.steps)
    movement, note = measure_movement(dataclasses.replace(almost, steps=released), theirs, theirs, PAIR, 1)
    assert (movement, note) == (None, IN_NO_BATCH)


def hide(run, field):
    """Return a run whose steps do not show a field."""
    return dataclasses.replace(run, steps=tuple(dataclasses.replace(step, **{field: None}) for step in run.steps))


@pytest.mark.parametrize(
    ("change", "note"),
    [
        (lambda runs: [dataclasses.replace(runs[0], plan=None), *runs[1:]], "the run states no plan"),
        (lambda runs: [hide(runs[0], "clipped_sum"), *runs[1:]], "does not show its sums before the noise"),
        (lambda runs: [runs[0], hide(runs[1], "batch"), runs[2]], "does not show its batches"),
        (lambda runs: [make_run(([1], [1.0])), *runs[1:]], "with one seed both data sets have other batches"),
        (lambda runs: [make_run(([0], [1.0, 2.0])), *runs[1:]], "the sums have 2 and 1 numbers"),
        (lambda runs: [*runs[:2], make_run(([0], [1.1]))], "two runs on the same data with one seed have other sums"),
    ],
)
def test_what_cannot_be_compared(change, note):
    """Each run that shows too little, or is not decided by its seed, is named as that, and nothing is measured."""
    runs = change([make_run(([0], [1.0])) for _ in range(3)])
    movement, why = measure_movement(*runs, PAIR, 1)
    assert movement is None
    assert why.startswith("not measured: ")
    assert note in why


def test_parameters_that_differ_before_the_record_comes():
    """Equal sums whose releases differ belong to other parameters from then on."""
    ours = make_run(([0], [1.0]), ([PLACE], [2.0]))
    theirs = make_run(([0], [1.0]), ([], [0.0]))
    other = dataclasses.replace(ours.steps[0], released=np.array([7.0]))
    movement, note = measure_movement(dataclasses.replace(ours, steps=(other, ours.steps[1])), theirs, theirs, PAIR, 1)
    assert movement is None
    assert "runs with one seed released other numbers" in note


def add_in_order(terms):
    """Return the sum of terms (n, d) as a loop adds it up, in their own type."""
    return np.cumsum(terms, axis=0, dtype=terms.dtype)[-1]


def measure_sums(total, count=2_000, clip=1.0, dtype=np.float32, arithmetic=None, length=1.0):
    """Return what the last of aligned records of one length, clipped to 1 unless that is changed, does to a sum."""
    direction = np.array([0.6, -0.7, 0.3, 0.2, 0.1])
    terms = np.tile(direction * clip / np.linalg.norm(direction), (count, 1))
    terms[-1] *= length
    runs = [
        ObservedRun(
            TrainingPlan("all", count, count, 1, 1.0, 1.0),
            (
                TrainingStep(
                    np.zeros(1), np.arange(size), total(terms[:size].astype(dtype)).astype(dtype), arithmetic=arithmetic
                ),
            ),
            None,
        )
        for size in (count, count - 1)
    ]
    pair = NeighbourPair([0] * (count - 1), "canary")
    movement, _ = measure_movement(*runs, runs[1], pair, 1)
    return movement


SUMS = {
    "in order": add_in_order,
    "pairwise": lambda terms: terms.sum(axis=0),
    "a product": lambda terms: np.ones(len(terms), terms.dtype) @ terms,
    "in parts": lambda terms: sum(part.sum(axis=0) for part in np.array_split(terms, 7)),
}


@pytest.mark.parametrize("count", [2_000, 20_000, 50_000])
@pytest.mark.parametrize("order", SUMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_rounding_of_a_long_sum_refutes_nothing(order, count, dtype):
    """Records clipped as claimed, aligned, in any order of addition: their sum may move too far, but by rounding."""
    with np.errstate(over="ignore", invalid="ignore"):
        movement = measure_sums(SUMS[order], min(count, 3_000) if dtype == np.float16 else count, dtype=dtype)
    assert movement.status == "undecided"
    low, high = movement.limits
    assert low <= 1 <= high


def test_the_order_of_addition_can_move_a_sum_too_far():
    """Without what is granted, correct sums would be refuted: this is what makes them undecided."""
    assert max(measure_sums(add_in_order, count).ratio for count in range(2_000, 50_000, 4_000)) > 1 + 1e-5


@pytest.mark.parametrize(("count", "clip"), [(20, 1.05), (100, 1.05), (200, 1.01), (2_000, 1.6)])
def test_gradients_that_are_too_long_are_refuted_where_rounding_cannot_explain_it(count, clip):
    """In float32 the fewer records there are, the smaller is what is seen."""
    movement = measure_sums(add_in_order, count, clip)
    assert movement.status == "refuted"
    assert 1 < movement.limits[0] <= clip


def test_float64_decides_long_sums():
    """Where it is stated; numbers that are shown in float64 may hold parts that were added up in float32."""
    options = {"count": 50_000, "dtype": np.float64}
    assert measure_sums(add_in_order, **options, arithmetic="float64").status == "not refuted"
    assert measure_sums(add_in_order, **options, clip=1.001, arithmetic="float64").status == "refuted"
    assert measure_sums(add_in_order, **options, clip=1.001).status == "undecided"
    parts = lambda terms: sum(  # noqa: E731 - as above
        part.astype(np.float32).sum(axis=0).astype(np.float64) for part in np.array_split(terms, 90)
    )
    assert measure_sums(parts, **options).status == "undecided"


def test_a_sum_of_few_bits_shows_its_arithmetic():
    """bfloat16 in float32 has other last bits at other sizes; whole numbers are no sign of it."""
    torch = pytest.importorskip("torch")

    def add(terms):
        total = torch.zeros(terms.shape[1], dtype=torch.bfloat16)
        for row in torch.from_numpy(terms).bfloat16():
            total += row
        return total.float().numpy()

    assert measure_sums(add, 60).status == "undecided"
    assert measure_sums(add_in_order, 60).status == "not refuted"
    theirs, ours = make_run(([0, 1], [3.0, 5.0])), make_run(([0, 1, PLACE], [7.0, 9.0]))
    movement, _ = measure_movement(ours, theirs, theirs, PAIR, 1)
    assert movement.status == "refuted"


@given(st.integers(1, 40), st.floats(0.5, 2.0), st.integers(0, 2**32 - 1))
def test_the_true_movement_lies_within_its_limits(count, length, seed):
    """Random records and a canary of known length, added up in float32 in some order."""
    random = np.random.default_rng(seed)
    terms = random.normal(size=(count + 1, 3))
    terms /= np.linalg.norm(terms, axis=1, keepdims=True)
    terms[-1] *= length
    runs = [
        ObservedRun(
            TrainingPlan("all", count + 1, count + 1, 1, 1.0, 1.0),
            (TrainingStep(np.zeros(1), np.arange(size), add_in_order(terms[:size].astype(np.float32))),),
            None,
        )
        for size in (count + 1, count)
    ]
    movement, _ = measure_movement(*runs, runs[1], NeighbourPair([0] * count, "canary"), 1)
    low, high = movement.limits
    assert low <= length <= high

"""What one record does to a sum, and why that is sometimes not known."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn

deep = pytest.mark.deep
PLAN = dn.TrainingPlan("all", 3, 3.0, 2, 1.0, 2.0)
PLACE = 2


def make_run(*steps, plan=PLAN):
    """Return what a run of steps (batch, sum) yields; what it releases is the sum, without noise."""
    shown = [
        dn.TrainingStep(np.array(total, float), np.array(batch, int), np.array(total, float)) for batch, total in steps
    ]
    return [plan, *shown]


def measure(ours, theirs, repeated=None, records=("a", "b"), **options):
    """Return what is seen where training shows these runs: with the canary, without it, and without it again."""
    runs = itertools.cycle([ours, theirs, theirs if repeated is None else repeated])
    facts = dn.collect_training_facts(lambda *_: iter(next(runs)), records, "canary", claim=1.0, seed=0, **options)
    return facts.movement, facts.movement_note


def change_step(run, number, **fields):
    """Return a run with another step."""
    steps = list(run)
    steps[number + 1] = dataclasses.replace(steps[number + 1], **fields)
    return steps


def test_the_first_batch_with_the_record_is_measured():
    """The l2 norm of the difference, against the clipping norm of the plan."""
    ours = make_run(([0], [1, 0]), ([1, PLACE], [3, 4]))
    movement, _ = measure(ours, make_run(([0], [1, 0]), ([1], [0, 0])))
    assert (movement.step, movement.ratio) == (1, 2.5)
    assert movement.status == "refuted"


def test_a_replaced_record_may_move_twice_as_much():
    """Twice the clipping norm is allowed, and the clipping norm of the step goes before that of the plan."""
    ours, theirs = make_run(([PLACE], [6])), make_run(([PLACE], [-6]))
    replaced = {"other": "other"}
    assert measure(ours, theirs, **replaced)[0].ratio == 12 / (2 * 2.0)
    assert measure(change_step(ours, 0, clip=6.0), theirs, **replaced)[0].ratio == 12 / (2 * 6.0)


@pytest.mark.parametrize(("is_empty", "status"), [(True, "refuted"), (False, "not refuted")])
def test_an_empty_record_may_move_the_sum_by_one_clipping_norm(is_empty, status):
    """Twice the norm is what replacing may do: where the other record is empty, it refutes the claim."""
    runs = make_run(([PLACE], [4.0])), make_run(([PLACE], [0.0]))
    assert measure(*runs, other="empty", other_is_empty=is_empty)[0].status == status


def test_a_record_that_counts_several_times():
    """Its copies are counted."""
    movement, note = measure(make_run(([PLACE, 0, PLACE], [4])), make_run(([0], [0])))
    assert movement.ratio == 2.0
    assert "2 times" in note


def test_a_sum_that_moves_without_the_record():
    """A record that acts through others is seen where it acts; rounding is not."""
    theirs = make_run(([0], [1.0]), ([1], [1.0]))
    movement, _ = measure(make_run(([0], [1.5]), ([1], [1.0])), theirs)
    assert (movement.step, movement.ratio) == (0, 0.25)
    almost = change_step(make_run(([0], [1.0 + 1e-9]), ([1], [1.0])), 0, released=np.ones(1))
    movement, note = measure(almost, theirs)
    assert movement is None
    assert "no batch" in note


ONE = make_run(([0], [1.0]))


@pytest.mark.parametrize(
    ("runs", "note"),
    [
        ([ONE[1:], ONE, ONE], "no plan"),
        ([change_step(ONE, 0, clipped_sum=None), ONE, ONE], "sums"),
        ([ONE, change_step(ONE, 0, batch=None), ONE], "show its batches"),
        ([make_run(([1], [1.0])), ONE, ONE], "other batches"),
        ([make_run(([0], [1.0, 2.0])), ONE, ONE], "2 and 1 numbers"),
        ([ONE, ONE, make_run(([0], [1.1]))], "other sums"),
        (
            [
                make_run(([0], [1.0]), ([PLACE], [2.0])),
                *[change_step(make_run(([0], [1.0]), ([], [0.0])), 0, released=[7.0])] * 2,
            ],
            "other numbers",
        ),
    ],
)
def test_what_cannot_be_compared(runs, note):
    """Each run that shows too little, or is not decided by its seed, is named as that, and nothing is measured."""
    movement, why = measure(*runs)
    assert movement is None
    assert why.startswith("not measured: ")
    assert note in why


def add_in_order(terms):
    """Return the sum of terms (n, d) as a loop adds it up, in their own type."""
    return np.cumsum(terms, axis=0, dtype=terms.dtype)[-1]


def measure_terms(total, terms, arithmetic=None):
    """Return what the last of some records does to their sum."""
    count = len(terms)
    runs = [
        [
            dn.TrainingPlan("all", count, count, 1, 1.0, 1.0),
            dn.TrainingStep(np.zeros(1), np.arange(size), total(terms[:size]), arithmetic=arithmetic),
        ]
        for size in (count, count - 1)
    ]
    return measure(*runs, records=[0] * (count - 1))[0]


def measure_sums(total, count=2_000, clip=1.0, dtype=np.float32, **options):
    """Return what the last of aligned records, clipped to 1 unless that is changed, does to their sum."""
    direction = np.array([0.6, -0.7, 0.3, 0.2, 0.1])
    terms = np.tile(direction * clip / np.linalg.norm(direction), (count, 1)).astype(dtype)
    return measure_terms(lambda some: np.asarray(total(some)).astype(dtype), terms, **options)


SUMS = {
    "in order": add_in_order,
    "pairwise": lambda terms: terms.sum(axis=0),
    "a product": lambda terms: np.ones(len(terms), terms.dtype) @ terms,
    "in parts": lambda terms: sum(part.sum(axis=0) for part in np.array_split(terms, 7)),
}


@pytest.mark.parametrize(
    ("count", "dtype"),
    [
        (2_000, np.float32),
        pytest.param(20_000, np.float32, marks=deep),
        (2_000, np.float16),
        pytest.param(3_000, np.float16, marks=deep),
    ],
)
@pytest.mark.parametrize("order", SUMS)
def test_rounding_of_a_long_sum_refutes_nothing(order, count, dtype):
    """Records clipped as claimed, aligned, in any order of addition: their sum may move too far, but by rounding."""
    with np.errstate(over="ignore", invalid="ignore"):
        movement = measure_sums(SUMS[order], count, dtype=dtype)
    assert movement.status == "undecided"
    low, high = movement.limits
    assert low <= 1 <= high


@pytest.mark.parametrize(("count", "clip"), [(20, 1.05), (100, 1.05), (200, 1.01), (2_000, 1.6)])
def test_gradients_that_are_too_long_are_refuted_where_rounding_cannot_explain_it(count, clip):
    """In float32 the fewer records there are, the smaller is what is seen."""
    movement = measure_sums(add_in_order, count, clip)
    assert movement.status == "refuted"
    assert 1 < movement.limits[0] <= clip


def test_float64_decides_long_sums():
    """Where it is stated; numbers that are shown in float64 may hold parts that were added up in float32."""
    options = {"count": 20_000, "dtype": np.float64}
    assert measure_sums(add_in_order, **options, arithmetic="float64").status == "not refuted"
    assert measure_sums(add_in_order, **options, clip=1.001, arithmetic="float64").status == "refuted"
    assert measure_sums(add_in_order, **options, clip=1.001).status == "undecided"


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
    ours, theirs = make_run(([0, 1, PLACE], [7.0, 9.0])), make_run(([0, 1], [3.0, 5.0]))
    assert measure(ours, theirs)[0].status == "refuted"


@settings(max_examples=30)
@given(st.integers(1, 40), st.floats(0.5, 2.0), st.integers(0, 2**32 - 1))
def test_the_true_movement_lies_within_its_limits(count, length, seed):
    """Random records and a canary of known length, added up in float32 in some order."""
    terms = np.random.default_rng(seed).normal(size=(count + 1, 3))
    terms /= np.linalg.norm(terms, axis=1, keepdims=True)
    terms[-1] *= length
    low, high = measure_terms(add_in_order, terms.astype(np.float32)).limits
    assert low <= length <= high

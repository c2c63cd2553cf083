"""What one record does to a sum, and why that is sometimes not known."""

import dataclasses

import numpy as np
import pytest

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

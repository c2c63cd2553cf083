"""What is kept of a run: projections on the canary's directions, sizes, scores and the first numbers."""

import numpy as np
import pytest

from deniable import InputError
from deniable.auditing.training.glances import _MAX_BITS, Eye, count_numbers, flatten_steps
from deniable.auditing.training.observation import ObservedRun, TrainingPlan, TrainingStep


def make_run(*released, plan=None, result=None):
    """Return a run whose steps released some arrays."""
    return ObservedRun(plan, tuple(TrainingStep(np.array(numbers, dtype=float)) for numbers in released), result)


def test_numbers_stand_in_the_order_of_steps():
    """Arrays of any shape are flattened; a run that released fewer numbers ends with zeros."""
    run = make_run([[1, 2], [3, 4]], [5])
    assert count_numbers(run) == 5
    assert flatten_steps(run, 5).tolist() == [1, 2, 3, 4, 5]
    assert flatten_steps(run, 3).tolist() == [1, 2, 3]
    assert flatten_steps(run, 7).tolist() == [1, 2, 3, 4, 5, 0, 0]
    assert flatten_steps(make_run(), 2).tolist() == [0, 0]


def test_updates_are_projected_and_the_largest_step_is_found():
    """Updates go along each step's own direction; steps are compared along the mean of all directions."""
    eye = Eye(np.array([1.0, 0.0, 0.0, 2.0]), steps=2)
    values = eye.look(make_run([3, 5], [7, 11]), None).values
    assert values["updates"] == 3 * 1 + 11 * 2
    assert values["largest step"] == max(3 * 0.5 + 5 * 1, 7 * 0.5 + 11 * 1)
    assert values["size"] == 4
    assert "score" not in values


def test_steps_of_several_sizes_have_no_largest():
    """Nothing is said of steps where they release unequal amounts."""
    assert "largest step" not in Eye(np.ones(3), steps=0).look(make_run([1, 2], [3]), None).values


def test_scores_are_of_the_canary():
    """A model scores the canary; one that returns nothing has a score only where nothing else was shown."""
    run = make_run([1.0], result=lambda records: [10.0 * record for record in records])
    assert Eye(np.ones(1), steps=1).look(run, 4).values["score"] == 40.0
    plan = TrainingPlan("all", 3, 3.0, 1, 1.0, 1.0)
    assert "score" not in Eye(np.empty(0), steps=0).look(make_run(plan=plan), 4).values
    with pytest.raises(InputError, match="returned nothing to score canaries by"):
        Eye(np.empty(0), steps=0).look(make_run(), 4)


def test_a_glance_is_small():
    """Of a long run the first numbers alone are kept."""
    run = make_run(np.arange(1_000))
    glance = Eye(np.ones(1_000), steps=1).look(run, None)
    assert glance.bits.tolist() == list(range(_MAX_BITS))

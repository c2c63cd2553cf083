"""Facts of a training whose guarantee is for a record that is made empty."""

import numpy as np
import pytest

from deniable.auditing.training.facts import collect_training_facts
from deniable.auditing.training.observation import TrainingPlan, TrainingStep
from deniable.core.guarantees import EMPTY_PLACE, EMPTY_RECORD, REPLACED_RECORD, ApproxDP


def train_twice_as_far(records, seed):
    """Yield a sum in which every record counts twice."""
    yield TrainingPlan("all", len(records), len(records), 1, 1.0, 1.0)
    total = np.array([2.0 * sum(records)])
    noise = np.random.default_rng(seed).normal(size=1)
    yield TrainingStep(total + noise, np.arange(len(records)), total, 1.0)


@pytest.mark.parametrize(
    ("adjacency", "status"), [(EMPTY_RECORD, "refuted"), (EMPTY_PLACE, "refuted"), (REPLACED_RECORD, "not refuted")]
)
def test_an_empty_record_may_move_the_sum_by_one_clipping_norm(adjacency, status):
    """Twice the norm is what replacing may do: where the other record is empty, it refutes the claim."""
    claim = ApproxDP(50.0, 1e-5, "a claim", "claimed", adjacency=adjacency)
    facts = collect_training_facts(train_twice_as_far, [0.0, 1.0], 1.0, claim, other=0.0, seed=0)
    assert facts.verdicts["the sum of a step"].status == status

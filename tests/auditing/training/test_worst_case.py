"""Many runs on a worst-case pair: true claims stand, false ones fall by each of the statistics."""

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.auditing.training.observation import TrainingPlan, TrainingStep
from deniable.auditing.training.worst_case import audit_worst_case
from deniable.core.guarantees import REPLACED_RECORD, ApproxDP, PureDP
from tests.auditing.training.trainers import CANARY, RECORDS, make_claim, make_trainer


@pytest.mark.parametrize("noise", ["any", "gaussian"])
def test_true_claims_stand_nineteen_times_in_twenty(noise):
    """The choice of statistic and threshold costs nothing of the confidence."""
    claim = make_claim(2.0)
    verdicts = [
        audit_worst_case(make_trainer(2.0), RECORDS, CANARY, claim, runs=400, noise=noise, seed=seed)
        for seed in range(60)
    ]
    alarms = sum(verdict.status == "refuted" for verdict in verdicts)
    assert stats.binom.sf(alarms - 1, len(verdicts), 0.05) > 1e-3
    assert max(verdict.lower_bound for verdict in verdicts) > 0


def test_a_canary_that_is_chosen_by_other_runs_costs_nothing():
    """Pilot runs choose the canary that stands out most; the audit of that one still holds at its confidence."""
    claim, train, alarms = make_claim(1.0), make_trainer(1.0), 0
    for seed in range(40):
        pilots = [
            audit_worst_case(train, RECORDS, canary, claim, runs=60, noise="gaussian", seed=1_000 * seed + place)
            for place, canary in enumerate((5.0, -5.0, 0.5))
        ]
        chosen = (5.0, -5.0, 0.5)[int(np.argmax([pilot.lower_bound for pilot in pilots]))]
        verdict = audit_worst_case(train, RECORDS, chosen, claim, runs=100, noise="gaussian", seed=seed)
        alarms += verdict.status == "refuted"
    assert stats.binom.sf(alarms - 1, 40, 0.05) > 1e-3


def test_half_of_the_noise_is_refuted():
    """By the updates, and as Gaussian noise with fewer runs than by epsilon alone."""
    claim = make_claim(4.0, steps=4)
    verdict = audit_worst_case(
        make_trainer(4.0, steps=4, noise=2.0), RECORDS, CANARY, claim, runs=1_000, noise="gaussian", seed=1
    )
    assert verdict.status == "refuted"
    assert claim.epsilon < verdict.lower_bound < make_claim(2.0, steps=4).epsilon
    assert verdict.samples == 1_000 - 2 * 20 - 300
    assert verdict.witness.output.startswith("'updates' at ")
    right, named = verdict.witness.correct_guesses, verdict.witness.guesses
    assert f"happened in {right:,} of 330 and in {named - right:,} of 330 others" in verdict.method
    assert "given" not in verdict.method


def refute(train, claim, *, canary=CANARY, **options):
    """Return the statistic that refutes a claim of training with a record that is there or not."""
    verdict = audit_worst_case(train, RECORDS, canary, claim, **{"runs": 400, "seed": 3} | options)
    assert verdict.status == "refuted", str(verdict)
    return verdict.witness.output.split("'")[1]


def test_a_record_that_appears_once_is_seen_in_the_largest_step():
    """Where its step is random, and its direction on average small."""

    def train(records, seed):
        random = np.random.default_rng(seed)
        place = int(random.integers(50))
        for number in range(50):
            signal = 6.0 * sum(records) / CANARY if number == place else 0.0
            yield np.array([signal + random.standard_normal()])

    claim = PureDP(1.0, "a claim")
    assert refute(train, claim) == "largest step"


def test_the_number_of_released_numbers_counts():
    """A vocabulary that grows with the record refutes any claim."""

    def train(records, seed):
        yield np.random.default_rng(seed).standard_normal(3 + len(set(records)))

    assert refute(train, PureDP(3.0, "a claim")) == "size"


def test_last_bits_count():
    """Floats of a textbook sampler refute its claim of 8 / 4, and more, which its values alone do not."""

    def train(records, seed):
        yield sum(records) / CANARY + 4 * np.random.default_rng(seed).laplace(size=8)

    assert refute(train, PureDP(2.5, "a claim"), runs=2_000) == "last bits"


def test_the_score_of_a_model_counts():
    """Where nothing but a model is returned, its score of the canary is all that is judged."""

    def train(records, seed):
        noise = np.random.default_rng(seed).standard_normal() / 2
        return lambda canaries: [len(records) + noise for _ in canaries]

    assert refute(train, ApproxDP(0.5, 1e-5, "a claim"), noise="gaussian") == "score"


def test_a_record_in_the_place_of_the_canary():
    """The claim is then about both of them, and neighbours have one size."""
    lengths = set()

    def train(records, seed):
        lengths.add(len(records))
        yield np.array([sum(records) + np.random.default_rng(seed).standard_normal()])

    claim = PureDP(0.5, "a claim", adjacency=REPLACED_RECORD)
    assert refute(train, claim, other=-CANARY) == "updates"
    assert lengths == {len(RECORDS) + 1}


def test_training_that_ignores_the_record_shows_nothing():
    """Constant outputs, or none of the record, give a bound of 0 and no error."""

    def train(_records, _seed):
        yield np.zeros(2)

    verdict = audit_worst_case(train, RECORDS, CANARY, PureDP(0.1, "a claim"), runs=100, seed=1)
    assert (verdict.status, verdict.lower_bound) == ("not refuted", 0.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"runs": 39}, "'runs' .* from 40 "),
        ({"noise": "laplace"}, "'any' or 'gaussian'"),
        ({"confidence": 0.0}, "'confidence'"),
        ({"seed": -1}, "'seed'"),
    ],
)
def test_refusals(change, message):
    """One line before any training."""
    with pytest.raises(dn.InputError, match=message):
        audit_worst_case(None, RECORDS, CANARY, **{"guarantee": make_claim()} | change)


def test_steps_that_are_wrapped_or_not():
    """Plain arrays and steps are the same."""

    def train_plain(records, seed):
        yield np.array([sum(records) + np.random.default_rng(seed).standard_normal()])

    def train_steps(records, seed):
        for released in train_plain(records, seed):
            yield TrainingStep(released)

    verdicts = [
        audit_worst_case(train, RECORDS, CANARY, PureDP(1.0, "a claim"), runs=60, seed=2)
        for train in (train_plain, train_steps)
    ]
    assert verdicts[0].witness == verdicts[1].witness


def test_runs_that_release_nothing():
    """A run with a plan and no step is one that can be told from a run with steps."""

    def train(records, seed):
        yield TrainingPlan("all", 1, 1, 1, 1.0, 1.0)
        if records:
            yield np.random.default_rng(seed).standard_normal(1)

    verdict = audit_worst_case(train, [], 1.0, ApproxDP(1.0, 1e-5, "a claim", "claimed"), runs=400, seed=1)
    assert verdict.status == "refuted"

"""Many runs on a worst-case pair: true claims stand, false ones fall by each of the statistics."""

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from tests.auditing.training.trainers import CANARY, CLAIM, DELTA, RECORDS, audit_pair, make_claim, make_trainer

deep = pytest.mark.deep


@pytest.mark.parametrize(
    ("noise", "audits"),
    [("gaussian", 12), pytest.param("any", 60, marks=deep), pytest.param("gaussian", 60, marks=deep)],
)
def test_true_claims_stand_nineteen_times_in_twenty(noise, audits):
    """The choice of statistic and threshold costs nothing of the confidence."""
    verdicts = [
        audit_pair(make_trainer(2.0), make_claim(2.0), runs=400 if audits == 60 else 200, noise=noise, seed=seed)
        for seed in range(audits)
    ]
    alarms = sum(verdict.status == "refuted" for verdict in verdicts)
    assert stats.binom.sf(alarms - 1, len(verdicts), 0.05) > 1e-3
    assert max(verdict.lower_bound for verdict in verdicts) > 0


@deep
def test_a_canary_that_is_chosen_by_other_runs_costs_nothing():
    """Pilot runs choose the canary that stands out most; the audit of that one still holds at its confidence."""
    claim, train, alarms, choices = make_claim(1.0), make_trainer(1.0), 0, (5.0, -5.0, 0.5)

    def judge(canary, runs, seed):
        return dn.audit_training(
            train, RECORDS, [canary], claim=claim.epsilon, delta=DELTA, runs=runs, noise="gaussian", seed=seed
        )

    for seed in range(40):
        pilots = [judge(canary, 60, 1_000 * seed + place) for place, canary in enumerate(choices)]
        chosen = choices[int(np.argmax([pilot.lower_bound for pilot in pilots]))]
        alarms += judge(chosen, 100, seed).status == "refuted"
    assert stats.binom.sf(alarms - 1, 40, 0.05) > 1e-3


def test_half_of_the_noise_is_refuted():
    """By the updates, and as Gaussian noise; runs that choose the statistic are not judged."""
    claim = make_claim(4.0, steps=4)
    verdict = audit_pair(make_trainer(4.0, steps=4, noise=2.0), claim, runs=1_000, noise="gaussian", seed=1)
    assert verdict.status == "refuted"
    assert claim.epsilon < verdict.lower_bound < make_claim(2.0, steps=4).epsilon
    assert verdict.samples == 1_000 - 2 * 20 - 300
    assert verdict.witness.output.startswith("'updates' names ")
    assert 0 < verdict.witness.correct_guesses <= verdict.witness.guesses <= 660


def draw_noise(seed, size=1):
    return np.random.default_rng(seed).standard_normal(size)


def train_once_in_a_while(records, seed):
    """Show the record at a random step, so that its direction is small on average."""
    random = np.random.default_rng(seed)
    place = int(random.integers(50))
    for number in range(50):
        signal = 6.0 * sum(records) / CANARY if number == place else 0.0
        yield np.array([signal + random.standard_normal()])


def train_vocabulary(records, seed):
    """Release more numbers where the record is there."""
    yield draw_noise(seed, 3 + len(set(records)))


def train_smaller_vocabulary(records, seed):
    """Release fewer numbers where the record is there."""
    yield draw_noise(seed, 6 - len(set(records)))


def train_textbook(records, seed):
    """Add floats of a textbook sampler, whose last bits tell what they hide."""
    yield sum(records) / CANARY + 4 * np.random.default_rng(seed).laplace(size=8)


def train_model(records, seed):
    """Return nothing but a model that scores the canary."""
    noise = draw_noise(seed) / 2
    return lambda _canaries: len(records) + noise[0]


def train_sum(records, seed):
    """Release a noisy sum."""
    yield sum(records) + draw_noise(seed)


@pytest.mark.parametrize(
    ("train", "claim", "options", "statistic"),
    [
        (train_once_in_a_while, dn.Guarantee(1.0, ""), {}, "largest step"),
        (train_vocabulary, dn.Guarantee(3.0, ""), {}, "size"),
        (train_smaller_vocabulary, dn.Guarantee(3.0, ""), {}, "size"),
        (
            train_textbook,
            dn.Guarantee(2.5, ""),
            {"runs": 2_000},
            "last bits",
        ),  # the claim of 8 / 4 holds for its values
        (train_model, dn.Guarantee(0.5, "", delta=DELTA), {"noise": "gaussian"}, "score"),
        (train_sum, dn.Guarantee(0.5, ""), {"other": -CANARY}, "updates"),
    ],
)
def test_each_statistic_refutes(train, claim, options, statistic):
    """Whatever shows the record is chosen, and refutes a claim that it contradicts."""
    verdict = audit_pair(train, claim, **options)
    assert verdict.status == "refuted", str(verdict)
    assert verdict.witness.output.split("'")[1] == statistic
    assert verdict.lower_bound > claim.epsilon


def test_neighbours_of_a_replaced_record_have_one_size():
    """The record takes the place of the canary, and None is a record like others."""
    seen = set()

    def train(records, seed):
        seen.add((len(records), records[-1]))
        yield draw_noise(seed)

    verdict = audit_pair(train, dn.Guarantee(1.0, ""), other=None, runs=40)
    assert seen == {(21, CANARY), (21, None)}
    assert verdict.status == "not refuted"


def test_training_that_ignores_the_record_shows_nothing():
    """Constant outputs, or none of the record, give a bound of 0 and no error."""

    def train(_records, _seed):
        yield np.zeros(2)

    verdict = audit_pair(train, dn.Guarantee(0.1, ""), runs=100)
    assert (verdict.status, verdict.lower_bound) == ("not refuted", 0.0)


def test_runs_that_release_nothing():
    """A run with a plan and no step is one that can be told from a run with steps."""

    def train(records, seed):
        yield dn.TrainingPlan("all", 1, 1, 1, 1.0, 1.0)
        if len(records) > len(RECORDS):
            yield draw_noise(seed)

    assert audit_pair(train, CLAIM).status == "refuted"

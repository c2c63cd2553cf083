"""Audits of mechanisms whose true epsilon dp-accounting knows: levels, and claims that are too low."""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.vectors import Box, Gaussian
from deniable.vectors.discrete_noise import make_noise_generator, sample_discrete_gaussian, sample_discrete_laplace

pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")

AUDITS = 300
ALPHA = 0.05
MOST = int(stats.binom.isf(1e-3, AUDITS, ALPHA))
"""False alarms that 300 audits at level 5 % exceed once in a thousand."""
RELEASES, SCALE, DEVIATION, RATE = 4, 2, 3, 0.5


def release_gaussian(seed):
    """Our Gaussian mechanism."""
    return Gaussian(epsilon=1.5, delta=0.05, domain=Box(0.0, 1.0), seed=seed).sample


def release_counts(seed):
    """Four counts with exact integer Laplace noise, of which one unit changes each by 1."""
    generator = make_noise_generator(seed)
    return lambda x: np.sum(x + sample_discrete_laplace(generator, SCALE, (len(x), RELEASES)), axis=1)


def release_gaussian_count(seed):
    """A count with exact integer Gaussian noise, changed by 3."""
    generator = make_noise_generator(seed)
    return lambda x: x[:, 0].astype(int) * 3 + sample_discrete_gaussian(generator, DEVIATION, len(x))


def release_sampled_gaussian(seed):
    """Gaussian noise on a value that a coin leaves out, as one step of DP-SGD does."""
    generator, coins = make_noise_generator(seed), np.random.default_rng([5, seed])

    def sampler(x):
        noise = sample_discrete_gaussian(generator, 1 << 30, len(x)) * 2.0**-30 * 0.5
        return np.where(coins.random(len(x)) < RATE, x[:, 0], 0.0) + noise

    return sampler


@dataclasses.dataclass
class Known:
    """A mechanism, its privacy loss distribution by dp-accounting, and the delta at which it is audited."""

    make: Callable
    loss: Callable
    delta: float

    @functools.cached_property
    def epsilon(self):
        """The true epsilon at delta."""
        return self.loss().get_epsilon_for_delta(self.delta)


KNOWN = {
    "gaussian": Known(
        release_gaussian,
        lambda: pld.from_gaussian_mechanism(release_gaussian(1).__self__.scale(1)),
        0.05,
    ),
    "four counts": Known(
        release_counts, lambda: pld.from_discrete_laplace_mechanism(1 / SCALE, 1).self_compose(RELEASES), 0.0
    ),
    "gaussian count": Known(release_gaussian_count, lambda: pld.from_discrete_gaussian_mechanism(DEVIATION, 3), 0.02),
    "sampled gaussian": Known(
        release_sampled_gaussian, lambda: pld.from_gaussian_mechanism(0.5, sampling_prob=RATE), 0.05
    ),
}


def audit(known, share, audits, samples):
    """Return the verdicts of so many audits of a claim that is a share of the true epsilon."""
    claim = share * known.epsilon
    return [
        dn.audit(
            known.make(i),
            np.zeros(1),
            np.ones(1),
            claim=claim,
            delta=known.delta,
            samples=samples,
            batched=True,
            seed=i,
        )
        for i in range(audits)
    ]


def test_dp_accounting_agrees_with_the_claim():
    """The epsilon that it finds for our Gaussian mechanism is the one that the mechanism claims."""
    assert KNOWN["gaussian"].epsilon == pytest.approx(1.5, rel=1e-3)


@pytest.mark.parametrize("name", KNOWN)
def test_bounds_are_above_the_true_epsilon_no_oftener_than_alpha(quick, name):
    """Of 300 audits of the true epsilon at most 5 % and chance bound above it or refute it, with bounds above 0."""
    quick("nearest")
    verdicts = audit(KNOWN[name], 1.0, AUDITS, 150)
    assert sum(verdict.lower_bound > KNOWN[name].epsilon for verdict in verdicts) <= MOST
    assert sum(verdict.status == "refuted" for verdict in verdicts) <= MOST
    assert max(verdict.lower_bound for verdict in verdicts) > KNOWN[name].epsilon / 4


@pytest.mark.parametrize("name", KNOWN)
def test_a_claim_well_below_is_refuted(quick, name):
    """Nearly all audits of a sixth of the true epsilon refute it, with bounds between the claim and the truth."""
    quick("nearest")
    verdicts = audit(KNOWN[name], 1 / 6, 20, 3_000)
    assert sum(verdict.status == "refuted" for verdict in verdicts) >= 18
    refuting = [verdict.lower_bound for verdict in verdicts if verdict.status == "refuted"]
    assert min(refuting) > KNOWN[name].epsilon / 6
    assert np.median(refuting) < KNOWN[name].epsilon


def test_a_claim_that_forgets_composition_is_refuted(quick):
    """The epsilon of one count, claimed for four, is refuted; that of four is not."""
    quick("nearest")
    known, single = KNOWN["four counts"], pld.from_discrete_laplace_mechanism(1 / SCALE, 1).get_epsilon_for_delta(0)
    assert single == pytest.approx(known.epsilon / RELEASES, rel=1e-3)
    refuted, accepted = (
        dn.audit(known.make(3), np.zeros(1), np.ones(1), claim=claim, samples=3_000, batched=True, seed=3)
        for claim in (single, known.epsilon)
    )
    assert (refuted.status, accepted.status) == ("refuted", "not refuted")

"""Who knows DPText's encoder and noise: the law of a coordinate, and the texts and classes that it names."""

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import logsumexp

import deniable as dn
from studies.dptext_attack import (
    CLASS_WIDTHS,
    SAME_WIDTH,
    AttributeAttacker,
    NoiseLaw,
    compute_log_likelihoods,
    fit_attribute_attacker,
    get_noise_law,
    rank_true_texts,
)
from tests.published import toy_texts as toy

ATTACK_N = 6


KINDS = ("none", "two-sided", "maximum norm", "one-sided", "one-sided or none")


@pytest.fixture(scope="module")
def encodings():
    return np.random.default_rng(0).uniform(-1, 1, (200, ATTACK_N))


def mechanism(epsilon, invalid="redraw"):
    return dn.DPText(epsilon=epsilon, invalid=invalid, lower=-1.0, upper=1.0, seed=1)


def found(encodings, law, released, truths):
    return int((rank_true_texts(released, truths, encodings, law) == 1).sum())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [0.05, 0.5])
def test_densities(kind, width):
    """Every law is a density at every width, and only published ones are lopsided."""
    at = np.linspace(-60, 60, 2_000_001)
    density = np.exp(NoiseLaw(kind, 2.0).compute_log_density(at[:, None], width))
    assert trapezoid(density, at) == pytest.approx(1, abs=1e-3)
    left = trapezoid(density[at <= 0], at[at <= 0])
    assert left == pytest.approx(0.5, abs=1e-2) if kind in KINDS[:3] else left < 0.4


def test_the_maximum_norm():
    """In two coordinates too it is a density, and one that falls with the larger of them."""
    law, at = NoiseLaw("maximum norm", 2.0), np.linspace(-60, 60, 1_201)
    density = np.exp(law.compute_log_density(np.stack(np.meshgrid(at, at), axis=-1), 0.1))
    assert trapezoid(trapezoid(density, at), at) == pytest.approx(1, abs=1e-2)
    near, far = law.compute_log_density(np.array([[1.0, -3.0], [-5.0, 5.0]]), 0.1)
    assert near - far == pytest.approx((5 - 3) / 2)


@pytest.mark.parametrize(
    ("variant", "invalid", "kind"),
    [("none", "redraw", "none"), ("fixed", "redraw", "two-sided"), ("norm", "redraw", "maximum norm"),
     ("published", "redraw", "one-sided"), ("published", "zero", "one-sided or none")],
)  # fmt: skip
def test_the_law_of_a_model(variant, invalid, kind):
    """A model's law is that of its mechanism, with its scale."""
    model = toy.fitted(variant, 2.0, invalid=invalid, epochs=1)
    law = get_noise_law(model)
    assert law.kind == kind
    assert law.scale == (0 if variant == "none" else model.make_mechanism().scale(model.dimensions))


def test_zeros_name_every_text(encodings):
    """With zeros for missing logarithms nearly every text is found, which refutes a claim of 1 at once."""
    truths = np.random.default_rng(1).integers(200, size=400)
    released = mechanism(1.0, invalid="zero").sample(encodings[truths])
    hits = found(encodings, NoiseLaw("one-sided or none", 2 * ATTACK_N / 1.0), released, truths)
    assert hits > 380  # no coordinate is left in one of 2^6 releases
    assert dn.rewriting.evaluate_success(hits, 400, 200, epsilon=1.0).is_refuted


def test_the_support_names_texts(encodings):
    """Drawn again, the moved support alone finds more texts than a claim of 1 permits; Laplace noise does not."""
    coins = np.random.default_rng(2)
    truths = coins.integers(200, size=4_000)
    scale = 2 * ATTACK_N / 1.0
    one_sided = found(encodings, NoiseLaw("one-sided", scale), mechanism(1.0).sample(encodings[truths]), truths)
    corrected = dn.Laplace(epsilon=1.0, domain=dn.Box(-1.0, 1.0), seed=1).sample(encodings[truths])
    two_sided = found(encodings, NoiseLaw("two-sided", scale), corrected, truths)
    assert not dn.rewriting.evaluate_success(two_sided, 4_000, 200, epsilon=1.0).is_refuted
    assert one_sided > two_sided


def test_ties_are_counted_against_the_attacker():
    """Of two texts with one encoding neither is found first."""
    twins = np.zeros((2, ATTACK_N))
    np.testing.assert_array_equal(rank_true_texts(twins, np.array([0, 1]), twins, NoiseLaw("none", 0.0)), [2, 2])


def test_a_text_is_found_despite_rounding(encodings):
    """Encodings that another batch rounded otherwise are still taken for the same."""
    released = encodings + np.random.default_rng(3).uniform(-1e-8, 1e-8, encodings.shape)
    for kind in ("none", "one-sided or none"):
        np.testing.assert_array_equal(rank_true_texts(released, np.arange(200), encodings, NoiseLaw(kind, 1.0)), 1)


def test_classes_are_named_by_bayes(encodings):
    """The class named is the one whose texts explain the most, the left out ones left out."""
    codes, law = np.arange(200) % 3, NoiseLaw("one-sided", 0.5)
    released = encodings[:20] + np.random.default_rng(4).exponential(0.5, (20, ATTACK_N))
    known, own = AttributeAttacker(encodings, codes, law, 0.3), np.eye(200, dtype=bool)[:20]
    logs = compute_log_likelihoods(released, encodings, law, 0.3)
    logs[own] = -np.inf
    wanted = np.stack([logsumexp(logs[:, codes == code], axis=1) for code in range(3)], axis=1).argmax(axis=1)
    np.testing.assert_array_equal(known.predict(released, own), wanted)
    assert (known.predict(released) == codes[:20]).mean() > (wanted == codes[:20]).mean()


def test_the_width_is_chosen_by_its_success():
    """Where classes lie apart by some distance, the attacker's width is one that names them, and all are named."""
    coins = np.random.default_rng(5)
    codes = np.arange(100) % 2
    encodings = np.where(codes[:, None] == 0, -0.5, 0.5) + coins.normal(0, 0.05, (100, ATTACK_N))
    released = mechanism(100.0).sample(encodings)
    law = NoiseLaw("one-sided", 2 * ATTACK_N / 100)
    attacker = fit_attribute_attacker(encodings, codes, law, released[:40], range(40))
    assert attacker.width in CLASS_WIDTHS
    assert (attacker.predict(mechanism(100.0).sample(encodings)) == codes).mean() > 0.95
    assert min(CLASS_WIDTHS) > SAME_WIDTH

"""What certificates of images and texts share: tallies, bounds, certified accuracy, fresh noise and refutations."""

import dataclasses

import numpy as np
import pytest
import torch
from scipy import stats

from deniable.models.intervals import (
    bound_both_classes,
    bound_by_complement,
    compute_clopper_pearson_lower,
    compute_clopper_pearson_upper,
    compute_hoeffding_bounds,
    measure_certified_accuracy,
)
from deniable.models.refutation import conclude_refutation
from deniable.models.tally import make_noise_generator, tally_images
from tests.models.tallies import half_space, make_tally, normal
from tests.refusals import refuses


@pytest.mark.parametrize(("successes", "draws"), [(1, 1), (3, 10), (950, 1_000), (99_000, 100_000)])
def test_lower_solves_its_equation(successes, draws):
    """At the lower bound, so many successes or more have the probability alpha exactly."""
    bound = compute_clopper_pearson_lower(successes, draws, 0.01)
    assert stats.binom.sf(successes - 1, draws, bound) == pytest.approx(0.01, rel=1e-6)
    assert compute_clopper_pearson_upper(draws - successes, draws, 0.01) == pytest.approx(1 - bound)


def test_bounds_at_the_ends():
    """No success bounds from below by 0, and no failure from above by 1."""
    assert (compute_clopper_pearson_lower(0, 10, 0.05), compute_clopper_pearson_upper(10, 10, 0.05)) == (0.0, 1.0)
    assert compute_clopper_pearson_lower(10, 10, 0.05) == pytest.approx(0.05**0.1)


def test_hoeffding_half_width():
    """Hoeffding's bounds lie sqrt(ln(1 / alpha) / 2n) about the means, and stay in [0, 1]."""
    low, high = compute_hoeffding_bounds([50.0, 0.0, 100.0], 100, 0.05)
    half = np.sqrt(np.log(20) / 200)
    np.testing.assert_allclose(low, [0.5 - half, 0.0, 1 - half])
    np.testing.assert_allclose(high, [0.5 + half, half, 1.0])


def test_levels_are_split():
    """One bound takes all of alpha; two take half each, the second shared by the others, and no more than the rest."""
    found = make_tally([700, 200, 50, 50])
    low = compute_clopper_pearson_lower(700, 1_000, 0.04)
    assert bound_by_complement(found, 0, 0.04) == (low, 1 - low)
    both = compute_clopper_pearson_lower(700, 1_000, 0.02), compute_clopper_pearson_upper(200, 1_000, 0.02 / 3)
    assert bound_both_classes(found, 0, 0.04) == both
    low, high = bound_both_classes(make_tally([900, 100]), 0, 0.05)
    assert high == 1 - low


def by_pixel(images):
    """Return scores (b, 3) that put image i of value i in class i, with softmax 2/3 for it."""
    classes = images.flatten(1)[:, 0].long()
    return np.log(4.0) * torch.nn.functional.one_hot(classes, 3).float()


@pytest.mark.parametrize(("draws", "batch"), [(1, 1), (7, 3), (5, 100), (12, 5)])
def test_each_image_is_counted_alone(draws, batch):
    """Images that share calls of the model, of the size asked for, keep their own votes and sums."""
    sizes = []

    def scores(images):
        sizes.append(len(images))
        assert not torch.is_grad_enabled()
        return by_pixel(images)

    found = tally_images(scores, torch.tensor([2.0, 0.0, 1.0]).view(3, 1, 1, 1), draws, batch)
    assert sizes == [*[batch] * (3 * draws // batch), *([3 * draws % batch] if 3 * draws % batch else [])]
    for held, label in zip(found, (2, 0, 1), strict=True):
        assert held.draws == held.votes[label] == held.votes.sum() == draws
        np.testing.assert_allclose(held.sums / draws, np.where(np.arange(3) == label, 2 / 3, 1 / 6))
    assert tally_images(by_pixel, torch.zeros(0, 1, 1, 1), 5) == []


def test_noise_is_drawn_for_every_copy():
    """The votes of a half-space under Gaussian noise are binomial with the known probability."""
    source = torch.Generator().manual_seed(0)
    scores = half_space(torch.ones(1, 2, 2), 0.0, lambda x: x + 0.5 * torch.randn(x.shape, generator=source))
    found = tally_images(scores, torch.full((1, 1, 2, 2), 0.1), 20_000)[0]
    share = normal(0.4 / (0.5 * 2))
    error = np.sqrt(share * (1 - share) / 20_000)
    assert abs(found.votes[0] / 20_000 - share) < 5 * error
    assert abs(found.votes[0] / 20_000 - normal(0.4 / (0.5 * 2 * 1.3))) > 5 * error


def test_noise_has_a_generator_of_its_own():
    """Without a seed no two generators give the same noise, none that of a small seed; any integer is a seed."""
    fresh = [tuple(torch.randn(4, generator=make_noise_generator()).tolist()) for _ in range(4)]
    known = {tuple(torch.randn(4, generator=make_noise_generator(seed)).tolist()) for seed in range(100)}
    assert len({*fresh} | known) == 104
    for seed in (-1, 7, 2**63 + 7, 10**30):
        first, again = (torch.randn(4, generator=make_noise_generator(seed)) for _ in range(2))
        assert torch.equal(first, again)


def test_certified_accuracy_needs_both():
    """An image counts if it is right and its radius is larger than the attack; one without a prediction is wrong."""
    found = measure_certified_accuracy([1, 1, 1, 1], [1, 1, 2, None], [0.5, 0.2, 0.9, 0.0], [0.0, 0.2, 0.5])
    assert [one.value for one in found] == [0.5, 0.25, 0.0]
    assert found[0].low == pytest.approx(compute_clopper_pearson_lower(2, 4, (1 - found[0].confidence) / 2))


@dataclasses.dataclass
class Attempt:
    """An attempt with a p-value."""

    p_value: float


@pytest.mark.parametrize(("flips", "certified_at", "is_refuted"), [(1, 0.0, True), (1, 0.01, False), (9, 0.01, True)])
def test_flips_are_counted_against_the_binomial_law(flips, certified_at, is_refuted):
    """One flip refutes an exact certificate; a certificate that may be wrong at 1 % takes more flips among 100."""
    attempts = [Attempt(1e-9)] * flips + [Attempt(0.5)] * (100 - flips)
    conclusion = conclude_refutation(attempts, 0.01, certified_at)
    assert conclusion.is_refuted == is_refuted
    assert (conclusion.flips, conclusion.tested, conclusion.witness) == (flips, 100, Attempt(1e-9))
    assert conclusion.p_value == pytest.approx(stats.binom.sf(flips - 1, 100, certified_at + 0.01 / 200))
    assert str(conclusion).startswith("refuted" if is_refuted else "not refuted")


def test_a_flip_needs_its_own_test():
    """A p-value above alpha / (2 n) is no flip, and without attempts nothing is refuted."""
    assert conclude_refutation([Attempt(0.004), Attempt(0.9)], 0.01, 0.0).flips == 0
    assert conclude_refutation([Attempt(0.002), Attempt(0.9)], 0.01, 0.0).flips == 1
    nothing = conclude_refutation([], 0.01, 0.001)
    assert (nothing.is_refuted, nothing.p_value, nothing.witness) == (False, 1.0, None)
    assert str(nothing) == "not refuted: nothing is certified"


IMAGE = torch.zeros(1, 1, 1, 1)


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: tally_images(by_pixel, IMAGE, 0), "draws"),
        (lambda: tally_images(by_pixel, IMAGE, 1.5), "draws"),
        (lambda: tally_images(by_pixel, IMAGE, 1, batch=0), "batch"),
        (lambda: tally_images(lambda images: images.flatten(1), IMAGE, 1), "shape"),
        (lambda: tally_images(lambda images: images.flatten(1).expand(-1, 2) / 0, IMAGE, 1), "not finite"),
        (lambda: compute_clopper_pearson_lower(3, 2, 0.1), "successes"),
        (lambda: compute_clopper_pearson_lower(1, 2, 0), "alpha"),
        (lambda: compute_hoeffding_bounds([0.0], 0, 0.1), "draws"),
        (lambda: compute_hoeffding_bounds([1.0], 2, 1), "alpha"),
        (lambda: measure_certified_accuracy([], [], [], [0.0]), "at least 1"),
        (lambda: measure_certified_accuracy([1, 2], [1], [0.1, 0.2], [0.0]), "2 labels"),
        (lambda: measure_certified_accuracy([1], [1], [0.1, 0.2], [0.0]), "1 labels"),
        (lambda: measure_certified_accuracy([1], [1], [0.1], [-0.1]), "'sizes'"),
    ],
)
def test_arguments_are_checked(call, value):
    """Counts, levels and scores that cannot be are refused."""
    with refuses(value):
        call()

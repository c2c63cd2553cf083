"""DPAL under audit: its events, images, labels and parameters, and its entries of the zoo."""

import math

import numpy as np
import pytest
import torch
from scipy import stats
from torch.nn import functional

from deniable.published.dpal.image_audit import (
    EventCounts,
    audit_differences,
    audit_image_recovery,
    count_likelier_guesses,
    flatten_to_signed_pixels,
    recover_images,
)
from deniable.published.dpal.mechanism import DPALBudget
from deniable.published.dpal.training_audit import LabelAudit, audit_labels, audit_parameters, solve_for_labels
from deniable.published.dpal.zoo import ENTRIES as DPAL_ENTRIES
from deniable.published.noise import draw_laplace_noise
from tests.published.digits import SMALL, digits
from tests.refusals import refuses


def test_the_bound_of_ten_thousand():
    """10,000 of 10,000 against 0 of 10,000 shows an epsilon of 7.9 at 95 %, by Clopper and Pearson at 97.5 % each."""
    bound = EventCounts(10_000, 10_000, 0, 10_000).compute_lower_bound()
    least = 0.025 ** (1 / 10_000)
    assert bound == pytest.approx(math.log(least / (1 - least)), rel=1e-9)
    assert round(bound, 1) == 7.9


@pytest.mark.parametrize("counts", [(17, 40, 5, 60), (40, 40, 1, 60), (3, 40, 2, 5)])
def test_the_intervals_are_clopper_and_pearson(counts):
    """The two probabilities are those of scipy's exact intervals."""
    hits, trials, false_hits, false_trials = counts
    low = stats.binomtest(hits, trials).proportion_ci(0.9, method="exact").low
    high = stats.binomtest(false_hits, false_trials).proportion_ci(0.9, method="exact").high
    assert EventCounts(*counts).compute_lower_bound(0.9) == pytest.approx(max(math.log(low / high), 0))


def test_what_tells_nothing():
    """An event that never happens, always happens, or is as frequent in both shows nothing."""
    for counts in ((0, 50, 0, 50), (50, 50, 50, 50), (25, 50, 25, 50), (1, 50, 50, 50)):
        assert EventCounts(*counts).compute_lower_bound() == 0


def test_counts():
    """Right are the hits on D, and the runs on D' without the event."""
    event = EventCounts(9, 10, 2, 20)
    assert (event.correct_guesses, event.total_guesses) == (27, 30)


def test_a_bound_is_seldom_above_the_truth():
    """Randomized response at epsilon 1 gets a bound above 1 in at most 5 % of audits, and one near 1 on average."""
    random, chance = np.random.default_rng(0), 1 / (1 + math.exp(-1))
    drawn = zip(random.binomial(400, chance, 600), random.binomial(400, 1 - chance, 600), strict=True)
    bounds = [EventCounts(int(hits), 400, int(false), 400).compute_lower_bound() for hits, false in drawn]
    above = sum(bound > 1 for bound in bounds)
    assert stats.binomtest(above, 600, 0.05, alternative="greater").pvalue > 1e-6
    assert 0.6 < np.mean(bounds) < 1


def test_detectable():
    """A loss of the size that is said to be seen is seen about nine times in ten; too few runs see nothing."""
    event = EventCounts(0, 200, 0, 200)
    seen = event.compute_detectable_epsilon(0.5)
    random, chance = np.random.default_rng(1), 1 / (1 + math.exp(-seen))
    drawn = zip(random.binomial(200, chance, 1000), random.binomial(200, 1 - chance, 1000), strict=True)
    refuted = sum(EventCounts(int(hits), 200, int(false), 200).compute_lower_bound() > 0.5 for hits, false in drawn)
    assert 0.85 < refuted / 1000 < 0.99
    assert math.isinf(EventCounts(0, 5, 0, 5).compute_detectable_epsilon(5.0))


BUDGET = DPALBudget(0.2)


def test_differences():
    """The difference of two images is released as it is in all of 10,000 runs, and never where one is another."""
    event = audit_differences(digits()[0], BUDGET, np.random.default_rng(0))
    assert (event.hits, event.trials, event.false_hits, event.false_trials) == (10_000, 10_000, 0, 10_000)
    assert event.compute_lower_bound() == pytest.approx(7.9, abs=0.01)
    assert event.compute_lower_bound() > BUDGET.input_claim


def test_differences_of_independent_noise():
    """Independent noise shows no difference, and its claim of the true epsilon stands."""
    event = audit_differences(digits()[0], BUDGET, np.random.default_rng(0), trials=1_200, independent=True)
    assert (event.hits, event.false_hits, event.trials) == (0, 0, 1_200)
    assert event.compute_lower_bound() == 0


def test_recovery():
    """A batch shows all of its images to rounding, to someone who has nothing but it."""
    images, _ = digits()
    found = audit_image_recovery(images, SMALL, np.random.default_rng(0), trials=20)
    assert found.recovered_images == len(found.images) == 200
    assert found.largest_error < 1e-12
    assert found.recovered.numpy() == pytest.approx(images[:200].numpy(), abs=1e-12)
    assert (found.perturbed - found.images).abs().max() > 100
    event = found.event
    assert (event.hits, event.false_hits) == (20, 0)
    assert event.compute_lower_bound() > SMALL.input_claim


def test_recovery_from_independent_noise():
    """With independent noise no image is recovered, and nothing is refuted."""
    found = audit_image_recovery(digits()[0], SMALL, np.random.default_rng(0), trials=20, independent=True)
    assert found.recovered_images == found.event.hits == found.event.false_hits == 0
    assert found.event.compute_lower_bound() == 0


def test_recovery_needs_nothing_else():
    """The attack has no other input than the perturbed images, and survives float32."""
    rows = flatten_to_signed_pixels(digits()[0][:300])
    noise = draw_laplace_noise(np.random.default_rng(2), BUDGET.input_scale, (64,), torch.float64)
    assert recover_images(rows + noise).numpy() == pytest.approx(rows.numpy(), abs=1e-12)
    assert recover_images((rows + noise).float()).numpy() == pytest.approx(rows.numpy(), abs=1e-3)


def test_too_few_images():
    """How many images are needed is said in one line."""
    images, _ = digits()
    with refuses(201):
        audit_image_recovery(images[:200], SMALL, np.random.default_rng(0))
    with refuses(3):
        audit_differences(images[:2], SMALL, np.random.default_rng(0))


def audit(*, drawn=False, seed=0, **more):
    images, given = digits()
    return audit_labels(
        images, SMALL, np.random.default_rng(seed), given_labels=None if drawn else given, neurons=64, **more
    )


@pytest.mark.parametrize(
    ("noise", "axis"), [("published", "steps"), ("published", "classes"), ("each step", "classes")]
)
def test_labels_are_recovered(noise, axis):
    """Noise that is the same in all steps, or for all classes, hides no label."""
    found = audit(noise=noise, difference_axis=axis)
    assert found.total_guesses == 200
    assert found.correct_guesses >= 198


@pytest.mark.parametrize("axis", ["steps", "classes"])
def test_the_control(axis):
    """Noise drawn for every step and class leaves the attacker at chance, and refutes nothing."""
    found = audit(noise="each step and class", difference_axis=axis, drawn=True)
    assert stats.binomtest(found.correct_guesses, found.total_guesses, 0.1).pvalue > 1e-6
    assert found.compute_lower_bound(0.999) <= 12 * SMALL.eps2


def test_the_claim_is_refuted():
    """Labels drawn at random are recovered too, and their bound exceeds the claim by far."""
    found = audit(drawn=True)
    assert found.is_uniform
    assert found.correct_guesses >= 190
    assert found.compute_lower_bound(0.999) > 3 > SMALL.eps2 == 0.1


def test_the_bound():
    """The bound is Clopper and Pearson's on the chance of a guess, solved for e^epsilon / (e^epsilon + K - 1)."""
    low = stats.beta.ppf(0.05, 180, 21)
    assert LabelAudit(180, 200, 10, is_uniform=True).compute_lower_bound() == pytest.approx(
        math.log(9 * low / (1 - low)), rel=1e-6
    )
    assert LabelAudit(180, 200, 10, is_uniform=False).compute_lower_bound() == 0
    assert LabelAudit(20, 200, 10, is_uniform=True).compute_lower_bound() == 0


def test_randomized_response_is_not_refuted():
    """Of labels that pass randomized response at epsilon 2, a bound above 2 comes in at most 5 % of audits."""
    random, chance = np.random.default_rng(0), math.exp(2) / (math.exp(2) + 9)
    bounds = [
        LabelAudit(int(right), 300, 10, is_uniform=True).compute_lower_bound()
        for right in random.binomial(300, chance, 400)
    ]
    assert stats.binomtest(sum(bound > 2 for bound in bounds), 400, 0.05, alternative="greater").pvalue > 1e-6
    assert 1.5 < np.mean(bounds) < 2


def test_detectable_labels():
    """What would have been seen lies above the claim and is within reach of this many labels."""
    found = LabelAudit(20, 200, 10, is_uniform=True)
    assert 0.1 < found.compute_detectable_epsilon(0.1) < 2


def test_the_attack_needs_no_noise_to_be_known():
    """The labels are found whatever was added to the sums of all steps, or to those of all classes."""
    random = torch.Generator().manual_seed(0)
    truth = torch.randint(4, (50,), generator=random)
    features = [torch.randn(50, 30, generator=random, dtype=torch.float64) for _ in range(4)]
    targets = functional.one_hot(truth, 4).double()
    constant = 1e4 * torch.randn(30, 4, generator=random, dtype=torch.float64)
    assert torch.equal(solve_for_labels(features, [h.T @ targets + constant for h in features], "steps"), truth)
    for_all = [h.T @ targets + 1e4 * torch.randn(30, 1, generator=random, dtype=torch.float64) for h in features]
    assert torch.equal(solve_for_labels(features, for_all, "classes"), truth)


def test_too_few_equations():
    """Fewer equations than labels are refused in one line."""
    with refuses(110):
        audit_labels(digits()[0], SMALL, np.random.default_rng(0), neurons=10)


TRIALS = 40


@pytest.fixture(scope="module")
def found():
    """Return audits of shared noise and of independent noise."""
    images, _ = digits()
    return {
        kind: audit_parameters(
            images, SMALL, np.random.default_rng(0), trials=TRIALS, neurons=16, independent=kind == "independent"
        )
        for kind in ("shared", "independent")
    }


def test_the_batch_is_told_from_its_neighbour(found):
    """In every run the batch that was trained on leaves rank two but for rounding, and its neighbour does not."""
    shared = found["shared"]
    for event in (shared.ratio_event, shared.projection_event):
        assert (event.hits, event.false_hits) == (TRIALS, 0)
        assert event.compute_lower_bound(0.999) > SMALL.parameter_claim


def test_float32():
    """In a large batch rounding hides the ratio but not the one direction in which the two batches differ."""
    budget, random = DPALBudget(0.2, m=1_500), np.random.default_rng(0)
    rounded = audit_parameters(digits()[0], budget, random, trials=25, neurons=64, dtype=torch.float32)
    assert stats.binomtest(rounded.projection_event.correct_guesses, 50, alternative="greater").pvalue < 1e-6
    assert rounded.projection_event.compute_lower_bound(0.999) > budget.parameter_claim
    assert stats.binomtest(rounded.ratio_event.correct_guesses, 50).pvalue > 1e-6


def test_independent_noise(found):
    """With independent noise both attackers are at chance and nothing is refuted."""
    control = found["independent"]
    for event in (control.ratio_event, control.projection_event):
        assert stats.binomtest(event.correct_guesses, event.total_guesses).pvalue > 1e-6
        assert event.compute_lower_bound(0.999) <= SMALL.parameter_claim


def test_too_few_images_for_parameters():
    """A batch and an image to replace one are needed."""
    with refuses(201):
        audit_parameters(digits()[0][:200], SMALL, np.random.default_rng(0))


def test_samples_refute_the_claim_and_not_the_truth():
    """A black image and a white one are told apart more often than the claim allows, and not than the law does."""
    few = torch.zeros(1, 4, 4), torch.ones(1, 4, 4)
    event = count_likelier_guesses(*few, BUDGET, np.random.default_rng(0), trials=4_000)
    assert event.compute_lower_bound(0.999) < 2 * 16 / BUDGET.input_scale
    event = count_likelier_guesses(
        torch.zeros(1, 28, 28), torch.ones(1, 28, 28), BUDGET, np.random.default_rng(0), trials=2_000
    )
    assert BUDGET.input_claim < 0.5 < event.compute_lower_bound(0.999) < 2 * 784 / BUDGET.input_scale


ENTRIES = {entry.name: entry for entry in DPAL_ENTRIES}
CONTROLS = {"dpal-independent", "dpal-labels-fresh"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "dpal-labels" else pytest.mark.deep) for name in ENTRIES]
)
def test_entries_of_the_zoo(name):
    """DPAL's claims are refuted, those of the controls are not, and no bound exceeds the truth where it is known."""
    entry = ENTRIES[name]
    assert entry.source
    assert (entry.flaw == "") == (name in CONTROLS)
    verdict = entry.audit_samples(20_200_426)
    assert verdict.status == entry.sampled_status
    assert (verdict.status == "refuted") == (name not in CONTROLS)
    assert verdict.witness is not None
    assert verdict.detectable_epsilon > verdict.claim
    if entry.verify_law is not None:
        assert verdict.lower_bound <= entry.verify_law().epsilon


def test_the_law_of_the_controls():
    """The exact epsilon of independent noise is 2 d / scale: 45.05 for 784 pixels, 0.919 for 16."""
    assert ENTRIES["dpal-sensitivity"].verify_law().lower_bound == pytest.approx(45.05, abs=0.01)
    assert ENTRIES["dpal-independent"].verify_law().epsilon == pytest.approx(0.919, abs=1e-3)

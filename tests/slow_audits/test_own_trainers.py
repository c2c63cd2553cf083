"""Our own trainers keep their claims, and the same audits refute them where they are broken on purpose."""

import pytest
import torch
from scipy import stats

import deniable as dn
from deniable.persons.planning import plan_budget
from tests.slow_audits import persons
from tests.slow_audits.cases import SEED, compare_neighbours, measure_noise
from tests.slow_audits.claims import ALL_AUDITS, NOT_AUDITED, TRAINING_AUDITS, list_choices
from tests.slow_audits.gradients import IMAGE_AUDITS, TEXT_AUDITS, clip_too_late
from tests.slow_audits.persons import PERSONS_AUDITS, WORDS, make_synthesis_options
from tests.slow_audits.rewriting import METHODS, compute_pair_ratio, get_model

pytestmark = pytest.mark.slow

WITH_RUNS = [audit for audit in ALL_AUDITS if audit.runs]
GRADIENT_AUDITS = [*IMAGE_AUDITS, *TEXT_AUDITS]
DP_SGD, DP_LINEAR = IMAGE_AUDITS[0], PERSONS_AUDITS[0]
SUM_ROUNDING = 1e-5
PROVED = {"proved", "proved for ideal arithmetic"}


@pytest.mark.parametrize("audit", WITH_RUNS, ids=str)
def test_the_claim_is_not_refuted(audit):
    """Hundreds of runs on the worst-case pair show no more than is claimed; they would have seen a violation."""
    verdict = audit.audit()
    assert verdict.status == "not refuted", str(verdict)
    assert verdict.detectable_epsilon < 4 * audit.claim.epsilon


@pytest.mark.parametrize("audit", WITH_RUNS, ids=str)
def test_too_little_noise_is_refuted(audit):
    """The same trainer with a part of its noise is refuted at the same claim."""
    verdict = audit.audit_with_little_noise()
    assert verdict.status == "refuted", str(verdict)


@pytest.mark.parametrize("audit", TRAINING_AUDITS, ids=str)
def test_one_unit_moves_each_sum_by_its_bound_at_most(audit):
    """At the same noisy sums no unit moves a sum by more than its bound, and nothing else that is released changes."""
    findings = compare_neighbours(audit)
    assert not findings.differing
    assert findings.ratio <= 1 + (SUM_ROUNDING if audit in GRADIENT_AUDITS else 0)
    # Data that come near the bound, or nothing was tested.
    assert min(findings.ratios.values()) > 0.99


@pytest.mark.parametrize("audit", GRADIENT_AUDITS, ids=str)
def test_facts_of_dp_sgd_agree_with_its_claim(audit):
    """The batches, sums and noise of a run are those that were accounted for, and their epsilon is the one claimed."""
    facts = audit.collect_facts()
    assert not facts.is_refuted, str(facts.to_report())
    assert facts.shown.scheme == facts.plan.sampling
    assert 0.99 < facts.movement.ratio <= 1 + SUM_ROUNDING
    assert audit.claim.epsilon * 0.98 < facts.stated.upper <= audit.claim.epsilon * (1 + 1e-5)


@pytest.mark.parametrize("audit", [*GRADIENT_AUDITS, *PERSONS_AUDITS], ids=str)
def test_noise_has_the_deviation_that_was_accounted_for(audit):
    """The squared noise of some runs has a chi-square law; noise of seven tenths has not."""
    for share, is_accepted in ((1.0, True), (0.7, False), (1.3, False)):
        tapes = [audit.run([*audit.units, audit.canary], seed, noise_share=share) for seed in range(5)]
        total, freedom = map(sum, zip(*map(measure_noise, tapes), strict=True))
        tail = 2 * min(stats.chi2.cdf(total, freedom), stats.chi2.sf(total, freedom))
        assert (tail > 1e-6) == is_accepted


@pytest.mark.parametrize("audit", [audit for audit in ALL_AUDITS if not audit.runs], ids=str)
def test_what_shares_statistics_measures_the_same(audit):
    """A generator without runs of its own spends its budget on the same sums, and releases the same of them."""
    other = next(each for each in WITH_RUNS if str(each) == audit.measured_as)
    options = [make_synthesis_options(each.name) for each in (audit, other)]
    budgets = [plan_budget(one, len(WORDS.feature_map), "record") for one in options]
    assert budgets[0] == budgets[1]
    ours, theirs = (each.run(list(audit.units), SEED) for each in (audit, other))
    assert ours.released == theirs.released


@pytest.mark.parametrize("name", [name for name in METHODS if not name.startswith("tokens")])
def test_clipped_vectors_of_odd_texts_lie_within_the_sensitivity(name):
    """No two of some odd texts lie farther apart than the noise of a rewriting method is made for."""
    assert 0 < compute_pair_ratio(name) <= 1 + 1e-12


def test_gradients_that_are_clipped_too_late_are_refuted():
    """One part in two hundred beyond the clipping norm is seen, by the neighbours and by the facts."""
    with clip_too_late():
        findings, facts = compare_neighbours(DP_SGD), DP_SGD.collect_facts()
    assert 1.001 < findings.ratio < 1.01
    assert facts.verdicts["the sum of a step"].status == "refuted"


def test_noise_below_the_plan_is_refuted_by_its_accounting():
    """The epsilon that follows from the noise of the steps is above the claim."""
    assert DP_SGD.collect_facts(0.9).verdicts["the accounting"].status == "refuted"


def test_integer_sums_beyond_their_bound_are_refuted():
    """A contribution that is a millionth too long is seen."""
    with persons.sum_too_much():
        assert compare_neighbours(DP_LINEAR, {"worst case": [*DP_LINEAR.units, DP_LINEAR.canary]}).ratio > 1


def test_a_release_that_reads_the_number_of_records_is_seen():
    """A divisor that follows the private number changes the weights, although all noisy sums are the same."""
    with persons.count_units():
        findings = compare_neighbours(DP_LINEAR, {"worst case": [*DP_LINEAR.units, DP_LINEAR.canary]})
    assert len(findings.differing) == findings.neighbours


@pytest.mark.parametrize("name", dn.images.IMAGE_TRAINERS)
def test_image_trainers_claim_what_their_audits_say(name):
    """A model of an audited trainer has a proved guarantee; that of another has none, or a doubtful one."""
    source = torch.Generator().manual_seed(0)
    images = dn.images.LabelledImages(torch.rand((8, 1, 28, 28), generator=source), torch.arange(8) % 2)
    trainer = dn.images.IMAGE_TRAINERS[name]
    given = {"steps": 2, "batch_size": 6, "epsilon": 4.0, "delta": 1e-5}
    options = trainer.choose_options(**{key: value for key, value in given.items() if key in trainer.option_names})
    model = dn.images.fit_image_model(
        trainer, dn.images.ImageDataset(images, images, ("a", "b"), "random", ""), options, seed=0
    )
    is_sure = model.guarantee is not None and model.guarantee.status in PROVED
    assert is_sure == (name not in NOT_AUDITED)


@pytest.mark.parametrize("name", list_choices("method", "rewrite"))
def test_rewriting_methods_claim_what_their_audits_say(name):
    """An audited method has a proved guarantee, and one of the others has not."""
    options = {"delta": 1e-5} if name == "adept-gaussian" else {}
    method = dn.rewriting_method(name, get_model(), epsilon=1.0, **options)
    assert (method.verify().status in PROVED) == (name not in NOT_AUDITED)

"""The attacks on plain arrays, against slow computations and known cases."""

import warnings

import numpy as np
import pytest
from scipy import stats

from deniable.measure.attackers.membership_scores import (
    compute_lira_scores,
    compute_rmia_scores,
    compute_shadow_scores,
    fit_shadow_network,
)
from tests.refusals import refuses


def case(seed, models=12, records=30):
    """Return confidences, members and target, some of the confidences certain."""
    rng = np.random.default_rng(seed)
    confidences = rng.uniform(size=(models, records))
    confidences[0, :2] = 0.0, 1.0
    members = rng.uniform(size=(models, records)) < 0.5
    members[:4] = np.array([True, False, True, False])[:, None]
    return confidences, members, rng.uniform(size=records)


def logit(confidence):
    kept = np.clip(confidence, 2.0**-52, 1 - 2.0**-52)
    return np.log(kept / (1 - kept))


def test_lira_is_the_ratio_of_two_normals_with_shared_variances():
    """With few shadow models each side has one variance, pooled over the records around their own means."""
    confidences, members, target = case(1)
    logits = logit(confidences)
    likelihoods = []
    for side in (members, ~members):
        kept = [logits[side[:, record], record] for record in range(30)]
        spread = np.sqrt(sum((len(k) - 1) * np.var(k, ddof=1) for k in kept) / sum(len(k) - 1 for k in kept))
        likelihoods.append([stats.norm.logpdf(logit(t), k.mean(), spread) for t, k in zip(target, kept, strict=True)])
    wanted = np.subtract(*likelihoods)
    np.testing.assert_allclose(compute_lira_scores(confidences, members, target), wanted)


def test_lira_with_many_models_gives_each_record_its_variance():
    """From 32 shadow models on each side on, each record has its own variances."""
    rng = np.random.default_rng(2)
    confidences, target = rng.uniform(0.01, 0.99, size=(64, 5)), rng.uniform(0.01, 0.99, size=5)
    members = np.repeat([[True], [False]], 32, axis=0).repeat(5, axis=1)
    logits = logit(confidences)
    normals = [stats.norm(side.mean(axis=0), side.std(axis=0, ddof=1)) for side in (logits[:32], logits[32:])]
    wanted = normals[0].logpdf(logit(target)) - normals[1].logpdf(logit(target))
    np.testing.assert_allclose(compute_lira_scores(confidences, members, target), wanted)


def test_scores_are_finite_where_models_are_certain():
    """Certain and constant models give finite scores, equal ones where nothing differs, an impossible class too."""
    members = np.array([[True], [False]] * 3).repeat(4, axis=1)
    scores = compute_lira_scores(np.where(members, 1.0, 0.0), members, [1.0, 0.0, 1.0, 0.0])
    assert np.isfinite(scores).all()
    assert (scores[[0, 2]] > 0).all()
    assert (scores[[1, 3]] < 0).all()
    np.testing.assert_allclose(compute_lira_scores(np.full((6, 4), 0.5), members, np.full(4, 0.5)), 0, atol=1e-9)
    assert np.isfinite(compute_rmia_scores(np.zeros((2, 2)), np.array([[True] * 2, [False] * 2]), [0.0, 0.5])).all()


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("population", [None, [3, 3, 7, 12]])
def test_rmia_is_the_share_of_the_population_dominated(gamma, population):
    """The score is the share of records z for which the ratio of x to z is at least gamma, pair by pair."""
    confidences, members, target = case(3)
    usual = [(confidences[members[:, r], r].mean() + confidences[~members[:, r], r].mean()) / 2 for r in range(30)]
    held = range(30) if population is None else population
    wanted = [np.mean([target[x] / usual[x] >= gamma * target[z] / usual[z] for z in held]) for x in range(30)]
    np.testing.assert_allclose(compute_rmia_scores(confidences, members, target, population, gamma), wanted)


def outputs(rng, count, sharpness):
    """Return outputs (count, 3) that are the surer the sharper."""
    return rng.dirichlet(np.full(3, 1 / sharpness), size=count)


def test_shadow_attack_finds_sharper_outputs_alone():
    """The network learns that members get surer outputs, and finds the target's; where nothing differs, nobody's."""
    rng = np.random.default_rng(5)
    score = fit_shadow_network(outputs(rng, 300, 20), outputs(rng, 300, 0.2), seed=0)
    found = stats.mannwhitneyu(score(outputs(rng, 300, 20)), score(outputs(rng, 300, 0.2)))
    assert found.statistic / 300**2 > 0.9
    score = fit_shadow_network(outputs(rng, 300, 1), outputs(rng, 300, 1), seed=0)
    assert stats.mannwhitneyu(score(outputs(rng, 300, 1)), score(outputs(rng, 300, 1))).pvalue > 1e-3


def test_shadow_attack_is_fixed_by_its_seed_and_leaves_warnings_alone():
    """Equal seeds give equal scores, others others, and no filter of warnings is changed."""
    rng = np.random.default_rng(7)
    given = [outputs(rng, 60, 2) for _ in range(3)]
    before = list(warnings.filters)
    first = compute_shadow_scores(*given, seed=1)
    assert (first == compute_shadow_scores(*given, seed=1)).all()
    assert (first != compute_shadow_scores(*given, seed=2)).any()
    assert ((first >= 0) & (first <= 1)).all()
    assert warnings.filters == before


GOOD = (np.full((6, 2), 0.5), np.array([[True], [False]] * 3).repeat(2, axis=1), np.full(2, 0.5))


@pytest.mark.parametrize("attack", [compute_lira_scores, compute_rmia_scores])
@pytest.mark.parametrize(
    ("place", "given", "value"),
    [
        (0, np.full((6, 2), 1.5), "[0, 1]"),
        (0, np.full((6, 2), np.nan), "[0, 1]"),
        (0, np.full((5, 2), 0.5), "(5, 2)"),
        (1, np.ones((6, 2), dtype=bool), "Each record"),
        (1, np.ones((6, 2)), "booleans"),
        (2, np.full(3, 0.5), "(3,)"),
    ],
)
def test_bad_arrays_are_refused(attack, place, given, value):
    """Arrays that do not fit or hold no probabilities are refused."""
    with refuses(value):
        attack(*GOOD[:place], given, *GOOD[place + 1 :])


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: compute_rmia_scores(*GOOD, gamma=0), 0),
        (lambda: compute_rmia_scores(*GOOD, population=[]), "population"),
        (lambda: compute_rmia_scores(*GOOD, population=[2]), 2),
        (lambda: compute_lira_scores(GOOD[0][:2], GOOD[1][:2], GOOD[2]), 2),
        (lambda: compute_shadow_scores([[0.5, 0.5]], [[1.0]], [[0.5, 0.5]], 0), "classes"),
        (lambda: compute_shadow_scores([[0.5, 0.5]], np.zeros((0, 2)), [[0.5, 0.5]], 0), "classes"),
        (lambda: compute_shadow_scores([[0.5, np.nan]], [[0.5, 0.5]], [[0.5, 0.5]], 0), "finite"),
    ],
)
def test_bad_settings_are_refused(call, value):
    """A setting outside its domain, or too few models, is refused."""
    with refuses(value):
        call()

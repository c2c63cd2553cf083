"""The attacks on plain arrays, against slow computations and known cases."""

import warnings

import numpy as np
import pytest
from scipy import stats

from deniable import InputError
from deniable.measure.attackers.membership_scores import (
    compute_lira_scores,
    compute_rmia_scores,
    compute_shadow_scores,
    fit_shadow_network,
)
from deniable.measure.roc import compute_roc


def attack_with_shadow_model(shadow_in, shadow_out, target_in, target_out):
    """Return how well the shadow model's network tells the target model's members."""
    score = fit_shadow_network(shadow_in, shadow_out, seed=0)
    return compute_roc(score(target_in), score(target_out))


def case(seed, models=12, records=30):
    """Return confidences, members and target, some of the confidences certain."""
    rng = np.random.default_rng(seed)
    confidences = rng.uniform(size=(models, records))
    confidences[0, :2] = 0.0, 1.0
    members = rng.uniform(size=(models, records)) < 0.5
    members[:4] = np.array([True, False, True, False])[:, None]
    return confidences, members, rng.uniform(size=records)


def logit(confidence):
    least = 2.0**-52
    kept = min(max(confidence, least), 1 - least)
    return np.log(kept / (1 - kept))


def test_lira_is_the_ratio_of_two_normals_with_shared_variances():
    """With few shadow models each side has one variance, pooled over the records around their own means."""
    confidences, members, target = case(1)
    sides = {True: [], False: []}
    for record in range(30):
        for side, kept in sides.items():
            kept.append(
                [logit(p) for p, m in zip(confidences[:, record], members[:, record], strict=True) if m == side]
            )
    spread = {
        side: np.sqrt(sum((len(k) - 1) * np.var(k, ddof=1) for k in kept) / sum(len(k) - 1 for k in kept))
        for side, kept in sides.items()
    }
    wanted = [
        stats.norm.logpdf(logit(target[r]), np.mean(sides[True][r]), spread[True])
        - stats.norm.logpdf(logit(target[r]), np.mean(sides[False][r]), spread[False])
        for r in range(30)
    ]
    np.testing.assert_allclose(compute_lira_scores(confidences, members, target), wanted)


def test_lira_with_many_models_gives_each_record_its_variance():
    """From 32 shadow models on each side on, each record has its own variances."""
    rng = np.random.default_rng(2)
    confidences, target = rng.uniform(0.01, 0.99, size=(64, 5)), rng.uniform(0.01, 0.99, size=5)
    members = np.repeat([[True], [False]], 32, axis=0).repeat(5, axis=1)
    logits, reached = np.log(confidences / (1 - confidences)), np.log(target / (1 - target))
    normals = [stats.norm(side.mean(axis=0), side.std(axis=0, ddof=1)) for side in (logits[:32], logits[32:])]
    wanted = normals[0].logpdf(reached) - normals[1].logpdf(reached)
    np.testing.assert_allclose(compute_lira_scores(confidences, members, target), wanted)


def test_lira_is_finite_where_models_are_certain():
    """Certain and constant models give finite scores, and equal ones where nothing differs."""
    members = np.array([[True], [False]] * 3).repeat(4, axis=1)
    sure = np.where(members, 1.0, 0.0)
    scores = compute_lira_scores(sure, members, [1.0, 0.0, 1.0, 0.0])
    assert np.isfinite(scores).all()
    assert (scores[[0, 2]] > 0).all()
    assert (scores[[1, 3]] < 0).all()
    np.testing.assert_allclose(compute_lira_scores(np.full((6, 4), 0.5), members, np.full(4, 0.5)), 0, atol=1e-9)


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("population", [None, [3, 3, 7, 12]])
def test_rmia_is_the_share_of_the_population_dominated(gamma, population):
    """The score is the share of records z for which the ratio of x to z is at least gamma, pair by pair."""
    confidences, members, target = case(3)
    usual = [(confidences[members[:, r], r].mean() + confidences[~members[:, r], r].mean()) / 2 for r in range(30)]
    held = range(30) if population is None else population
    wanted = [np.mean([target[x] / usual[x] >= gamma * target[z] / usual[z] for z in held]) for x in range(30)]
    np.testing.assert_allclose(compute_rmia_scores(confidences, members, target, population, gamma), wanted)


def test_rmia_with_impossible_classes_is_finite():
    """A class that no model thinks possible leaves finite scores."""
    members = np.array([[True, True], [False, False]])
    assert np.isfinite(compute_rmia_scores(np.zeros((2, 2)), members, [0.0, 0.5])).all()


@pytest.mark.parametrize("attack", [compute_lira_scores, compute_rmia_scores])
def test_attacks_find_what_shadow_models_show(attack):
    """Records that models trained on them are surer of get higher scores where the target is sure."""
    rng = np.random.default_rng(4)
    members = np.repeat([[True], [False]], 5, axis=0).repeat(200, axis=1)
    hardness = rng.normal(size=200)

    def confidences(trained):
        return 1 / (1 + np.exp(-(hardness + 2 * trained + 0.3 * rng.normal(size=trained.shape))))

    trained = np.arange(200) % 2 == 0
    scores = attack(confidences(members), members, confidences(trained))
    assert stats.mannwhitneyu(scores[trained], scores[~trained]).statistic / 10_000 > 0.95


def outputs(rng, count, sharpness):
    """Return outputs (count, 3) that are the surer the sharper."""
    return rng.dirichlet(np.full(3, 1 / sharpness), size=count)


def test_shadow_attack_finds_sharper_outputs():
    """The network learns from the shadow model that members get surer outputs, and finds the target's."""
    rng = np.random.default_rng(5)
    found = attack_with_shadow_model(*(outputs(rng, 400, s) for s in (20, 0.2, 20, 0.2)))
    assert found.auc.value > 0.9


def test_shadow_attack_finds_nothing_where_nothing_differs():
    """Outputs of one distribution leave an area whose interval holds one half."""
    rng = np.random.default_rng(6)
    found = attack_with_shadow_model(*(outputs(rng, 400, 1) for _ in range(4)))
    assert found.auc.low < 0.5 < found.auc.high


def test_shadow_attack_is_fixed_by_its_seed_and_leaves_warnings_alone():
    """Equal seeds give equal scores, others others, and no filter of warnings is changed."""
    rng = np.random.default_rng(7)
    given = [outputs(rng, 100, 2) for _ in range(3)]
    before = list(warnings.filters)
    first = compute_shadow_scores(*given, seed=1)
    assert (first == compute_shadow_scores(*given, seed=1)).all()
    assert (first != compute_shadow_scores(*given, seed=2)).any()
    assert ((first >= 0) & (first <= 1)).all()
    assert warnings.filters == before


GOOD = (np.full((6, 2), 0.5), np.array([[True], [False]] * 3).repeat(2, axis=1), np.full(2, 0.5))


@pytest.mark.parametrize("attack", [compute_lira_scores, compute_rmia_scores])
@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, np.full((6, 2), 1.5), "must lie in"),
        (0, np.full((6, 2), np.nan), "must lie in"),
        (0, np.full((5, 2), 0.5), "shapes"),
        (1, np.ones((6, 2), dtype=bool), "Each record needs"),
        (1, np.ones((6, 2)), "array of booleans"),
        (2, np.full(3, 0.5), "shapes"),
        (2, [0.5, -0.1], "must lie in"),
    ],
)
def test_bad_arrays_are_refused(attack, place, value, message):
    """Arrays that do not fit or hold no probabilities are refused in one line."""
    given = list(GOOD)
    given[place] = value
    with pytest.raises(InputError, match=message) as caught:
        attack(*given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: compute_rmia_scores(*GOOD, gamma=0), "'gamma'"),
        (lambda: compute_rmia_scores(*GOOD, population=[]), "population"),
        (lambda: compute_rmia_scores(*GOOD, population=[2]), "population"),
        (lambda: compute_lira_scores(GOOD[0][:2], GOOD[1][:2], GOOD[2]), "2 shadow models"),
        (lambda: compute_shadow_scores([[0.5, 0.5]], [[1.0]], [[0.5, 0.5]], 0), "same classes"),
        (
            lambda: compute_shadow_scores([[0.5, 0.5]], np.zeros((0, 2)), [[0.5, 0.5]], 0),
            "same classes",
        ),
        (lambda: compute_shadow_scores([[0.5, np.nan]], [[0.5, 0.5]], [[0.5, 0.5]], 0), "finite"),
    ],
)
def test_bad_settings_are_refused(call, message):
    """A setting outside its domain, or too few models, is refused."""
    with pytest.raises(InputError, match=message):
        call()

"""Membership inference on a table, with classifiers whose memory is known, and the attacks on plain arrays."""

import warnings

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.measure.membership import compute_lira_scores, compute_rmia_scores, fit_shadow_network
from tests.refusals import refuses

ATTACKS = ("lira", "rmia", "shadow")


class Fake:
    """A classifier of two classes whose certainty of the true class is a rule of text and training."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)

    def fit(self, texts, codes, classes):
        """Keep which texts were seen, and how many classes there are; the class of a text is its number's parity."""
        del codes
        assert classes == 2
        self._seen = set(texts)
        return self

    def probabilities(self, texts):
        sure = 1 / (1 + np.exp(-np.array([self._logit(text) for text in texts])))
        out = np.column_stack([sure, 1 - sure])
        return np.where(np.array([int(text.split()[-1]) % 2 for text in texts])[:, None] == 0, out, out[:, ::-1])


class Memory(Fake):
    """Is sure of the texts that it was trained on."""

    def _logit(self, text):
        return (4.0 if text in self._seen else 0.0) + 0.3 * self._rng.normal()


class Ignorant(Fake):
    """Answers at random."""

    def _logit(self, text):
        del text
        return self._rng.normal()


class Neighbour(Fake):
    """Learns of each text only whether it was trained on the next one: nothing of the text itself."""

    def _logit(self, text):
        word, number = text.split()
        return (2.0 if f"{word} {int(number) ^ 1}" in self._seen else 0.0) + 0.3 * self._rng.normal()


def table(records=300, word="word"):
    """Return texts and their classes."""
    return [f"{word} {number}" for number in range(records)], np.arange(records) % 2


@pytest.mark.parametrize("attack", ATTACKS)
def test_memory_is_found(attack):
    """A classifier that remembers its texts is found out by every attack."""
    found = dn.measure.measure_membership(*table(200), classifier=Memory, attack=attack, shadows=6)
    assert list(found) == ["original"]
    result = found["original"]
    assert result.auc.value > 0.99
    assert result.tpr[0.01].low > 0.8
    assert (result.attack, result.members, result.others, result.records) == (attack, 600, 600, 200)


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("classifier", [pytest.param(Ignorant, marks=pytest.mark.deep), Neighbour])
def test_no_memory_gives_no_signal(attack, classifier):
    """A classifier that learns nothing of a record, but something of its neighbour, leaves one half."""
    found = dn.measure.measure_membership(*table(400), classifier=classifier, attack=attack, shadows=8, seed=1)
    area = found["original"].auc
    assert area.low < 0.5 < area.high
    assert area.high - area.low < 0.12


def test_private_records_find_what_originals_do_not():
    """A model that remembers private texts is found out with these, and not with the originals."""
    private, _ = table(300, "other")
    found = dn.measure.measure_membership(*table(), private=private, classifier=Memory, shadows=6)
    assert found["private"].auc.value > 0.99
    assert found["original"].auc.low < 0.5 < found["original"].auc.high


def test_texts_equal_to_the_private_ones_are_found_alike():
    """With private texts that equal the originals both attacks are one, and the seed fixes them."""
    rng = np.random.default_rng(3)
    texts = [" ".join(rng.choice(["ab", "cd", "ef", "gh", "ij"], size=4)) + f" w{row}" for row in range(60)]
    codes = rng.integers(2, size=60)
    found = dn.measure.measure_membership(texts, codes, private=texts, shadows=6, seed=5)
    assert found["private"] == found["original"]
    again, other = (dn.measure.measure_membership(texts, codes, shadows=6, seed=seed)["original"] for seed in (5, 6))
    assert found["original"] == again != other
    # The label of a text is a coin and each text holds a word of its own, so that being trained on it tells.
    assert found["original"].auc.low > 0.5


def test_every_record_is_in_half_of_the_models():
    """Each model learns half of the records, its twin the other half, and each record is in half of the models."""
    learned = []

    class Noted(Memory):
        def fit(self, texts, codes, classes):
            learned.append(frozenset(texts))
            return super().fit(texts, codes, classes)

    texts, codes = table(31)
    dn.measure.measure_membership(texts, codes, classifier=Noted, shadows=8)
    assert [sum(text in half for half in learned) for text in texts] == [4] * 31
    for half, twin in zip(learned[::2], learned[1::2], strict=True):
        assert len(half) == 15
        assert half | twin == {*texts}


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({"texts": ["a"] * 7, "codes": [0] * 7}, 7),
        ({"codes": [0, 1]}, "20, 2"),
        ({"private": ["a"]}, "20, 20, 1"),
        ({"codes": [-1] * 20}, "from 0 on"),
        ({"codes": [0.5] * 20}, "from 0 on"),
        ({"shadows": 0}, "'shadows'"),
        ({"shadows": 4}, 4),
        ({"shadows": 7}, 7),
        ({"shadows": 2, "attack": "rmia"}, 2),
        ({"shadows": 2.0}, 2.0),
        ({"attack": "guess"}, "'guess'"),
        ({"classifier": "oracle"}, "'oracle'"),
    ],
)
def test_bad_input_is_refused(change, value):
    """Tables that do not fit and unknown names are refused."""
    texts, codes = table(20)
    given = {"texts": texts, "codes": codes, "classifier": Memory, **change}
    with refuses(value):
        dn.measure.measure_membership(given.pop("texts"), given.pop("codes"), **given)


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
    scores = compute_lira_scores(np.where(members, 1.0, 0.0), members, np.array([1.0, 0.0, 1.0, 0.0]))
    assert np.isfinite(scores).all()
    assert (scores[[0, 2]] > 0).all()
    assert (scores[[1, 3]] < 0).all()
    np.testing.assert_allclose(compute_lira_scores(np.full((6, 4), 0.5), members, np.full(4, 0.5)), 0, atol=1e-9)
    assert np.isfinite(
        compute_rmia_scores(np.zeros((2, 2)), np.array([[True] * 2, [False] * 2]), np.array([0.0, 0.5]))
    ).all()


def test_rmia_is_the_share_of_the_records_dominated():
    """The score is the share of records z that x is likelier than, by the usual of each, pair by pair."""
    confidences, members, target = case(3)
    usual = [(confidences[members[:, r], r].mean() + confidences[~members[:, r], r].mean()) / 2 for r in range(30)]
    wanted = [np.mean([target[x] / usual[x] >= target[z] / usual[z] for z in range(30)]) for x in range(30)]
    np.testing.assert_allclose(compute_rmia_scores(confidences, members, target), wanted)


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
    *given, records = [outputs(rng, 60, 2) for _ in range(3)]
    before = list(warnings.filters)
    first, again, other = (fit_shadow_network(*given, seed)(records) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()
    assert ((first >= 0) & (first <= 1)).all()
    assert warnings.filters == before

"""Votes over noisy texts, as a classifier that is certified is asked for them: their law, and what they depend on."""

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from tests.models.text.samples import KEY, certify_texts, join, mean_scorer, tables
from tests.refusals import refuses

DRAWS = {"selection": 20, "estimation": 3000}
KINDS = [
    dn.TEM,
    *(pytest.param(kind, marks=pytest.mark.deep) for kind in (dn.CalibratedExponential, dn.TightExponential)),
]


class Heard:
    """A classifier that writes down the versions of each text that it is asked about, in order."""

    def __init__(self, texts):
        self.texts = texts
        self.versions = {row: [] for row in range(len(texts))}

    def __call__(self, held, rows):
        for words, row in zip(held, rows, strict=True):
            assert len(words) == len(self.texts[row])
            self.versions[int(row)].append(words.copy())
        return mean_scorer(np.random.default_rng(5).normal(size=(60, 3)))(held, rows)


def heard(subject, words, key=KEY, **given):
    """Return the versions (draws, length) of each text, those that choose the class first, and the certificates."""
    scorer = Heard(join(words))
    found = certify_texts(subject, scorer, scorer.texts, key=key, **{**DRAWS, **given})
    return [np.array(versions) for versions in scorer.versions.values()], found


@pytest.mark.parametrize("kind", KINDS)
def test_versions_have_the_law_of_the_tables(small_space, kind):
    """Every word of every version follows the integer tables of its mechanism, and no law 30 % off."""
    subject = kind(small_space, epsilon=2.0)
    (versions, twice), _ = heard(subject, [[3, 10], [7, 7]], estimation=20_000)
    assert len(versions) == len(twice) == 20_020
    for drawn, word in ((versions[:, 0], 3), (versions[:, 1], 10), (twice[:, 1], 7)):
        expected = len(drawn) * tables(subject)[word]
        often = expected > 20
        counts = np.bincount(drawn, minlength=60)
        seen, likely = (np.append(one[often], one[~often].sum() + 1e-9) for one in (counts, expected))
        assert stats.chisquare(seen, likely).pvalue > 1e-6
        off = likely * np.where(np.arange(len(likely)) % 2, 1.3, 1.0)
        assert stats.chisquare(seen, off * seen.sum() / off.sum()).pvalue < 1e-6
    together = np.histogram2d(twice[:, 0] == 7, twice[:, 1] == 7, bins=2)[0]
    assert stats.chi2_contingency(together).pvalue > 1e-6


def test_simulated_mechanisms_vote_too(small_space):
    """A mechanism without tables is sampled by its own draws."""
    subject = dn.MultivariateLaplace(small_space, epsilon=2.0)
    (versions,), _ = heard(subject, [[3]])
    drawn = [small_space.index_of(word) for word in subject.sample([small_space.words[3]] * 3020)]
    own, their = (np.bincount(one, minlength=60) for one in (versions[:, 0], drawn))
    often = own + their > 40
    assert stats.chi2_contingency([own[often], their[often]]).pvalue > 1e-6


def test_purposes_and_keys_are_independent(small_space):
    """Draws that choose and draws that estimate do not repeat each other, and another key gives others."""
    subject, given = dn.TEM(small_space, epsilon=0.5), {"selection": 100, "estimation": 100}
    (first,), _ = heard(subject, [[1, 2, 3, 4, 5, 6]], **given)
    (again,), _ = heard(subject, [[1, 2, 3, 4, 5, 6]], key=bytes(32), **given)
    for one, other in ((first[:100], first[100:]), (first[:100], again[:100]), (first[100:], again[100:])):
        assert (one == other).mean() < 0.2


def test_draws_depend_on_their_text_alone(small_space, twin_space):
    """Other texts and further draws change nothing, and equal texts have equal draws; twins are drawn too."""
    subject = dn.TEM(small_space, epsilon=1.0)
    whole, every = heard(subject, [[3, 3, 9], [10], [59, 0], [10]], estimation=5000)
    some, few = heard(subject, [[59, 0], [10]], estimation=5000)
    for one, row in zip(some, (2, 1), strict=True):
        np.testing.assert_array_equal(one, whole[row])
    assert [one.own for one in few.texts] == [every.texts[row].own for row in (2, 1)]
    np.testing.assert_array_equal(whole[1], whole[3])
    less, _ = heard(subject, [[59, 0], [10]], estimation=4096)
    np.testing.assert_array_equal(whole[2][: 20 + 4096], less[0])
    (twins,), _ = heard(dn.TEM(twin_space, epsilon=4.0), [[0]])
    assert {0, 3, 5, 11} <= set(twins.ravel().tolist())  # all words at the point of the first


@pytest.mark.parametrize("draws", [0, -1, True, 1.5])
def test_what_cannot_be_drawn(small_space, draws):
    """A number of draws that is no integer of at least 1, and a text without words, are refused."""
    subject = dn.TEM(small_space, epsilon=1.0)
    with refuses("estimation"):
        heard(subject, [[1]], estimation=draws)
    with refuses("Text 2"):
        heard(subject, [[1], []])


@pytest.mark.parametrize(("shape", "value"), [((1,), 0.0), ((), 0.0), ((2,), np.nan)])
def test_bad_logits_are_refused(small_space, shape, value):
    """Logits of one class, of another shape, of another number of texts, or that are no numbers are refused."""
    for extra in (0, 1) if shape == (2,) else (0,):
        with refuses("scores"):
            certify_texts(
                dn.TEM(small_space, epsilon=1.0),
                lambda held, _, extra=extra: np.full((len(held) + extra, *shape), value),
                join([[1]]),
                selection=3,
                estimation=3,
            )

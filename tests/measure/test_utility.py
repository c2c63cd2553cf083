"""Utility: what a classifier loses that learns from private texts."""

import numpy as np
import pytest
from scipy import stats

from deniable import InputError
from deniable.measure.classifiers import CLASSIFIERS, TfIdfClassifier
from deniable.measure.utility import measure_utility
from tests.measure.toy import noise, table

TEXTS, CODES = table(150)


def measure_one(texts, private, codes, **options):
    """Return the utility of a single private version."""
    return measure_utility(texts, {"private": private}, codes, **options)["private"]


def test_private_texts_that_lost_nothing():
    """Where the private texts are the originals, both are nearly always right and the difference is zero."""
    found = measure_one(TEXTS, TEXTS, CODES)
    assert found.accuracy.original == found.accuracy.private
    assert found.accuracy.original.low > 0.95
    assert found.accuracy.lost.value == 0
    assert found.accuracy.lost.low < 0 < found.accuracy.lost.high
    assert (found.accuracy.blind, found.classifier, found.folds, found.rows) == (0.5, "tfidf", 5, 150)


def test_a_blind_guess_has_two_scores():
    """Always naming the most frequent class is right as often as it occurs; balanced, any guess is one in K."""
    texts, codes = [*TEXTS, *[f"class2word{row % 5} the" for row in range(50)]], [*CODES, *[2] * 50]
    found = measure_one(texts, noise(200), codes)
    assert (found.accuracy.blind, found.balanced_accuracy.blind) == (75 / 200, 1 / 3)
    assert found.classes == 3


def test_what_noise_retains():
    """Of what the originals teach noise retains nothing, by either score, and the originals all of it."""
    for score in (
        measure_one(TEXTS, noise(150), CODES).accuracy,
        measure_one(TEXTS, noise(150), CODES).balanced_accuracy,
    ):
        assert score.is_judgeable
        assert not score.is_better_than_blind
        assert score.retained.low < 0 < score.retained.high < 0.5
    score = measure_one(TEXTS, TEXTS, CODES).balanced_accuracy
    assert score.retained.value == 1
    assert 0.9 < score.retained.low < 1 < score.retained.high < 1.1


def test_private_texts_that_lost_everything():
    """Learning from noise does no better than chance, and the loss is what remains of the original's accuracy."""
    found = measure_one(TEXTS, noise(150), CODES)
    assert found.accuracy.private.low < 0.5 < found.accuracy.private.high
    assert found.accuracy.lost.value == pytest.approx(found.accuracy.original.value - found.accuracy.private.value)
    assert found.accuracy.lost.low > 0.3


def test_random_labels():
    """Where labels have nothing to do with the texts the share stays within a millionth of chance, on both sides."""
    codes = np.random.default_rng(4).integers(0, 2, 150)
    found = measure_one(noise(150, seed=5), noise(150, seed=6), codes)
    for share in (found.accuracy.original, found.accuracy.private):
        low, high = stats.binom.ppf([5e-7, 1 - 5e-7], 150, 0.5) / 150
        assert low <= share.value <= high
        assert share.low < 0.5 < share.high


def test_the_test_texts_are_original():
    """A word that only private texts have helps nobody: learned from them, it is not met in the tests."""
    private = [f"secret{code}" for code in CODES]
    found = measure_one(TEXTS, private, CODES)
    assert found.accuracy.private.low < 0.5 < found.accuracy.private.high


def test_many_versions_share_the_original(monkeypatch):
    """Versions measured together give what each gives alone, and the original is learned once a fold for all."""
    fits = []

    class Counting(TfIdfClassifier):
        def fit(self, texts, codes, classes):
            fits.append(tuple(texts))
            return super().fit(texts, codes, classes)

    monkeypatch.setitem(CLASSIFIERS, "tfidf", Counting)
    versions = {"same": TEXTS, "noise": noise(150), "half": [*TEXTS[:75], *noise(75)]}
    found = measure_utility(TEXTS, versions, CODES, folds=3, seed=9)
    assert len(fits) == 3 * 4
    assert list(found) == list(versions)
    for name, private in versions.items():
        assert found[name] == measure_one(TEXTS, private, CODES, folds=3, seed=9)
    assert measure_utility(TEXTS, {}, CODES) == {}


def test_classes_of_few_rows():
    """A class may have fewer rows than there are folds, and class numbers may leave gaps."""
    texts, codes = [*TEXTS, "rare bird", "rare fish"], [*(CODES * 3), 7, 7]
    assert measure_one(texts, texts, codes, folds=5).accuracy.original.low > 0.9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classifier": "oracle"}, r"^Unknown classifier 'oracle'\. Known: tfidf, fasttext\.$"),
        ({"folds": 200}, "200 folds need at least 200 rows. Got 150"),
        ({"private": TEXTS[1:]}, "Got 149 of 'private'"),
        ({"codes": CODES[1:]}, "150 texts need as many labels. Got 149"),
        ({"codes": [*CODES[1:], 2]}, r"at least 2 rows\. Got 1 with only 1, such as that of row 150: .*\.$"),
        ({"codes": CODES - 1}, "whole numbers from 0 on"),
        ({"codes": CODES / 2}, "whole numbers from 0 on"),
        ({"texts": [], "private": [], "codes": []}, "5 folds need at least 5 rows. Got 0"),
    ],
)
def test_what_cannot_be_measured(change, message):
    """What cannot be measured is refused in one line that says how to fix it."""
    given = {"texts": TEXTS, "private": TEXTS, "codes": CODES, **change}
    with pytest.raises(InputError, match=message):
        measure_one(**given)

"""Utility: what a classifier loses that learns from private texts, and how labels become classes and folds."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import deniable as dn
from deniable.measure.utility import compare_with_blind_guess
from tests.measure.toy import noise, table
from tests.refusals import refuses

TEXTS, CODES = table(120)
CLASSIFIERS = ("tfidf", "fasttext")


def measure_one(texts, private, codes, **options):
    """Return the utility of a single private version."""
    return dn.measure.measure_utility(texts, {"private": private}, codes, **options)["private"]


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_originals_and_noise(classifier):
    """Originals teach nearly all and lose nothing; noise teaches no more than chance, and retains none of the gain."""
    options = {"classifier": classifier, "folds": 5 if classifier == "tfidf" else 2}
    found = dn.measure.measure_utility(TEXTS, {"same": TEXTS, "noise": noise(120)}, CODES, **options)
    assert list(found) == ["same", "noise"]
    same, lost = found["same"], found["noise"]
    assert (same.classifier, same.folds, same.rows, same.classes) == (classifier, options["folds"], 120, 2)
    assert same.accuracy.original == same.accuracy.private == lost.accuracy.original
    assert (same.accuracy.blind, same.accuracy.lost.value, same.balanced_accuracy.retained.value) == (0.5, 0, 1)
    assert same.accuracy.original.low > (0.9 if classifier == "tfidf" else 0.8)
    assert same.accuracy.lost.low < 0 < same.accuracy.lost.high
    assert 0.85 < same.balanced_accuracy.retained.low < 1 < same.balanced_accuracy.retained.high < 1.15
    for score in (lost.accuracy, lost.balanced_accuracy):
        assert score.is_judgeable
        assert not score.is_better_than_blind
        assert score.private.low < 0.5 < score.private.high
        assert score.retained.low < 0 < score.retained.high < 0.6
        assert score.lost.value == pytest.approx(score.original.value - score.private.value)
        assert score.lost.low > 0.2


def test_a_blind_guess_has_two_scores():
    """Always naming the most frequent class is right as often as it occurs; balanced, any guess is one in K."""
    texts, codes = [*TEXTS, *[f"class2word{row % 5} the" for row in range(50)]], [*CODES, *[2] * 50]
    found = measure_one(texts, noise(170), codes)
    assert (found.accuracy.blind, found.balanced_accuracy.blind) == (60 / 170, 1 / 3)
    assert found.classes == 3


def test_random_labels():
    """Where labels have nothing to do with the texts the share stays within a millionth of chance, on both sides."""
    codes = np.random.default_rng(4).integers(0, 2, 120)
    found = measure_one(noise(120, seed=5), noise(120, seed=6), codes)
    for share in (found.accuracy.original, found.accuracy.private):
        low, high = stats.binom.ppf([5e-7, 1 - 5e-7], 120, 0.5) / 120
        assert low <= share.value <= high
        assert share.low < 0.5 < share.high


def test_what_no_classifier_has_seen_helps_nobody():
    """A word that only private texts have is not met in the tests; equal texts share a fold, so none is tested on."""
    found = measure_one(TEXTS, [f"secret{code}" for code in CODES], CODES)
    assert found.accuracy.private.low < 0.5 < found.accuracy.private.high
    texts = [f"text{row} alone{row}" for row in range(30)] * 4
    codes = np.tile(np.random.default_rng(3).integers(0, 2, 30), 4)
    found = measure_one(texts, texts, codes)
    assert found.accuracy.original.value < 0.7


def test_versions_measured_together():
    """Versions give what each gives alone, under a seed of the folds; another seed gives other figures."""
    versions = {"noise": noise(120), "half": [*TEXTS[:60], *noise(60)]}
    found = dn.measure.measure_utility(TEXTS, versions, CODES, folds=3, seed=9)
    for name, private in versions.items():
        assert found[name] == measure_one(TEXTS, private, CODES, folds=3, seed=9)
    assert found["noise"] != measure_one(TEXTS, versions["noise"], CODES, folds=3, seed=8)
    assert dn.measure.measure_utility(TEXTS, {}, CODES) == {}


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_rare_classes_and_texts_without_words(classifier):
    """A class may have fewer rows than there are folds, numbers may leave gaps, and texts may be empty."""
    texts, codes = [*TEXTS, "rare bird", "rare fish", "", "..."], [*(CODES * 3), 7, 7, 0, 3]
    options = {"classifier": classifier, "folds": 3 if classifier == "tfidf" else 2}
    assert measure_one(texts, texts, codes, **options).accuracy.original.low > 0.7
    empty = measure_one([""] * 30, ["..."] * 30, [0] * 20 + [1] * 10, **options)
    assert empty.accuracy.private.value == empty.accuracy.blind == 2 / 3


def test_words_of_one_letter_and_of_other_scripts_count():
    """Single letters and words in other scripts, in any case, tell classes apart."""
    texts = [f"{word} {row}" for row in range(20) for word in ("a", "B", "да", "нет")]
    assert measure_one(texts, [text.upper() for text in texts], [0, 1, 0, 1] * 20, folds=2).accuracy.private.low > 0.9


def test_a_network_follows_from_its_seed():
    """What the network learns depends on the seed, not on what torch drew before nor on its number of threads."""
    texts, codes = table(24, telling=1)
    options = {"classifier": "fasttext", "folds": 2}
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 4):
            torch.set_num_threads(threads)
            torch.manual_seed(threads)
            found.append(measure_one(texts, noise(24), codes, **options))
    finally:
        torch.set_num_threads(before)
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({"classifier": "oracle"}, "'oracle'"),
        ({"folds": 200}, 200),
        ({"folds": 1}, 1),
        ({"folds": True}, True),
        ({"private": TEXTS[1:]}, "119 of 'private'"),
        ({"private": [*TEXTS[1:], None]}, "Row 120"),
        ({"codes": CODES[1:]}, 119),
        ({"codes": [*CODES[1:], 2]}, "row 120"),
        ({"codes": CODES - 1}, "from 0 on"),
        ({"codes": CODES / 2}, "whole numbers"),
        ({"texts": [], "private": [], "codes": []}, 0),
    ],
)
def test_what_cannot_be_measured(change, value):
    """Columns, classes and options that do not fit are refused."""
    with refuses(value):
        measure_one(**{"texts": TEXTS, "private": TEXTS, "codes": CODES, **change})


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=2).filter(lambda column: len(set(column)) > 1))
def test_codes_name_the_labels(column):
    """Each row's code stands for its label, names are sorted, and the majority is the largest share."""
    found = dn.measure.encode_labels(column)
    assert [found.names[code] for code in found.codes] == column
    assert list(found.names) == sorted(set(column))


def test_numbers_and_missing_labels():
    """Labels may be numbers; None and blank ones are no class, have the code -1, and do not count."""
    assert dn.measure.encode_labels([1, 0, 1]).names == ("0", "1")
    found = dn.measure.encode_labels(["b", None, "a", " ", "", "b"])
    assert (found.names, found.codes.tolist()) == (("a", "b"), [1, -1, 0, -1, -1, 1])
    assert (found.labelled_rows.tolist(), found.unlabelled_rows.tolist()) == ([0, 2, 5], [1, 3, 4])


@pytest.mark.parametrize(("column", "value"), [(["a", None], "'a'"), ([" ", None], "none"), ([], "none")])
def test_labels_that_teach_nothing(column, value):
    """No labels, a single class or no rows are refused, and the column is named."""
    with refuses(value):
        dn.measure.encode_labels(column, "topic")
    with refuses("topic"):
        dn.measure.encode_labels(column, "topic")


def draw_hits(rng, codes, recalls):
    """Return whether each row was predicted, given the recall of its class."""
    return rng.random(len(codes)) < np.asarray(recalls)[codes]


def test_values_by_hand():
    """Scores are weighted recalls, gains what is above the largest weight, and the retained share their ratio."""
    codes = np.array([0] * 6 + [1] * 4)
    original = np.array([1, 1, 1, 1, 1, 1, 1, 1, 0, 0], dtype=bool)
    private = np.array([1, 1, 1, 1, 1, 0, 1, 0, 0, 0], dtype=bool)
    accuracy = compare_with_blind_guess(original, private, codes, [0.6, 0.4])
    assert [accuracy.blind, accuracy.original.value, accuracy.private.value] == [0.6, 0.8, pytest.approx(0.6)]
    balanced = compare_with_blind_guess(original, private, codes, [0.5, 0.5])
    assert balanced.blind == 0.5
    assert balanced.original_gain.value == pytest.approx((1 + 0.5) / 2 - 0.5)
    assert balanced.private_gain.value == pytest.approx((5 / 6 + 1 / 4) / 2 - 0.5)
    assert balanced.lost.value == pytest.approx(balanced.original_gain.value - balanced.private_gain.value)
    many = compare_with_blind_guess(*(np.tile(column, 50) for column in (original, private, codes)), [0.5, 0.5])
    assert many.retained.value == pytest.approx(many.private_gain.value / many.original_gain.value)


def test_nothing_retained_of_nothing():
    """Where the originals are not certainly better than a blind guess there is no share to retain."""
    hits = np.arange(20) % 4 < 2
    score = compare_with_blind_guess(hits, hits, np.arange(20) % 2, [0.5, 0.5])
    assert (score.retained, score.is_judgeable) == (None, False)


@pytest.mark.deep
@pytest.mark.parametrize("classes", [2, 3])
def test_intervals_hold_the_true_values(classes):
    """In 400 tables the intervals of gain and retained share hold the truth about 95 times in 100."""
    rng = np.random.default_rng(classes)
    codes = np.concatenate([np.full(count, place) for place, count in enumerate((120, 60, 40)[:classes])])
    original, private = np.linspace(0.9, 0.7, classes), np.linspace(0.8, 0.4, classes)
    true_gain = private.mean() - 1 / classes
    true_share = true_gain / (original.mean() - 1 / classes)
    held_gains = held_shares = 0
    for _ in range(400):
        hits = draw_hits(rng, codes, original)
        copies = rng.random(len(codes)) < 0.5  # two classifiers that agree on half of the rows more than by chance
        other_hits = np.where(copies, hits & draw_hits(rng, codes, private / original), draw_hits(rng, codes, private))
        score = compare_with_blind_guess(hits, other_hits, codes, np.full(classes, 1 / classes))
        held_gains += score.private_gain.low <= true_gain <= score.private_gain.high
        held_shares += score.retained.low <= true_share <= score.retained.high
    assert 365 <= held_gains <= 397
    assert 365 <= held_shares <= 397


@pytest.mark.parametrize(
    ("count", "tables"),
    [(3, 60), *(pytest.param(count, 400, marks=pytest.mark.deep) for count in (2, 3, 5, 10))],
)
def test_a_lucky_guess_in_a_small_class_is_no_gain(count, tables):
    """With a class of a few rows beside a large one, a classifier that guesses is rarely called better than itself."""
    rng = np.random.default_rng(count)
    codes = np.repeat([0, 1], [count, 300])
    for share in (0.3, 0.5, 0.7):
        better = [
            compare_with_blind_guess(hits, hits, codes, [0.5, 0.5]).is_better_than_blind
            for hits in (draw_hits(rng, codes, [share, 1 - share]) for _ in range(tables))
        ]
        assert sum(better) <= (0.12 if count == 2 else 0.06) * tables  # 2 of 2 at once, by chance: no interval can tell


def test_always_right_keeps_an_interval():
    """A class that is always predicted rightly is not known to be so for ever."""
    score = compare_with_blind_guess(np.ones(40, bool), np.ones(40, bool), np.arange(40) % 2, [0.5, 0.5])
    assert 0.9 < score.private.low < 1
    assert score.retained.low < 1 < score.retained.high

"""What is retained of a classifier's advantage over a blind guess, and how certain that is."""

import numpy as np
import pytest

from deniable.measure.retention import compare_with_blind_guess


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

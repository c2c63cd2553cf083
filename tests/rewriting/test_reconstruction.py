"""BLEU-4 against values worked by hand."""

import math

import pytest

from deniable.core.errors import InputError
from deniable.rewriting.reconstruction import compute_bleu


def words(*texts):
    return [text.split() for text in texts]


@pytest.mark.parametrize(
    ("found", "wanted", "value"),
    [
        # 5/6 unigrams, 3/5 bigrams, 2/4 trigrams, 1/3 4-grams
        (["the cat sat on a mat"], ["the cat sat on the mat"], (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25),
        # all are right, and too short: exp(1 - 6/4)
        (["the cat sat on"], ["the cat sat on the mat"], math.exp(-0.5)),
        # too long: no penalty, 6/8, 5/7, 4/6, 3/5
        (["a b c d e f g h"], ["a b c d e f"], (6 / 8 * 5 / 7 * 4 / 6 * 3 / 5) ** 0.25),
        # counts of the corpus are summed before they are divided: 8/10, 6/8, 4/6, 2/4
        (["a b c d e", "f g x h i"], ["a b c d e", "f g y h z"], (8 / 10 * 5 / 8 * 3 / 6 * 2 / 4) ** 0.25),
        (["a b c d"], ["a b c d"], 1.0),
        (["a b c d"], ["d c b a"], 0.0),
        (["e f g h"], ["a b c d"], 0.0),
        (["a b"], ["a b"], 1.0),  # no trigram anywhere: two orders remain
        ([""], ["a b"], 0.0),
        ([""], [""], 1.0),
    ],
)
def test_by_hand(found, wanted, value):
    """Modified precisions of the whole corpus, their geometric mean, and the penalty for brevity."""
    assert compute_bleu(words(*found), words(*wanted)) == pytest.approx(100 * value, rel=1e-12)


def test_clipped_counts():
    """A token counts no more often than the reference has it: two of seven (Papineni et al. 2002, section 2.1)."""
    found, wanted = words("the the the the the the the"), words("the cat is on the mat")
    assert compute_bleu(found, wanted) == 0.0
    assert compute_bleu([["the"] * 4 + ["end"]], [["the"] * 4 + ["stop"]]) == pytest.approx(
        100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25
    )


@pytest.mark.parametrize(("found", "wanted"), [([], []), ([["a"]], []), ([["a"]], [["a"], ["b"]])])
def test_nothing_to_compare(found, wanted):
    """Each text needs a reference, and there must be one."""
    with pytest.raises(InputError, match="one reference for each text"):
        compute_bleu(found, wanted)

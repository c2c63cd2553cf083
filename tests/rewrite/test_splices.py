"""New texts out of a corpus: whole pieces of it, joined at a token that both have."""

from deniable.rewrite.splices import spliced

KEY, OTHER = bytes(range(32)), bytes(32)
CORPUS = [[4, 5, 6, 7], [8, 6, 9], [10], [11, 5, 12, 6]]


def test_the_seam():
    """What comes out begins as one text of the corpus and ends as another, behind a token that both have."""

    def joined(text):
        return any(
            text[: cut + 1] == one[: cut + 1] and text[cut:] == other[len(other) - len(text) + cut :]
            for cut in range(len(text))
            for one in CORPUS
            for other in CORPUS
            if len(text) - cut <= len(other)
        )

    found = spliced(CORPUS, 300, KEY, 10)
    assert len(found) == 300
    assert all(map(joined, found))
    assert not joined([4, 9])
    assert {tuple(text) for text in found} == {
        (4, 5, 6, 7), (4, 5, 6, 9), (4, 5, 6), (4, 5, 12, 6), (8, 6, 9), (8, 6, 7), (8, 6), (10,),
        (11, 5, 12, 6), (11, 5, 12, 6, 7), (11, 5, 12, 6, 9), (11, 5, 6, 7),
    }  # fmt: skip


def test_the_longest():
    """No text is longer than asked for, and texts of the corpus that are take no part."""
    found = spliced([[4] * 50, [4, 5], [5, 4, 4]], 200, KEY, 4)
    assert {len(text) for text in found} <= {1, 2, 3, 4}
    assert len(found) == 200


def test_nothing_to_join():
    """A corpus without tokens gives nothing."""
    assert spliced([], 5, KEY, 10) == []
    assert spliced([[], []], 5, KEY, 10) == []
    assert spliced([[4] * 11], 5, KEY, 10) == []


def test_the_key():
    """The same key gives the same texts, and another key others."""
    assert spliced(CORPUS, 50, KEY, 10) == spliced(CORPUS, 50, KEY, 10) != spliced(CORPUS, 50, OTHER, 10)

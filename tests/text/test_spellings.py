"""Spellings and their numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.text.encoded import EncodedTexts
from deniable.text.spellings import SpellingTable

words = st.lists(st.text("aAbé日\ud800", min_size=1, max_size=4), min_size=1, max_size=60)


def number(table, words):
    """Return the entries of words, those that are new added."""
    texts = EncodedTexts.of(words)
    starts, ends = texts.offsets[:-1].astype(np.int32), texts.offsets[1:].astype(np.int32)
    entries = table.find(texts.data, starts, ends)
    known = entries.copy()
    table.add(texts.data, starts, ends, entries)
    return known.tolist(), entries.tolist()


@pytest.mark.parametrize("is_folding", [True, False])
@given(first=words, second=words)
def test_equal_spellings_have_one_number(is_folding, first, second):
    """Words have one entry if, and only if, they are one spelling; ASCII ones may fold, others never do."""
    table, entry_of = SpellingTable(is_folding=is_folding), {}
    for batch in (first, second):
        keys = [word.lower() if is_folding and word.isascii() else word for word in batch]
        known, entries = number(table, batch)
        assert known == [entry_of.get(key, -1) for key in keys]
        for key, entry in zip(keys, entries, strict=True):
            assert entry_of.setdefault(key, entry) == entry
    assert sorted(entry_of.values()) == list(range(len(table)))
    assert table.list_spellings(0) == sorted(entry_of, key=entry_of.__getitem__)


def test_a_table_grows():
    """Many spellings, long ones among them, keep their numbers while the table grows."""
    table = SpellingTable(is_folding=True)
    words = [f"word{place}" * (1 + 5000 * (place % 7000 == 0)) for place in range(20_000)]
    assert number(table, words)[1] == list(range(20_000))
    assert number(table, words)[0] == list(range(20_000))
    assert table.list_spellings(19_998) == words[19_998:]

"""Texts in one buffer."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.text.encoded import EncodedTexts, join_texts, list_texts, take_texts

texts = st.lists(st.text(st.characters(codec=None), max_size=6), max_size=8)


@given(texts=texts)
def test_texts_come_back(texts):
    """Whatever characters texts have, lone surrogates too, they are decoded as they were, one by one and together."""
    encoded = EncodedTexts.of(texts)
    assert encoded.decode_all() == texts
    assert [encoded.decode(row) for row in range(len(encoded))] == texts
    assert encoded.size == sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)


@given(texts=st.lists(st.text(max_size=6), max_size=8), first=st.integers(0, 3))
def test_arrow_arrays_are_read_and_made(texts, first):
    """A slice of an Arrow array gives its own texts, and texts give an array that is valid."""
    array = pa.array(texts, type=pa.large_string()).slice(min(first, len(texts)))
    encoded = EncodedTexts.of_arrow(array)
    assert encoded.decode_all() == texts[first:]
    encoded.to_arrow().validate(full=True)
    assert encoded.to_arrow().to_pylist() == texts[first:]


@given(texts=texts, size=st.integers(1, 12))
def test_parts_join_to_the_whole(texts, size):
    """Texts are cut into parts between texts alone, each as short as asked but for its last text."""
    parts = EncodedTexts.of(texts).split(size)
    assert EncodedTexts.join(parts).decode_all() == texts
    for part in parts:
        assert len(part) <= 1 or part.offsets[-2] - part.offsets[0] < 2 * size


@given(texts=texts, seed=st.integers(0, 9))
def test_lists_and_buffers_are_handled_alike(texts, seed):
    """Texts are taken and joined the same way, in lists and in buffers."""
    rows = np.random.default_rng(seed).permutation(len(texts))
    expected = [texts[row] for row in rows]
    for form in (texts, EncodedTexts.of(texts)):
        assert list_texts(take_texts(form, rows)) == expected
        assert list_texts(join_texts([form, form])) == texts + texts


@pytest.mark.parametrize(("characters", "rows"), [(b"&", [1]), (b"<&", [1, 3]), (b"?", [])])
def test_rows_with_a_character(characters, rows):
    """The texts are found that have one of some characters, also where the buffer begins before them."""
    encoded = EncodedTexts.of(["&&", "", "a&b&", "é", "<"]).split(1)
    later = EncodedTexts(encoded[0].data, EncodedTexts.of(["&&", "", "a&b&", "é", "<"]).offsets[1:])
    assert later.find_rows(characters).tolist() == rows

"""Batches: what is counted of them, and which ids their records may have."""

import json
from collections import Counter

import numpy as np
import pytest

import deniable as dn
from deniable.text.batches import PrivatizedBatch, Tally, check_record_ids, decode_tally, encode_tally
from deniable.text.escapes import MarkupCounts


def tally_of(*lengths):
    """Return the counts of a release of records of so many words."""
    return Tally(records=len(lengths), words=sum(lengths), lengths=Counter(lengths))


@pytest.mark.parametrize(
    ("lengths", "median"),
    [([], 0), ([3], 3), ([1, 9], 1), ([5, 1, 3], 3), ([1, 2, 3, 9], 2), ([0, 0, 7], 0), ([4] * 6, 4)],
)
def test_the_median_of_a_tally(lengths, median):
    """The median is the lower one of two in the middle, and 0 of no records."""
    assert tally_of(*lengths).median_length() == median


def test_tallies_survive_json():
    """A tally comes back equal from the text that is stored."""
    tally = Tally(4, 12, Counter({3: 4}), 4, 1, 0, 12, MarkupCounts(4, 1, 0))
    assert decode_tally(json.loads(json.dumps(encode_tally(tally)))) == tally


def test_tallies_add_up():
    """The sum of two tallies counts what both count, and nothing is added by an empty one."""
    first = Tally(2, 3, Counter([1, 2]), changed=2, unknown=1)
    second = Tally(1, 2, Counter([2]), changed=1, unknown=0)
    assert first + second == Tally(3, 5, Counter([1, 2, 2]), changed=3, unknown=1)
    assert sum([first, second], Tally()) == second + first


def test_missing_texts_are_counted():
    """Nulls of every kind pass as None, are counted, and stand in the owner's line, if there are any."""
    space = dn.Space(["the", "food"], np.eye(2))
    release = dn.Release(dn.TEM(space, epsilon=1.0))
    released = release.batch(["the zork", None, float("nan"), ""])
    assert released.texts[1:] == [None, None, ""]
    assert (released.tally.records, released.tally.missing) == (4, 2)
    assert (released.tally + released.tally).missing == 4
    line, warning = released.tally.summary().splitlines()
    assert warning.startswith("warning (for you only): 50.0 % of the words are not in the vocabulary")
    assert line.startswith("for you only   2 without a text, ")
    assert line.endswith("1 not in the vocabulary; these figures depend on the private text: do not publish them")
    assert (
        Tally(1, 4, Counter([4]), changed=1).summary().startswith("for you only   1 words changed (25.0 %), 0 not in")
    )
    assert Tally().summary().startswith("for you only   0 words changed (0.0 %)")


def test_a_batch_may_be_a_column_of_a_data_frame():
    """A series and a data frame of one column are read cell by cell; several columns are refused."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    texts = ["the food", None, "food"]
    frame = pandas.DataFrame({"note": texts, "stars": [1, 2, 3]})
    release = dn.Release(dn.TEM(dn.Space(["the", "food"], np.eye(2)), epsilon=1.0), key="seed:1")
    for column in (frame["note"], frame[["note"]], frame[["note"]].to_numpy()):
        assert release.batch(column) == release.batch(texts)
    with pytest.raises(dn.InputError, match=r"A batch takes one column of texts. Got 2 \('note', 'stars'\)"):
        release.batch(frame)
    with pytest.raises(dn.InputError, match="Got int in row 0: make it a text, or None"):
        release.batch(frame["stars"])


def test_a_batch_counts_its_words():
    """Kept words belong to the length of a text; an unknown word has changed even where its public word came out."""
    batch = PrivatizedBatch(
        new_texts=["b a the", ""],
        offsets=np.array([0, 2, 2]),
        words=np.array([0, 0], dtype=np.int32),
        outputs=np.array([1, 0], dtype=np.int32),
        unknown_mask=np.array([False, True]),
        unknown_count=1,
        kept_counts=np.array([1, 0]),
    )
    assert batch.lengths == [3, 0]
    assert batch.changed_mask.tolist() == [True, True]
    assert Tally.count(batch.lengths, batch) == Tally(2, 3, Counter([3, 0]), changed=2, unknown=1, read_words=3)


def test_record_ids_are_texts():
    """Ids may be texts or whole numbers, of any ordered collection, and become identities."""
    assert check_record_ids(["a", 7, np.int64(8), 9.0], 4) == ["a", "7", "8", "9"]


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["a"], "one record id per text. Got 1 for 2"),
        ({"a", "b"}, "one record id per text. Got one set for 2"),
        ([1, "1"], "must be unique. '1' is in rows 0 and 1"),
        ([1, 1.0], "must be unique. '1' is in rows 0 and 1"),
        ([1.0, 2.5], "Record ids: Persons and records are named by texts or whole numbers, .* Got 2.5: write"),
        (["a", True], "are named by texts or whole numbers, .* Got True: write"),
        (["a", " "], "Record ids: there is a null or a blank in row 1"),
    ],
)
def test_wrong_record_ids(ids, message):
    """Too few ids, a set, equal ones, and those that may be written in several ways are refused in one line."""
    with pytest.raises(dn.InputError, match=message):
        check_record_ids(ids, 2)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_data_frame_of_ids_is_refused(library):
    """The names of a frame's columns never pass for the ids of its rows, which would then share their noise."""
    frame = pytest.importorskip(library, reason=f"{library} is not installed").DataFrame({"id": ["r7"]})
    with pytest.raises(dn.InputError, match=r"^Record ids must be one column\. Got one DataFrame: "):
        check_record_ids(frame, 1)

"""Data frames of pandas: the index, types of texts, and what goes with them."""

import pyarrow as pa
import pytest

from tests.engines.helpers import KEYED, make_table
from tests.refusals import refuses
from tests.text.helpers import ODD_PIECES, WORDS

pd = pytest.importorskip("pandas", reason="pandas is not installed")

from deniable.engines.frames import privatize_dataframe  # noqa: E402 - where pandas is installed


def frame_of():
    """Return forty rows: ids, two columns of texts and another column."""
    return make_table().to_pandas()


def release(frame, **options):
    """Return what comes out of a frame."""
    return privatize_dataframe(frame, KEYED, **{"text": "text", "id": "id", **options})


def texts_of(column):
    """Return the texts of a column, None for each null."""
    return [None if pd.isna(text) else text for text in column]


PLAIN = texts_of(release(frame_of()).table["text"])


def test_frames_come_out_as_they_were():
    """Index, order and types stay, in parts and whole, and the counts of parts add up."""
    frame = frame_of()
    whole = release(frame)
    pd.testing.assert_frame_equal(whole.table.drop(columns="text"), frame_of().drop(columns="text"))
    parts = [release(frame.iloc[rows]) for rows in (slice(17), slice(17, 40))]
    pd.testing.assert_frame_equal(pd.concat([part.table for part in parts]), whole.table)
    assert parts[0].tally + parts[1].tally == whole.tally


def test_the_index_may_hold_the_ids():
    """A level of the index names the records as a column does, and both stay."""
    by_index = release(frame_of().set_index("id"))
    assert by_index.table.index.equals(frame_of().set_index("id").index)
    assert by_index.copied.columns == ("id", "note", "stars")
    for frame in (frame_of().set_index("id"), frame_of().set_index(["stars", "id"])):
        assert texts_of(release(frame).table["text"]) == PLAIN
    # Rows that were chosen show it by their numbers, which the certificate names.
    parts = (frame_of().iloc[5:], frame_of().iloc[::2], frame_of().iloc[:5])
    assert [release(frame).copied.columns[0] for frame in parts] == ["the index", "the index", "id"]


def test_the_certificate_names_what_looks_private():
    """Columns and levels of the index with remarks or addresses come first of what is not protected; ids do not."""
    frame = frame_of()
    frame["note"] = [f"Ann Smith rang {row}" for row in range(len(frame))]
    frame["mail"] = [f"p{row}@example.org" for row in range(len(frame))]
    certificate = release(frame.set_index("mail")).make_certificate()
    assert [line.rpartition(": ")[2] for line in certificate.not_protected[:2]] == ["'note'", "'mail'"]


def test_an_index_called_like_a_column():
    """An index that repeats the texts is refused, and one that repeats another column is named as copied too."""
    frame = frame_of()
    for indexed in (frame.set_index("text", drop=False), frame.set_index(["stars", "text"], drop=False)):
        with refuses("index"):
            release(indexed)
    with refuses("'text'"):
        release(frame.set_index("text"))
    frame["who"] = [f"Ann Smith {row}" for row in range(len(frame))]
    indexed = frame.set_index("who", drop=False)
    indexed["who"] = 1
    released = release(indexed)
    assert released.copied.columns[0] == released.copied.texts[0] == "the index"


def test_columns_of_one_name():
    """Two columns that could be meant are refused; copied ones of one name are judged each."""
    frame = frame_of()
    with refuses("several"):
        release(pd.concat([frame, frame], axis=1))
    notes = pd.Series([f"Ann Smith rang {row}" for row in range(len(frame))], name="1")
    for others in ([notes, notes], [notes.rename(1), frame["stars"].rename("1")]):
        assert "1" in release(pd.concat([frame, *others], axis=1)).copied.texts


@pytest.mark.parametrize("kind", ["object", "string", pd.ArrowDtype(pa.string())], ids=str)
def test_types_of_texts_stay(kind):
    """Every type of texts comes out as it is, with the texts that plain objects give, and its own nulls."""
    frame = frame_of().astype({"text": kind})
    released = release(frame).table
    assert released["text"].dtype == frame["text"].dtype
    assert texts_of(released["text"]) == PLAIN


def test_categories_and_attributes_do_not_come_out():
    """The categories of a column of texts are the private texts, and attributes may say anything."""
    frame = frame_of().astype({"text": "category"})
    frame.attrs["source"] = "the private file"
    released = release(frame).table
    assert released["text"].dtype == frame_of()["text"].dtype
    assert released.attrs == {}


def test_lone_surrogates_pass():
    """Texts that no other host holds are read as in a batch."""
    texts = [f"{WORDS[0]} {piece} {WORDS[1]}" for piece in ODD_PIECES]
    frame = pd.DataFrame({"id": range(len(texts)), "text": pd.Series(texts, dtype=object)})
    assert release(frame).table["text"].tolist() == KEYED.batch(texts, list(range(len(texts)))).texts


@pytest.mark.usefixtures("no_draws")
def test_a_cell_that_is_no_text_is_named():
    """What is no text, and what is no data frame, is refused before a draw."""
    frame = frame_of().astype({"text": object})
    frame.loc[3, "text"] = 5.5
    with refuses("row 3"):
        release(frame)
    with refuses("Series"):
        release(frame["text"])

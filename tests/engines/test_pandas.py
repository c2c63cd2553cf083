"""Data frames of pandas are released as the plain run releases the same table."""

import subprocess
import sys

import pyarrow as pa
import pytest

from deniable import InputError, Release
from tests.engines.helpers import REPEATED_IDS, make_alike_table, make_spelled_tables, make_table, run_plainly
from tests.engines.test_tasks import KEYED
from tests.text.helpers import MECHANISM, ODD_PIECES, WORDS

pd = pytest.importorskip("pandas", reason="pandas is not installed")

from deniable.engines.pandas import privatize_dataframe  # noqa: E402 - where pandas is installed

FRESH = Release(MECHANISM)


def frame_of():
    """Return forty rows: ids, two columns of texts and another column."""
    return make_table().to_pandas()


def texts_of(column):
    """Return the texts of a column, None for each null."""
    return [None if pd.isna(text) else text for text in column]


@pytest.mark.parametrize("columns", [("text",), ("note", "text")])
@pytest.mark.parametrize("release", [KEYED, Release(MECHANISM, key="seed:7", unknown="drop", unescape="html")])
def test_a_frame_equals_the_plain_run(tmp_path, columns, release):
    """One column of texts or two: the cells and the counts of the plain run, and nothing else has changed."""
    plain, _, plain_tally = run_plainly(make_table(), release, tmp_path, columns)
    frame = frame_of()
    released = privatize_dataframe(frame, release, text=columns, id="id")
    assert {name: texts_of(released.table[name]) for name in columns} == {
        name: plain[name].to_pylist() for name in columns
    }
    assert released.tally == plain_tally
    pd.testing.assert_frame_equal(frame, frame_of())
    others = [name for name in frame.columns if name not in columns]
    pd.testing.assert_frame_equal(released.table[others], frame[others])
    assert list(released.table.columns) == list(frame.columns)


def test_order_and_parts_do_not_matter():
    """The frame backwards, in parts, and again gives the same texts for each record."""
    frame = frame_of()
    once = privatize_dataframe(frame, KEYED, text="text", id="id").table
    backwards = privatize_dataframe(frame.iloc[::-1], KEYED, text="text", id="id").table
    parts = [privatize_dataframe(frame.iloc[rows], KEYED, text="text", id="id") for rows in (slice(17), slice(17, 40))]
    pd.testing.assert_frame_equal(backwards.iloc[::-1], once)
    pd.testing.assert_frame_equal(pd.concat([part.table for part in parts]), once)
    assert (
        sum((part.tally for part in parts[1:]), parts[0].tally)
        == privatize_dataframe(frame, KEYED, text="text", id="id").tally
    )


def test_another_key_gives_other_texts():
    """What a rotated key gives is not what the old one gave."""
    frame = frame_of()
    new = privatize_dataframe(frame, Release(MECHANISM, key="seed:8"), text="text", id="id").table
    assert not new["text"].equals(privatize_dataframe(frame, KEYED, text="text", id="id").table["text"])


def test_the_index_may_hold_the_ids():
    """A level of the index names the records as a column does, and both stay."""
    frame = frame_of()
    by_index = privatize_dataframe(frame.set_index("id"), KEYED, text="text", id="id")
    assert by_index.table.index.equals(frame.set_index("id").index)
    assert texts_of(by_index.table["text"]) == texts_of(
        privatize_dataframe(frame, KEYED, text="text", id="id").table["text"]
    )
    assert by_index.copied == ("id", "note", "stars")
    two_levels = frame.set_index(["stars", "id"])
    assert texts_of(privatize_dataframe(two_levels, KEYED, text="text", id="id").table["text"]) == texts_of(
        by_index.table["text"]
    )


def test_the_certificate_names_what_looks_private():
    """Columns and levels of the index with remarks or addresses come first of what is not protected; ids do not."""
    frame = frame_of()
    frame["note"] = [f"Ann Smith rang {row}" for row in range(len(frame))]
    frame["mail"] = [f"p{row}@example.org" for row in range(len(frame))]
    certificate = privatize_dataframe(frame.set_index("mail"), KEYED, text="text", id="id").make_certificate()
    assert [line.rpartition(": ")[2] for line in certificate.not_protected[:2]] == ["'note'", "'mail'"]


def test_an_index_called_like_a_column():
    """An index that repeats the texts is refused, and one that repeats another column is named as copied too."""
    frame = frame_of()
    for indexed in (frame.set_index("text", drop=False), frame.set_index(["stars", "text"], drop=False)):
        with pytest.raises(InputError, match="index of the DataFrame is called like a column of texts"):
            privatize_dataframe(indexed, KEYED, text="text", id="id")
    frame["who"] = [f"Ann Smith {row}" for row in range(len(frame))]
    indexed = frame.set_index("who", drop=False)
    indexed["who"] = 1
    released = privatize_dataframe(indexed, KEYED, text="text", id="id")
    assert released.copied[0] == "the index"
    assert released.content is not None
    assert released.content.texts[0] == "the index"


def test_columns_of_one_name_are_judged_each():
    """What looks like texts is found also where another copied column has the same name."""
    frame = frame_of()
    notes = pd.Series([f"Ann Smith rang {row}" for row in range(len(frame))], name="1")
    for others in ([notes, notes], [notes.rename(1), frame["stars"].rename("1")]):
        content = privatize_dataframe(pd.concat([frame, *others], axis=1), KEYED, text="text", id="id").content
        assert content is not None
        assert "1" in content.texts


def test_the_certificate_names_what_was_copied():
    """All columns but those of texts are named, and an index that says more than row numbers."""
    frame = frame_of()
    certificate = privatize_dataframe(frame, KEYED, text="text", id="id").make_certificate(chosen_from_data=True)
    assert "the columns copied unchanged: 'id', 'note', 'stars'" in certificate.not_protected
    assert certificate.records == 40
    assert privatize_dataframe(frame.iloc[5:], KEYED, text="text", id="id").copied[0] == "the index"
    assert privatize_dataframe(frame.iloc[::2], KEYED, text="text", id="id").copied[0] == "the index"
    assert privatize_dataframe(frame.iloc[:5], KEYED, text="text", id="id").copied[0] == "id"


@pytest.mark.parametrize("kind", ["object", "string", "string[pyarrow]", pd.ArrowDtype(pa.string())], ids=str)
def test_types_of_texts_stay(kind):
    """Every type of texts comes out as it is, with the texts that plain objects give, and its own nulls."""
    frame = frame_of().astype({"text": kind})
    released = privatize_dataframe(frame, KEYED, text="text", id="id").table
    assert released["text"].dtype == frame["text"].dtype
    plain = privatize_dataframe(frame_of(), KEYED, text="text", id="id").table["text"]
    assert texts_of(released["text"]) == texts_of(plain)


def test_categories_and_attributes_do_not_come_out():
    """The categories of a column of texts are the private texts, and attributes may say anything."""
    frame = frame_of().astype({"text": "category"})
    frame.attrs["source"] = "the private file"
    released = privatize_dataframe(frame, KEYED, text="text", id="id").table
    assert released["text"].dtype == frame_of()["text"].dtype
    assert released.attrs == {}


def test_odd_texts_pass():
    """Lone surrogates, scripts of other directions, emoji and NULs are read as in a batch."""
    texts = [f"{WORDS[0]} {piece} {WORDS[1]}" for piece in ODD_PIECES]
    frame = pd.DataFrame({"id": range(len(texts)), "text": pd.Series(texts, dtype=object)})
    released = privatize_dataframe(frame, KEYED, text="text", id="id").table["text"].tolist()
    assert released == KEYED.batch(texts, list(range(len(texts)))).texts


@pytest.mark.parametrize("rows", [0, 1])
def test_small_frames_pass(rows):
    """A frame without rows, or with one, keeps its columns and types."""
    frame = frame_of().head(rows)
    released = privatize_dataframe(frame, KEYED, text=["text", "note"], id="id")
    assert released.table.dtypes.equals(frame.dtypes)
    assert released.tally.records == rows


def test_fresh_noise_must_be_asked_for():
    """Without a key each call draws anew, needs no ids, and is refused unless it is asked for."""
    frame = frame_of()
    with pytest.raises(InputError, match="fresh=True"):
        privatize_dataframe(frame, FRESH, text="text")
    one, other = (privatize_dataframe(frame, FRESH, text="text", fresh=True).table["text"] for _ in range(2))
    assert not one.equals(other)
    with pytest.raises(InputError, match="leave out one of them"):
        privatize_dataframe(frame, KEYED, text="text", id="id", fresh=True)


def with_cell(frame, row, column, cell):
    """Return a frame of objects with one cell changed."""
    changed = frame.astype({column: object})
    changed.loc[row, column] = cell
    return changed


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (with_cell(frame_of(), 3, "id", 39), {}, r"Record ids must be unique. '39' is in rows 3 and 39"),
        (with_cell(frame_of(), 3, "id", None), {}, "Record ids: there is a null or a blank in row 3"),
        (frame_of().astype({"id": float}).assign(id=lambda one: one["id"] / 2), {}, "Record ids: .* Got 0.5: write"),
        (with_cell(frame_of(), 3, "text", 5.5), {}, "column 'text' of the DataFrame: Texts must be .* in row 3"),
        (frame_of(), {"text": "stars"}, "column 'stars' of the DataFrame: Texts must be str or None. Got int"),
        (frame_of(), {"text": "texts"}, "has no column 'texts'. Its columns: 'id', 'text', 'note', 'stars'"),
        (frame_of(), {"id": "ids"}, "has no column 'ids'"),
        (frame_of(), {"id": None}, "name the column of unique record ids"),
        (frame_of(), {"text": "id"}, "cannot hold both texts and record ids"),
        (frame_of(), {"text": []}, "must be the name of a column"),
        (frame_of(), {"text": ["text", "text"]}, "named twice"),
        (pd.concat([frame_of(), frame_of()], axis=1), {}, "several columns called"),
        (frame_of().set_index("text"), {}, "'text' is a level of the index of the DataFrame, not a column: use"),
        (frame_of()["text"], {}, "takes a pandas DataFrame. Got one Series"),
    ],
)
def test_what_cannot_be_released_is_refused(monkeypatch, frame, options, message):
    """Repeated ids, nulls among them, and columns that are not there are named in one line before the first draw."""
    monkeypatch.setattr(Release, "privatize_cells", lambda *_, **__: pytest.fail("drew"))
    with pytest.raises(InputError, match=message) as caught:
        privatize_dataframe(frame, KEYED, **{"text": "text", "id": "id", **options})
    assert "\n" not in str(caught.value)
    assert "london" not in str(caught.value).lower()


def test_pandas_is_imported_when_it_is_used():
    """The module loads where pandas is missing, and one line names what to install."""
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "from deniable.engines.pandas import privatize_dataframe\n"
        "try: privatize_dataframe(None, None, text='text')\n"
        "except ValueError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "privatize_dataframe needs pandas, which is missing: install pandas.\n"


@pytest.mark.parametrize("name", ["self", "cls", "func", "", "**", "df", "text column", "mean"])
def test_columns_of_any_name(name, tmp_path):
    """A name is never taken for one of a parameter; the private frame stays as it is."""
    table = make_table().rename_columns(["id", name, "note", "stars"])
    plain, _, _ = run_plainly(table, KEYED, tmp_path, (name, "note"))
    frame = table.to_pandas()
    released = privatize_dataframe(frame, KEYED, text=[name, "note"], id="id")
    pd.testing.assert_frame_equal(released.table, plain.to_pandas())
    pd.testing.assert_frame_equal(frame, table.to_pandas())


def test_names_that_differ_in_capitals(tmp_path):
    """The column that is named is released, and the one whose name differs in capitals stays."""
    plain, _, _ = run_plainly(make_alike_table(), KEYED, tmp_path, ("Note",))
    released = privatize_dataframe(make_alike_table().to_pandas(), KEYED, text="Note", id="id")
    pd.testing.assert_frame_equal(released.table, plain.to_pandas())


def test_ids_are_identities(tmp_path):
    """Ids that some program wrote as floats name the noise of the integers, and two spellings of one are repeated."""
    expected, _, _ = run_plainly(make_table(), KEYED, tmp_path)
    for table in make_spelled_tables():
        released = privatize_dataframe(table.to_pandas(), KEYED, text="text", id="id")
        assert released.table["text"].tolist() == expected.to_pandas()["text"].tolist()
        assert released.table["id"].equals(table.to_pandas()["id"])
    with pytest.raises(InputError, match=r"must be unique\. '7' is in rows 7 and 39"):
        privatize_dataframe(make_table(REPEATED_IDS).to_pandas(), KEYED, text="text", id="id")

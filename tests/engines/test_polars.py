"""Frames of polars, lazy ones too, are released as the plain run releases the same table."""

import subprocess
import sys

import pytest

from deniable import InputError, Release
from deniable.engines.tallies import merge_tallies
from tests.engines.helpers import REPEATED_IDS, TEXTS, make_alike_table, make_spelled_tables, make_table, run_plainly
from tests.engines.test_tasks import KEYED
from tests.text.helpers import MECHANISM, ODD_PIECES, WORDS

pl = pytest.importorskip("polars", reason="polars is not installed")

from deniable.engines.polars import privatize_dataframe, privatize_lazyframe  # noqa: E402 - where polars is installed

FRESH = Release(MECHANISM)


def frame_of():
    """Return forty rows: ids, two columns of texts and another column."""
    return pl.DataFrame(pl.from_arrow(make_table()))


@pytest.mark.parametrize("columns", [("text",), ("note", "text")])
@pytest.mark.parametrize("release", [KEYED, Release(MECHANISM, key="seed:7", unknown="drop", unescape="html")])
def test_a_frame_equals_the_plain_run(tmp_path, columns, release):
    """One column of texts or two: the cells and the counts of the plain run, and nothing else has changed."""
    plain, _, plain_tally = run_plainly(make_table(), release, tmp_path, columns)
    frame = frame_of()
    released = privatize_dataframe(frame, release, text=columns, id="id")
    assert released.table.equals(pl.from_arrow(plain))
    assert released.table.schema == frame.schema
    assert released.tally == plain_tally
    assert frame.equals(frame_of())
    assert released.copied == tuple(name for name in frame.columns if name not in columns)


@pytest.mark.parametrize("columns", [("text",), ("note", "text")])
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_a_lazy_frame_equals_the_plain_run(tmp_path, columns, engine):
    """Both engines give the cells of the plain run, and the folder its counts, however often they are run."""
    plain, _, plain_tally = run_plainly(make_table(), KEYED, tmp_path, columns)
    lazy = privatize_lazyframe(frame_of().lazy(), KEYED, text=columns, id="id", tallies=tmp_path / "tallies")
    for _ in range(2):
        assert lazy.collect(engine=engine).equals(pl.from_arrow(plain))
    assert merge_tallies(tmp_path / "tallies") == plain_tally
    assert lazy.collect_schema() == frame_of().schema


def test_a_query_goes_on_after_a_lazy_frame(tmp_path):
    """What follows in the query sees the private texts, and moves nothing before them: all records are counted."""
    whole = privatize_dataframe(frame_of(), KEYED, text="text", id="id")
    lazy = privatize_lazyframe(frame_of().lazy(), KEYED, text="text", id="id", tallies=tmp_path / "tallies")
    some = lazy.filter(pl.col("stars") == 2).select("text", "id").slice(2, 3).collect()
    assert some.equals(whole.table.filter(pl.col("stars") == 2).select("text", "id").slice(2, 3))
    joined = lazy.join(lazy.select("id", again="text"), on="id").collect()
    assert joined["text"].equals(joined["again"].alias("text"), null_equal=True)
    assert merge_tallies(tmp_path / "tallies") == whole.tally


def test_a_filter_does_not_hide_repeated_ids():
    """A repeated id is refused in the evaluation, also where a later filter drops the row."""
    frame = frame_of().with_columns(id=pl.when(pl.col("id") == 39).then(3).otherwise(pl.col("id")))
    lazy = privatize_lazyframe(frame.lazy(), KEYED, text="text", id="id")
    with pytest.raises((InputError, pl.exceptions.ComputeError), match="not unique"):
        lazy.filter(pl.col("stars") == 0).head(1).collect()


def test_parts_do_not_matter():
    """The frame backwards, in parts, in chunks, and again gives the same texts for each record."""
    frame = frame_of()
    once = privatize_dataframe(frame, KEYED, text="text", id="id")
    assert privatize_dataframe(frame.reverse(), KEYED, text="text", id="id").table.reverse().equals(once.table)
    chunks = pl.concat([frame[:7], frame[7:11], frame[11:]], rechunk=False)
    assert chunks.n_chunks() == 3
    assert privatize_dataframe(chunks, KEYED, text="text", id="id").table.equals(once.table)
    parts = [privatize_dataframe(part, KEYED, text="text", id="id") for part in (frame[:17], frame[17:])]
    assert pl.concat([part.table for part in parts]).equals(once.table)
    assert parts[0].tally + parts[1].tally == once.tally


def test_another_key_gives_other_texts():
    """What a rotated key gives is not what the old one gave."""
    new = privatize_dataframe(frame_of(), Release(MECHANISM, key="seed:8"), text="text", id="id").table
    assert not new.equals(privatize_dataframe(frame_of(), KEYED, text="text", id="id").table)


def test_categories_do_not_come_out():
    """The categories of a column of texts are the private texts: it becomes String, at once and lazily."""
    plain = privatize_dataframe(frame_of(), KEYED, text="text", id="id").table
    kinds = [pl.Categorical(), pl.Enum(sorted({text for text in TEXTS if text is not None}))]
    for kind in kinds:
        frame = frame_of().with_columns(pl.col("text").cast(kind))
        assert privatize_dataframe(frame, KEYED, text="text", id="id").table.equals(plain)
        lazy = privatize_lazyframe(frame.lazy(), KEYED, text="text", id="id")
        assert lazy.collect_schema()["text"] == pl.String
        assert lazy.collect().equals(plain)


def test_odd_texts_pass():
    """Scripts of other directions, emoji and NULs are read as in a batch; polars has no lone surrogates."""
    texts = [f"{WORDS[0]} {piece} {WORDS[1]}" for piece in ODD_PIECES if piece != "\ud800"]
    ids = list(range(len(texts)))
    released = privatize_dataframe(pl.DataFrame({"id": ids, "text": texts}), KEYED, text="text", id="id")
    assert released.table["text"].to_list() == KEYED.batch(texts, ids).texts


@pytest.mark.parametrize("rows", [0, 1])
def test_small_frames_pass(rows):
    """A frame without rows, or with one, keeps its columns and types."""
    frame = frame_of().head(rows)
    released = privatize_dataframe(frame, KEYED, text=["text", "note"], id="id")
    assert released.table.schema == frame.schema
    assert released.tally.records == rows
    lazy = privatize_lazyframe(frame.lazy(), KEYED, text=["text", "note"], id="id")
    assert lazy.collect().equals(released.table)


def test_fresh_noise_must_be_asked_for():
    """Without a key each call draws anew and is refused unless it is asked for; a lazy frame always needs a key."""
    with pytest.raises(InputError, match="fresh=True"):
        privatize_dataframe(frame_of(), FRESH, text="text")
    one, other = (privatize_dataframe(frame_of(), FRESH, text="text", fresh=True).table for _ in range(2))
    assert not one.equals(other)
    with pytest.raises(InputError, match="evaluated several times"):
        privatize_lazyframe(frame_of().lazy(), FRESH, text="text", id="id")


REFUSED = [
    (frame_of().with_columns(id=pl.lit(5)), {}, r"is not unique \(rows that repeat an id: 39\)"),
    (frame_of().with_columns(id=pl.lit(None, pl.Int64)), {}, "holds a null"),
    (frame_of().with_columns(pl.col("id") / 2), {}, r"The column 'id' of .* whole numbers, .* Got 0\.5: write"),
    (frame_of().with_columns(pl.col("id") > 3), {}, "holds Boolean: ids are texts or whole numbers"),
    (frame_of(), {"text": "stars"}, "The column 'stars' of .* holds Int64, not text"),
    (frame_of(), {"text": "texts"}, "has no column 'texts'. Its columns: 'id', 'text', 'note', 'stars'"),
    (frame_of(), {"id": "ids"}, "has no column 'ids'"),
    (frame_of(), {"text": "id"}, "cannot hold both texts and record ids"),
    (frame_of().to_arrow(), {}, "takes a polars .*. Got one Table"),
]


@pytest.mark.parametrize(("frame", "options", "message"), REFUSED)
def test_what_cannot_be_released_is_refused(monkeypatch, frame, options, message):
    """Repeated ids, nulls among them, and columns that are not there are named in one line before the first draw."""
    monkeypatch.setattr(Release, "privatize_cells", lambda *_, **__: pytest.fail("drew"))
    options = {"text": "text", "id": "id", **options}
    with pytest.raises(InputError, match=message) as caught:
        privatize_dataframe(frame, KEYED, **options)
    assert "\n" not in str(caught.value)
    assert "london" not in str(caught.value).lower()


@pytest.mark.parametrize(("frame", "options", "message"), REFUSED)
def test_what_cannot_be_released_is_refused_lazily(monkeypatch, frame, options, message):
    """Columns are checked before the evaluation, ids in it."""
    monkeypatch.setattr(Release, "privatize_cells", lambda *_, **__: pytest.fail("drew"))
    with pytest.raises(Exception, match=message):
        privatize_lazyframe(
            getattr(frame, "lazy", lambda: frame)(), KEYED, **{"text": "text", "id": "id", **options}
        ).collect()


def test_each_frame_has_its_function():
    """A lazy frame that is released at once, and a frame that is released lazily, are refused with the other name."""
    with pytest.raises(InputError, match="use privatize_lazyframe"):
        privatize_dataframe(frame_of().lazy(), KEYED, text="text", id="id")
    with pytest.raises(InputError, match=r"takes a polars LazyFrame\. Got one DataFrame"):
        privatize_lazyframe(frame_of(), KEYED, text="text", id="id")


def test_polars_is_imported_when_it_is_used():
    """The module loads where polars is missing, and one line names what to install."""
    code = (
        "import sys; sys.modules['polars'] = None\n"
        "from deniable.engines.polars import privatize_dataframe\n"
        "try: privatize_dataframe(None, None, text='text')\n"
        "except ValueError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "privatize_dataframe needs polars, which is missing: install polars.\n"


def test_a_lazy_frame_needs_ids():
    """Without a column of ids the noise would follow the row, so that another table's row shared it."""
    with pytest.raises(InputError, match="name the column of unique record ids with id="):
        privatize_lazyframe(frame_of().lazy(), KEYED, text="text", id=None)


@pytest.mark.parametrize("kind", [pl.Int8, pl.UInt8, pl.UInt64, pl.Int128, pl.UInt128, pl.String], ids=str)
def test_ids_of_every_type_name_one_noise(kind):
    """Integers of every width, and texts that are written alike, name the same noise, and stay as they are."""
    frame = frame_of().with_columns(pl.col("id").cast(kind))
    released = privatize_dataframe(frame, KEYED, text="text", id="id").table
    assert released["text"].equals(privatize_dataframe(frame_of(), KEYED, text="text", id="id").table["text"])
    assert released["id"].equals(frame["id"])


@pytest.mark.parametrize("name", ["*", "^.*$", "^id$", "self", ""])
def test_columns_of_any_name(name, tmp_path):
    """A name is no pattern of names: the column is released, and no other is."""
    table = make_table().rename_columns(["id", name, "note", "stars"])
    plain, _, _ = run_plainly(table, KEYED, tmp_path, (name, "note"))
    released = privatize_dataframe(pl.DataFrame(table.to_pydict()), KEYED, text=[name, "note"], id="id")
    assert released.table.to_dict(as_series=False) == plain.to_pydict()


def test_a_name_with_a_zero():
    """A column whose name C would cut off is released like any other."""
    frame = frame_of().rename({"text": "a\0b", "id": "i\0d"})
    private = privatize_dataframe(frame, KEYED, text="a\0b", id="i\0d").table
    plain = privatize_dataframe(frame.rename({"a\0b": "x", "i\0d": "y"}), KEYED, text="x", id="y").table
    assert private.columns == frame.columns
    # The name of a column is a part of what its noise follows.
    assert private["a\0b"].is_null().equals(plain["x"].is_null())


def test_names_that_differ_in_capitals(tmp_path):
    """The column that is named is released, and the one whose name differs in capitals stays."""
    plain, _, _ = run_plainly(make_alike_table(), KEYED, tmp_path, ("Note",))
    released = privatize_dataframe(pl.DataFrame(pl.from_arrow(make_alike_table())), KEYED, text="Note", id="id")
    assert released.table.equals(pl.from_arrow(plain), null_equal=True)


def test_ids_are_identities(tmp_path):
    """Ids that some program wrote as floats name the noise of the integers, and two spellings of one are repeated."""
    expected, _, _ = run_plainly(make_table(), KEYED, tmp_path)
    for table in make_spelled_tables():
        frame = pl.DataFrame(pl.from_arrow(table))
        released = privatize_dataframe(frame, KEYED, text="text", id="id")
        assert released.table["text"].to_list() == expected["text"].to_pylist()
        assert released.table["id"].equals(frame["id"])
    with pytest.raises(InputError, match=r"is not unique \(rows that repeat an id: 1\)"):
        privatize_dataframe(pl.DataFrame(pl.from_arrow(make_table(REPEATED_IDS))), KEYED, text="text", id="id")

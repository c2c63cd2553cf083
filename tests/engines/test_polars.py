"""Frames of polars, lazy ones too."""

import pytest

import deniable as dn
from tests.engines.helpers import FRESH, KEYED, TEXTS, make_table
from tests.refusals import refuses

pl = pytest.importorskip("polars", reason="polars is not installed")

from deniable.engines.frames import privatize_dataframe, privatize_lazyframe  # noqa: E402 - where polars is installed
from deniable.engines.tallies import merge_tallies  # noqa: E402 - the same

BY_ID = {"text": "text", "id": "id"}


def frame_of():
    """Return forty rows: ids, two columns of texts and another column."""
    return pl.DataFrame(pl.from_arrow(make_table()))


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_a_lazy_frame_counts_once(tmp_path, engine):
    """Both engines give the cells and the schema of a frame, and the folder its counts, however often they are run."""
    whole = privatize_dataframe(frame_of(), KEYED, **BY_ID)
    lazy = privatize_lazyframe(frame_of().lazy(), KEYED, **BY_ID, tallies=tmp_path / "tallies")
    for _ in range(2):
        assert lazy.collect(engine=engine).equals(whole.table)
    assert merge_tallies(tmp_path / "tallies") == whole.tally
    assert lazy.collect_schema() == frame_of().schema


def test_a_query_goes_on_after_a_lazy_frame(tmp_path):
    """What follows in the query sees the private texts, and moves nothing before them: all records are counted."""
    whole = privatize_dataframe(frame_of(), KEYED, **BY_ID)
    lazy = privatize_lazyframe(frame_of().lazy(), KEYED, **BY_ID, tallies=tmp_path / "tallies")
    some = lazy.filter(pl.col("stars") == 2).select("text", "id").slice(2, 3).collect()
    assert some.equals(whole.table.filter(pl.col("stars") == 2).select("text", "id").slice(2, 3))
    joined = lazy.join(lazy.select("id", again="text"), on="id").collect()
    assert joined["text"].equals(joined["again"].alias("text"), null_equal=True)
    assert merge_tallies(tmp_path / "tallies") == whole.tally


def test_a_filter_does_not_hide_repeated_ids():
    """A repeated id is refused in the evaluation, also where a later filter drops the row."""
    frame = frame_of().with_columns(id=pl.when(pl.col("id") == 39).then(3).otherwise(pl.col("id")))
    lazy = privatize_lazyframe(frame.lazy(), KEYED, **BY_ID)
    with pytest.raises((dn.InputError, pl.exceptions.ComputeError)):  # as the version of polars has it
        lazy.filter(pl.col("stars") == 0).head(1).collect()


def test_chunks_do_not_matter():
    """A frame in chunks gives the same texts."""
    frame = frame_of()
    once = privatize_dataframe(frame, KEYED, **BY_ID)
    chunks = pl.concat([frame[:7], frame[7:11], frame[11:]], rechunk=False)
    assert chunks.n_chunks() == 3
    assert privatize_dataframe(chunks, KEYED, **BY_ID).table.equals(once.table)


def test_categories_do_not_come_out():
    """The categories of a column of texts are the private texts: it becomes String, at once and lazily."""
    plain = privatize_dataframe(frame_of(), KEYED, **BY_ID).table
    for kind in (pl.Categorical(), pl.Enum(sorted({text for text in TEXTS if text is not None}))):
        frame = frame_of().with_columns(pl.col("text").cast(kind))
        assert privatize_dataframe(frame, KEYED, **BY_ID).table.equals(plain)
        lazy = privatize_lazyframe(frame.lazy(), KEYED, **BY_ID)
        assert lazy.collect_schema()["text"] == pl.String
        assert lazy.collect().equals(plain)


def test_each_frame_has_its_function():
    """A lazy frame that is released at once, or without a key, and a frame released lazily, are refused."""
    with refuses("privatize_lazyframe"):
        privatize_dataframe(frame_of().lazy(), KEYED, **BY_ID)
    with refuses("DataFrame"):
        privatize_lazyframe(frame_of(), KEYED, **BY_ID)
    with refuses("key="):
        privatize_lazyframe(frame_of().lazy(), FRESH, **BY_ID)


def test_ids_of_every_type_name_one_noise():
    """Integers of every width, and texts that are written alike, name the same noise, and stay as they are."""
    plain = privatize_dataframe(frame_of(), KEYED, **BY_ID).table["text"]
    for kind in (pl.Int8, pl.UInt8, pl.UInt64, pl.Int128, pl.UInt128, pl.String):
        frame = frame_of().with_columns(pl.col("id").cast(kind))
        released = privatize_dataframe(frame, KEYED, **BY_ID).table
        assert released["text"].equals(plain)
        assert released["id"].equals(frame["id"])


def test_a_name_with_a_zero():
    """A column whose name C would cut off is released like any other."""
    frame = frame_of().rename({"text": "a\0b", "id": "i\0d"})
    private = privatize_dataframe(frame, KEYED, text="a\0b", id="i\0d").table
    assert private.columns == frame.columns
    assert not private["a\0b"].equals(frame["a\0b"])
    assert private["a\0b"].is_null().equals(frame["a\0b"].is_null())

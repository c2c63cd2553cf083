"""Batches of Arrow, as hosts with tasks privatize them."""

import pickle

import pyarrow as pa
import pytest

from deniable.engines.tallies import TallyFolder, merge_tallies
from deniable.engines.tasks import (
    check_schema,
    check_unique_ids,
    make_folder,
    make_layout,
    privatize_batch,
    privatize_batches,
    unpack_release,
)
from deniable.text.row_release import RowPrivatizer
from tests.engines.helpers import KEYED, TEXTS, make_table
from tests.refusals import refuses

BY_ID = make_layout("the table", "text", "id")


def run_in_batches(table, size):
    """Return the cells of the texts, released in batches of so many rows, and their type."""
    privatizer = RowPrivatizer(BY_ID, KEYED)
    batches = [privatize_batch(batch, BY_ID, privatizer) for batch in table.to_batches(size)]
    column = pa.Table.from_batches(batches)["text"]
    return column.to_pylist(), column.type


@pytest.mark.parametrize("size", [1, 7])
def test_batches_do_not_matter(size):
    """Batches of any size give what one batch gives."""
    assert run_in_batches(make_table(), size) == run_in_batches(make_table(), 40)


def test_types_of_ids_and_texts():
    """Ids of every type name one noise; texts come back as the type that they had, a dictionary with room for all."""
    plain, _ = run_in_batches(make_table(), 11)
    for kind in (pa.int8(), pa.uint64(), pa.large_string()):
        assert run_in_batches(make_table(pa.array(range(40)).cast(kind)), 11)[0] == plain
    wide = pa.dictionary(pa.int32(), pa.string())
    for kind, expected in (
        (pa.large_string(),) * 2,
        (pa.string_view(),) * 2,
        (pa.dictionary(pa.int8(), pa.string()), wide),
    ):
        assert run_in_batches(make_table(text_type=kind), 40) == (plain, expected)


def test_nothing_is_said_of_columns():
    """Metadata of the schema and its fields, which may describe private texts, is left out; nullability stays."""
    text = pa.field("text", pa.string(), nullable=False, metadata={b"top": b"london"})
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), text], metadata={b"pandas": b"london"})
    batch = pa.RecordBatch.from_pylist([{"id": 1, "text": "london"}], schema=schema)
    new = privatize_batch(batch, BY_ID, RowPrivatizer(BY_ID, KEYED))
    assert b"london" not in new.schema.serialize().to_pybytes()
    assert new.schema.equals(schema)


def test_ids_of_other_types_are_refused():
    """What may be written in several ways is no id, and bytes that only claim to be text are not shown."""
    for kind in (pa.binary(), pa.date32(), pa.list_(pa.string())):
        with refuses(kind):
            check_schema(BY_ID, pa.schema({"id": kind, "text": pa.string()}))
    text = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xfflondon"]).buffers())
    batch = pa.RecordBatch.from_arrays([pa.array([1]), text], names=["id", "text"])
    with refuses("UTF-8"):
        privatize_batch(batch, BY_ID, RowPrivatizer(BY_ID, KEYED))


def test_a_task_leaves_its_counts_at_its_end(tmp_path):
    """A task that is stopped midway counts nothing; one that ends counts what a batch counts."""
    table, folder = make_table(), TallyFolder(tmp_path / "tallies")
    folder.create(KEYED, BY_ID.columns, check_unique_ids(BY_ID, table["id"].chunks))
    batches = table.to_batches(max_chunksize=9)
    stopped = privatize_batches(batches, BY_ID, KEYED, tallies=folder)
    next(stopped)
    stopped.close()
    with refuses("0 of 40"):
        merge_tallies(folder.path)
    assert sum(map(len, privatize_batches(batches, BY_ID, KEYED, tallies=folder))) == 40
    assert merge_tallies(folder.path) == KEYED.batch([text or "" for text in TEXTS], range(40)).tally


def test_a_release_travels_small_and_is_loaded_once():
    """A packed release is one object for all tasks of a process."""
    data = pickle.dumps(KEYED)
    assert unpack_release(data).fingerprint == KEYED.fingerprint
    assert unpack_release(data) is unpack_release(bytes(bytearray(data)))


def test_a_folder_of_tallies_stays_where_it_was_named(tmp_path, monkeypatch):
    """A relative path names the same folder wherever the program goes; without ids there are no tallies."""
    monkeypatch.chdir(tmp_path)
    relative = make_folder(BY_ID, "tallies")
    assert (relative.path, make_folder(BY_ID, None)) == (tmp_path / "tallies", None)
    with refuses("id="):
        make_folder(make_layout("the table", "text", None), "tallies")

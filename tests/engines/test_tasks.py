"""What all hosts share: which releases may run twice, and batches that equal the plain run."""

import pickle

import pyarrow as pa
import pytest

from deniable import InputError, Release, Tally
from deniable.engines.tallies import RecordSet, TallyFolder, digest_id, merge_tallies
from deniable.engines.tasks import (
    check_repeatable,
    check_schema,
    check_unique_ids,
    list_ids,
    make_layout,
    pack_release,
    privatize_batch,
    privatize_batches,
    unpack_release,
)
from tests.engines.helpers import make_table, run_plainly
from tests.text.helpers import MECHANISM, buffers

KEYED = Release(MECHANISM, key="seed:7")


def run_in_batches(table, release, size, columns=("text",)):
    """Return the table and the tally of batches."""
    layout = make_layout("the table", columns, "id")
    pairs = [privatize_batch(batch, layout, release) for batch in table.to_batches(max_chunksize=size)]
    return pa.Table.from_batches([batch for batch, _ in pairs]), sum((tally for _, tally in pairs), Tally())


@pytest.mark.parametrize("size", [1, 7, 40])
@pytest.mark.parametrize("columns", [("text",), ("note", "text")])
@pytest.mark.parametrize("release", [KEYED, Release(MECHANISM, key="seed:7", unknown="drop", unescape="html")])
def test_batches_equal_the_plain_run(tmp_path, size, columns, release):
    """Batches of any size, with one column of texts or two, give the cells and the counts of the plain run."""
    table = make_table()
    plain, _, plain_tally = run_plainly(table, release, tmp_path, columns)
    new, tally = run_in_batches(table, release, size, columns)
    assert new.equals(plain)
    assert not new["text"].equals(table["text"])
    assert tally == plain_tally


@pytest.mark.parametrize("id_type", [pa.int8(), pa.uint64(), pa.string(), pa.large_string()], ids=str)
def test_ids_of_every_type_name_one_noise(tmp_path, id_type):
    """Integers and strings that are written alike name the same noise, as in the plain run."""
    ids = pa.array(range(40)).cast(id_type)
    plain, *_ = run_plainly(make_table(ids), KEYED, tmp_path)
    new, _ = run_in_batches(make_table(ids), KEYED, 11)
    assert new.equals(plain)
    assert new["text"].equals(run_in_batches(make_table(), KEYED, 11)[0]["text"])


@pytest.mark.parametrize(
    "text_type", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())], ids=str
)
def test_texts_keep_their_type(text_type):
    """Texts come back as the type that they had, a dictionary with room for all, and windows change nothing."""
    table = make_table(text_type=text_type)
    plain, _ = run_in_batches(make_table(), KEYED, 40)
    with buffers(window=1000):
        new, _ = run_in_batches(table, KEYED, 40)
    expected = pa.dictionary(pa.int32(), pa.string()) if pa.types.is_dictionary(text_type) else text_type
    assert new["text"].type == expected
    assert new["text"].to_pylist() == plain["text"].to_pylist()


def test_nothing_is_said_of_columns():
    """Metadata of the schema and its fields, which may describe private texts, is left out; nullability stays."""
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("text", pa.string(), nullable=False, metadata={b"top": b"london"}),
        ],
        metadata={b"pandas": b"london"},
    )
    batch = pa.RecordBatch.from_pylist([{"id": 1, "text": "london"}], schema=schema)
    new, _ = privatize_batch(batch, make_layout("the table", "text", "id"), KEYED)
    assert b"london" not in new.schema.serialize().to_pybytes()
    assert new.schema.equals(schema)


def test_an_empty_batch_stays_empty():
    """No rows are no rows, of the same types."""
    batch = make_table().schema.empty_table().to_batches() or [
        pa.RecordBatch.from_pylist([], schema=make_table().schema)
    ]
    new, tally = privatize_batch(batch[0], make_layout("the table", "text", "id"), KEYED)
    assert (len(new), new.schema, tally) == (0, make_table().schema, Tally())


def test_fresh_noise_needs_no_ids():
    """Without a key and ids each batch has noise of its own."""
    layout = make_layout("the table", "text", None)
    batch = make_table().select(["text"]).to_batches()[0]
    first, second = (privatize_batch(batch, layout, Release(MECHANISM))[0] for _ in range(2))
    assert not first.equals(second)


@pytest.mark.parametrize(
    ("release", "options", "message"),
    [
        (Release(MECHANISM), {}, 'give the Release a key, key="env:NAME" or "file:PATH", or allow it with fresh=True'),
        (KEYED, {"fresh": True}, "leave out one of them"),
        (KEYED, {"has_ids": False}, "name the column of unique record ids with id="),
        (Release(MECHANISM, key=bytes(32)), {}, 'cannot travel: .* key="env:NAME" or "file:PATH"'),
        (MECHANISM, {}, "The 'release' parameter of Spark must be a Release"),
    ],
)
def test_releases_that_no_task_may_run(release, options, message):
    """A release that would draw anew, or cannot travel, is refused in one line that says how to fix it."""
    with pytest.raises(InputError, match=message) as caught:
        check_repeatable("Spark", release, **({"has_ids": True, "fresh": False} | options))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("release", "options"),
    [
        (KEYED, {}),
        (Release(MECHANISM, key="env:NO_SUCH_KEY"), {}),
        (Release(MECHANISM, key=bytes(32)), {"is_pickled": False}),
        (Release(MECHANISM), {"fresh": True, "has_ids": False}),
    ],
)
def test_releases_that_tasks_may_run(release, options):
    """Keys by reference, keys of bytes in one process, and fresh noise that is asked for may run."""
    check_repeatable("Spark", release, **({"has_ids": True, "fresh": False} | options))


@pytest.mark.parametrize(
    ("text", "id_column", "message"),
    [
        ("stars", "id", "The column 'stars' of the table holds int64, not text: convert it to strings."),
        ("body", "id", "the table has no column 'body'. Its columns: 'id', 'text', 'note', 'stars'."),
        ("text", "key", "the table has no column 'key'. Its columns: 'id', 'text', 'note', 'stars'."),
        ("text", "text", "The column 'text' of the table cannot hold both texts and record ids"),
        (["text", "text"], "id", "The text column 'text' of the table is named twice: name it once."),
        (3, "id", "The 'text' parameter of the table must be the name of a column, or a list of names. Got one int."),
        ([], "id", "The 'text' parameter of the table must be the name of a column, or a list of names. Got one list."),
        ("text", 3, "The 'id' parameter of the table must be the name of a column, or None. Got one int."),
    ],
)
def test_columns_that_cannot_be_used(text, id_column, message):
    """What is missing, no text, or both text and id is named in one line."""
    with pytest.raises(InputError) as caught:
        check_schema(make_layout("the table", text, id_column), make_table().schema)
    assert str(caught.value).startswith(message)


def test_texts_and_keys_given_for_something_else_are_not_shown():
    """Who passes the column for its name, or the key for the release, finds neither in the error."""
    for use in (
        lambda: make_layout("the table", pa.array(["london"]), "id"),
        lambda: make_layout("the table", ["london", None], "id"),
        lambda: make_layout("the table", "text", ["london"]),
        lambda: check_repeatable("Spark", "london", has_ids=True, fresh=False),
        lambda: check_repeatable("Spark", pa.table({"text": ["london"]}), has_ids=True, fresh=False),
    ):
        with pytest.raises(InputError, match=r"must be .* Got one \w+\.$") as caught:
            use()
        assert "london" not in str(caught.value)


@pytest.mark.parametrize("id_type", [pa.binary(), pa.bool_(), pa.date32(), pa.list_(pa.string())], ids=str)
def test_ids_of_other_types_are_refused(id_type):
    """What may be written in several ways is no id."""
    layout = make_layout("the table", "text", "id")
    schema = pa.schema({"id": id_type, "text": pa.string()})
    with pytest.raises(InputError, match="ids are texts or whole numbers, so convert it"):
        check_schema(layout, schema)


def test_ids_are_unique_in_the_whole_table():
    """A repeated id in another part, and a null, are refused without showing one; the others are summed."""
    layout = make_layout("the table", "text", "id")
    parts = [pa.array(["a", "b"]), pa.array(["c"])]
    assert check_unique_ids(layout, parts) == RecordSet.of_digests(map(digest_id, "abc"))
    with pytest.raises(InputError, match=r"is not unique \(rows that repeat an id: 1\)\. Equal ids"):
        check_unique_ids(layout, [*parts, pa.array(["a"])])
    with pytest.raises(InputError, match="The id column 'id' of the table holds a null or a blank: give"):
        list_ids(layout, pa.array(["a", None]))


def test_invalid_utf8_is_one_line():
    """Bytes that only claim to be text are refused, and not shown."""
    text = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xfflondon"]).buffers())
    batch = pa.RecordBatch.from_arrays([pa.array([1]), text], names=["id", "text"])
    with pytest.raises(InputError, match=r"^A text or id of the table is not valid UTF-8: decode it before\.$"):
        privatize_batch(batch, make_layout("the table", "text", "id"), KEYED)


def test_a_task_leaves_its_counts_at_its_end(tmp_path):
    """A task that is stopped midway counts nothing; one that ends counts what the plain run counts."""
    layout, table = make_layout("the table", "text", "id"), make_table()
    folder = TallyFolder(tmp_path / "tallies")
    folder.create(KEYED, layout.columns, check_unique_ids(layout, table["id"].chunks))
    batches = table.to_batches(max_chunksize=9)
    stopped = privatize_batches(batches, layout, KEYED, tallies=folder)
    next(stopped)
    stopped.close()
    with pytest.raises(InputError, match="0 of 40 records"):
        merge_tallies(folder.path)
    new = pa.Table.from_batches(list(privatize_batches(batches, layout, KEYED, tallies=folder)))
    plain, _, tally = run_plainly(table, KEYED, tmp_path / "plain")
    assert new.equals(plain)
    assert merge_tallies(folder.path) == tally


def test_a_release_travels_small_and_is_loaded_once():
    """A packed release is small, and one object for all tasks of a process."""
    data = pack_release(KEYED)
    assert unpack_release(data) == KEYED
    assert unpack_release(data) is unpack_release(bytes(bytearray(data)))
    with pytest.raises(TypeError, match=r"Expected a Release\. Got str\."):
        unpack_release(pickle.dumps("text"))

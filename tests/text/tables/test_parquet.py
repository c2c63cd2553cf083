"""Parquet: what stays, what changes, what a file says of itself, and what is refused."""

import datetime as dt
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from tests.refusals import refuses
from tests.text.tables.helpers import (
    constant,
    dropping,
    extended,
    few,
    identity,
    recording,
    released,
    rewritten,
)

TEXTS = ["the food", None, "", "London ✓", "the food"]
SPARK = b"org.apache.spark.sql.parquet.row.metadata"


def parquet(table, **options):
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def read(data):
    return pq.ParquetFile(io.BytesIO(data))


def list_groups(file):
    """Return the number of rows of each row group."""
    return [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]


def list_codecs(file):
    """Return how each column of the first row group is compressed."""
    return [file.metadata.row_group(0).column(i).compression for i in range(file.metadata.num_columns)]


def rich_table():
    """Return a table of many types, with metadata of its own and of its columns."""
    columns = {
        "id": pa.array(range(5), pa.int32()),
        "text": pa.array(TEXTS),
        "when": pa.array([dt.datetime(2024, 1, day, tzinfo=dt.UTC) for day in range(1, 6)], pa.timestamp("us", "UTC")),
        "category": pa.array(["a", None, "b", "a", "b"]).dictionary_encode(),
        "nested": pa.array([{"text": "stays", "list": [1, 2]}, None, {"text": None, "list": []}, None, None]),
        "blob": pa.array([b"\xff", None, b"", b"a", b"b"]),
    }
    fields = [pa.field(name, column.type, metadata={b"note": name.encode()}) for name, column in columns.items()]
    fields[0] = fields[0].with_nullable(False)
    return pa.table(list(columns.values()), schema=pa.schema(fields, metadata={b"made by": b"a test"}))


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_everything_else_stays(compression):
    """Schema, row groups, compression, nulls and all other columns are kept, with their metadata."""
    table = rich_table()
    data = parquet(table, row_group_size=2, compression=compression)
    out, copied = rewritten("parquet", data, constant("new"))
    before, after = read(data), read(out)
    assert after.schema_arrow.equals(before.schema_arrow)
    for field in before.schema_arrow:
        kept = None if field.name == "text" else field.metadata
        assert after.schema_arrow.field(field.name).metadata == kept
    assert after.schema_arrow.metadata[b"made by"] == b"a test"
    assert after.read().column("text").to_pylist() == ["new", None, "", "new", "new"]
    assert after.read().drop_columns(["text"]).equals(table.drop_columns(["text"]))
    assert list_groups(before) == list_groups(after) == [2, 2, 1]
    assert list_codecs(before) == list_codecs(after)
    assert copied == ["id", "when", "category", "nested", "blob"]


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_new_columns_stand_behind_the_others(compression):
    """Schema, metadata, row groups, compression and values stay; a string and a double column come behind them."""
    table = rich_table()
    data = parquet(table, row_group_size=2, compression=compression)
    before, after = read(data), read(extended("parquet", data))
    assert after.schema_arrow.names == [*table.schema.names, "predicted", "probability"]
    assert [str(field.type) for field in after.schema_arrow][-2:] == ["string", "double"]
    kept = pa.schema(list(after.schema_arrow)[:-2], after.schema_arrow.metadata)
    assert kept.equals(before.schema_arrow, check_metadata=True)
    assert after.read().select(table.schema.names).equals(table)
    assert after.read().column("predicted").to_pylist() == [text or None for text in TEXTS]
    shares = [round(len(text) / 7 % 1.0, 6) if text else None for text in TEXTS]
    assert after.read().column("probability").to_pylist() == shares
    assert list_groups(before) == list_groups(after) == [2, 2, 1]
    assert len({*list_codecs(after)}) == 1


@few
@given(st.lists(st.none() | st.text(max_size=5), max_size=12), st.integers(1, 5), st.sampled_from([0, 300]))
def test_new_columns_of_any_texts(texts, group_size, window):
    """Whatever the texts, groups and windows, every row keeps its text and gets its own cells."""
    data = parquet(pa.table({"text": pa.array(texts, pa.string())}), row_group_size=group_size)
    out = read(extended("parquet", data, window=window)).read().to_pydict()
    assert out["text"] == texts
    assert out["predicted"] == [text or None for text in texts]


def test_new_cells_that_parquet_lacks():
    """A file that has a column of the name is refused, and a lone surrogate is written as an escape."""
    with refuses("'predicted'"):
        extended("parquet", parquet(pa.table({"text": ["a"], "predicted": [1]})))
    data = parquet(pa.table({"text": ["a"]}))
    out = read(extended("parquet", data, lambda rows: [("\ud800", 0.5) for _ in range(len(rows))])).read()
    assert out.column("predicted").to_pylist() == ["\\ud800"]


def test_what_a_file_says_of_a_released_column_is_dropped():
    """Neither its own metadata nor pandas' description of it comes out; what comes out of the rest is named."""
    fields = [
        pa.field("text", pa.dictionary(pa.int8(), pa.string()), metadata={b"samples": b"the zork"}),
        pa.field("n", pa.int64(), metadata={b"unit": b"m"}),
    ]
    columns = [
        {"name": "text", "field_name": "text", "pandas_type": "categorical", "metadata": {"num_categories": 3}},
        {"name": "n", "field_name": "n", "pandas_type": "int64", "numpy_type": "int64", "metadata": None},
    ]
    described = {"index_columns": [], "columns": columns, "pandas_version": "2.2.0"}
    metadata = {b"pandas": json.dumps(described).encode(), b"about": b"reviews"}
    texts = pa.array(["the", "zork", "food"]).dictionary_encode().cast(fields[0].type)
    data = parquet(pa.table([texts, pa.array([1, 2, 3])], schema=pa.schema(fields, metadata=metadata)))
    out, copied = released("parquet", data, constant("new"))
    schema = read(out).schema_arrow
    assert not schema.field("text").metadata
    assert schema.field("n").metadata[b"unit"] == b"m"
    told = json.loads(schema.metadata[b"pandas"])
    assert told == {**described, "columns": columns[1:]}
    assert b"num_categories" not in out
    assert b"zork" not in out
    assert (copied.columns, copied.metadata) == (("n",), ("'about'", "'pandas'", "of the column 'n'"))


def test_what_spark_says_of_columns_is_dropped():
    """Spark reads a schema without its own description, which may hold values of released columns."""
    table = pa.table({"text": ["zork"], "n": ["a"]}).replace_schema_metadata({SPARK: b'{"fields": ["zork"]}'})
    out, copied = released("parquet", parquet(table), constant("new"))
    assert SPARK not in (read(out).schema_arrow.metadata or {})
    assert b"zork" not in out
    assert (copied.columns, copied.metadata) == (("n",), ())


def test_what_a_file_says_of_nested_fields_is_named():
    """A column is named where a field within it says something of itself."""
    inner = pa.field("a", pa.string(), metadata={b"note": b"x"})
    for kind, value in ((pa.struct([inner]), {"a": "b"}), (pa.list_(inner), ["b"])):
        table = pa.table({"text": ["the"], "n": pa.array([value], kind)})
        assert released("parquet", parquet(table))[1].metadata == ("of the column 'n'",)


@pytest.mark.parametrize("described", [b"", b"[]", b"{}", b"\xff", b'{"columns": [1]}', b'{"columns": 3}'])
def test_a_description_that_cannot_be_read_is_dropped(described):
    """What is no description of pandas does not come out."""
    table = pa.table({"text": ["the"]}).replace_schema_metadata({b"pandas": described})
    schema = read(rewritten("parquet", parquet(table))[0]).schema_arrow
    assert b"pandas" not in (schema.metadata or {})


def test_new_columns_are_read_by_those_who_describe_a_table():
    """Spark reads the columns that it has described alone, so that its description goes; what else is said stays."""
    metadata = {SPARK: b'{"fields": []}', b"about": b"x", b"pandas": b"{}"}
    table = pa.table({"text": ["the"]}).replace_schema_metadata(metadata)
    told = read(extended("parquet", parquet(table))).schema_arrow.metadata
    assert {key: told[key] for key in told if key != b"ARROW:schema"} == {b"about": b"x", b"pandas": b"{}"}


@pytest.mark.parametrize("options", [{"copied": ["when", "category", "blob"]}])
def test_dropped_columns_leave_no_trace(options):
    """A dropped column is in neither data, schema nor metadata; the others stay, without what the file says of all."""
    table = rich_table()
    metadata = {b"pandas": b'{"index_columns": ["nested"]}', b"parquet.avro.schema": b'{"fields": ["nested"]}'}
    out, copied = rewritten("parquet", parquet(table.replace_schema_metadata(metadata)), constant("new"), **options)
    after = read(out)
    assert copied == ["when", "category", "blob"]
    assert after.schema_arrow.names == ["text", "when", "category", "blob"]
    assert after.read().drop_columns(["text"]).equals(table.select(copied))
    assert b"nested" not in out
    assert not after.schema_arrow.metadata


def test_pandas_reads_its_own_table_again():
    """A table that pandas wrote, with a category of texts, comes back as a data frame."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"text": pandas.Categorical(["the", "food", "the"]), "n": [1, 2, 3]}, index=[5, 6, 7])
    sink = io.BytesIO()
    frame.to_parquet(sink)
    again = pandas.read_parquet(io.BytesIO(rewritten("parquet", sink.getvalue(), constant("new"))[0]))
    assert list(again["text"]) == ["new"] * 3
    assert list(again.index) == [5, 6, 7]


def test_private_text_leaves_no_trace():
    """Neither dictionaries nor statistics of the output hold a private text."""
    column = pa.array(["zyzzyva secret", "aardvark secret"])
    for kind in (column, column.dictionary_encode()):
        out, _ = rewritten("parquet", parquet(pa.table({"text": kind}), compression="none"), constant("new"))
        assert b"secret" not in out


def test_tables_without_rows_or_texts():
    """A file without row groups, one with an empty group, and a column of nulls alone come back as they are."""
    empty = pa.table({"text": pa.array([], pa.string()), "n": pa.array([], pa.int8())})
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, empty.schema):
        pass
    for data in (parquet(empty), sink.getvalue()):
        assert read(rewritten("parquet", data)[0]).read().equals(empty)
    nulls = pa.table({"text": pa.nulls(2), "n": [1, 2]})
    assert read(rewritten("parquet", parquet(nulls), constant("new"))[0]).read().equals(nulls)
    new = read(extended("parquet", parquet(nulls))).read()
    assert new.column("predicted").to_pylist() == [None, None]


def test_repeated_names_and_codecs_elsewhere():
    """A repeated name is no trouble where its column is only copied, and columns are compressed each in its own way."""
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array([1]), pa.array([2])], names=["text", "n", "n"])
    out, copied = rewritten("parquet", parquet(table), constant("new"))
    assert [column.to_pylist() for column in read(out).read().columns] == [["new"], [1], [2]]
    assert copied == ["n", "n"]
    data = parquet(pa.table({"text": ["a"], "n": [1]}), compression={"text": "gzip", "n": "none"})
    assert list_codecs(read(rewritten("parquet", data)[0])) == ["GZIP", "UNCOMPRESSED"]


WHOLE = parquet(pa.table({"text": ["the food"] * 100}), compression="none")
PAGE = WHOLE.index(b"the food") - 20  # in the header of a page
INVALID = pa.StringArray.from_buffers(2, pa.array([0, 1, 2], pa.int32()).buffers()[1], pa.py_buffer(b"\xff\xfe"))
TIMES = pa.table({"text": ["the"], "id": pa.array([2**62], pa.timestamp("us"))})


@pytest.mark.parametrize(
    ("data", "options", "value"),
    [
        (b"", {}, "parquet"),
        (b"PAR1", {}, "parquet"),
        (b"PAR1" * 10, {}, "parquet"),
        (b"text\nfood\n", {}, "parquet"),
        (WHOLE[:-5], {}, "parquet"),
        (WHOLE[20:], {}, "parquet"),
        (WHOLE[:PAGE] + b"\xff" * 8 + WHOLE[PAGE + 8 :], {}, "the table"),
        (parquet(pa.table({"text": INVALID})), {}, "parquet"),
        (parquet(pa.table({"a": ["x"]})), {}, "'a'"),
        (parquet(pa.Table.from_arrays([pa.array(["a"])] * 2, names=["text", "text"])), {}, "'text'"),
        (parquet(pa.table({"text": ["a", "b"], "id": [1, None]})), {"id_column": "id"}, "'id'"),
        (parquet(pa.table({"text": ["a", "b"], "id": [1, 1.5]})), {"id_column": "id"}, "1.5"),
        (parquet(TIMES), {"id_column": "id"}, "'id'"),
        *(
            (parquet(pa.table({"text": pa.array([None, None], kind)})), {}, "'text'")
            for kind in (pa.int64(), pa.binary(), pa.list_(pa.string()), pa.bool_())
        ),
    ],
)
def test_files_that_cannot_be_used(data, options, value):
    """What is no whole parquet file, lacks columns, or holds no texts and ids in them is refused in one line."""
    with refuses(value):
        rewritten("parquet", data, **options)


@pytest.mark.deep
@pytest.mark.parametrize("flip", [0x01, 0x14, 0x80])
def test_damaged_bytes(flip):
    """No damaged byte raises anything but an expected error."""
    whole = parquet(pa.table({"text": ["the food", None], "n": [1, 2]}))
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= flip
        try:
            rewritten("parquet", bytes(damaged))
        except (dn.InputError, MemoryError):
            continue


def test_row_groups_that_say_something_else():
    """A file of 611 bytes whose row group claims eight billion rows is refused before any memory is taken."""
    data = (Path(__file__).parents[2] / "fuzzing/corpus/parquet/row_count").read_bytes()
    for use in (rewritten, extended):
        with refuses("8,153,659,007"):
            use("parquet", data)


def test_errors_of_a_release_are_left_as_they_are():
    """What a release raises is not told as damage of the file."""
    with refuses("no memory", RuntimeError):
        rewritten("parquet", parquet(pa.table({"text": ["a"]})), lambda _: raise_error(RuntimeError("no memory")))


def raise_error(error):
    raise error


@pytest.mark.parametrize("options", [{}, {"copied": []}])
def test_persons_are_read(options):
    """Whose a record is reaches the release also where the column is left out; nulls name nobody, numbers do."""
    for column, persons in ((["a", None, "", "b"], ["a", None, None, "b"]), ([1.0, None, float("nan"), 1.0], None)):
        seen = []
        data = parquet(pa.table({"who": column, "text": ["x"] * 4}))
        rewritten("parquet", data, recording(seen), person_column="who", **options)
        assert [row.person for row in seen] == (persons or ["1", None, None, "1"])


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("window", [0, 700, 10**6])
def test_groups_stay_whatever_is_released_together(size, window):
    """Small row groups are released together, large ones in parts, and all come out as the groups that they were."""
    table = pa.table({"id": list("abcde"), "text": TEXTS, "note": ["n"] * 5})
    windows = []

    def release(rows):
        windows.append(len(rows))
        assert len(rows.record_ids) == len(rows)
        return identity(rows)

    out, _ = rewritten("parquet", parquet(table, row_group_size=size), release, window=window, id_column="id")
    assert list_groups(read(out)) == [min(size, 5 - start) for start in range(0, 5, size)]
    assert read(out).read().equals(table)
    assert (len(windows), sum(windows)) == ({0: 5, 700: 3, 10**6: 1}[window], 5)


@pytest.mark.parametrize("window", [0, 1_000_000])
def test_rows_that_are_not_released_leave_nothing(window):
    """Rows that are left out are absent from all columns, group by group, whatever is released together."""
    texts = ["a", "secret", None, "secret", "b", "secret", "secret"]
    data = parquet(pa.table({"id": range(7), "text": texts}), row_group_size=2)
    out, _ = rewritten("parquet", data, dropping(lambda row: row.cells[0][1] == "secret"), window=window)
    assert read(out).read().to_pydict() == {"id": [0, 2, 4], "text": ["a", None, "b"]}
    assert list_groups(read(out)) == [1, 1, 1, 0]
    assert b"secret" not in out

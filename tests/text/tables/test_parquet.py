"""Parquet: what stays, what changes, and what is refused."""

import datetime as dt
import io
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import InputError
from deniable.text.tables import TABLE_FORMATS
from deniable.text.tables.layout import CopiedContent, TableLayout
from deniable.text.tables.rows import ReleasedRows, list_column
from tests.text.helpers import buffers, constant, dropping, extended, giving, identity, recording, rewritten

TEXTS = ["the food", None, "", "London ✓", "the food"]


def parquet(table, **options):
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def read(data):
    return pq.ParquetFile(io.BytesIO(data))


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


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "brotli"])
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
    groups = [[file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] for file in (before, after)]
    assert groups[0] == groups[1] == [2, 2, 1]
    codecs = [[file.metadata.row_group(0).column(i).compression for i in range(7)] for file in (before, after)]
    assert codecs[0] == codecs[1]
    assert copied == ["id", "when", "category", "nested", "blob"]


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
    sink = io.BytesIO()
    copied = TABLE_FORMATS["parquet"](io.BytesIO(data), sink, TableLayout("the table"), constant("new"))
    schema = read(sink.getvalue()).schema_arrow
    assert not schema.field("text").metadata
    assert schema.field("n").metadata[b"unit"] == b"m"
    told = json.loads(schema.metadata[b"pandas"])
    assert told["columns"][1:] == columns[1:]
    assert told["columns"][0]["metadata"] is None
    assert b"num_categories" not in sink.getvalue()
    assert b"zork" not in sink.getvalue()
    assert copied == CopiedContent(("n",), ("'about'", "'pandas'", "of the column 'n'"))


def test_what_spark_says_of_a_released_column_is_dropped():
    """Spark's description of the table says of it only name and type; the rest stays, and is named."""
    fields = [
        {"name": name, "type": "string", "nullable": True, "metadata": {"ml_attr": {"vals": ["zork", "the"]}}}
        for name in ("text", "n")
    ]
    key = b"org.apache.spark.sql.parquet.row.metadata"
    table = pa.table({"text": ["zork"], "n": ["a"]})
    described = json.dumps({"type": "struct", "fields": fields}).encode()
    sink = io.BytesIO()
    data = parquet(table.replace_schema_metadata({key: described}))
    copied = TABLE_FORMATS["parquet"](io.BytesIO(data), sink, TableLayout("the table"), constant("new"))
    told = json.loads(read(sink.getvalue()).schema_arrow.metadata[key])
    assert told["fields"] == [{**fields[0], "metadata": {}}, fields[1]]
    assert copied == CopiedContent(("n",), (repr(key.decode()),))


def test_what_a_file_says_of_nested_fields_is_named():
    """A column is named where a field within it says something of itself."""
    inner = pa.field("a", pa.string(), metadata={b"note": b"x"})
    for kind, value in ((pa.struct([inner]), {"a": "b"}), (pa.list_(inner), ["b"])):
        table = pa.table({"text": ["the"], "n": pa.array([value], kind)})
        copied = TABLE_FORMATS["parquet"](
            io.BytesIO(parquet(table)), io.BytesIO(), TableLayout("the table"), constant("new")
        )
        assert copied == CopiedContent(("n",), ("of the column 'n'",))


def test_pandas_reads_its_own_table_again():
    """A table that pandas wrote, with a category of texts, comes back as a data frame."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": pandas.Categorical(["the", "food", "the"]), "n": [1, 2, 3]}, index=[5, 6, 7])
    sink = io.BytesIO()
    frame.to_parquet(sink)
    again = pandas.read_parquet(io.BytesIO(rewritten("parquet", sink.getvalue(), constant("new"))[0]))
    assert list(again["text"]) == ["new"] * 3
    assert list(again.index) == [5, 6, 7]


@pytest.mark.parametrize("described", [b"", b"[]", b"{}", b"\xff", b'{"columns": [1]}', b'{"columns": 3}'])
def test_a_description_that_cannot_be_read_is_dropped(described):
    """What is no description of pandas does not come out."""
    table = pa.table({"text": ["the"]}).replace_schema_metadata({b"pandas": described})
    schema = read(rewritten("parquet", parquet(table))[0]).schema_arrow
    assert b"pandas" not in (schema.metadata or {})


def test_compression_by_column():
    """Columns may be compressed each in its own way."""
    data = parquet(pa.table({"text": ["a"], "n": [1]}), compression={"text": "gzip", "n": "none"})
    out, _ = rewritten("parquet", data)
    group = read(out).metadata.row_group(0)
    assert [group.column(i).compression for i in range(2)] == ["GZIP", "UNCOMPRESSED"]


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int32(), pa.string()),
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.int16(), pa.large_string()),
        pa.dictionary(pa.int32(), pa.string(), ordered=True),
    ],
    ids=str,
)
def test_kinds_of_text(kind):
    """Every arrow type of text is released and comes back as the same type, dictionaries with 32-bit indices."""
    values = pa.array(TEXTS)
    column = values.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else values.cast(kind)
    data = parquet(pa.table({"text": column}))
    seen = []
    out, _ = rewritten("parquet", data, recording(seen, constant("new")))
    assert [row.cells for row in seen] == [[("text", text)] for text in TEXTS]
    before = read(data).schema_arrow.field("text").type
    wide = pa.dictionary(pa.int32(), before.value_type, before.ordered) if pa.types.is_dictionary(before) else before
    assert read(out).schema_arrow.field("text").type == wide
    assert read(out).read().column("text").to_pylist() == ["new", None, "", "new", "new"]
    unchanged = read(rewritten("parquet", data, identity)[0]).read()
    assert unchanged.column("text").to_pylist() == read(data).read().column("text").to_pylist()


def test_more_new_texts_than_a_small_dictionary_holds():
    """A column of few private texts and many new ones is written, though its small indices overflow."""
    column = pa.array(["a", "b"] * 200).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))
    data = parquet(pa.table({"text": column}))
    out, _ = rewritten("parquet", data, giving(lambda rows: [f"new {number}" for number in range(len(rows))]))
    assert read(out).read().column("text").to_pylist() == [f"new {number}" for number in range(400)]


def test_private_text_leaves_no_trace():
    """Neither dictionaries nor statistics of the output hold a private text."""
    column = pa.array(["zyzzyva secret", "aardvark secret"])
    for kind in (column, column.dictionary_encode()):
        out, _ = rewritten("parquet", parquet(pa.table({"text": kind}), compression="none"), constant("new"))
        assert b"secret" not in out


def test_ids_of_any_type():
    """Ids are read as text."""
    seen = []
    table = pa.table({"id": pa.array([1, 2], pa.int64()), "text": ["a", "b"]})
    rewritten("parquet", parquet(table), recording(seen), id_column="id")
    assert [row.record_id for row in seen] == ["1", "2"]


def test_tables_without_rows():
    """A file without row groups, and one with an empty group, come back without rows."""
    empty = pa.table({"text": pa.array([], pa.string()), "n": pa.array([], pa.int8())})
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, empty.schema):
        pass
    for data in (parquet(empty), sink.getvalue()):
        out, _ = rewritten("parquet", data)
        assert read(out).read().equals(empty)


def test_repeated_names_elsewhere():
    """A repeated name is no trouble where its column is only copied."""
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array([1]), pa.array([2])], names=["text", "n", "n"])
    out, copied = rewritten("parquet", parquet(table), constant("new"))
    assert [column.to_pylist() for column in read(out).read().columns] == [["new"], [1], [2]]
    assert copied == ["n", "n"]


@pytest.mark.parametrize("kind", [pa.int64(), pa.binary(), pa.list_(pa.string()), pa.bool_()], ids=str)
def test_columns_that_hold_no_text(kind):
    """A column of another type is refused, and the message names it."""
    table = pa.table({"text": pa.array([None, None], kind)})
    with pytest.raises(InputError, match=r"column 'text' of the table holds .*, not text: convert it to strings"):
        rewritten("parquet", parquet(table))


def test_a_column_of_nulls():
    """A column without a text, of which its writer knew no type, keeps its nulls and its type."""
    table = pa.table({"text": pa.nulls(2), "n": [1, 2]})
    out, copied = rewritten("parquet", parquet(table), constant("new"))
    assert read(out).read().equals(table)
    assert copied == ["n"]
    new = read(io.BytesIO(extended("parquet", parquet(table))).getvalue()).read()
    assert new.column("predicted").to_pylist() == [None, None]


def test_a_missing_column():
    """A missing or repeated column is refused."""
    with pytest.raises(InputError, match=r"no column 'text'\. Its columns: 'a'"):
        rewritten("parquet", parquet(pa.table({"a": ["x"]})))
    twice = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
    with pytest.raises(InputError, match="several columns called 'text'"):
        rewritten("parquet", parquet(twice))


def test_ids_that_are_null():
    """Every row needs its id."""
    data = parquet(pa.table({"text": ["a", "b"], "id": [1, None]}))
    with pytest.raises(InputError, match="id column 'id' of the table holds a null"):
        rewritten("parquet", data, id_column="id")


@pytest.mark.parametrize("data", [b"", b"PAR1", b"text\nfood\n", parquet(pa.table({"text": ["a"]}))[:-5]])
def test_files_that_are_no_parquet(data):
    """What is no whole parquet file is refused."""
    with pytest.raises(InputError, match="cannot be read as parquet"):
        rewritten("parquet", data)


_DAMAGE = """
import io, pyarrow as pa, pyarrow.parquet as pq
from deniable import InputError
from deniable.text.tables import TABLE_FORMATS
from deniable.text.tables.layout import TableLayout
from deniable.text.tables.rows import ReleasedRows

sink = io.BytesIO()
pq.write_table(pa.table({"text": ["the food", None], "n": [1, 2]}), sink)
whole = sink.getvalue()
for at in range(len(whole)):
    for flip in (0x01, 0x14, 0x80):
        damaged = bytearray(whole)
        damaged[at] ^= flip
        try:
            TABLE_FORMATS["parquet"](
                io.BytesIO(bytes(damaged)),
                io.BytesIO(),
                TableLayout("in"),
                lambda rows: ReleasedRows(rows.columns),
            )
        except (InputError, MemoryError):
            pass
"""


def test_damaged_files():
    """No damaged byte makes the process end or raises anything but an expected error."""
    done = subprocess.run([sys.executable, "-c", _DAMAGE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr[-500:]) == (0, "")


def test_a_damaged_file_is_named():
    """Whatever the reader says of damage, the message begins with the file."""
    whole = parquet(pa.table({"text": ["the food"] * 100}), compression="none")
    at = whole.index(b"the food") - 20  # in the header of a page
    with pytest.raises(InputError, match=r"^the table cannot be read as parquet: \S.*\.$"):
        rewritten("parquet", whole[:at] + b"\xff" * 8 + whole[at + 8 :])


def test_ids_out_of_range():
    """A time that Python has not is refused in one line."""
    table = pa.table({"text": ["the"], "id": pa.array([2**62], pa.timestamp("us"))})
    with pytest.raises(InputError, match=r"^The column 'id' of the table cannot be read: .* Convert it to strings\.$"):
        rewritten("parquet", parquet(table), id_column="id")


def test_texts_that_are_not_utf8():
    """Bytes that are marked as text and are none are refused."""
    column = pa.StringArray.from_buffers(2, pa.array([0, 1, 2], pa.int32()).buffers()[1], pa.py_buffer(b"\xff\xfe"))
    with pytest.raises(InputError, match="cannot be read as parquet"):
        rewritten("parquet", parquet(pa.table({"text": column})))


@pytest.mark.parametrize("options", [{"dropped": ["nested", "id"]}, {"copied": ["when", "category", "blob"]}])
def test_dropped_columns_leave_no_trace(options):
    """A dropped column is in neither data, schema nor metadata; the others stay, with what the file says of them."""
    table = rich_table()
    spark = {"type": "struct", "fields": [{"name": name, "metadata": {}} for name in table.schema.names]}
    pandas = {
        "index_columns": ["id"],
        "columns": [{"name": name, "field_name": name, "metadata": None} for name in table.schema.names],
        "attributes": {"of": "nested"},
    }
    metadata = {
        b"pandas": json.dumps(pandas).encode(),
        b"org.apache.spark.sql.parquet.row.metadata": json.dumps(spark).encode(),
        b"parquet.avro.schema": b'{"fields": ["nested"]}',
    }
    out, copied = rewritten("parquet", parquet(table.replace_schema_metadata(metadata)), constant("new"), **options)
    after = read(out)
    assert copied == ["when", "category", "blob"]
    assert after.schema_arrow.names == ["text", "when", "category", "blob"]
    assert after.read().drop_columns(["text"]).equals(table.select(copied))
    assert b"nested" not in out
    described = json.loads(after.schema_arrow.metadata[b"pandas"])
    assert [column["name"] for column in described["columns"]] == after.schema_arrow.names
    assert described["index_columns"] == []
    assert list(after.schema_arrow.metadata) == [b"pandas", b"org.apache.spark.sql.parquet.row.metadata"]


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
    groups = [[file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] for file in (before, after)]
    assert groups[0] == groups[1] == [2, 2, 1]
    codecs = {after.metadata.row_group(0).column(i).compression for i in range(after.metadata.num_columns)}
    assert len(codecs) == 1


@given(st.lists(st.none() | st.text(max_size=5), max_size=12), st.integers(1, 5), st.sampled_from([0, 300]))
def test_new_columns_of_any_texts(texts, group_size, window):
    """Whatever the texts, groups and windows, every row keeps its text and gets its own cells."""
    data = parquet(pa.table({"text": pa.array(texts, pa.string())}), row_group_size=group_size)
    out = read(extended("parquet", data, window=window)).read().to_pydict()
    assert out["text"] == texts
    assert out["predicted"] == [text or None for text in texts]


def test_descriptions_name_the_new_columns():
    """What pandas and Spark say of a table lists the new columns too, since Spark reads no others."""
    pandas_said = {"index_columns": [], "columns": [{"name": "text", "field_name": "text", "metadata": None}]}
    spark_said = {"type": "struct", "fields": [{"name": "text", "type": "string", "nullable": True, "metadata": {}}]}
    spark_key = b"org.apache.spark.sql.parquet.row.metadata"
    metadata = {b"pandas": json.dumps(pandas_said), spark_key: json.dumps(spark_said), b"about": b"x"}
    schema = pa.schema([pa.field("text", pa.string())], metadata=metadata)
    out = read(extended("parquet", parquet(pa.table([pa.array(["the"])], schema=schema)))).schema_arrow.metadata
    names = ["text", "predicted", "probability"]
    assert [column["field_name"] for column in json.loads(out[b"pandas"])["columns"]] == names
    fields = json.loads(out[spark_key])["fields"]
    assert [(field["name"], field["type"]) for field in fields] == list(
        zip(names, ["string", "string", "double"], strict=True)
    )
    assert out[b"about"] == b"x"


def test_a_new_column_of_parquet_that_exists():
    """A file that has a column of the name is refused."""
    with pytest.raises(InputError, match="the table has a column 'predicted', which would be added"):
        extended("parquet", parquet(pa.table({"text": ["a"], "predicted": [1]})))


def test_a_new_class_with_a_lone_surrogate():
    """What no parquet file can hold is written as an escape."""
    data = parquet(pa.table({"text": ["a"]}))
    out = read(extended("parquet", data, lambda rows: [("\ud800", 0.5) for _ in rows])).read()
    assert out.column("predicted").to_pylist() == ["\\ud800"]


@pytest.mark.parametrize("options", [{}, {"dropped": ["who"]}, {"copied": []}])
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
        return ReleasedRows({"text": [text and text.upper() for text in list_column(rows.columns["text"])]})

    out, _ = rewritten("parquet", parquet(table, row_group_size=size), release, window=window, id_column="id")
    assert [read(out).metadata.row_group(group).num_rows for group in range(read(out).num_row_groups)] == [
        min(size, 5 - start) for start in range(0, 5, size)
    ]
    assert read(out).read().column("text").to_pylist() == [text and text.upper() for text in TEXTS]
    assert read(out).read().column("id").to_pylist() == list("abcde")
    assert (len(windows), sum(windows)) == ({0: 5, 700: 3 if size == 2 else 2, 10**6: 1}[window], 5)


@pytest.mark.parametrize("window", [0, 1_000_000])
def test_rows_that_are_not_released_leave_nothing(window):
    """Rows that are left out are absent from all columns, group by group, whatever is released together."""
    texts = ["a", "secret", None, "secret", "b", "secret", "secret"]
    table = pa.table({"id": range(7), "text": texts})
    data = parquet(table, row_group_size=2)
    with buffers(window=window):
        out, _ = rewritten("parquet", data, dropping(lambda row: row.cells[0][1] == "secret"))
    file = read(out)
    assert file.read().to_pydict() == {"id": [0, 2, 4], "text": ["a", None, "b"]}
    assert [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)] == [1, 1, 1, 0]
    assert b"secret" not in out


@pytest.mark.parametrize("read", [rewritten, extended])
def test_row_groups_that_say_something_else(read):
    """A file of 611 bytes whose row group claims eight billion rows is refused before any memory is taken."""
    data = (Path(__file__).parents[2] / "fuzzing/corpus/parquet/row_count").read_bytes()
    with pytest.raises(InputError, match="its row groups have 8,153,659,007 rows, and it says that it has 1"):
        read("parquet", data)


def test_errors_without_a_class(monkeypatch):
    """What Arrow raises as a bare RuntimeError of a damaged file is one line; that of a release is left as it is."""
    data = parquet(pa.table({"text": ["a"]}))

    def fail(_):
        raise RuntimeError("no memory")

    with pytest.raises(RuntimeError, match="no memory"):
        rewritten("parquet", data, fail)
    monkeypatch.setattr("deniable.text.tables.parquet._get_compression", fail)
    with pytest.raises(InputError, match="cannot be read as parquet: no memory"):
        rewritten("parquet", data)

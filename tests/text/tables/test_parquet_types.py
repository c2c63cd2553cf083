"""Types of parquet: texts, ids and physical types come out as they went in, or with equal values."""

import datetime as dt
import decimal
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.refusals import refuses
from tests.text.tables.helpers import constant, giving, identity, recording, released, rewritten

TEXTS = ["the food", None, "", "London ✓", "the food"]
INT96 = {"use_deprecated_int96_timestamps": True}
MOMENT = dt.datetime(2021, 3, 4, 5, 6, 7, 891011)  # noqa: DTZ001 - as files without zones have them
FAR = dt.datetime(9999, 12, 31, 23, 59, 59, 999999)  # noqa: DTZ001 - the same


def columns(*times):
    """Return a table of texts with times and decimals, flat and nested."""
    count = len(times)
    return pa.table(
        {
            "text": ["the food"] * count,
            "time": pa.array(times, pa.timestamp("us")),
            "times": pa.array([[one] for one in times], pa.list_(pa.timestamp("us"))),
            "parts": pa.array([{"at": one, "n": 1} for one in times], pa.struct({"at": pa.timestamp("us"), "n": "i4"})),
            "small": pa.array([decimal.Decimal("1.25")] * count, pa.decimal128(9, 2)),
            "middle": pa.array([decimal.Decimal("-7.5")] * count, pa.decimal128(18, 1)),
            "large": pa.array([decimal.Decimal(3)] * count, pa.decimal128(30, 0)),
        }
    )


def write(table, **options):
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def read(data, **options):
    return pq.read_table(io.BytesIO(data), **options)


def list_types(data):
    schema = pq.ParquetFile(io.BytesIO(data)).schema
    return [schema.column(index).physical_type for index in range(len(schema))]


@pytest.mark.parametrize(
    "kind",
    [
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int32(), pa.string()),
        pa.dictionary(pa.int16(), pa.large_string()),
        pa.dictionary(pa.int32(), pa.string(), ordered=True),
    ],
    ids=str,
)
def test_kinds_of_text(kind):
    """Every arrow type of text is released and comes back as the same type, dictionaries with 32-bit indices."""
    values = pa.array(TEXTS)
    column = values.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else values.cast(kind)
    data = write(pa.table({"text": column}))
    before = read(data).schema.field("text").type
    wide = pa.dictionary(pa.int32(), before.value_type, before.ordered) if pa.types.is_dictionary(before) else before
    for window in (1, 10_000):
        seen = []
        out, _ = rewritten("parquet", data, recording(seen, constant("new")), window=window)
        assert [row.cells for row in seen] == [[("text", text)] for text in TEXTS]
        assert read(out).schema.field("text").type == wide
        assert read(out)["text"].to_pylist() == ["new", None, "", "new", "new"]
    assert read(rewritten("parquet", data, identity)[0])["text"].to_pylist() == TEXTS


def test_more_new_texts_than_a_small_dictionary_holds():
    """A column of few private texts and many new ones is written, though its small indices overflow."""
    column = pa.array(["a", "b"] * 200).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))
    numbered = giving(lambda rows: [f"new {number}" for number in range(len(rows))])
    out, _ = rewritten("parquet", write(pa.table({"text": column})), numbered)
    assert read(out)["text"].to_pylist() == [f"new {number}" for number in range(400)]


def test_ids_of_any_type():
    """Ids are read as identities, whatever type they have."""
    for ids in (pa.array([1, 2], pa.int64()), pa.array([1.0, 2.0]), pa.array([" 1", "2.0"])):
        seen = []
        rewritten("parquet", write(pa.table({"id": ids, "text": ["a", "b"]})), recording(seen), id_column="id")
        assert [row.record_id for row in seen] == ["1", "2"]


@pytest.mark.parametrize("options", [{}, INT96, {"store_decimal_as_integer": True}])
def test_values_stay(options):
    """Times as INT96 come out so, decimals as byte arrays, nested ones too, with equal values."""
    data = write(columns(MOMENT, None, MOMENT), **options)
    for dropped in ((), ("time", "small")):
        copied = [column for column in columns().column_names if column not in ("text", *dropped)]
        out, _ = released("parquet", data, copied=copied)
        assert read(out).drop_columns(["text"]).equals(read(data).drop_columns(["text", *dropped]))
        names = [column for column in columns().column_names if column not in dropped]
        kept = options if options == INT96 else {}
        assert list_types(out) == list_types(write(columns(MOMENT).select(names), **kept))


def test_times_out_of_the_range_of_nanoseconds_stay():
    """INT96 times up to the year 9999, as Spark writes them, keep their values."""
    data = write(columns(MOMENT, FAR, None), **INT96)
    out, _ = rewritten("parquet", data)
    for name in ("time", "times"):
        values = read(out, coerce_int96_timestamp_unit="us").column(name)
        assert values.to_pylist() == columns(MOMENT, FAR, None).column(name).to_pylist()
    assert list_types(out) == list_types(data)


def test_nanoseconds_are_refused():
    """INT96 times with fractions of microseconds are refused by their columns: no time is changed unseen."""
    times = pa.array(np.array(["2021-03-04T05:06:07.123456789"], dtype="datetime64[ns]"))
    with refuses("INT96"):
        rewritten("parquet", write(pa.table({"text": ["a"], "time": times}), **INT96))

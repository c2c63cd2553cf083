"""Physical types of parquet: what Arrow's types do not tell stays as it was, or is named."""

import datetime as dt
import decimal
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable import InputError
from deniable.text.tables import TABLE_FORMATS
from deniable.text.tables.layout import TableLayout
from deniable.text.tables.physical_types import choose_type_options, open_parquet
from tests.text.helpers import constant, extended

INT96 = {"use_deprecated_int96_timestamps": True}
INTEGERS = {"store_decimal_as_integer": True}
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


def release(data, **layout):
    """Return the released file, and what was copied."""
    sink = io.BytesIO()
    copied = TABLE_FORMATS["parquet"](io.BytesIO(data), sink, TableLayout("in.parquet", **layout), constant("x"))
    return sink.getvalue(), copied


def list_types(data):
    schema = pq.ParquetFile(io.BytesIO(data)).schema
    return [schema.column(index).physical_type for index in range(len(schema))]


@pytest.mark.parametrize("options", [{}, INT96, INTEGERS, INT96 | INTEGERS])
@pytest.mark.parametrize("dropped", [(), ("time", "small")])
def test_physical_types_stay(options, dropped):
    """Times as INT96, and decimals as integers, come out as they went in, nested ones too, with equal values."""
    data = write(columns(MOMENT, None, MOMENT), **options)
    released, copied = release(data, dropped=dropped)
    expected = pq.read_table(io.BytesIO(data)).drop_columns(["text", *dropped])
    assert pq.read_table(io.BytesIO(released)).drop_columns(["text"]).equals(expected)
    names = [column for column in columns().column_names if column not in dropped]
    assert list_types(released) == list_types(write(columns(MOMENT).select(names), **options))
    assert copied.retyped == ()


@pytest.mark.parametrize("options", [{}, INT96, INTEGERS, INT96 | INTEGERS])
def test_physical_types_stay_where_columns_are_added(options):
    """A table with columns added keeps its types too."""
    data = write(columns(MOMENT), **options)
    assert list_types(extended("parquet", data))[: len(list_types(data))] == list_types(data)


def test_columns_that_change_are_named():
    """The writer stores all times of a file alike: one that is no INT96, beside others that are, is named."""
    file = pq.ParquetFile(io.BytesIO(write(columns(MOMENT), **INT96)))
    schema, places = file.schema_arrow, list(range(7))
    options, changed = choose_type_options(file, schema, places)
    assert (options["use_deprecated_int96_timestamps"], changed) == (True, ())
    schema = schema.set(4, pa.field("small", pa.timestamp("us")))
    assert choose_type_options(file, schema, places)[1] == ("small",)


def test_times_out_of_the_range_of_nanoseconds_stay():
    """INT96 times up to the year 9999, as Spark writes them, keep their values."""
    data = write(columns(MOMENT, FAR, None), **INT96)
    released, _ = release(data)
    for name in ("time", "times"):
        values = pq.read_table(io.BytesIO(released), coerce_int96_timestamp_unit="us").column(name)
        assert values.to_pylist() == columns(MOMENT, FAR, None).column(name).to_pylist()
    assert list_types(released) == list_types(data)


def test_nanoseconds_of_times_stay():
    """INT96 times with fractions of microseconds keep them."""
    times = np.array(["2021-03-04T05:06:07.123456789"], dtype="datetime64[ns]")
    data = write(pa.table({"text": ["a"], "time": pa.array(times)}), **INT96)
    released, _ = release(data)
    assert pq.read_table(io.BytesIO(released)).column("time").cast(pa.int64()).to_numpy()[0] % 1000 == 789


def test_times_that_no_unit_holds_are_refused(monkeypatch):
    """Where neither unit holds all times of a file, it is refused: no value is changed without a word."""
    data = write(columns(FAR), **INT96)
    monkeypatch.setattr("deniable.text.tables.physical_types._NANOSECONDS", 999)
    with pytest.raises(InputError, match="has INT96 times out of the range of nanoseconds"):
        open_parquet(io.BytesIO(data), TableLayout("in.parquet"))

"""What the tests of hosts share: tables, a keyed release, and every host behind one class."""

import dataclasses
import importlib
from collections.abc import Callable

import pyarrow as pa
import pytest

import deniable as dn
from tests.text.helpers import MECHANISM, WORDS

ROWS = 40
TEXTS = [" ".join(WORDS[: 1 + number % 9]) for number in range(ROWS)]
TEXTS[3:9] = ["", None, "London ✓ zork", " ", "<b>the</b> food &amp; red", None]
KEYED, FRESH = dn.Release(MECHANISM, key="seed:7"), dn.Release(MECHANISM)
LONG = " ".join(WORDS)


def make_table(ids=None, text_type=None):
    """Return forty rows: ids, two columns of texts and another column."""
    columns = {
        "id": pa.array(range(ROWS), pa.int32()) if ids is None else ids,
        "text": pa.array(TEXTS, text_type),
        "note": pa.array(TEXTS[::-1]),
        "stars": pa.array([number % 5 for number in range(ROWS)]),
    }
    return pa.table(columns)


def make_alike_table():
    """Return forty rows whose names of columns differ in capitals alone."""
    columns = {"id": range(ROWS), "ID": range(ROWS - 1, -1, -1), "note": TEXTS, "Note": TEXTS[7:] + TEXTS[:7]}
    return pa.table({name: list(cells) for name, cells in columns.items()})


def make_spelled_tables():
    """Return tables whose ids are those of `make_table`, as some programs write them."""
    spellings = [f"{number}.0" if number % 2 else f" {number}" for number in range(ROWS)]
    columns = [pa.array(range(ROWS), pa.float32()), pa.array(range(ROWS), pa.float64()), pa.array(spellings)]
    columns.append(pa.array(range(ROWS), pa.int64()).cast(pa.decimal128(21, 2)))
    return [make_table(ids) for ids in columns]


REPEATED_IDS = pa.array([*map(str, range(ROWS - 1)), "7.0"])
"""Ids of which two are one record's."""


def get_module(name):
    """Return a package that may not be installed; the fixture `host` has looked."""
    return importlib.import_module(name)


@dataclasses.dataclass(frozen=True)
class Host:
    """Where tables are already, and how they are released there.

    Attributes:
        package: that is needed.
        function: of a module of `deniable.engines`, with a dot between them.
        make: returns an Arrow table as the host holds it.
        read: returns the cells of each column.
        finish: evaluates a lazy table.
    """

    package: str
    function: str
    make: Callable
    read: Callable
    finish: Callable = lambda own: own

    def release(self, own, release, **options):
        """Return the private table as the host holds it, and what was returned, if that has counts."""
        module, name = self.function.split(".")
        function = getattr(get_module(f"deniable.engines.{module}"), name)
        connection = [get_module("duckdb")] if name == "privatize_relation" else []
        private = function(*connection, own, release, **options)
        return (private.table, private) if hasattr(private, "tally") else (self.finish(private), None)


def make_polars(table):
    polars = get_module("polars")
    return polars.DataFrame(polars.from_arrow(table))


def make_spark(table):
    return get_module("pyspark.sql").SparkSession.getActiveSession().createDataFrame(table).coalesce(1)


HOSTS = {
    "pandas": Host(
        "pandas",
        "frames.privatize_dataframe",
        lambda table: table.to_pandas(),
        lambda own: pa.Table.from_pandas(own, preserve_index=False).to_pydict(),
    ),
    "polars": Host("polars", "frames.privatize_dataframe", make_polars, lambda own: own.to_dict(as_series=False)),
    "lazy-polars": Host(
        "polars",
        "frames.privatize_lazyframe",
        lambda table: make_polars(table).lazy(),
        lambda own: own.collect().to_dict(as_series=False),
        lambda own: own.collect().lazy(),
    ),
    "duckdb": Host(
        "duckdb",
        "arrow.privatize_relation",
        lambda table: get_module("duckdb").from_arrow(table),
        lambda own: pa.table(own.to_arrow_table() if hasattr(own, "to_arrow_table") else own.arrow()).to_pydict(),
    ),
    "huggingface": Host(
        "datasets",
        "arrow.privatize_dataset",
        lambda table: get_module("datasets").Dataset(table),
        lambda own: own.to_dict(),
    ),
    "ray": Host(
        "ray",
        "ray.privatize_dataset",
        lambda table: get_module("ray.data").from_arrow(table),
        lambda own: pa.concat_tables(get_module("ray").get(own.to_arrow_refs())).to_pydict(),
        lambda own: own.materialize(),
    ),
    "spark": Host("pyspark", "spark.privatize_dataframe", make_spark, lambda own: own.toArrow().to_pydict()),
}
CLUSTERS = ("ray", "spark")
RAY_WARNING = pytest.mark.filterwarnings(r"ignore:.* is deprecated:DeprecationWarning:ray\.data\.context")
"""Ray warns of the defaults of its own settings."""
ON_CLUSTERS = [pytest.param(name, marks=[pytest.mark.deep, RAY_WARNING]) for name in CLUSTERS]

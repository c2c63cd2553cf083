"""What the tests of hosts share: a table, and what the plain run makes of it."""

import pyarrow as pa
import pyarrow.parquet as pq

from deniable.text.table_release import ReleaseFiles, privatize_table
from deniable.text.tables.layout import TableLayout
from tests.text.helpers import WORDS

ROWS = 40
TEXTS = [" ".join(WORDS[: 1 + number % 9]) for number in range(ROWS)]
TEXTS[3:9] = ["", None, "London ✓ zork", " ", "<b>the</b> food &amp; red", None]


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


def run_plainly(table, release, folder, columns=("text",)):
    """Return the table, the certificate and the tally of the plain run."""
    folder.mkdir(exist_ok=True)
    pq.write_table(table, folder / "in.parquet")
    layout = TableLayout("in.parquet", columns, "id")
    files = ReleaseFiles(
        str(folder / "in.parquet"), str(folder / "out.parquet"), str(folder / "c.json"), "parquet", layout, force=True
    )
    certificate, counts = privatize_table(files, release)
    return pq.read_table(folder / "out.parquet"), certificate, counts.tally

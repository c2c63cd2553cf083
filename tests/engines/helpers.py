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

"""A table with further columns: whole files, compressed or not, and what is refused."""

import gzip

import pytest
import zstandard

from deniable.text import table_extension
from tests.refusals import refuses
from tests.text.tables.helpers import NEW_COLUMNS, mirrored

TABLE = b'id,text\r\n1,"a, b"\r\n2,\r\n'
EXTENDED = b'id,text,predicted,probability\r\n1,"a, b","a, b",0.571429\r\n2,,,\r\n'
COMPRESSIONS = {
    "": (bytes, bytes),
    ".gz": (gzip.compress, gzip.decompress),
    ".zst": (zstandard.compress, lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data)),
}


def extend(source, target, **options):
    """Extend one file to another."""
    layout = table_extension.TableLayout("in")
    table_extension.extend_table(str(source), str(target), "csv", layout, NEW_COLUMNS, mirrored, **options)


@pytest.mark.parametrize("ending", COMPRESSIONS)
def test_files(tmp_path, ending):
    """A table is extended into a file that is compressed by its ending, and every byte that is read is reported."""
    compress, decompress = COMPRESSIONS[ending]
    source, target, read_counts = tmp_path / f"in.csv{ending}", tmp_path / f"out.csv{ending}", []
    source.write_bytes(compress(TABLE))
    extend(source, target, report=read_counts.append)
    assert decompress(target.read_bytes()) == EXTENDED
    assert sum(read_counts) == source.stat().st_size


def test_what_cannot_be_extended(tmp_path):
    """Neither input is overwritten, a failure leaves what was there, and lines of a text file have no columns."""
    source, model, target = tmp_path / "in.csv", tmp_path / "m.pt", tmp_path / "out.csv"
    source.write_bytes(TABLE)
    for path in (model, target):
        path.write_bytes(b"before")
    for path in (source, model):
        with refuses(path.name):
            extend(source, path, input_paths=[str(model)], force=True)
    source.write_bytes(TABLE + b"3\r\n")
    with refuses("line 4"):
        extend(source, target, force=True)
    assert {path.name: path.read_bytes()[:6] for path in tmp_path.iterdir()} == {
        "in.csv": TABLE[:6],
        "m.pt": b"before",
        "out.csv": b"before",
    }
    with refuses("txt"):
        table_extension.check_extensible_format("txt")

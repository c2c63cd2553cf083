"""A table with further columns: whole files, compressed or not, and what is refused."""

import gzip

import pytest
import zstandard

from deniable.core.errors import InputError
from deniable.text.table_extension import check_extensible_format, extend_table
from deniable.text.tables.layout import TableLayout
from tests.text.helpers import NEW_COLUMNS, mirrored

TABLE = b'id,text\r\n1,"a, b"\r\n2,\r\n'
EXTENDED = b'id,text,predicted,probability\r\n1,"a, b","a, b",0.571429\r\n2,,,\r\n'


@pytest.mark.parametrize(
    ("ending", "compress", "decompress"),
    [
        ("", bytes, bytes),
        (".gz", gzip.compress, gzip.decompress),
        (".zst", zstandard.compress, lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data)),
    ],
)
def test_files(tmp_path, ending, compress, decompress):
    """A table is extended into a file that is compressed by its ending, and every byte that is read is reported."""
    source, target, read_counts = tmp_path / f"in.csv{ending}", tmp_path / f"out.csv{ending}", []
    source.write_bytes(compress(TABLE))
    extend_table(str(source), str(target), "csv", TableLayout("in"), NEW_COLUMNS, mirrored, report=read_counts.append)
    assert decompress(target.read_bytes()) == EXTENDED
    assert sum(read_counts) == source.stat().st_size


def test_nothing_is_left_of_a_failure(tmp_path):
    """Where a row cannot be used no output appears, and an existing one stays as it was."""
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_bytes(TABLE + b"3\r\n")
    target.write_bytes(b"before")
    with pytest.raises(InputError, match="line 4 has 1 cells, the header has 2"):
        extend_table(str(source), str(target), "csv", TableLayout("in"), NEW_COLUMNS, mirrored, force=True)
    assert target.read_bytes() == b"before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "out.csv"]


def test_what_is_read_is_not_overwritten(tmp_path):
    """Neither the table nor another input is a place for the output, not even by force."""
    (tmp_path / "in.csv").write_bytes(TABLE)
    (tmp_path / "m.pt").write_bytes(b"model")
    for name in ("in.csv", "m.pt"):
        with pytest.raises(InputError, match="is a file that is read"):
            extend_table(
                str(tmp_path / "in.csv"),
                str(tmp_path / name),
                "csv",
                TableLayout("in"),
                NEW_COLUMNS,
                mirrored,
                input_paths=[str(tmp_path / "m.pt")],
                force=True,
            )


def test_a_format_without_columns():
    """Lines of a text file have no columns."""
    check_extensible_format("csv")
    with pytest.raises(InputError, match="A txt file has no columns, and none can be added: give csv, tsv, jsonl"):
        check_extensible_format("txt")

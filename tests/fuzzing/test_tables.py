"""The targets of tables find what they are there to find."""

import pytest

from deniable.text.tables import TABLE_FORMATS
from deniable.text.tables.rows import ReleasedRows
from tests.fuzzing.tables import BugFound, fuzz_csv, fuzz_jsonl, fuzz_parquet, fuzz_txt
from tests.fuzzing.targets import CORPUS

TARGETS = {"csv": fuzz_csv, "jsonl": fuzz_jsonl, "txt": fuzz_txt, "parquet": fuzz_parquet}


def drop_byte(release):
    """Return a reader that loses the last byte."""

    class Sink:
        def __init__(self, sink):
            self.sink, self.held = sink, b""

        def write(self, data):
            self.held += data

        def writelines(self, lines):
            self.held += b"".join(lines)

    def releasing(stream, sink, layout, release_rows):
        held = Sink(sink)
        copied = release(stream, held, layout, release_rows)
        sink.write(held.held[:-1])
        return copied

    return releasing


def pass_texts(release):
    """Return a reader that lets every text pass."""

    def releasing(stream, sink, layout, release_rows):
        def keep(rows):
            release_rows(rows)
            return ReleasedRows(rows.columns)

        return release(stream, sink, layout, keep)

    return releasing


@pytest.mark.parametrize("name", TARGETS)
def test_a_text_that_passes(name, monkeypatch):
    """A text that comes out as it went in is found."""
    monkeypatch.setitem(TABLE_FORMATS, name, pass_texts(TABLE_FORMATS[name]))
    with pytest.raises(BugFound):
        TARGETS[name]((CORPUS / name / "plain").read_bytes())


@pytest.mark.parametrize("name", ["csv", "jsonl", "txt"])
def test_a_byte_that_is_lost(name, monkeypatch):
    """A byte that is not text and does not come out is found."""
    monkeypatch.setitem(TABLE_FORMATS, name, drop_byte(TABLE_FORMATS[name]))
    with pytest.raises(BugFound):
        TARGETS[name]((CORPUS / name / "plain").read_bytes())

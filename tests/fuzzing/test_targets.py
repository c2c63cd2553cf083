"""Readers take bytes that nobody meant for them: seeds, what is made of them, and what has gone wrong before."""

import dataclasses
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import tables
from tests.fuzzing.targets import CORPUS, TARGETS, read_seeds

deep = pytest.mark.deep
EXAMPLES = int(os.environ.get("DENIABLE_FUZZ_EXAMPLES", "60"))
"""Inputs of each target; `tools/fuzz.py` looks for longer, and where it has not been."""
COSTLY = {"model": 4, "certificate": 4, "tallies": 2}
"""By how much their inputs are fewer."""
PIECES = [b"\0", b"\n", b'"', b",", b"\xff", b"\xef\xbb\xbf", b"[" * 50, b"-1", b"1e999", b"NaN", b"\\ud800", b"\x80\4"]
TABLES = ("csv", "jsonl", "txt", "parquet")


@st.composite
def edit(draw, seeds):
    """Draw a seed with some spans replaced."""
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 8)))
        data = data[:start] + draw(st.sampled_from(PIECES) | st.binary(max_size=6)) + data[end:]
    return data


def test_every_target_has_seeds():
    """Each target has a folder of seeds, and there is none without a target."""
    assert {path.name for path in CORPUS.iterdir()} == {*TARGETS}
    assert all(read_seeds(name) for name in TARGETS)


@pytest.mark.parametrize("name", TARGETS)
def test_seeds(name):
    """What is kept in the repository finds nothing."""
    for seed in read_seeds(name):
        TARGETS[name](seed)


@deep
@pytest.mark.parametrize("name", TARGETS)
def test_edited_seeds(name):
    """Seeds with some bytes replaced find nothing."""

    @settings(max_examples=EXAMPLES // COSTLY.get(name, 1))
    @given(edit(read_seeds(name)))
    def run_target(data):
        TARGETS[name](data)

    run_target()


def drop_byte(release):
    """Return a reader that loses the last byte."""

    class Sink:
        def __init__(self):
            self.held = b""

        def write(self, data):
            self.held += data

        def writelines(self, lines):
            self.held += b"".join(lines)

    def releasing(name, stream, sink, layout, release_rows):
        copied = release(name, stream, held := Sink(), layout, release_rows)
        sink.write(held.held[:-1])
        return copied

    return releasing


def pass_texts(release):
    """Return a reader that lets every text pass."""
    return lambda name, stream, sink, layout, release_rows: release(
        name, stream, sink, layout, lambda rows: dataclasses.replace(release_rows(rows), columns=rows.columns)
    )


@deep
@pytest.mark.parametrize(
    ("name", "spoil"), [*((name, pass_texts) for name in TABLES), *((name, drop_byte) for name in TABLES[:3])]
)
def test_what_the_targets_of_tables_find(name, spoil, monkeypatch):
    """A text that comes out as it went in is found, and a byte that is not text and does not come out."""
    monkeypatch.setattr(tables, "release_table", spoil(tables.release_table))
    with pytest.raises(tables.BugFound):
        TARGETS[name]((CORPUS / name / "plain").read_bytes())

"""``deniable privatize --resume`` as a process: killed at any time, it goes on with the noise that it had."""

import gzip
import io
import json
import os
import random
import signal
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import WORDS
from tests.cli.programs import finish, start, wait_until

deep = pytest.mark.deep
KEY = bytes(range(32))
ROWS = 60
WINDOWS = 30
PROGRAM = """
import os, pathlib, time
from deniable.cli.start import run
from deniable.text.release import Release
from deniable.text.tables import layout
layout.MAX_BATCH_CHARACTERS = 600
privatize_cells, drawn = Release.privatize_cells, []
def draw(*arguments, **options):
    if len(drawn) == int(os.environ["STOP_AT"]):
        pathlib.Path("part").write_text("\\n".join(drawn))
        os.replace("part", "drawn")
        time.sleep(600)
    batch = privatize_cells(*arguments, **options)
    drawn.append("\\n".join(batch.texts))
    return batch
Release.privatize_cells = draw
run()
"""
"""The program, with windows of two rows, at one of which it says what it has drawn and waits for a signal."""


def make_table(kind):
    """Return 60 rows as a file of a kind."""
    texts = [" ".join(WORDS[number % 9 :]) for number in range(ROWS)]
    if kind == "parquet":
        sink = io.BytesIO()
        table = pa.table({"id": [f"r{number}" for number in range(ROWS)], "text": texts})
        pq.write_table(table, sink, row_group_size=2)
        return sink.getvalue()
    if kind == "jsonl":
        return b"".join(json.dumps({"id": f"r{n}", "text": text}).encode() + b"\n" for n, text in enumerate(texts))
    data = ("id,text\n" + "".join(f"r{number},{text}\n" for number, text in enumerate(texts))).encode()
    return gzip.compress(data, mtime=0) if kind == "csv.gz" else data


@pytest.fixture
def begin(place):
    """Return a function that starts a run of a table of a kind, which waits for a signal at a window, if at all."""
    (place / "k").write_bytes(KEY)

    def beginning(kind, *options, output="out", stop_at=-1):
        (place / f"in.{kind}").write_bytes(make_table(kind))
        command = [sys.executable, "-c", PROGRAM, "privatize", f"in.{kind}", "--space", "space.npz", "--epsilon", "2"]
        environment = {**os.environ, "STOP_AT": str(stop_at)}
        return start([*command, "--id", "id", "-o", f"{output}.{kind}", *options], place, env=environment)

    return beginning


@pytest.fixture
def end_at(begin, place):
    """Return a function that sends a signal to a run when it is at a window; it returns how the run ended."""

    def ending(window, kind, *options, number=signal.SIGKILL):
        process = begin(kind, *options, stop_at=window)
        wait_until(process, (place / "drawn").exists)
        process.send_signal(number)
        return finish(process)

    return ending


def list_hidden(place):
    """Return the names of hidden files."""
    return [path.name for path in place.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("kind", ["csv", *(pytest.param(kind, marks=deep) for kind in ("jsonl", "parquet", "csv.gz"))])
def test_a_run_that_is_killed_goes_on(begin, end_at, place, kind):
    """Killed where chance has it, a run without a key begins with what it had drawn, and leaves nothing but outputs."""
    window = random.Random(kind).randrange(2, WINDOWS)
    end_at(window, kind, "--resume")
    assert f".out.{kind}.journal" in list_hidden(place)
    drawn = (place / "drawn").read_text().splitlines()
    assert len(drawn) >= window
    code, _, err = finish(begin(kind, "--resume"))
    assert (code, err.splitlines()[0]) == (0, f"resuming from .out.{kind}.journal")
    assert read_texts(place / f"out.{kind}", kind)[: len(drawn)] == drawn
    assert list_hidden(place) == []
    certificate = json.loads((place / f"out.{kind}.certificate.json").read_text())
    assert certificate["noise"].startswith("fresh noise")


def read_texts(path, kind):
    """Return the texts of a table."""
    if kind == "parquet":
        return pq.read_table(path)["text"].to_pylist()
    lines = (gzip.decompress(path.read_bytes()) if kind == "csv.gz" else path.read_bytes()).decode().splitlines()
    return [json.loads(line)["text"] for line in lines] if kind == "jsonl" else [x.split(",")[1] for x in lines[1:]]


@deep
def test_a_run_that_is_interrupted_takes_its_journal_along(begin, end_at, place):
    """A signal leaves nothing, since nothing of the output is left either; the journal of a killed run is named."""
    code, _, err = end_at(3, "csv", "--resume", number=signal.SIGTERM)
    assert (code, err, list_hidden(place)) == (2, "deniable: interrupted: nothing was written.\n", [])
    (place / "drawn").unlink()
    end_at(3, "csv", "--resume")
    code, _, err = finish(begin("csv"))
    assert (code, "resume it with --resume, or remove the journal with --force" in err) == (2, True)

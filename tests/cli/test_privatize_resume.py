"""``deniable privatize --resume`` as a process: killed at any time, or on a disk that is full, it goes on."""

import errno
import gzip
import io
import json
import os
import random
import resource
import signal
import subprocess
import sys
from pathlib import Path

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
import os, time
from deniable.cli.start import run
from deniable.text.release import Release
from deniable.text.tables import layout
layout.MAX_BATCH_CHARACTERS = 600
privatize_cells, drawn = Release.privatize_cells, []
def draw(*arguments, **options):
    drawn.append(1)
    if len(drawn) == int(os.environ["STOP_AT"]):
        time.sleep(600)
    return privatize_cells(*arguments, **options)
Release.privatize_cells = draw
run()
"""
"""The program, with windows of two rows, at one of which it waits for a signal."""


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

    def beginning(kind, *options, output="out", stop_at=0):
        (place / f"in.{kind}").write_bytes(make_table(kind))
        command = [sys.executable, "-c", PROGRAM, "privatize", f"in.{kind}", "--space", "space.npz", "--epsilon", "2"]
        environment = {**os.environ, "STOP_AT": str(stop_at)}
        return start([*command, "--id", "id", "-o", f"{output}.{kind}", *options], place, env=environment)

    return beginning


@pytest.fixture
def end_at(begin, place):
    """Return a function that sends a signal to a run when it is at a window, and says how it ended."""

    def ending(window, kind, *options, number=signal.SIGKILL):
        process, journal = begin(kind, *options, stop_at=window), place / f".out.{kind}.journal"
        kept = len(list(journal.glob("window-*")))
        wait_until(process, lambda: len(list(journal.glob("window-*"))) >= kept + window - 1)
        process.send_signal(number)
        return finish(process)

    return ending


@pytest.mark.parametrize("kind", ["csv", *(pytest.param(kind, marks=deep) for kind in ("jsonl", "parquet", "csv.gz"))])
def test_a_run_that_is_killed_goes_on(begin, end_at, privatize, place, kind):
    """Killed where chance has it, a keyed run ends with the bytes of an undisturbed one, and leaves no journal."""
    end_at(random.Random(kind).randrange(2, WINDOWS), kind, "--key-file", "k", "--resume")
    code, _, err = finish(begin(kind, "--key-file", "k", "--resume"))
    assert (code, err.splitlines()[0]) == (0, f"resuming from .out.{kind}.journal")
    assert privatize("--id", "id", "--key-file", "k", source=f"in.{kind}", output=f"plain.{kind}").code == 0
    for ending in ("", ".certificate.json"):
        first, second = ((place / f"{name}.{kind}{ending}").read_bytes() for name in ("out", "plain"))
        assert first == second
    assert [path.name for path in place.iterdir() if path.name.startswith(".")] == []


@deep
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_run_without_a_key_goes_on(begin, end_at, place, kind):
    """Without a key file the journal keeps the run's key: what was drawn before the kill stays as it was."""
    journal = place / f".out.{kind}.journal"
    end_at(7, kind, "--resume")
    key = (journal / "run.key").read_bytes()
    kept = {path.name: path.read_bytes() for path in journal.glob("window-*")}
    end_at(8, kind, "--resume")
    assert (journal / "run.key").read_bytes() == key
    assert {name: (journal / name).read_bytes() for name in kept} == kept
    assert finish(begin(kind, "--resume"))[0] == 0
    assert [path.name for path in place.iterdir() if path.name.startswith(".")] == []
    certificate = json.loads((place / f"out.{kind}.certificate.json").read_text())
    assert certificate["noise"].startswith("fresh noise")


@deep
def test_a_run_that_is_interrupted_says_how_to_go_on(begin, end_at):
    """A signal ends a run with one line that names the journal, which stays; without --resume it is not overlooked."""
    message = "deniable: interrupted: run the same command again to resume from '.out.csv.journal'.\n"
    assert end_at(3, "csv", "--resume", number=signal.SIGTERM) == (2, "", message)
    code, _, err = finish(begin("csv"))
    assert (code, "resume it with --resume, or remove the journal with --force" in err) == (2, True)
    assert finish(begin("csv", "--resume"))[0] == 0


@pytest.fixture
def small_disk(tmp_path_factory):
    """Return a folder on a disk of 512 kB."""
    folder = tmp_path_factory.mktemp("disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@deep
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "csv.gz"])
def test_a_full_disk(begin, place, small_disk, kind):
    """A disk that fills up ends the run in one line; with some space again it goes on to the bytes of another run."""
    assert finish(begin(kind, "--key-file", "k", output="plain"))[0] == 0
    (small_disk / "filler").write_bytes(bytes((512 - 40) << 10))  # leaves room for some windows of 4 kB
    options = ("--key-file", "k", "--resume", "--certificate", "c.json")
    code, _, err = finish(begin(kind, *options, output=str(small_disk / "out")))
    assert (code, len(err.splitlines())) == (2, 1)
    assert err.startswith(f"deniable: {os.strerror(errno.ENOSPC)}: run the same command again to resume from ")
    assert sorted(path.name for path in small_disk.iterdir()) == [f".out.{kind}.journal", "filler"]
    (small_disk / "filler").unlink()
    assert finish(begin(kind, *options, output=str(small_disk / "out")))[0] == 0
    assert Path(small_disk, f"out.{kind}").read_bytes() == (place / f"plain.{kind}").read_bytes()


@deep
def test_a_limit_on_the_size_of_files(begin):
    """Where no file may grow as large as the output, the run ends in one line, and goes on without that limit."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    process = begin("csv", "--resume")
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (2000, before[1]))
    code, _, err = finish(process)
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith(f"deniable: {os.strerror(errno.EFBIG)}: run the same command again to resume from ")
    assert finish(begin("csv", "--resume"))[0] == 0

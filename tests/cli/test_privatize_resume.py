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
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.text.helpers import WORDS

KEY = bytes(range(32))
ROWS = 60
WINDOWS = 30
SLOW = (
    "import sys, time\n"
    "from deniable.cli.start import run\n"
    "from deniable.text.release import Release\n"
    "from deniable.text.tables import layout\n"
    "layout.MAX_BATCH_CHARACTERS = 600\n"
    "privatize_cells = Release.privatize_cells\n"
    "def draw_slowly(*arguments, **options):\n"
    "    time.sleep(0.03)\n"
    "    return privatize_cells(*arguments, **options)\n"
    "Release.privatize_cells = draw_slowly\n"
    "run()\n"
)
"""The program, which takes a moment for each window of two rows."""


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


def start(place, kind, *options, output="out", **settings):
    """Start a run."""
    command = [sys.executable, "-c", SLOW, "privatize", f"in.{kind}", "--space", "space.npz", "--epsilon", "2"]
    command += ["--id", "id", "-o", f"{output}.{kind}", *options]
    return subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **settings)


def finish(process):
    _, err = process.communicate(timeout=120)
    return process.returncode, err.decode()


def kill_after(process, journal, windows):
    """Kill a run when it has kept so many windows."""
    deadline = time.monotonic() + 60
    while len(list(journal.glob("window-*"))) < windows:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "csv.gz"])
def test_a_run_that_is_killed_goes_on(place, kind):
    """Killed twice at windows that chance chooses, a keyed run ends with the bytes of an undisturbed one."""
    (place / f"in.{kind}").write_bytes(make_table(kind))
    (place / "k").write_bytes(KEY)
    assert finish(start(place, kind, "--key-file", "k", output="plain"))[0] == 0
    journal, chance = place / f".out.{kind}.journal", random.Random(kind)
    windows = sorted(chance.sample(range(1, WINDOWS - 3), 2))
    for count in windows:
        kill_after(start(place, kind, "--key-file", "k", "--resume"), journal, count)
    before = {path.name: path.stat().st_mtime_ns for path in journal.glob("window-*")}
    code, err = finish(start(place, kind, "--key-file", "k", "--resume"))
    assert (code, err.splitlines()[0]) == (0, f"resuming from .out.{kind}.journal")
    assert len(before) >= windows[-1]
    assert (place / f"out.{kind}").read_bytes() == (place / f"plain.{kind}").read_bytes()
    certificates = [(place / f"{name}.{kind}.certificate.json").read_bytes() for name in ("out", "plain")]
    assert certificates[0] == certificates[1]
    assert [path.name for path in place.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_run_without_a_key_goes_on(place, kind):
    """Without a key file the journal keeps the run's key: what was drawn before the kill stays as it was."""
    (place / f"in.{kind}").write_bytes(make_table(kind))
    journal = place / f".out.{kind}.journal"
    kill_after(start(place, kind, "--resume"), journal, 7)
    key = (journal / "run.key").read_bytes()
    kept = {path.name: path.read_bytes() for path in journal.glob("window-*")}
    kill_after(start(place, kind, "--resume"), journal, 15)
    assert (journal / "run.key").read_bytes() == key
    assert {name: (journal / name).read_bytes() for name in kept} == kept
    assert finish(start(place, kind, "--resume"))[0] == 0
    assert [path.name for path in place.iterdir() if path.name.startswith(".")] == []
    certificate = json.loads((place / f"out.{kind}.certificate.json").read_text())
    assert certificate["noise"].startswith("fresh noise")


def test_a_run_that_is_interrupted_says_how_to_go_on(place):
    """A signal ends a run with one line that names the journal, which stays; without --resume it is not overlooked."""
    (place / "in.csv").write_bytes(make_table("csv"))
    process = start(place, "csv", "--resume")
    deadline = time.monotonic() + 60
    while not (place / ".out.csv.journal" / "window-2").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    code, err = finish(process)
    assert (code, err) == (
        2,
        "deniable: interrupted: run the same command again to resume from '.out.csv.journal'.\n",
    )
    code, err = finish(start(place, "csv"))
    assert code == 2
    assert "resume it with --resume, or remove the journal with --force" in err
    assert finish(start(place, "csv", "--resume"))[0] == 0


@pytest.fixture
def small_disk(tmp_path_factory):
    """Return a folder on a disk of 512 kB."""
    folder = tmp_path_factory.mktemp("disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "csv.gz"])
def test_a_full_disk(place, small_disk, kind):
    """A disk that fills up ends the run in one line; with some space again it goes on to the bytes of another run."""
    (place / f"in.{kind}").write_bytes(make_table(kind))
    (place / "k").write_bytes(KEY)
    assert finish(start(place, kind, "--key-file", "k", output="plain"))[0] == 0
    filler = small_disk / "filler"
    target = small_disk / "out"
    size = (512 - 40) << 10  # leaves room for some windows of 4 kB
    filler.write_bytes(bytes(size))
    options = ("--key-file", "k", "--resume", "--certificate", "c.json")
    code, err = finish(start(place, kind, *options, output=str(target)))
    assert (code, len(err.splitlines())) == (2, 1)
    assert err.startswith(f"deniable: {os.strerror(errno.ENOSPC)}: run the same command again to resume from ")
    assert sorted(path.name for path in small_disk.iterdir()) == [f".out.{kind}.journal", "filler"]
    filler.unlink()
    code, err = finish(start(place, kind, *options, output=str(target)))
    assert (code, err.splitlines()[0]) == (0, f"resuming from {small_disk / f'.out.{kind}.journal'}")
    assert Path(f"{target}.{kind}").read_bytes() == (place / f"plain.{kind}").read_bytes()


def test_a_limit_on_the_size_of_files(place):
    """Where no file may grow as large as the output, the run ends in one line, and goes on without that limit."""
    (place / "in.csv").write_bytes(make_table("csv"))

    def limit_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))

    code, err = finish(start(place, "csv", "--resume", preexec_fn=limit_files))
    assert code == 2
    assert err == (
        f"deniable: {os.strerror(errno.EFBIG)}: run the same command again to resume from '.out.csv.journal'.\n"
    )
    assert finish(start(place, "csv", "--resume"))[0] == 0

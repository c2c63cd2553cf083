"""Files: compression, who can open them, and outputs that are never what is read."""

import gzip
import io
import os
import signal
import stat
import subprocess
import sys
import tempfile
import types
from pathlib import Path

import numpy as np
import pytest
import zstandard

import deniable as dn
from deniable.core.files import check_outputs, open_input, open_outputs
from tests.commands import run
from tests.refusals import refuses

DATA = b"id,text\n" + b"".join(b"%d,the food in London\n" % number for number in range(5_000))
COMPRESS = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}
DECOMPRESS = {
    "": bytes,
    ".gz": gzip.decompress,
    ".zst": lambda data: zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read(),
}


def read(path, **options):
    """Return what a file holds, and how many bytes each read took."""
    counts = []
    with open_input(str(path), counts.append, **options) as stream:
        return stream.read(), counts


@pytest.mark.parametrize("suffix", COMPRESS)
def test_reading(tmp_path, suffix):
    """Files are decompressed by their endings, also those that were put together, and their bytes are counted."""
    path = tmp_path / f"in.csv{suffix}"
    path.write_bytes(b"".join(map(COMPRESS[suffix], (DATA[:1], b"", DATA[1:]))))
    for is_seekable in (False, True):
        data, counts = read(path, seekable=is_seekable)
        assert data == DATA
        assert sum(counts) == path.stat().st_size


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_damaged_files(tmp_path, suffix):
    """A compressed file that ends early is refused; one with a changed byte is refused, or read as it was."""
    whole, path = COMPRESS[suffix](DATA), tmp_path / f"in.csv{suffix}"
    for share in (0.02, 0.5, 0.999):
        path.write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises((dn.InputError, OSError)):
            read(path)
    for at in (0, 1, 12, len(whole) // 2, -5):
        damaged = bytearray(whole)
        damaged[at] ^= 0xFF
        path.write_bytes(damaged)
        try:
            data, _ = read(path)
        except (dn.InputError, OSError):
            continue
        # A zstd frame of the tool's default has no checksum: its damage may go unseen.
        assert suffix == ".zst" or data == DATA


def test_what_is_no_such_file(tmp_path):
    """A folder, a missing file, and one that is compressed otherwise than its name says are refused."""
    (tmp_path / "in.gz").write_bytes(COMPRESS[".zst"](DATA))
    for path in (tmp_path, tmp_path / "none", tmp_path / "in.gz"):
        with refuses(path):
            read(path)


@pytest.mark.parametrize("name", ["a.CSV.GZ", "a.b.tsv.zst", "a.ndjson"])
def test_formats_by_ending(tmp_path, small_space, name):
    """The last ending but that of a compression names the format, in whatever case; a split mark is one mark."""
    suffix = Path(name).suffix.lower()
    mark, text = (b"", b'{"text":"badran"}\n') if suffix == ".ndjson" else (b"\xef\xbb\xbf", b"text\nbadran\n")
    compress = COMPRESS.get(suffix, bytes)
    parts = (mark[:1], mark[1:] + text)  # the first read brings one byte of the mark
    (tmp_path / name).write_bytes(b"".join(map(compress, filter(None, parts))))
    np.savez(tmp_path / "s.npz", words=np.array(small_space.words), vectors=small_space.vectors)
    done = run("privatize", tmp_path / name, "--space", tmp_path / "s.npz", "--epsilon", 3, "--output",
               tmp_path / f"out-{name}")  # fmt: skip
    assert done.code == 0
    released = DECOMPRESS.get(suffix, bytes)((tmp_path / f"out-{name}").read_bytes())
    assert released.startswith(mark + text[:5])


@pytest.mark.parametrize("suffix", COMPRESS)
def test_writing(tmp_path, suffix):
    """Outputs are compressed by their endings, appear together, and leave no other file."""
    paths = [tmp_path / name for name in (f"out.csv{suffix}", f"other{suffix}", "certificate.json")]
    with open_outputs(*map(str, paths), force=False) as (*streams, last):
        for stream in streams:
            stream.write(DATA)
        last.write(b"{}")
        assert not any(path.exists() for path in paths)
    assert DECOMPRESS[suffix](paths[0].read_bytes()) == DATA
    assert paths[1].read_bytes() == paths[0].read_bytes()
    assert suffix != ".gz" or paths[0].read_bytes()[3:8] == bytes(5)  # neither a name nor a time
    assert paths[2].read_bytes() == b"{}"
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def mode(path):
    """Return who can open a file."""
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("old", [None, 0o640, 0o444])
def test_modes(tmp_path, old):
    """A new file has the usual mode and one that replaces another has that one's; the owner's is his alone always."""
    paths = [tmp_path / name for name in ("out.csv", "out.csv.gz", "mine.json")]
    for path in paths if old is not None else []:
        path.write_bytes(b"old")
        path.chmod(old)
    before = os.umask(0o022)
    try:
        with open_outputs(*map(str, paths), force=True, owner_only=[str(paths[2])]) as streams:
            parts = [path for path in tmp_path.iterdir() if path.suffix == ".part"]
            # What is opened while it is wide can be read on, and what is not complete may be left by a crash.
            assert {mode(path) for path in parts} == {0o600}
            for stream in streams:
                stream.write(b"new")
    finally:
        os.umask(before)
    usual = 0o644 if old is None else old
    assert [mode(path) for path in paths] == [usual, usual, 0o600]


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_private_text_is_spooled_where_nobody_can_read_it(tmp_path, monkeypatch, suffix):
    """What is spooled of an input, or for standard output, lies in files without a name that only their owner opens."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = os.umask(0)
    try:
        monkeypatch.setattr("sys.stdin", types.SimpleNamespace(buffer=io.BytesIO(b"private")))
        source = "-"
        if suffix:
            source = str(tmp_path / f"in{suffix}")
            Path(source).write_bytes(gzip.compress(b"private"))
        with open_input(source, lambda _: None, seekable=True) as stream, open_outputs("-", force=False) as (sink,):
            status = [os.fstat(file.fileno()) for file in (stream, sink)]
            sink.truncate()
            assert stream.read() == b"private"
            assert {stat.S_IMODE(one.st_mode) for one in status} == {0o600}
            assert {one.st_nlink for one in status} == {0}
            monkeypatch.setattr("sys.stdout", types.SimpleNamespace(buffer=io.BytesIO()))
    finally:
        os.umask(before)
    assert [path.name for path in tmp_path.iterdir()] == ([f"in{suffix}"] if suffix else [])


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Work in a folder with the file read, a link to it, another name of it, and a folder that holds it."""
    monkeypatch.chdir(tmp_path)
    for name in ("read", "other"):
        (tmp_path / name).write_text(name)
    (tmp_path / "link").symlink_to("read")
    (tmp_path / "hard").hardlink_to(tmp_path / "read")
    (tmp_path / "folder").mkdir()
    (tmp_path / "deep" / "down").mkdir(parents=True)
    (tmp_path / "deep" / "down" / "one").hardlink_to(tmp_path / "read")
    (tmp_path / "folder" / "sub").symlink_to(tmp_path / "deep")
    (tmp_path / "deep" / "down" / "round").symlink_to(tmp_path / "folder")
    return tmp_path


@pytest.mark.usefixtures("files")
def test_an_output_that_is_read():
    """Whatever both are called, and where it is in a folder that is read: it is not written."""
    pairs = [
        (read, output) for read in ("read", "./read", "link", "hard") for output in ("folder/../read", "link", "hard")
    ]
    pairs += [("deep", "folder/sub/down/one"), ("folder/sub", "deep/down/one"), ("read", "folder/sub/down/one")]
    for read, output in pairs:
        with refuses(repr(output)):
            check_outputs(["new", output], [None, "other", read], force=True)
        check_outputs(["new", "folder/new"], [read, "folder", None], force=True)
    check_outputs(["new"], ["read"], force=False, intermediates=["other"])  # a checkpoint may exist, but not be read
    with refuses("'hard'"):
        check_outputs(["new"], ["read"], force=False, intermediates=["hard"])


@pytest.mark.usefixtures("files")
def test_outputs_that_cannot_be_written():
    """Two names of one file, a file that exists, a folder, a pipe, and what stands in no folder are refused."""
    for one, two in (("new", "new"), ("new", "./new"), ("read", "link"), ("read", "hard")):
        with refuses(repr(two)):
            check_outputs([one, two], force=True)
    os.mkfifo("fifo")
    for output, forced in (("read", False), ("folder", True), ("fifo", True), ("no/new", True), ("/dev/stdout", True)):
        with refuses(repr(output)), open_outputs(output, force=forced):
            pass
    assert Path("fifo").is_fifo()


@pytest.mark.parametrize(("redirected", "output"), [("<", "read"), (">>", "other")])
def test_standard_streams_are_files_too(files, redirected, output):
    """A file behind standard input is read; one behind standard output is an output."""
    program = f"""
import sys
from deniable.core.files import check_outputs
try:
    check_outputs([{output!r}, "-"], ["-", "read"], force=True)
except ValueError as error:
    sys.exit(3 if {output!r} in str(error) and "standard" in str(error) else 1)
"""
    done = subprocess.run(
        ["sh", "-c", f'"$0" -c "$1" {redirected} {output}', sys.executable, program], cwd=files, check=False
    )
    assert done.returncode == 3


def test_a_run_that_is_killed(tmp_path):
    """A process that is killed leaves a hidden file that nobody else can open; the next run removes it."""
    program = """
import os, signal
from deniable.core.files import open_outputs
with open_outputs("out.csv", force=False):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    command = [sys.executable, "-c", program]
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == -signal.SIGKILL
    (part,) = tmp_path.iterdir()
    assert (part.suffix, mode(part)) == (".part", 0o600)
    with open_outputs(str(tmp_path / "out.csv"), force=False) as (stream,):
        stream.write(b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]

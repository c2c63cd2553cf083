"""Files: compression, and outputs that appear whole or not at all."""

import contextlib
import errno
import gzip
import hashlib
import io
import os
import stat
import subprocess
import sys
import tempfile
import types
from pathlib import Path
from unittest import mock

import pytest
import zstandard

from deniable import InputError
from deniable.core.files import (
    NewFile,
    NoSeal,
    Seal,
    _remove_dead_parts,
    check_outputs,
    create_files,
    find_free_path,
    hash_file,
    open_input,
    open_outputs,
    record_published,
)
from deniable.core.locks import try_lock
from deniable.text.tables import TABLE_FORMATS, detect_table_format
from deniable.text.tables.layout import TableLayout
from tests.text.helpers import constant

DATA = b"id,text\n" + b"".join(b"%d,the food in London\n" % number for number in range(50_000))


def compress(data, suffix):
    if suffix == ".gz":
        return gzip.compress(data)
    return zstandard.ZstdCompressor().compress(data) if suffix == ".zst" else data


def decompress(data, suffix):
    if suffix == ".gz":
        return gzip.decompress(data)
    return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read() if suffix == ".zst" else data


def fail(failure, *paths, force):
    """Write to outputs, and fail."""
    with open_outputs(*paths, force=force) as streams:
        for stream in streams:
            stream.write(DATA)
        raise failure


def read(path, **options):
    counts = []
    with open_input(str(path), counts.append, **options) as stream:
        return stream.read(), counts


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("seekable", [False, True])
def test_reading(tmp_path, suffix, seekable):
    """Files are decompressed by their endings and their bytes are counted."""
    path = tmp_path / f"in.csv{suffix}"
    path.write_bytes(compress(DATA, suffix))
    data, counts = read(path, seekable=seekable)
    assert data == DATA
    assert sum(counts) == path.stat().st_size


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_several_members(tmp_path, suffix):
    """Compressed files that were put together are read to their end."""
    path = tmp_path / f"in.csv{suffix}"
    path.write_bytes(compress(b"i", suffix) + compress(b"", suffix) + compress(b"d,text\n", suffix))
    assert read(path)[0] == b"id,text\n"


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.999])
def test_files_cut_short(tmp_path, suffix, share):
    """A compressed file that ends early is refused, never taken for a whole one."""
    whole = compress(DATA, suffix)
    path = tmp_path / f"in.csv{suffix}"
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises((InputError, OSError)):
        read(path)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("at", [0, 1, 12, 500, 1000, -5])
def test_damaged_files(tmp_path, suffix, at):
    """A damaged file is refused, or read as it was where nothing of the data is lost."""
    damaged = bytearray(compress(DATA, suffix))
    damaged[at] ^= 0xFF
    path = tmp_path / f"in.csv{suffix}"
    path.write_bytes(damaged)
    try:
        data, _ = read(path)
    except (InputError, OSError):
        return
    # A zstd frame of the tool's default has no checksum: its damage may go unseen.
    assert suffix == ".zst" or data == DATA


def test_reading_what_is_no_file(tmp_path):
    """A folder and a missing file are told apart."""
    with pytest.raises(InputError, match="is a folder"):
        read(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        read(tmp_path / "none")


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_writing(tmp_path, suffix):
    """Outputs are compressed by their endings, appear together, and leave no other file."""
    paths = [tmp_path / f"out.csv{suffix}", tmp_path / "certificate.json"]
    with open_outputs(*map(str, paths), force=False) as (first, second):
        first.write(DATA)
        second.write(b"{}")
        assert not any(path.exists() for path in paths)
    assert decompress(paths[0].read_bytes(), suffix) == DATA
    assert paths[1].read_bytes() == b"{}"
    assert sorted(tmp_path.iterdir()) == sorted(paths)


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, OSError])
def test_writing_that_fails(tmp_path, suffix, failure):
    """Whatever goes wrong, no output appears, and files that were there stay."""
    old = tmp_path / f"out.csv{suffix}"
    old.write_bytes(b"old")
    with pytest.raises(failure):
        fail(failure, str(old), str(tmp_path / "c.json"), force=True)
    assert old.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [old]


def test_gzip_tells_nothing_more(tmp_path):
    """A gzip output holds neither a file name nor a time."""
    outputs = []
    for name in ("a.gz", "b.gz"):
        with open_outputs(str(tmp_path / name), force=False) as [stream]:
            stream.write(DATA)
        outputs.append((tmp_path / name).read_bytes())
    assert outputs[0] == outputs[1]


def test_an_output_that_is_no_file_is_not_replaced(tmp_path):
    """A pipe or device (a FIFO here, /dev/null elsewhere) is never replaced by a file."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    with pytest.raises(InputError), open_outputs(str(path), force=True) as [stream]:
        stream.write(b"new")
    assert path.is_fifo()


@pytest.fixture
def usual():
    """Set the usual umask."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path):
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("old", [None, 0o600, 0o640, 0o666, 0o444])
@pytest.mark.usefixtures("usual")
def test_modes(tmp_path, old):
    """A new file has the usual mode and one that replaces another has that one's; the owner's is his alone always."""
    paths = [tmp_path / name for name in ("out.csv", "out.csv.gz", "mine.json")]
    for path in paths if old is not None else []:
        path.write_bytes(b"old")
        path.chmod(old)
    with open_outputs(*map(str, paths), force=True, owner_only=[str(paths[2])]) as streams:
        parts = [path for path in tmp_path.iterdir() if path.suffix == ".part"]
        # What is opened while it is wide can be read on, and what is not complete may be left by a crash.
        assert {mode(path) for path in parts} == {0o600}
        for stream in streams:
            stream.write(b"new")
    usual = 0o644 if old is None else old
    assert [mode(path) for path in paths] == [usual, usual, 0o600]


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


@pytest.mark.parametrize("read", ["read", "./read", "folder/../read", "link", "hard", "folder", "deep"])
@pytest.mark.parametrize("output", ["read", "folder/../read", "link", "hard", "folder/sub/down/one"])
@pytest.mark.usefixtures("files")
def test_an_output_that_is_read(output, read):
    """Whatever both are called, and in whatever folder that is read it stands: it is not written."""
    with pytest.raises(InputError, match=f"The output {output!r} is a file that is read.*: choose another name"):
        check_outputs(["new", output], [None, "other", read], force=True)
    check_outputs(["new", "folder/new"], [read, "folder", None], force=True)


@pytest.mark.parametrize(("one", "two"), [("new", "new"), ("new", "./new"), ("read", "link"), ("read", "hard")])
@pytest.mark.usefixtures("files")
def test_two_outputs_that_are_one(one, two):
    """Two names of one file cannot both be written."""
    with pytest.raises(InputError, match=f"The outputs {one!r} and {two!r} are one file: name another"):
        check_outputs([one, two], force=True)


@pytest.mark.usefixtures("files")
def test_what_is_kept_may_exist_and_is_not_read():
    """A checkpoint may exist without force, but not be what the run reads."""
    check_outputs(["new"], ["read"], force=False, intermediates=["other"])
    with pytest.raises(InputError, match="The output 'hard' is a file that is read, as 'read'"):
        check_outputs(["new"], ["read"], force=False, intermediates=["hard"])


@pytest.mark.parametrize(("redirected", "output"), [("<", "read"), (">>", "other")])
def test_standard_streams_are_files_too(files, redirected, output):
    """A file behind standard input is read; one behind standard output is an output."""
    call = f"check_outputs([{output!r}, '-'], ['-', 'read'], force=True)"
    code = f"from deniable.core.files import check_outputs\n{call}"
    done = subprocess.run(
        f'{sys.executable} -c "{code}" {redirected} {output}', shell=True, cwd=files, capture_output=True, check=False
    )
    expected = "The output 'read' is a file that is read, as standard input: choose another name."
    if redirected == ">>":
        expected = "The outputs 'other' and standard output are one file: name another."
    assert expected in done.stderr.decode()


def test_standard_output_is_written_at_the_end(tmp_path, monkeypatch):
    """Nothing goes to a pipe before all is well, and nothing at all if it is not."""
    pipe = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", pipe)
    with open_outputs("-", str(tmp_path / "c.json"), force=False) as (stream, _):
        stream.write(DATA)
        stream.flush()
        assert pipe.buffer.getvalue() == b""
    assert pipe.buffer.getvalue() == DATA
    with pytest.raises(KeyError):
        fail(KeyError, "-", str(tmp_path / "d.json"), force=False)
    assert pipe.buffer.getvalue() == DATA
    assert not (tmp_path / "d.json").exists()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.csv", "csv"),
        ("a.CSV.GZ", "csv"),
        ("a.b.tsv.zst", "tsv"),
        ("/x.y/a.ndjson", "jsonl"),
        ("a.parquet", "parquet"),
    ],
)
def test_formats_by_ending(name, kind):
    """The ending names the format, with or without a compression."""
    assert detect_table_format(name) == kind


@pytest.mark.parametrize("name", ["a", "a.gz", "a.doc", "a.csv.bz2", ".csv.d/a", "csv"])
def test_unknown_endings(name):
    """Another ending is refused and the known ones are named."""
    with pytest.raises(InputError, match=r"Known: \.csv \.tsv \.jsonl \.parquet \.txt \.ndjson"):
        detect_table_format(name)


def test_short_reads_of_a_mark(tmp_path):
    """A byte order mark is found though the first read brings one byte of it."""
    path = tmp_path / "in.csv.zst"
    path.write_bytes(compress(b"\xef", ".zst") + compress(b"\xbb\xbftext\nx\n", ".zst"))
    sink = io.BytesIO()
    with open_input(str(path), lambda _: None) as stream:
        TABLE_FORMATS["csv"](stream, sink, TableLayout("in"), constant("y"))
    assert sink.getvalue() == b"\xef\xbb\xbftext\ny\n"


@pytest.mark.parametrize(
    ("taken", "free"),
    [
        ([], "a.private.csv"),
        (["a.private.csv"], "a-2.private.csv"),
        (["a.private.csv", "a-2.private.csv"], "a-3.private.csv"),
    ],
)
def test_free_paths(tmp_path, taken, free):
    """A path at which nothing is stays; else a number goes before its endings."""
    for name in taken:
        (tmp_path / name).touch()
    assert find_free_path(str(tmp_path / "a.private.csv")) == str(tmp_path / free)


def test_free_paths_without_an_ending(tmp_path):
    """A hidden file and one without an ending get the number at their end."""
    for name in (".key", "key"):
        (tmp_path / name).touch()
        assert find_free_path(str(tmp_path / name)) == str(tmp_path / f"{name}-2")


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_a_seal(tmp_path, suffix):
    """A seal is made of the digests of the files as they are on disk, compressed too, and appears with them."""
    paths = [str(tmp_path / f"a{suffix}"), str(tmp_path / "b")]
    seal = Seal(str(tmp_path / "seal"), b"".join)
    with open_outputs(*paths, force=False, seal=seal) as streams:
        streams[0].write(DATA)
    assert (tmp_path / "seal").read_bytes() == b"".join(hash_file(Path(path)) for path in paths)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([f"a{suffix}", "b", "seal"])


def test_a_seal_of_standard_output(tmp_path, monkeypatch):
    """What goes to standard output is sealed as well, before any of it is written."""
    sink = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(sink))
    seal = Seal(str(tmp_path / "seal"), lambda digests: digests[0])
    with open_outputs("-", force=False, seal=seal) as (stream,):
        stream.write(DATA)
    assert sink.getvalue() == DATA
    assert (tmp_path / "seal").read_bytes() == hashlib.sha256(DATA).digest()


def fail_sealed(path, seal, failure):
    """Write to a sealed output, and fail where there is a failure."""
    with open_outputs(path, force=False, seal=seal) as (stream,):
        stream.write(DATA)
        if failure is not None:
            raise failure


@pytest.mark.parametrize("at", ["block", "seal", "exists"])
def test_nothing_is_left_of_a_sealed_output_that_fails(tmp_path, at):
    """Where the block or the seal fails, or the seal's file exists, neither the outputs nor the seal appear."""

    def encode(digests):
        raise ValueError(digests[0].hex())

    seal = Seal(str(tmp_path / "seal"), encode)
    if at == "exists":
        (tmp_path / "seal").write_bytes(b"old")
    with pytest.raises((ValueError, RuntimeError)):
        fail_sealed(str(tmp_path / "a"), seal, RuntimeError("block") if at == "block" else None)
    assert [path.name for path in tmp_path.iterdir()] == (["seal"] if at == "exists" else [])


def is_old_seal(path):
    """Return whether a file is the seal of the tests below."""
    return path.is_file() and path.read_bytes() == b"old seal"


@pytest.fixture
def sealed(tmp_path):
    """Return the outputs of a sealed run, beside its seal, and the seal that the next run lacks."""
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.write_bytes(b"old")
    (tmp_path / "seal").write_bytes(b"old seal")
    return paths, NoSeal(str(tmp_path / "seal"), is_old_seal)


def write_unsealed(paths, seal, *, force=True, failure=None):
    """Write new outputs without a seal, and fail in the block where there is a failure."""
    with open_outputs(*map(str, paths), force=force, seal=seal) as streams:
        for stream in streams:
            stream.write(b"new")
        if failure is not None:
            raise failure


def list_contents(folder):
    """Return the contents of the files of a folder by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_stale_seal_goes(sealed, tmp_path):
    """Outputs without a seal that replace sealed ones take the seal away; what is no seal stays."""
    paths, seal = sealed
    write_unsealed(paths, seal)
    assert list_contents(tmp_path) == {"a": b"new", "b": b"new"}
    (tmp_path / "seal").write_bytes(b"a file of the user")
    write_unsealed(paths, seal)
    assert list_contents(tmp_path) == {"a": b"new", "b": b"new", "seal": b"a file of the user"}


@pytest.mark.parametrize("at", ["block", "removal"])
def test_a_run_that_fails_leaves_outputs_and_seal_together(sealed, tmp_path, monkeypatch, at):
    """Until the seal is removed nothing has changed, whatever fails."""
    before = list_contents(tmp_path)
    if at == "removal":
        monkeypatch.setattr(Path, "replace", fail_for(Path.replace, "seal"))
    with pytest.raises((OSError, RuntimeError)):
        write_unsealed(*sealed, failure=RuntimeError("block") if at == "block" else None)
    assert list_contents(tmp_path) == before


@pytest.mark.parametrize("place", [0, 1])
def test_no_new_output_stands_beside_a_stale_seal(sealed, tmp_path, monkeypatch, place):
    """The seal is put aside before the first output appears; where one cannot, all that stood there is back."""
    paths, seal = sealed
    before, seen, replace = list_contents(tmp_path), [], Path.replace

    def watch(path, target):
        seen.append((tmp_path / "seal").exists())
        if path.read_bytes() == b"new" and target == paths[place]:
            raise OSError("lost")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", watch)
    with pytest.raises(OSError, match="lost"):
        write_unsealed(paths, seal)
    assert list_contents(tmp_path) == before
    assert seen[:3] == [True, False, False]


def fail_for(function, name):
    """Return a method of paths that fails for those whose name begins so."""

    def method(path, *arguments, **options):
        if path.name.startswith(name):
            raise OSError("lost")
        return function(path, *arguments, **options)

    return method


def test_a_seal_without_its_outputs(sealed, tmp_path):
    """A seal that is left of outputs which are gone is overwritten by force alone."""
    paths, seal = sealed
    for path in paths:
        path.unlink()
    with pytest.raises(InputError, match=r"seal' exists: choose another name, or overwrite it with --force"):
        write_unsealed(paths, seal, force=False)
    assert list_contents(tmp_path) == {"seal": b"old seal"}
    write_unsealed(paths, seal)
    assert list_contents(tmp_path) == {"a": b"new", "b": b"new"}


PARTS = [".out.csv.0123abcd.part", ".out.csv.certificate.json.0123abcd.part"]


def test_what_dead_runs_have_left_is_removed(tmp_path):
    """The next run of an output removes what a killed one has left of it, and nothing of other outputs."""
    others = [".other.csv.0123abcd.part", ".out.csv.0123ABCD.part", ".out.csv.part", ".out.csv.0123abcde.part", "out.0"]
    for name in [*PARTS, *others]:
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / ".out.csv.aaaaaaaa.part").mkdir()
    (tmp_path / ".out.csv.bbbbbbbb.part").symlink_to(tmp_path / "out.0")
    with open_outputs(str(tmp_path / "out.csv"), str(tmp_path / "out.csv.certificate.json"), force=False):
        pass
    left = {".out.csv.aaaaaaaa.part", ".out.csv.bbbbbbbb.part", "out.csv", "out.csv.certificate.json"}
    assert {path.name for path in tmp_path.iterdir()} == {*others, *left}


def test_what_a_living_run_writes_is_left(tmp_path):
    """A run into an output that another one writes leaves that one's file, until it has its name."""
    path = str(tmp_path / "out.csv")
    with open_outputs(path, force=True) as (slow,):
        slow.write(b"slow")
        with open_outputs(path, force=True) as (quick,):
            quick.write(b"quick")
        assert (tmp_path / "out.csv").read_bytes() == b"quick"
    assert (tmp_path / "out.csv").read_bytes() == b"slow"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.csv"]


def test_a_killed_process_leaves_a_file_that_can_be_removed(tmp_path):
    """The lock of a file ends with its process: a run that is killed with SIGKILL leaves a dead file."""
    program = (
        "import os, signal\n"
        "from deniable.core.files import open_outputs\n"
        f"with open_outputs({str(tmp_path / 'out.csv')!r}, force=False) as (sink,):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=False)
    assert [path.suffix for path in tmp_path.iterdir()] == [".part"]
    with open_outputs(str(tmp_path / "out.csv"), force=False):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_a_file_that_is_taken_for_a_dead_one_is_made_again(tmp_path, monkeypatch):
    """A file that another run removes before it is locked is made anew."""
    answers = [False, True, True]

    def lock(descriptor):
        answer = answers.pop(0)
        if len(answers) == 1:
            (part,) = tmp_path.glob(".*.part")
            part.unlink()
        return answer and try_lock(descriptor)

    monkeypatch.setattr("deniable.core.files.try_lock", lock)
    with open_outputs(str(tmp_path / "out.csv"), force=False) as (sink,):
        sink.write(b"whole")
    assert (answers, (tmp_path / "out.csv").read_bytes()) == ([], b"whole")


def test_without_locks_nothing_is_removed(tmp_path, monkeypatch):
    """Where a file cannot be locked nobody can tell whether its writer lives: it stays."""
    monkeypatch.setattr("deniable.core.files.try_lock", lambda _: None)
    (tmp_path / PARTS[0]).write_bytes(b"x")
    with open_outputs(str(tmp_path / "out.csv"), force=False):
        pass
    assert (tmp_path / PARTS[0]).exists()


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


OLD_NAMES = ("c.json", "out.csv")


def publish(folder, seal=None):
    """Write two outputs in place of older ones."""
    paths = [str(folder / name) for name in OLD_NAMES]
    with open_outputs(*paths, force=True, seal=seal) as streams:
        for stream in streams:
            stream.write(b"new")


@pytest.mark.parametrize("failure", [OSError(errno.EIO, "broken"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("number", [1, 2, 3, 4])
@pytest.mark.parametrize("is_late", [False, True])
def test_outputs_that_fail_when_they_appear(tmp_path, monkeypatch, number, failure, is_late):
    """Whichever of the renames fails, or is interrupted when it is done, both old files are back, and no other."""
    for name in OLD_NAMES:
        (tmp_path / name).write_bytes(b"old")
    replace, calls = Path.replace, []

    def failing(path, target):
        calls.append(path)
        if is_late or len(calls) != number:
            replace(path, target)
        if len(calls) == number:
            raise failure

    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(type(failure)):
        publish(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == dict.fromkeys(OLD_NAMES, b"old")


def test_a_disk_that_refuses_new_names(tmp_path, monkeypatch):
    """Old files that were put aside come back by links where nothing can be renamed any more."""
    for name in OLD_NAMES:
        (tmp_path / name).write_bytes(b"old")
    replace, calls = Path.replace, []

    def failing(path, target):
        calls.append(path)
        if len(calls) > 2:
            raise OSError(errno.EROFS, "read only")
        replace(path, target)

    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(OSError, match="read only"):
        publish(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == dict.fromkeys(OLD_NAMES, b"old")


def test_standard_output_that_fails(tmp_path, monkeypatch):
    """A certificate that has appeared goes again where its table cannot be written to standard output."""

    full = mock.Mock(write=mock.Mock(side_effect=OSError(errno.ENOSPC, "full")))
    monkeypatch.setattr(sys, "stdout", mock.Mock(buffer=full))
    with contextlib.ExitStack() as stack:
        for stream in stack.enter_context(open_outputs(str(tmp_path / "c.json"), "-", force=False)):
            stream.write(b"new")
        with pytest.raises(OSError, match="full"):
            stack.close()
    assert list(tmp_path.iterdir()) == []


def test_what_is_recorded(tmp_path):
    """Outputs are recorded when they are there for good, those of a failure never."""
    paths = []
    with record_published(paths):
        publish(tmp_path)
        with pytest.raises(ValueError, match="1"):
            fail(ValueError("1"), str(tmp_path / "x"), force=False)
        create_files(NewFile(tmp_path / "key", b"secret"))
    publish(tmp_path)
    assert paths == [str(tmp_path / name) for name in (*OLD_NAMES, "key")]


def test_new_files(tmp_path, monkeypatch):
    """New files appear all or none, never in the place of another, also where a file system has no links."""
    first, second = NewFile(tmp_path / "a", b"1"), NewFile(tmp_path / "b", b"2", 0o644)
    (tmp_path / "b").symlink_to("nowhere")
    with pytest.raises(FileExistsError):
        create_files(first, second)
    (tmp_path / "b").unlink()
    monkeypatch.setattr(os, "link", mock.Mock(side_effect=PermissionError(errno.EPERM, "no links")))
    create_files(first, second)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"1", "b": b"2"}
    assert mode(tmp_path / "a") == 0o600
    with pytest.raises(FileExistsError):
        create_files(NewFile(tmp_path / "c", b"3"), first)
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("number", [1, 2])
def test_new_files_that_fail(tmp_path, monkeypatch, number):
    """Where one of two files cannot get its name, neither is there."""
    link, calls = os.link, []

    def failing(old, new):
        calls.append(new)
        if len(calls) == number:
            raise KeyboardInterrupt
        link(old, new)

    monkeypatch.setattr(os, "link", failing)
    with pytest.raises(KeyboardInterrupt):
        create_files(NewFile(tmp_path / "a", b"1"), NewFile(tmp_path / "b", b"2"))
    assert list(tmp_path.iterdir()) == []


def test_what_is_put_aside_is_not_taken_for_dead(tmp_path, monkeypatch):
    """While outputs appear, another run leaves an old file that was put aside, which may come back."""
    for name in OLD_NAMES:
        (tmp_path / name).write_bytes(b"old")
    replace, calls = Path.replace, []

    def disturbed(path, target):
        calls.append(path)
        if len(calls) == 3:  # both old files are put aside
            _remove_dead_parts(tmp_path / OLD_NAMES[1])
            raise OSError(errno.EIO, "broken")
        replace(path, target)

    monkeypatch.setattr(Path, "replace", disturbed)
    with pytest.raises(OSError, match="broken"):
        publish(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == dict.fromkeys(OLD_NAMES, b"old")

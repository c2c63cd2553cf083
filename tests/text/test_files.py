"""Files: compression, and outputs that appear whole or not at all."""

import gzip
import io
import os
import sys

import pytest
import zstandard

from deniable import InputError
from deniable.text.tables import FORMATS, format_of
from deniable.text.tables.files import reading, writing
from deniable.text.tables.layout import Layout
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
    with writing(*paths, force=force) as streams:
        for stream in streams:
            stream.write(DATA)
        raise failure


def read(path, **options):
    counts = []
    with reading(str(path), counts.append, **options) as stream:
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
    with writing(*map(str, paths), force=False) as (first, second):
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
        with writing(str(tmp_path / name), force=False) as [stream]:
            stream.write(DATA)
        outputs.append((tmp_path / name).read_bytes())
    assert outputs[0] == outputs[1]


def test_an_output_that_is_no_file_is_not_replaced(tmp_path):
    """A pipe or device (a FIFO here, /dev/null elsewhere) is never replaced by a file."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    with pytest.raises(InputError), writing(str(path), force=True) as [stream]:
        stream.write(b"new")
    assert path.is_fifo()


def test_standard_output_is_written_at_the_end(tmp_path, monkeypatch):
    """Nothing goes to a pipe before all is well, and nothing at all if it is not."""
    pipe = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", pipe)
    with writing("-", str(tmp_path / "c.json"), force=False) as (stream, _):
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
    assert format_of(name) == kind


@pytest.mark.parametrize("name", ["a", "a.gz", "a.doc", "a.csv.bz2", ".csv.d/a", "csv"])
def test_unknown_endings(name):
    """Another ending is refused and the known ones are named."""
    with pytest.raises(InputError, match=r"Known: \.csv \.tsv \.jsonl \.parquet \.txt \.ndjson"):
        format_of(name)


def test_short_reads_of_a_mark(tmp_path):
    """A byte order mark is found though the first read brings one byte of it."""
    path = tmp_path / "in.csv.zst"
    path.write_bytes(compress(b"\xef", ".zst") + compress(b"\xbb\xbftext\nx\n", ".zst"))
    sink = io.BytesIO()
    with reading(str(path), lambda _: None) as stream:
        FORMATS["csv"](stream, sink, Layout("in"), constant("y"))
    assert sink.getvalue() == b"\xef\xbb\xbftext\ny\n"

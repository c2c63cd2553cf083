"""``deniable privatize`` where something is wrong: one line, exit code 2, nothing written."""

import errno
import gzip
import io
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from deniable.registry.words import WORD_MECHANISMS


def parquet(**columns):
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def twice():
    """Return a parquet file with two columns of one name."""
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"]), sink)
    return sink.getvalue()


def npz(words, vectors):
    sink = io.BytesIO()
    np.savez(sink, words=np.array(words), vectors=np.array(vectors, dtype=float))
    return sink.getvalue()


def numbered(rows):
    """Return names for rows of parameters: compressed bytes differ from run to run."""
    return [f"{number}-{name}" for number, (name, *_) in enumerate(rows)]


TABLES = [
    ("in.csv", b"", "in.csv is empty: give a file with texts"),
    ("in.csv", b"\n\r\n", "no header row"),
    ("in.csv", b"id,body\n1,x\n", "in.csv has no column 'text'. Its columns: 'id', 'body'."),
    ("in.csv", b'id,text\n1,the\n2,"open\nand on\n', "line 3: a quote is opened and never closed"),
    ("in.csv", b'id,text\n1,"the"food\n', "line 2: text follows a closing quote: 'food"),
    ("in.csv", b"id,text\n1,the\n2,the,food\n", "line 3 has 3 cells, the header has 2"),
    ("in.csv", b"id,text\n1,the\n2,caf\xe9\n", "line 3 is not valid utf-8 (byte 0xe9). Name the file's encoding"),
    ("in.csv", b"text,text\n1,2\n", "several columns called 'text'"),
    ("in.jsonl", b'{"text": "the"}\n{"text": "the"\n', "in.jsonl line 2 is not a JSON object"),
    ("in.jsonl", b'{"txt": "the"}\n', "in.jsonl line 1 has no column 'text'. Its keys: 'txt'."),
    ("in.jsonl", b'{"text": "the"}\n{"text": "a", "text": "a"}\n', "in.jsonl line 2 has the key 'text' 2 times"),
    ("in.jsonl", b'{"text": 5}\n', "in.jsonl line 1 has no text in 'text' but 5: it must be a string or null"),
    ("in.parquet", b"", "cannot be read as parquet"),
    ("in.parquet", parquet(text=["a"])[:-20], "cannot be read as parquet"),
    ("in.parquet", parquet(text=[1, 2]), "column 'text' of in.parquet holds int64, not text"),
    ("in.parquet", twice(), "in.parquet has several columns called 'text': rename them"),
    ("in.parquet", parquet(body=["a"]), "no column 'text'. Its columns: 'body'."),
    ("in.csv.gz", b"text\nthe\n", "not valid gzip data"),
    ("in.csv.gz", gzip.compress(b"text\n" + b"the food\n" * 999)[:-9], "not valid gzip data"),
    (
        "in.csv.gz",
        gzip.compress(gzip.compress(b"text\n")),
        "read as text: it was compressed twice",
    ),
    ("in.csv", gzip.compress(b"text\nthe\n"), "in.csv holds gzip data, and is read as text: decompress it"),
    ("in.csv.gz", zstandard.ZstdCompressor().compress(b"text\n"), "it holds zstandard data. Rename it"),
    ("in.csv.zst", gzip.compress(b"text\n"), "is not valid zst data: it holds gzip data. Rename it"),
    ("in.csv", parquet(text=["a"]), "in.csv holds parquet, and is read as text: give --format parquet"),
    ("in.parquet", gzip.compress(b"text\n"), "in.parquet cannot be read as parquet: it holds gzip data. Decompress"),
    (
        "in.csv",
        "text\nthe\n".encode("utf-16"),
        "and is read as utf-8: give --encoding utf-16",
    ),
    ("in.csv", b"sep=;\ntext;n\n", "begins with 'sep=;', by which Excel names the delimiter"),
    ("in.csv.zst", b"text\nthe\n", ""),
    ("in.csv.zst", zstandard.ZstdCompressor().compress(b"text\n" + b"the food\n" * 999)[:-3], ""),
]
CSV = [row for row in TABLES if row[0] == "in.csv"]


@pytest.mark.parametrize(("name", "data", "message"), TABLES, ids=numbered(TABLES))
def test_tables_that_cannot_be_used(privatize, refused, name, data, message):
    """A table that is none is refused with the place of what is wrong."""
    refused.given(**{name.replace(".", "__"): data})
    assert message in refused(privatize(source=name, output="out." + name.partition(".")[2]))


@pytest.mark.parametrize(("name", "data", "message"), CSV, ids=numbered(CSV))
def test_pipes_that_cannot_be_used(privatize, refused, name, data, message):
    """From pipe to pipe the same is refused, and nothing goes out."""
    result = privatize("--format", "csv", "--certificate", "c.json", source="-", output="-", stdin=data)
    assert message.replace(name, "the input") in refused(result)


@pytest.mark.parametrize(
    ("epsilon", "message"),
    [
        ("0", "0.0"),
        ("-1", "-1.0"),
        ("nan", "nan"),
        ("inf", "inf"),
        ("1e999", "inf"),
        ("abc", "--epsilon"),
        ("", "--epsilon"),
    ],
)
def test_epsilon(privatize, refused, epsilon, message):
    """Epsilon must be a positive finite number."""
    line = refused(privatize(epsilon=epsilon))
    assert "epsilon" in line
    assert message in line


@pytest.mark.parametrize("missing", ["--epsilon", "--output"])
def test_options_that_are_needed(call, refused, missing):
    """Epsilon and output have no defaults."""
    given = {"--epsilon": "2", "--output": "out.csv", "--space": "space.npz"}
    del given[missing]
    assert missing in refused(call("privatize", "in.csv", *[part for pair in given.items() for part in pair]))


OPTIONS = [
    (
        ["--mechanism", "temp"],
        f"'temp' is not one of auto, {', '.join(WORD_MECHANISMS)}. Did you mean 'tem'?",
    ),
    (
        ["--mechanism", "xxxxxxxx"],
        f"not one of auto, {', '.join(WORD_MECHANISMS)}. See: deniable privatize --help",
    ),
    (["--mechanism", "truncated-gumbel"], "'epsilon' parameter of TruncatedGumbel must be above"),
    (["--mechanism", "multivariate-laplace", "--metric", "angular"], "needs the Euclidean metric"),
    (["--metric", "cosine"], "Cosine distance is no metric: use angular."),
    (
        ["--metric", "euclid"],
        "'euclid' is not one of euclidean, manhattan, chebyshev, angular, geodesic. Did you mean 'euclidean'?",
    ),
    (["--space", "none.npz"], "No vector file 'none.npz'"),
    (["--column", "body"], "no column 'body'. Its columns: 'id', 'text', 'note'."),
    (["--id", "key"], "no column 'key'"),
    (["--id", "text"], "id column 'text' cannot be a text column too"),
    (["--key-file", "key"], "--key-file needs --id COLUMN"),
    (["--key-file", "none", "--id", "id"], "key file 'none' cannot be read: No such file or directory"),
    (["--key-file", ".", "--id", "id"], "key file '.' cannot be read"),
    (["--key-file", "short", "--id", "id"], "must hold 32 bytes. Got 5."),
    (["--key-file", "key", "--id", "id", "--test-seed", "1"], "--key-file or --test-seed, not both"),
    (["--test-seed", "one"], "--test-seed"),
    (["--delimiter", ";;"], "delimiter must be one character"),
    (["--delimiter", ""], "delimiter must be one character"),
    (["--output", "/dev/stdout"], "is a stream, and outputs appear whole: give - for standard output"),
    (["--certificate", "/dev/fd/1"], "is a stream, and outputs appear whole: give - for standard output"),
    (["--format", "jsonl", "--quoting", "none"], "--quoting is for csv and tsv. Got it for jsonl: leave it out"),
    (["--delimiter", '"'], "delimiter must be one character, no quote"),
    (["--delimiter", "\n"], "delimiter must be one character, no quote or line end"),
    (["--delimiter", ";"], "no column 'text'. Its columns: 'id,text,note'. Is it another delimiter, --delimiter ,?"),
    (["--format", "xls"], "'xls' is not one of csv, tsv, jsonl, parquet, txt."),
    (["--format", "txt", "--column", "text"], "A txt file has no columns"),
    (["--format", "txt", "--id", "id"], "A txt file has no columns"),
    (["--format", "txt", "--key-file", "k"], "--key-file needs a column of record ids, and a txt file has none"),
    (["--format", "txt", "--ledger", "l"], "--ledger needs a column of persons, and a txt file has none"),
    (["--format", "jsonl", "--delimiter", ";"], "--delimiter is for csv and tsv"),
    (["--format", "jsonl"], "line 1 is not a JSON object"),
    (["--encoding", "utf-9"], "Unknown encoding 'utf-9': try utf-8, utf-16, cp1252 or latin-1"),
    (["--unknown", "keep"], "--unknown"),
    (["--case", "upper"], "--case"),
    (["--workers", "0"], "it must be greater than or equal to 1. Got 0."),
    (["--keep", "none"], "list 'none' cannot be read: No such file or directory"),
    (["--keep", "latin"], "list 'latin' is not UTF-8"),
    (["--keep", "."], "list '.' cannot be read"),
    (["--certificate", "-"], "certificate must be a file"),
    (["--certificate", "out.csv"], "The outputs 'out.csv' and 'out.csv' are one file: name another."),
    (["--certificate", "in.csv", "--force"], "The output 'in.csv' is a file that is read: choose another name."),
    (["--certificate", "none/c.json"], "folder of the output 'none/c.json' does not exist"),
    (["--certificate", "."], "is a folder"),
    (["--epsilom", "3"], "No such option: --epsilom"),
    (["another.csv"], "another.csv"),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS)
def test_options_that_cannot_be_used(privatize, refused, options, message):
    """An option that is wrong is named with its value, and what would be right where that is known."""
    refused.given(key=bytes(32), short=b"12345", latin=b"caf\xe9")
    assert message in refused(privatize(*options))


def test_unknown_options_have_suggestions(privatize, refused):
    """A misspelt option brings up the one that was meant."""
    assert "--epsilon" in refused(privatize("--epsilom", "3"))


def test_unknown_commands(call, refused):
    """A misspelt command brings up the one that was meant."""
    assert "'privatize'" in refused(call("privatise"))
    assert "No such option: --verson" in refused(call("--verson"))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("none.csv", "'none.csv' is not a file"),
        (".", "is not a file"),
        ("in.doc", "Cannot tell the format of 'in.doc'"),
    ],
)
def test_inputs_that_are_none(privatize, refused, source, message):
    """A missing input, a folder and an unknown ending are refused."""
    options = ["--format", "csv"] if source == "." else []
    assert message in refused(privatize(*options, source=source))


def test_a_fifo_is_no_file(privatize, refused, place):
    """A named pipe as input is refused at once: it would have to be read as a pipe."""
    os.mkfifo(place / "fifo.csv")
    line = refused(privatize(source="fifo.csv"), new=["fifo.csv"])
    assert "or - for a pipe" in line


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("there.csv", "'there.csv' exists: choose another name, or overwrite it with --force"),
        ("none/out.csv", "folder of the output 'none/out.csv' does not exist: create 'none' first"),
        ("in.csv", "exists"),
        (".", "is a folder"),
        ("out.jsonl", "The output has the input's format, csv. Got 'out.jsonl'"),
        ("out", "Cannot tell the format of 'out'"),
        ("-", "With --output - the certificate needs a place: name one with --certificate FILE"),
        ("x" * 300 + ".csv", "File name too long"),
    ],
)
def test_outputs_that_cannot_be_written(privatize, refused, output, message):
    """Outputs that exist, have no place or another format are refused before any work."""
    refused.given(there__csv="old")
    options = ["--format", "csv"] if output == "." else []
    assert message in refused(privatize(*options, output=output))


def test_an_existing_certificate(privatize, refused):
    """A certificate is not overwritten either."""
    refused.given(out__csv__certificate__json="old")
    assert "'out.csv.certificate.json' exists" in refused(privatize())


@pytest.mark.parametrize("output", ["in.csv", "./in.csv", "link.csv", "hard.csv"])
def test_the_input_is_never_the_output(privatize, refused, place, output):
    """Not even --force overwrites the input, under whatever name."""
    (place / "link.csv").symlink_to("in.csv")
    (place / "hard.csv").hardlink_to(place / "in.csv")
    refused.given()
    assert f"The output {output!r} is a file that is read" in refused(privatize("--force", output=output))


def test_an_output_that_is_no_file(privatize, refused, place):
    """Not even --force replaces a pipe or a device by a file."""
    os.mkfifo(place / "fifo.csv")
    refused.given()
    refused(privatize("--force", output="fifo.csv"))
    assert (place / "fifo.csv").is_fifo()


def test_pipes_without_a_format(privatize, refused):
    """Between two pipes nothing tells the format."""
    line = refused(privatize("--certificate", "c.json", source="-", output="-"))
    assert "must be named, for example --format csv" in line


def test_repeated_ids(privatize, refused):
    """An id that comes twice is shown with both rows."""
    refused.given(in__csv=b"id,text\na,the\nb,food\n\na,dog\n")
    line = refused(privatize("--id", "id"))
    assert "'a' of in.csv is in rows 1 and 3" in line


@pytest.mark.parametrize("how", ["path", "symlink", "hard link"])
@pytest.mark.parametrize("name", ["in.csv", "key", "list", "space.npz"])
def test_nothing_that_is_read_is_overwritten(privatize, refused, place, name, how):
    """--force replaces neither table, key, list of kept words nor vectors, by whatever name they are called."""
    refused.given(key=bytes(32), list="the\n")
    output = name
    if how != "path":
        output = "link"
        (place / output).symlink_to(name) if how == "symlink" else (place / output).hardlink_to(place / name)
        refused.given()
    options = ["--force", "--id", "id", "--key-file", "key", "--keep", "list", "--format", "csv"]
    known = "" if how == "path" else f", as {name!r}"
    line = f"The output {output!r} is a file that is read{known}: choose another name."
    assert refused(privatize(*options, output=output)) == line
    assert refused(privatize(*options, "--certificate", output)) == line


SPACES = [
    ("v.txt", b"", "is empty"),
    ("v.txt", b"the 1 2\nfood 1\n", "v.txt line 2 must end in 2 numbers"),
    ("v.txt", b"the 1 2\nfood 1 two\n", "v.txt line 2 must end in 2 numbers"),
    ("v.txt", b"the 1 2\nfood 1 nan\n", "vector of 'food' holds a number that is not finite"),
    ("v.txt", b"the 1 2\nfood inf 1\n", "vector of 'food' holds a number that is not finite"),
    ("v.txt", b"the 1 2\n", "at least two words"),
    ("v.txt", b"the\nfood\n", "no numbers"),
    ("v.npz", b"", "must hold the arrays 'words' and 'vectors'"),
    ("v.npz", b"PK\x03\x04 no zip", ""),
    ("v.npz", npz(["the", "food"], [[1], [2]])[:-30], ""),
    ("v.npz", npz(["the", "food"], [[1, 2]]), "2 words but vectors of shape (1, 2)"),
    ("v.npz", npz(["the", "food"], [1, 2]), "vectors of shape (2,)"),
    ("v.npz", npz(["the", "food"], [[1, 2], [1, 2]]), "two words with different vectors"),
    ("v.npz", npz(["the", "food", "dog"], [[1e200], [2e200], [0]]), ""),
    ("v.bin", b"", "word2vec header"),
    ("v.bin", b"2 3\nthe \0\0", "ends in the middle of entry 1 of 2"),
    ("v.bin", b"2 99999999999999999999\nthe \0\0", ""),
    ("v.txt.gz", gzip.compress(b"the 1 2\nfood 2 1\n")[:-9], "cannot be read"),
    ("v.txt.gz", b"the 1 2\n", "cannot be read"),
]


@pytest.mark.parametrize(("name", "data", "message"), SPACES, ids=numbered(SPACES))
def test_vector_files_that_cannot_be_used(privatize, refused, name, data, message):
    """A vector file that is damaged, ragged, empty or not of numbers in range is refused."""
    refused.given(**{name.replace(".", "__"): data})
    assert message in refused(privatize("--space", name))


@pytest.mark.parametrize(
    "target", ["certificate.Certificate.of", "table_release.TABLE_FORMATS", "release.Release.privatize_cells"]
)
def test_an_interruption(privatize, refused, monkeypatch, target):
    """Ctrl-C in the middle leaves nothing behind and is no success."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"deniable.text.{target}", {"csv": interrupt} if "FORMATS" in target else interrupt)
    assert refused(privatize()) == "interrupted: nothing was written."


def test_an_interruption_keeps_old_outputs(privatize, refused, monkeypatch):
    """With --force, too, the old outputs stay when a run is interrupted."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    refused.given(out__csv="old", out__csv__certificate__json="old")
    monkeypatch.setattr("deniable.text.certificate.Certificate.of", interrupt)
    assert "interrupted" in refused(privatize("--force"))


def test_a_full_disk(privatize, refused, monkeypatch):
    """Where the disk is full the operating system's reason is given and nothing is left."""

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    message = "No space left on device: nothing was written. Free some space, and run the same command again."
    assert refused(privatize()) == message


@pytest.mark.parametrize("output", ["out.csv", "out.csv.gz", "out.csv.zst"])
def test_a_write_that_fails(privatize, refused, place, output):
    """Where a file may grow no more (a real limit here) nothing is left either."""
    import resource

    lines = os.urandom(200_000).hex()
    (place / "in.csv").write_text("text,a\n" + "".join(f"the,{lines[i : i + 40]}\n" for i in range(0, len(lines), 40)))
    refused.given()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        result = privatize(output=output)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "File too large" in refused(result)


def test_a_pipe_whose_reader_left(privatize, refused, monkeypatch):
    """Where the reader of standard output went away the run fails and leaves no certificate."""

    def broken(*_):
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    monkeypatch.setattr("shutil.copyfileobj", broken)
    result = privatize("--certificate", "c.json", output="-")
    assert "reader of the output went away" in refused(result)


def test_memory_that_runs_out(privatize, refused, monkeypatch):
    """Running out of memory is told in one line."""

    def much(*_, **__):
        raise MemoryError

    monkeypatch.setattr("deniable.text.release.Release.privatize_cells", much)
    assert refused(privatize()).startswith("out of memory: nothing was written.")


SPELLED_IDS = [
    ("in.csv", b"id,text\n1,the\n1.0,food\n", "'1' of in.csv is in rows 1 and 2: ids must be unique"),
    ("in.tsv", "id\ttext\ncafe\u0301\tthe\n caf\u00e9\tfood\n".encode(), "of in.tsv is in rows 1 and 2"),
    ("in.jsonl", b'{"id": 10, "text": "the"}\n{"id": 1e1, "text": "food"}\n', "'10' of in.jsonl is in rows 1 and 2"),
    ("in.parquet", parquet(id=["0", "-0."], text=["the", "food"]), "'0' of in.parquet is in rows 1 and 2"),
    ("in.csv", b"id,text\n1,the\n ,food\n", "in.csv line 3 has no record id in 'id': give it one"),
    ("in.jsonl", b'{"id": "", "text": "the"}\n', "in.jsonl line 1 has no record id in 'id': give it one"),
    (
        "in.jsonl",
        b'{"id": 1.5, "text": "the"}\n',
        "in.jsonl line 1, 'id': Persons and records are named by texts or whole",
    ),
    (
        "in.parquet",
        parquet(id=[1.0, None], text=["a", "b"]),
        "The id column 'id' of in.parquet holds a null or a blank",
    ),
    ("in.parquet", parquet(id=[1.0, 1.5], text=["a", "b"]), "whole numbers, in floats below 2^53. Got 1.5: write the"),
    ("in.parquet", parquet(id=[1.0, 2.0**53], text=["a", "b"]), "Got 9007199254740992.0: write the column as texts"),
    ("in.parquet", parquet(id=pa.array([2**24], pa.float32()), text=["a"]), "below 2^24. Got 16777216.0: write the"),
    (
        "in.parquet",
        parquet(id=[True, False], text=["a", "b"]),
        "named by texts or whole numbers, in floats below 2^53. Got True",
    ),
    ("in.parquet", parquet(id=[b"a", b"b"], text=["a", "b"]), "Got one bytes: write the column as texts"),
]


@pytest.mark.parametrize(("name", "data", "message"), SPELLED_IDS, ids=numbered(SPELLED_IDS))
def test_ids_that_name_one_record_or_none(privatize, refused, name, data, message):
    """Two spellings of one id are one id, in every format; a blank, a fraction and what stands for several are none."""
    refused.given(**{name.replace(".", "__"): data})
    assert message in refused(privatize("--id", "id", source=name, output="out." + name.partition(".")[2]))

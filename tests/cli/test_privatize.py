"""``deniable privatize`` where all is well."""

import csv
import gzip
import io
import json
import os
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from deniable import (
    Certificate,
    Release,
    Space,
    TextPrivatizer,
    TightExponential,
    check_certificate,
    parse_certificate,
)
from deniable.registry.words import WORD_MECHANISMS
from tests.cli.conftest import TABLE
from tests.text.helpers import WORDS

KEY = bytes(range(32))


def rows(data):
    return list(csv.reader(io.StringIO(data.decode(), newline="")))


def test_a_table(privatize, place):
    """The private table, its certificate and nothing else appear; the terminal shows the summary."""
    result = privatize("--hide", "none")
    assert result.code == 0
    assert result.out == b""
    assert {path.name for path in place.iterdir()} == {"in.csv", "space.npz", "out.csv", "out.csv.certificate.json"}
    before, after = rows(TABLE.encode()), rows((place / "out.csv").read_bytes())
    assert [[row[0], row[2]] for row in after] == [[row[0], row[2]] for row in before]
    assert after[0] == before[0]
    assert [len(row[1].replace(",", " ").split()) for row in after[1:]] == [6, 4]
    assert set(" ".join(row[1] for row in after[1:]).replace(",", " ").split()) <= set(WORDS)
    assert b"\r\n" in (place / "out.csv").read_bytes()
    assert (place / "in.csv").read_bytes() == TABLE.encode()
    certificate = json.loads((place / "out.csv.certificate.json").read_text("utf-8"))
    assert (certificate["records"], certificate["words"]) == (2, 10)
    assert certificate["not_protected"][-1] == "the columns copied unchanged: 'id', 'note'"
    assert result.err.startswith("2 records, 10 words, by tight\n")
    assert result.err.endswith("wrote out.csv and out.csv.certificate.json\n")


def test_private_figures_are_marked(privatize, place):
    """What tells of the private text is shown to the owner, marked as such, and not in the certificate."""
    result = privatize()
    [line] = [line for line in result.err.splitlines() if line.startswith("for you only")]
    assert re.fullmatch(
        r"for you only   \d+ words changed \(\d+\.\d %\), 2 not in the vocabulary; these figures depend on the "
        r"private text: do not publish them",
        line,
    )
    certificate = (place / "out.csv.certificate.json").read_text("utf-8")
    assert "changed (" not in certificate
    assert "not in the vocabulary" not in certificate


def test_python_says_what_the_terminal_says(privatize, place):
    """The certificate and the tally of a release in Python read as the lines of the terminal, word for word."""
    texts = ["the food in london", "zork and the dog"]
    (place / "in.csv").write_text("text\n" + "\n".join(texts) + "\n")
    result = privatize("--mechanism", "tight", "--test-seed", "1")
    assert result.code == 0
    release = Release(TightExponential(Space.load("space.npz"), epsilon=2.0), key="seed:1")
    released = release.batch(texts)
    certificate = Certificate.of(release, released.tally)
    lines = f"{certificate}\n{released.tally.summary()}\nwrote out.csv and out.csv.certificate.json\n"
    assert lines == result.err
    assert certificate.to_json() == (place / "out.csv.certificate.json").read_text("utf-8")


def test_certificates_of_one_shape_are_equal(privatize, place):
    """Two private tables whose records have as many words have the same certificate."""
    (place / "other.csv").write_bytes(b"id,text,note\nx,a b c d e f,5\ny,blarg blarg blarg blarg,\n")
    assert privatize().code == 0
    assert privatize(source="other.csv", output="o.csv").code == 0
    assert (place / "o.csv.certificate.json").read_bytes() == (place / "out.csv.certificate.json").read_bytes()


def test_header_alone(privatize, place):
    """A table without rows is copied, with a certificate of no words."""
    (place / "in.csv").write_bytes(b"\xef\xbb\xbfid,text\r\n")
    assert privatize().code == 0
    assert (place / "out.csv").read_bytes() == b"\xef\xbb\xbfid,text\r\n"
    assert json.loads((place / "out.csv.certificate.json").read_text("utf-8"))["words"] == 0


def test_a_keyed_run_is_repeatable(call, privatize, place):
    """Under a key the output is a function of id and text, and is TextPrivatizer's."""
    assert call("key", "k").code == 0
    assert privatize("--id", "id", "--key-file", "k").code == 0
    assert privatize("--id", "id", "--key-file", "k", "--workers", "1", output="again.csv").code == 0
    out = (place / "out.csv").read_bytes()
    assert (place / "again.csv").read_bytes() == out
    mechanism = TightExponential(Space.load("space.npz"), epsilon=2.0)
    privatizer = TextPrivatizer(mechanism, key=(place / "k").read_bytes())
    for before, after in zip(rows(TABLE.encode())[1:], rows(out)[1:], strict=True):
        assert after[1] == privatizer.privatize(before[1], before[0])
    assert "secret key" in (place / "out.csv.certificate.json").read_text("utf-8")


def test_noise_is_fresh_without_a_key(privatize, place):
    """Two runs differ, and two with one public seed do not but say that they are not private."""
    (place / "in.csv").write_text("text\n" + " ".join(WORDS * 10))
    outputs = []
    for number, options in enumerate([(), (), ("--test-seed", "1"), ("--test-seed", "1"), ("--test-seed", "-2")]):
        assert privatize(*options, output=f"{number}.csv").code == 0
        outputs.append((place / f"{number}.csv").read_bytes())
    assert len({*outputs}) == 4
    assert outputs[2] == outputs[3]
    assert json.loads((place / "2.csv.certificate.json").read_text("utf-8"))["private"] is False


def test_columns(privatize, place):
    """Several columns are released, each with noise of its own, and the order of options does not matter."""
    text = " ".join(WORDS * 5)
    (place / "in.csv").write_text(f"a,b,c\n{text},{text},{text}\n")
    assert privatize("-c", "b", "--column", "a", "-c", "b").code == 0
    [_, [a, b, c]] = rows((place / "out.csv").read_bytes())
    assert len({a, b, c}) == 3
    assert c == text


def test_unknown_case_and_keep(privatize, place):
    """The options for unknown words, capitals and kept words reach the output and the certificate."""
    (place / "in.csv").write_text("text\nZork THE London\n")
    (place / "keep.txt").write_bytes("\ufefflondon\r\n\r\n  paris \n".encode())
    result = privatize("--unknown", "mask", "--case", "copy", "--keep", "keep.txt", "--hide", "none")
    assert result.code == 0
    mask, drawn, kept = (place / "out.csv").read_text().splitlines()[1].split()
    assert (mask, kept) == ("[unknown]", "London")
    assert drawn.isupper()
    notes = json.loads((place / "out.csv.certificate.json").read_text("utf-8"))["not_protected"]
    assert [any(part in note for note in notes) for part in ("[unknown]", "capital", "2 public words")] == [True] * 3
    assert all(note in result.err for note in notes)


@pytest.mark.parametrize(
    ("hide", "fault"),
    [
        (
            "cities",
            "'cities' is neither a class of words (names, places, numbers) nor a file of words: correct the name.",
        ),
        ("names,names", "The class of words 'names' is given twice, or has a name that is taken: rename it."),
        ("", "'' is neither a class of words (names, places, numbers) nor a file of words: correct the name."),
        ("none,names", "'none' is neither a class of words"),
        ("empty.txt", "The class of words 'empty' is empty: list at least one word."),
        ("two.txt", "The class of words 'two' must hold single words. Got 'new york': give each word by itself."),
        ("latin.txt", "The list 'latin.txt' is not UTF-8: convert it."),
        (
            "pets.txt,more.txt",
            "Words are in two classes, 'pets' and 'more': 'dog'. Take them out of one list, or hide one",
        ),
        ("numbers,years.txt", "Words are in two classes, 'years' and 'numbers': '1990'. Take them out of one list"),
    ],
)
def test_classes_that_cannot_be_hidden(privatize, refused, hide, fault):
    """Unknown classes, and empty or contradictory lists, are refused in one line, and nothing is written."""
    refused.given(
        empty__txt="\n  \n",
        two__txt="new york\n",
        latin__txt="caf\xe9".encode("latin-1"),
        pets__txt="dog\n",
        more__txt="Dog\ncat\n",
        years__txt="1990\n",
    )
    assert fault in refused(privatize("--hide", hide))


def test_a_list_of_words_is_not_overwritten(privatize, refused):
    """A file of hidden words is an input, which no output replaces."""
    refused.given(pets__txt="dog\n")
    refused(privatize("--hide", "pets.txt", "--certificate", "pets.txt", "--force"))


def test_hidden_words_come_out_alike(privatize, place):
    """Names, numbers of any shape and addresses give outputs that depend on their class alone, listed or not."""
    (place / "pets.txt").write_text("dog\nunicorn\n")
    outputs = []
    for words in ("dog was 7 jo@x.com", "Unicorn was 555-0123 https://a.b/c?d"):
        (place / "in.csv").write_text(f"id,text\n1,the {words} good\n")
        assert privatize("--hide", "pets.txt,numbers", "--id", "id", "--test-seed", "3", "--force").code == 0
        outputs.append((place / "out.csv").read_text())
    assert outputs[0] == outputs[1]
    certificate = json.loads((place / "out.csv.certificate.json").read_text("utf-8"))
    assert certificate["space"]["hidden"] == {"pets": 1, "addresses": 1}
    assert certificate["guarantee"]["metric"] == "euclidean, with numbers, pets hidden"


def test_dropping_never_publishes(privatize, place):
    """A text of unknown words alone is dropped to nothing in every format, and no record is lost."""
    (place / "in.csv").write_text("text\nsecret\nthe\n")
    (place / "in.jsonl").write_text('{"text": "secret"}\n{"text": "the"}\n')
    (place / "in.txt").write_text("secret\nthe\n")
    pq.write_table(pa.table({"text": ["secret", "the"]}), place / "in.parquet")
    published = []
    for kind in ("csv", "jsonl", "txt", "parquet"):
        assert privatize("--unknown", "drop", source=f"in.{kind}", output=f"out.{kind}").code == 0
        if b"secret" in (place / f"out.{kind}").read_bytes():
            published.append(kind)
    assert published == []
    assert len([row for row in rows((place / "out.csv").read_bytes()) if row]) == 3
    assert pq.read_table(place / "out.parquet").column("text")[0].as_py() == ""


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_compression(privatize, place, suffix, kind):
    """Compressed tables are read and written by their endings, from one to the other too."""
    data = {"csv": b"text,a\nthe,1\n", "jsonl": b'{"text":"the","a":1}\n', "parquet": None}[kind]
    if data is None:
        sink = io.BytesIO()
        pq.write_table(pa.table({"text": ["the"], "a": [1]}), sink)
        data = sink.getvalue()
    packed = gzip.compress(data) if suffix == ".gz" else zstandard.ZstdCompressor().compress(data)
    (place / f"in.{kind}{suffix}").write_bytes(packed)
    for ending in ("", ".gz", ".zst"):
        output = f"out.{kind}{ending}"
        assert privatize(source=f"in.{kind}{suffix}", output=output).code == 0
        out = (place / output).read_bytes()
        if ending:
            out = (
                gzip.decompress(out)
                if ending == ".gz"
                else zstandard.ZstdDecompressor().decompressobj().decompress(out)
            )
        if kind == "parquet":
            assert pq.read_table(io.BytesIO(out)).column("a").to_pylist() == [1]
        else:
            assert out.startswith(data[:7])
            assert len(out.splitlines()) == len(data.splitlines())


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "txt", "parquet"])
def test_pipes(privatize, place, kind):
    """Between pipes the format is named, the table goes to standard output, the certificate to a file."""
    sink = io.BytesIO()
    pq.write_table(pa.table({"text": ["the"]}), sink)
    data = {
        "csv": b"text,a\nthe,1\n",
        "tsv": b"a\ttext\n1\tthe\n",
        "jsonl": b'{"text":"the"}\n',
        "txt": b"the\n",
        "parquet": sink.getvalue(),
    }[kind]
    result = privatize("--format", kind, "--certificate", "c.json", source="-", output="-", stdin=data)
    assert result.code == 0
    if kind == "parquet":
        assert pq.read_table(io.BytesIO(result.out)).num_rows == 1
    else:
        assert len(result.out.splitlines()) == len(data.splitlines())
    assert json.loads((place / "c.json").read_text("utf-8"))["records"] == 1
    assert "wrote - and c.json" in result.err


def test_one_pipe(privatize, place):
    """With one pipe the file's ending names the format."""
    assert privatize(source="-", stdin=TABLE.encode()).code == 0
    assert (place / "out.csv").exists()
    result = privatize("--certificate", "c.json", output="-")
    assert result.code == 0
    assert result.text.startswith("id,text,note\r\n")


def test_delimiters_and_formats(privatize, place):
    """Delimiters of one character, \\t spelled out, and a format for names without an ending."""
    (place / "data").write_bytes(b"text;id\nthe, food;1\n")
    assert privatize("--format", "csv", "--delimiter", ";", source="data", output="out").code == 0
    assert (place / "out").read_bytes().endswith(b";1\n")
    (place / "data").write_bytes(b"text\tid\nthe, food\t1\n")
    assert privatize("--format", "csv", "--delimiter", "\\t", "--force", source="data", output="out").code == 0
    assert (place / "out").read_bytes().endswith(b"\t1\n")


@pytest.mark.parametrize(("kind", "delimiter"), [("csv", ","), ("tsv", "\t")])
@pytest.mark.parametrize("is_piped", [False, True])
def test_no_text_leaves_in_a_copied_cell(privatize, place, kind, delimiter, is_piped):
    """Rows between a quote and a later one in a copied column are refused, unless it is said what quotes are."""
    rows = [["id", "text", "note"], *([f"{n}", f"the food in london was {n}", "x"] for n in range(9))]
    rows[3][2], rows[7][2] = '"x', 'x"'
    table = "".join(delimiter.join(row) + "\n" for row in rows).encode()
    (place / f"q.{kind}").write_bytes(table)
    output = "-" if is_piped else f"qo.{kind}"

    def run(*arguments):
        return privatize("--certificate", "q.json", "--force", *arguments, source=f"q.{kind}", output=output)

    result = run()
    assert (result.code, result.out) == (2, b"")
    assert "line 4: the quoted cell of 'note' spans lines that would be rows of their own" in result.err
    assert not (place / f"qo.{kind}").exists()
    result = run("--quoting", "none")
    assert result.code == 0
    released = (result.out if is_piped else (place / output).read_bytes()).decode().splitlines()
    assert [line.rsplit(delimiter, 1)[1] for line in released] == [row[2] for row in rows]
    assert not any("london" in line.split(delimiter)[2] for line in released)


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16"])
def test_encodings(privatize, place, encoding):
    """The output has the input's encoding."""
    (place / "in.csv").write_bytes("text,é\nthe,ü\n".encode(encoding))
    assert privatize("--encoding", encoding).code == 0
    header, row = (place / "out.csv").read_bytes().decode(encoding).splitlines()
    assert header == "text,é"
    assert row.endswith(",ü")


def test_force(privatize, place):
    """With --force both outputs are overwritten."""
    for name in ("out.csv", "out.csv.certificate.json"):
        (place / name).write_text("old")
    assert privatize("--force").code == 0
    assert "old" not in (place / "out.csv").read_text()
    assert json.loads((place / "out.csv.certificate.json").read_text("utf-8"))["words"] == 10


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "angular"])
def test_metrics(privatize, place, metric):
    """Every metric is there by name."""
    assert privatize("--metric", metric).code == 0
    assert json.loads((place / "out.csv.certificate.json").read_text("utf-8"))["guarantee"]["metric"] == (
        f"{metric}, with names, places, numbers hidden"
    )


@pytest.mark.parametrize(("name", "made"), [("auto", "tight"), *((name, name) for name in WORD_MECHANISMS)])
def test_mechanisms(privatize, place, name, made):
    """Every mechanism is there by name, and the certificate names it."""
    assert privatize("--mechanism", name, epsilon="60").code == 0
    assert json.loads((place / "out.csv.certificate.json").read_text("utf-8"))["mechanism"]["name"] == made


def test_vectors_from_text(privatize, place):
    """A text file of vectors serves as a space, and remarks about it are shown."""
    (place / "v.txt").write_text("the 0 1\nThe 5 5\nfood 1 0\nlondon 1 1\n")
    result = privatize("--space", "v.txt")
    assert result.code == 0
    assert result.err.startswith("note: 1 entries repeat a word but for capitals")


@pytest.mark.parametrize("bad", ["file", "missing-parent-file/x"])
def test_a_cache_that_cannot_be_used(privatize, place, monkeypatch, bad):
    """Where the cache cannot be read or written the run goes on without it."""
    (place / bad.split("/")[0]).write_text("not a folder")
    monkeypatch.setenv("DENIABLE_CACHE", str(place / bad))
    assert privatize().code == 0


def test_a_cache_that_others_can_write(privatize, place, monkeypatch):
    """One line says that the folder is not used, and how to fix that."""
    (place / "cache").mkdir()
    (place / "cache").chmod(0o777)
    monkeypatch.setenv("DENIABLE_CACHE", str(place / "cache"))
    result = privatize()
    assert result.code == 0
    folder = str(place / "cache")
    assert result.err.splitlines()[0] == (
        f"note: others can write to the cache folder {folder!r}, and it is not used: chmod go-w {folder!r}"
    )
    assert not list((place / "cache").iterdir())


def test_a_forged_verdict(privatize, place, monkeypatch):
    """A proof that is written into the cache is not believed, and does not reach the certificate."""
    monkeypatch.setenv("DENIABLE_CACHE", str(place / "cache"))
    assert privatize("--mechanism", "tem").code == 0
    honest = json.loads((place / "out.csv.certificate.json").read_text("utf-8"))["verification"]
    (path,) = (place / "cache").glob("worst-*")
    data = path.read_bytes()
    for name, forged in (("lower_bound", b"0.25"), ("epsilon", b"0.5")):
        assert str(honest[name]).encode() in data
        data = data.replace(str(honest[name]).encode(), forged)
    path.write_bytes(data)
    assert privatize("--mechanism", "tem", "--force").code == 0
    again = json.loads((place / "out.csv.certificate.json").read_text("utf-8"))["verification"]
    assert {**again, "seconds": None} == {**honest, "seconds": None}


def settled(path):
    """Return what a cached file holds, but for the time that finding it took."""
    return path.read_bytes() if path.suffix != ".facts" else {**json.loads(path.read_bytes()[32:]), "seconds": None}


@pytest.mark.parametrize("content", ["", "{}", "[]", "null", '{"value": "x"}', '{"other": 1.0}', "[" * 5000])
@pytest.mark.parametrize("mechanism", ["tem", "tight", "truncated-gumbel"])
def test_a_cache_that_is_damaged(privatize, place, monkeypatch, content, mechanism):
    """Cached facts that make no sense are computed anew."""
    monkeypatch.setenv("DENIABLE_CACHE", str(place / "cache"))
    assert privatize("--mechanism", mechanism, epsilon="60").code == 0
    facts = sorted(path for path in (place / "cache").iterdir() if path.name != "secret")
    good = [settled(path) for path in facts]
    for path in facts:
        path.write_text(content)
    assert privatize("--mechanism", mechanism, "--force", epsilon="60").code == 0
    assert [settled(path) for path in facts] == good


def test_chosen_from_data(privatize, place):
    """With --chosen-from-data certificate and summary say that epsilon came from the private texts."""
    result = privatize("--chosen-from-data")
    assert result.code == 0
    certificate = json.loads((place / "out.csv.certificate.json").read_text("utf-8"))
    assert certificate["chosen"].startswith("from the private texts themselves")
    assert "choice of epsilon" in certificate["not_protected"][0]
    assert "epsilon was chosen from the private texts" in result.err
    assert privatize(output="other.csv").code == 0
    certificate = json.loads((place / "other.csv.certificate.json").read_text("utf-8"))
    assert certificate["chosen"].startswith("by the owner")


NOTES = ["Ann Smith rang", "message to Dr. Park", "ok", "sent to A&E", ""]


def write_notes(place, name):
    """Write a table of forty rows with texts, remarks, addresses, ids and ratings, in the format of its name."""
    rows = [
        {"text": "the food", "note": NOTES[row % 5] and f"{NOTES[row % 5]} {row}", "mail": f"p{row}@example.org"}
        | {"key": 1000 + row, "stars": row % 5, "where": ("New York", "London")[row % 2]}
        for row in range(40)
    ]
    if name.endswith("parquet"):
        pq.write_table(pa.Table.from_pylist(rows), place / name)
        return
    lines = ["\t".join(rows[0]), *("\t".join(map(str, row.values())) for row in rows)]
    lines = list(map(json.dumps, rows)) if name.endswith("jsonl") else lines
    (place / name).write_text("\n".join(lines) + "\n", "utf-8")


@pytest.mark.parametrize("name", ["n.tsv", "n.jsonl", "n.parquet"])
def test_copied_columns_that_look_private(privatize, place, name):
    """What looks like texts or identifiers is warned of on standard error, and comes first in the certificate."""
    write_notes(place, name)
    output = f"out.{name.partition('.')[2]}"
    result = privatize(source=name, output=output)
    assert result.code == 0, result.err
    warnings = [line for line in result.err.splitlines() if line.startswith("warning: copied unchanged")]
    assert [line.partition(";")[0] for line in warnings] == [
        "warning: copied unchanged, and look like texts: 'note'",
        "warning: copied unchanged, and look like identifiers: 'mail', 'key'",
    ]
    certificate = parse_certificate((place / f"{output}.certificate.json").read_bytes())
    assert [line.rpartition(": ")[2] for line in certificate["not_protected"][:2]] == ["'note'", "'mail', 'key'"]
    assert check_certificate(certificate, place / "space.npz").overall == "recomputed"


@pytest.mark.parametrize(
    "options",
    [
        ("--column", "text", "--column", "note", "--drop", "mail", "--id", "key"),
        ("--drop", "note", "--drop", "mail", "--drop", "key"),
        ("--columns", "stars,where"),
    ],
)
def test_columns_that_do_not_leave_are_not_warned_of(privatize, place, options):
    """What is released too, left out, or named as the record's id is no matter of a warning."""
    write_notes(place, "n.tsv")
    result = privatize(*options, source="n.tsv", output="out.tsv")
    assert result.code == 0, result.err
    assert "copied unchanged, and" not in result.err
    assert "look like" not in (place / "out.tsv.certificate.json").read_text("utf-8")


def test_a_column_of_persons_is_warned_of(privatize, place):
    """The owner is told that the column that says whose a record is leaves too; its certificate stays the same."""
    (place / "in.csv").write_text("id,who,text\n1,ann,the food\n2,ann,the dog\n3,ann,the cat\n")
    result = privatize("--person", "who", "--id", "id")
    assert "look like identifiers: 'who'" in result.err
    assert "look like" not in (place / "out.csv.certificate.json").read_text("utf-8")
    assert "look like" not in privatize("--person", "who", "--drop", "who", "--force").err


def test_the_warning_comes_before_anything_is_written(privatize, place, monkeypatch):
    """When a copied column is warned of, no output is there yet."""
    write_notes(place, "n.tsv")
    seen = []
    monkeypatch.setattr(
        "deniable.cli.owner_remarks.print_above", lambda line: seen.append((line, (place / "out.tsv").exists()))
    )
    assert privatize(source="n.tsv", output="out.tsv").code == 0
    assert [is_written for _, is_written in seen] == [False, False]


def test_rows_that_are_left_out_decide_nothing(privatize, call, place):
    """A column is judged by rows that are released: of others not even the certificate says how they look."""
    rows = [f"{row},{'' if row else 'ann'},the food,{'a long remark here' if row else 'ok'}" for row in range(30)]
    (place / "in.csv").write_text("\n".join(["id,who,text,note", *rows]) + "\n")
    assert call("ledger", "create", "l.db", "--budget", "100").code == 0
    result = privatize("--ledger", "l.db", "--id", "id", "--person", "who", "--over-budget", "drop", "--drop", "who")
    assert result.code == 0, result.err
    assert "look like texts" not in (place / "out.csv.certificate.json").read_text("utf-8")


def test_many_columns_and_long_rows(privatize, place):
    """A thousand columns, and cells of a million characters, are no trouble."""
    names = ",".join(f"c{i}" for i in range(1000))
    (place / "in.csv").write_text(f"{names},text\n{'x,' * 1000}the food\n{'y,' * 1000}{'the food ' * 110_000}\n")
    assert privatize().code == 0
    lines = (place / "out.csv").read_text().splitlines()
    assert [len(line.split(",")) for line in lines] == [1001] * 3
    assert len(lines[2].split()) == 220_000


def test_odd_names(privatize, place):
    """Columns and files may have odd names."""
    (place / "ä b'.csv").write_bytes(b'"a, ""b""", ,text\n1,2,the\n')
    assert privatize("--column", " ", "--id", 'a, "b"', source="ä b'.csv", output="ö '.csv").code == 0
    assert (place / "ö '.csv").read_bytes().endswith(b",the\n")


def test_a_vector_file_with_a_name_that_is_no_text(privatize, place):
    """A file name of bytes that are not UTF-8 does not stop a run, or is refused in one line."""
    name = os.fsdecode(b"s\xff.npz")
    (place / name).write_bytes((place / "space.npz").read_bytes())
    try:
        code = privatize("--space", name).code
    except UnicodeError:  # its report could not be printed
        code = None
    assert code in {0, 2}
    assert (place / "out.csv").exists() == (code == 0)


@pytest.mark.parametrize("source", ["one.csv", "one.tsv", "one.txt"])
def test_blank_lines_of_one_column_are_records(privatize, place, source):
    """In a table of one column a blank line is a record of no words, as it is in a text file, and stays as it is."""
    head = "" if source.endswith("txt") else "text\n"
    (place / source).write_text(f"{head}the food\n\nthe dog\n\n")
    output = f"out.{source[-3:]}"
    assert privatize(source=source, output=output).code == 0
    certificate = json.loads((place / f"{output}.certificate.json").read_text())
    assert certificate["records"] == 4
    assert [len(line.split()) for line in (place / output).read_text().removeprefix(head).split("\n")] == [
        2,
        0,
        2,
        0,
        0,
    ]


@pytest.mark.parametrize("options", [("--drop", "note"), ("--columns", "id"), ("--columns", '"id"')])
def test_columns_left_out(privatize, place, options):
    """A dropped column is absent from the table, and the certificate says what left in clear, and that no more did."""
    result = privatize(*options)
    assert result.code == 0
    after = rows((place / "out.csv").read_bytes())
    assert after[0] == ["id", "text"]
    assert [len(row) for row in after] == [2, 2, 2]
    text = (place / "out.csv.certificate.json").read_text("utf-8")
    certificate = json.loads(text)
    assert certificate["not_protected"][-1] == "the columns copied unchanged: 'id'"
    assert certificate["steps"] == [
        "columns were left out: every column of the private table that is not in the released one is wholly absent"
    ]
    assert "note" not in text
    assert "declared " in result.err


def test_texts_alone(privatize, place):
    """An empty list of columns leaves the texts alone, and an id that is named as such stays."""
    assert privatize("--columns", "").code == 0
    assert rows((place / "out.csv").read_bytes())[0] == ["text"]
    assert privatize("--columns", "", "--id", "id", output="ids.csv").code == 0
    assert rows((place / "ids.csv").read_bytes())[0] == ["id", "text"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--drop", "text"), "The text column 'text' of in.csv cannot be dropped"),
        (("--drop", "id", "--id", "id"), "The id column 'id' of in.csv cannot be dropped"),
        (("--drop", "nmae"), "in.csv has no column 'nmae' to drop. Its columns: 'id', 'text', 'note'."),
        (("--columns", "text,note"), "The text column 'text' of in.csv is never copied as it is"),
        (("--columns", "nmae"), "in.csv has no column 'nmae' to copy"),
        (("--columns", "id", "--drop", "note"), "Name the columns to drop, or those to copy, not both"),
        (("--columns", "id\nnote"), "--columns 'id\\nnote' has a line break outside quotes"),
        (("--columns", '"id'), "--columns '\"id' is no list such as a,b: "),
        (("--format", "txt", "--drop", "note"), "A txt file has no columns"),
    ],
)
def test_columns_that_cannot_be_left_out(privatize, place, options, message):
    """A choice of columns that cannot be is refused in one line, and nothing is written."""
    result = privatize(*options)
    assert result.code == 2
    assert message in result.err
    assert len(result.err.splitlines()) == 1
    assert not (place / "out.csv").exists()


def test_html_is_noticed_and_decoded(privatize, place):
    """The owner hears of entities and how to decode them; decoded, they are gone, and the certificate says so alone."""
    (place / "in.csv").write_text('text\n"the dog&#039;s food &amp; cat<br />"\nthe food\n')
    result = privatize()
    assert "warning (for you only): 50.0 % of the texts (1 of 2) hold HTML entities" in result.err
    assert "50.0 % of the texts (1 of 2) hold HTML tags such as <br />" in result.err
    assert "50.0 %" not in (place / "out.csv.certificate.json").read_text("utf-8")
    result = privatize("--unescape", "html", output="decoded.csv")
    assert "HTML entities such as" not in result.err
    assert "&" in (place / "decoded.csv").read_text()
    assert ";" not in (place / "decoded.csv").read_text()
    certificate = json.loads((place / "decoded.csv.certificate.json").read_text("utf-8"))
    assert certificate["release"]["unescape"] == "html"
    assert certificate["steps"] == [
        "HTML entities of the texts were decoded before anything else: the new texts are plain text, not HTML"
    ]


def test_decoded_line_breaks_end_no_record(privatize, place):
    """An entity of a line break in plain text is a space: as many records come out as went in."""
    (place / "in.txt").write_text("the&#10;dog&NewLine;food\nthe cat\n")
    assert privatize("--unescape", "html", source="in.txt", output="out.txt").code == 0
    assert [len(line.split(" ")) for line in (place / "out.txt").read_text().split("\n")] == [3, 2, 1]


def test_texts_in_another_language_are_noticed(privatize, place):
    """The owner hears of many unknown words, with the share; the certificate says nothing of it."""
    (place / "in.csv").write_text("text\nder Hund bellt the\n", "utf-8")
    result = privatize()
    assert "warning (for you only): 75.0 % of the words are not in the vocabulary" in result.err
    assert "--space FILE" in result.err
    assert "75.0 %" not in (place / "out.csv.certificate.json").read_text("utf-8")


@pytest.mark.parametrize("options", [(), ("--drop", "note")])
def test_persons(privatize, place, options):
    """--person tells the owner what is spent on a whole person, and changes neither the table nor its certificate."""
    table = "id,text,note\n1,the food,ann\n2,was good and red,bob\n3,the dog in london,ann\n4,cat,\n"
    (place / "in.csv").write_text(table)
    seeded = ("--test-seed", "1", "--hide", "none", *options)
    assert privatize(*seeded).code == 0
    outputs = [(place / name).read_bytes() for name in ("out.csv", "out.csv.certificate.json")]
    result = privatize(*seeded, "--person", "note", "--force")
    assert result.code == 0
    assert [(place / name).read_bytes() for name in ("out.csv", "out.csv.certificate.json")] == outputs
    lines = [line for line in result.err.splitlines() if line.startswith("for you only") and "not in the" not in line]
    assert lines[0] == "for you only   3 persons, 1 record without one counted as one each"
    assert lines[1].startswith("for you only   the median person, 1 record, 4 words: epsilon ")
    assert lines[2].startswith("for you only   the person with most words, 2 records, 6 words: epsilon ")
    mechanism = TightExponential(Space.load("space.npz", hide=()), epsilon=2.0)
    loss = mechanism.document_guarantee(6, 1e-6).pure.epsilon
    assert float(re.search(r"epsilon ([\d.]+)", lines[2])[1]) == pytest.approx(loss, rel=0.01)


def test_persons_of_tables_that_have_none(privatize, refused):
    """A column that is not there, one of texts, and a file without columns are refused."""
    assert "has no column 'who'" in refused(privatize("--person", "who"))
    assert "cannot hold both texts and persons" in refused(privatize("--person", "text"))
    refused.given(t__txt="the food\n")
    message = refused(privatize("--person", "who", source="t.txt", output="o.txt"))
    assert message == "A txt file has no columns, each line is a record: leave out --person."


def test_a_signed_release(call, privatize, refused, place):
    """--sign-key puts a signature beside the certificate, for a file and for standard output; no noise key signs."""
    call("key", "sign", "--sign")
    call("key", "noise")
    result = privatize("--hide", "none", "--sign-key", "sign")
    assert "wrote out.csv and out.csv.certificate.json and out.csv.certificate.json.sig" in result.err
    result = privatize("--hide", "none", "--sign-key", "sign", "--certificate", "c.json", output="-")
    assert result.code == 0
    (place / "piped.csv").write_bytes(result.out)
    for certificate, table in (("out.csv.certificate.json", "out.csv"), ("c.json", "piped.csv")):
        checked = call("certificate", "check", certificate, "--public-key", "sign.pub", "--table", table)
        assert (checked.code, "neither was changed" in checked.text) == (0, True)
    refused.given()
    assert "exists" in refused(privatize("--sign-key", "sign", "--certificate", "c.json", output="new.csv"))
    assert "noise key" in refused(privatize("--sign-key", "noise", output="new.csv"))
    assert "a key for signatures" in refused(privatize("--key-file", "sign", "--id", "id", output="new.csv"))
    assert "is a file that is read" in refused(privatize("--sign-key", "sign", "--force", "--certificate", "sign"))


def test_a_release_over_a_signed_one(call, privatize, refused, place):
    """With --force and without --sign-key the old signature goes with the old certificate, unless the run fails."""
    call("key", "sign", "--sign")
    certificate, signature = "out.csv.certificate.json", place / "out.csv.certificate.json.sig"
    assert privatize("--hide", "none", "--sign-key", "sign").code == 0
    refused.given(bad__csv=b"id,text\n1,\xff\n")
    refused(privatize("--hide", "none", "--force", source="bad.csv"))
    checked = call("certificate", "check", certificate, "--public-key", "sign.pub", "--table", "out.csv")
    assert (checked.code, "neither was changed" in checked.text) == (0, True)
    assert privatize("--hide", "none", "--force").code == 0
    assert not signature.exists()
    assert "unsigned" in call("certificate", "check", certificate).text
    signature.write_text("notes of mine")
    assert privatize("--hide", "none", "--force").code == 0
    assert signature.read_text() == "notes of mine"


def test_a_signature_whose_certificate_is_gone(call, privatize, refused, place):
    """A new release beside it would look forged: without --force it is refused before any text is read."""
    call("key", "sign", "--sign")
    assert privatize("--hide", "none", "--sign-key", "sign").code == 0
    for name in ("out.csv", "out.csv.certificate.json"):
        (place / name).rename(place / f"moved.{name}")
    refused.given()
    assert "certificate.json.sig' exists" in refused(privatize("--hide", "none"))

"""``deniable privatize`` and the tables of its owner: every format, encoding and column comes out as it went in."""

import gzip
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import deniable as dn
from tests.cli.conftest import TABLE, WORDS, read_rows

NOTES = ["Ann Smith rang", "message to Dr. Park", "ok", "sent to A&E", ""]


def write_parquet(**columns):
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


PIPED = {
    "csv": b"text,a\nthe,1\n",
    "tsv": b"a\ttext\n1\tthe\n",
    "jsonl": b'{"text":"the","a":1}\n',
    "txt": b"the\n",
    "parquet": write_parquet(text=["the"], a=[1]),
}


@pytest.mark.parametrize("kind", PIPED)
def test_pipes(privatize, place, kind):
    """Between pipes the format is named, the table goes to standard output, the certificate to a file."""
    result = privatize("--format", kind, "--certificate", "c.json", source="-", output="-", stdin=PIPED[kind])
    assert result.code == 0
    if kind == "parquet":
        assert pq.read_table(io.BytesIO(result.out)).num_rows == 1
    else:
        assert len(result.out.splitlines()) == len(PIPED[kind].splitlines())
    assert json.loads((place / "c.json").read_text("utf-8"))["records"] == 1


def test_one_pipe(privatize, place):
    """With one pipe the file's ending names the format."""
    assert privatize(source="-", stdin=TABLE.encode()).code == 0
    assert (place / "out.csv").exists()
    assert privatize("--certificate", "c.json", output="-").text.startswith("id,text,note\r\n")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compression(privatize, place, suffix, kind):
    """Compressed tables are read and written by their endings, from one to the other too."""
    data = PIPED[kind]
    packed = gzip.compress(data) if suffix == ".gz" else zstandard.ZstdCompressor().compress(data)
    (place / f"in.{kind}{suffix}").write_bytes(packed)
    unpack = {
        "": bytes,
        ".gz": gzip.decompress,
        ".zst": lambda packed: zstandard.ZstdDecompressor().decompressobj().decompress(packed),
    }
    for ending, unpacking in unpack.items():
        output = f"out.{kind}{ending}"
        assert privatize(source=f"in.{kind}{suffix}", output=output).code == 0
        out = unpacking((place / output).read_bytes())
        if kind == "parquet":
            assert pq.read_table(io.BytesIO(out)).column("a").to_pylist() == [1]
        else:
            assert out.startswith(data[:7])
            assert len(out.splitlines()) == len(data.splitlines())


def test_delimiters_and_encodings(privatize, place):
    """Delimiters of one character, \\t spelled out, a format for names without an ending, and the input's encoding."""
    for delimiter, data in ((";", b"text;id\nthe, food;1\n"), ("\\t", b"text\tid\nthe, food\t1\n")):
        (place / "data").write_bytes(data)
        options = ("--format", "csv", "--delimiter", delimiter, "--force")
        assert privatize(*options, source="data", output="out").code == 0
        assert (place / "out").read_bytes().endswith(data[-3:])
    for encoding in ("cp1252", "latin-1", "utf-16"):
        (place / "in.csv").write_bytes("text,é\nthe,ü\n".encode(encoding))
        assert privatize("--encoding", encoding, "--force").code == 0
        header, row = (place / "out.csv").read_bytes().decode(encoding).splitlines()
        assert header == "text,é"
        assert row.endswith(",ü")


@pytest.mark.parametrize(("kind", "delimiter"), [("csv", ","), ("tsv", "\t")])
@pytest.mark.parametrize("is_piped", [False, True])
def test_no_text_leaves_in_a_copied_cell(privatize, place, kind, delimiter, is_piped):
    """Rows between a quote and a later one in a copied column are refused, unless it is said what quotes are."""
    rows = [["id", "text", "note"], *([f"{n}", f"the food in london was {n}", "x"] for n in range(9))]
    rows[3][2], rows[7][2] = '"x', 'x"'
    (place / f"q.{kind}").write_bytes("".join(delimiter.join(row) + "\n" for row in rows).encode())
    output = "-" if is_piped else f"qo.{kind}"

    def run(*arguments):
        return privatize("--certificate", "q.json", "--force", *arguments, source=f"q.{kind}", output=output)

    assert (run().code, run().out) == (2, b"")
    assert not (place / f"qo.{kind}").exists()
    result = run("--quoting", "none")
    assert result.code == 0
    released = (result.out if is_piped else (place / output).read_bytes()).decode().splitlines()
    assert [line.rsplit(delimiter, 1)[1] for line in released] == [row[2] for row in rows]
    assert not any("london" in line.split(delimiter)[2] for line in released)


def test_several_columns(privatize, place):
    """Several columns are released, each with noise of its own, and the order of options does not matter."""
    text = " ".join(WORDS * 5)
    (place / "in.csv").write_text(f"a,b,c\n{text},{text},{text}\n")
    assert privatize("-c", "b", "--column", "a", "-c", "b").code == 0
    [_, [a, b, c]] = read_rows((place / "out.csv").read_bytes())
    assert len({a, b, c}) == 3
    assert c == text


@pytest.mark.parametrize("options", [("--columns", "id"), ("--columns", '"id"')])
def test_columns_left_out(privatize, place, options):
    """A dropped column is absent from the table, and the certificate says what left in clear, and that no more did."""
    assert privatize(*options).code == 0
    after = read_rows((place / "out.csv").read_bytes())
    assert after[0] == ["id", "text"]
    assert [len(row) for row in after] == [2, 2, 2]
    text = (place / "out.csv.certificate.json").read_text("utf-8")
    certificate = json.loads(text)
    assert certificate["not_protected"][-1] == "the columns copied unchanged: 'id'"
    assert certificate["steps"][0].startswith("columns were left out: ")
    assert "note" not in text


def test_texts_alone(privatize, place):
    """An empty list of columns leaves the texts alone, and an id that is named as such stays."""
    assert privatize("--columns", "").code == 0
    assert read_rows((place / "out.csv").read_bytes())[0] == ["text"]
    assert privatize("--columns", "", "--id", "id", output="ids.csv").code == 0
    assert read_rows((place / "ids.csv").read_bytes())[0] == ["id", "text"]


@pytest.mark.parametrize("source", ["one.csv", "one.tsv", "one.txt"])
def test_blank_lines_of_one_column_are_records(privatize, place, source):
    """In a table of one column a blank line is a record of no words, as it is in a text file, and stays as it is."""
    head = "" if source.endswith("txt") else "text\n"
    (place / source).write_text(f"{head}the food\n\nthe dog\n\n")
    output = f"out.{source[-3:]}"
    assert privatize(source=source, output=output).code == 0
    assert json.loads((place / f"{output}.certificate.json").read_text())["records"] == 4
    lines = (place / output).read_text().removeprefix(head).split("\n")
    assert [len(line.split()) for line in lines] == [2, 0, 2, 0, 0]


def test_odd_names(privatize, place):
    """Columns and files may have odd names."""
    (place / "ä b'.csv").write_bytes(b'"a, ""b""", ,text\n1,2,the\n')
    assert privatize("--column", " ", "--id", 'a, "b"', source="ä b'.csv", output="ö '.csv").code == 0
    assert (place / "ö '.csv").read_bytes().endswith(b",the\n")


def test_html_is_noticed_and_decoded(privatize, place):
    """The owner hears of entities and how to decode them; decoded, they are gone, and the certificate says so alone."""
    (place / "in.csv").write_text('text\n"the dog&#039;s food &amp; cat<br />"\nthe food\n')
    result = privatize()
    assert "warning (for you only): 50.0% of the texts (1 of 2) hold HTML entities" in result.err
    assert "50.0% of the texts (1 of 2) hold HTML tags such as <br />" in result.err
    assert "50.0%" not in (place / "out.csv.certificate.json").read_text("utf-8")
    assert "HTML entities such as" not in privatize("--unescape", "html", output="decoded.csv").err
    assert "&" in (place / "decoded.csv").read_text()
    assert ";" not in (place / "decoded.csv").read_text()
    certificate = json.loads((place / "decoded.csv.certificate.json").read_text("utf-8"))
    assert certificate["release"]["unescape"] == "html"
    assert len(certificate["steps"]) == 1


def test_decoded_line_breaks_end_no_record(privatize, place):
    """An entity of a line break in plain text is a space: as many records come out as went in."""
    (place / "in.txt").write_text("the&#10;dog&NewLine;food\nthe cat\n")
    assert privatize("--unescape", "html", source="in.txt", output="out.txt").code == 0
    assert [len(line.split(" ")) for line in (place / "out.txt").read_text().split("\n")] == [3, 2, 1]


def test_texts_in_another_language_are_noticed(privatize, place):
    """The owner hears of many unknown words, with the share; the certificate says nothing of it."""
    (place / "in.csv").write_text("text\nder Hund bellt the\n", "utf-8")
    assert "warning (for you only): 75.0% of the words are not in the vocabulary" in privatize().err
    assert "75.0%" not in (place / "out.csv.certificate.json").read_text("utf-8")


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


class TestCopiedColumns:
    """What is copied and looks private is warned of."""

    @pytest.mark.parametrize("name", ["n.tsv", "n.jsonl", "n.parquet"])
    def test_columns_that_look_private(self, privatize, place, name):
        """What looks like texts or identifiers is warned of on standard error, and comes first in the certificate."""
        write_notes(place, name)
        output = f"out.{name.partition('.')[2]}"
        result = privatize(source=name, output=output)
        assert result.code == 0
        warnings = [line for line in result.err.splitlines() if line.startswith("warning: copied unchanged")]
        assert [line.partition(";")[0].rpartition(": ")[2] for line in warnings] == ["'note'", "'mail', 'key'"]
        certificate = dn.parse_certificate((place / f"{output}.certificate.json").read_bytes())
        assert [line.rpartition(": ")[2] for line in certificate["not_protected"][:2]] == ["'note'", "'mail', 'key'"]
        assert dn.check_certificate(certificate, place / "space.npz").overall == "recomputed"

    @pytest.mark.parametrize(
        "options",
        [
            ("--column", "text", "--column", "note", "--columns", "stars,where", "--id", "key"),
            ("--columns", "stars,where"),
        ],
    )
    def test_columns_that_do_not_leave(self, privatize, place, options):
        """What is released too, left out, or named as the record's id is no matter of a warning."""
        write_notes(place, "n.tsv")
        result = privatize(*options, source="n.tsv", output="out.tsv")
        assert result.code == 0
        assert "copied unchanged, and" not in result.err
        assert "look like" not in (place / "out.tsv.certificate.json").read_text("utf-8")

    def test_rows_that_are_left_out_decide_nothing(self, privatize, call, place):
        """A column is judged by rows that are released: of others not even the certificate says how they look."""
        rows = [f"{row},{'' if row else 'ann'},the food,{'a long remark here' if row else 'ok'}" for row in range(30)]
        (place / "in.csv").write_text("\n".join(["id,who,text,note", *rows]) + "\n")
        assert call("ledger", "create", "l.db", "--budget", "100").code == 0
        options = ("--id", "id", "--person", "who", "--over-budget", "drop", "--columns", "note")
        assert privatize("--ledger", "l.db", *options).code == 0
        assert "look like texts" not in (place / "out.csv.certificate.json").read_text("utf-8")

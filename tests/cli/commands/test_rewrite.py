"""``deniable rewrite``: every method, and what the owner and everybody else learn of a release."""

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import read_rows

TABLE = 'id,text,note\r\n1,"Show me, all",007\r\n2,,"x ""y"""\r\n3,from zork to 🙂,\r\n'
REFUTED = ("adept", "dptext")
VECTOR = ("adept-gaussian", "adept-l1", "adept-norm", "adept-true", "dptext-fixed", "dptext-norm")
METHODS = (*VECTOR, "tokens", "tokens-mixed", *REFUTED)


@pytest.fixture
def rewrite(call, place, rewriter):
    """Return a function that rewrites in.csv to out.csv with the model, unless told otherwise."""
    (place / "model.pt").write_bytes(rewriter)
    (place / "in.csv").write_bytes(TABLE.encode())

    def rewriting(
        *options, source="in.csv", output="out.csv", epsilon="5", method="adept-true", model="model.pt", **more
    ):
        basic = [model, source, "--method", method, "--epsilon", epsilon, "--output", output]
        return call("rewrite", *basic, *options, **more)

    return rewriting


def written(place, name="out.csv"):
    return json.loads((place / f"{name}.certificate.json").read_text("utf-8"))


@pytest.mark.parametrize("name", METHODS)
def test_every_method(rewrite, place, name):
    """Every method rewrites a table, and writes its certificate; a refuted one warns and exits with 0 all the same."""
    allowed = ("--allow-refuted",) * (name in REFUTED)
    result = rewrite(*(("--delta", "1e-5") if name == "adept-gaussian" else allowed), method=name)
    assert result.code == 0
    assert result.out == b""
    before, after = read_rows(TABLE.encode()), read_rows((place / "out.csv").read_bytes())
    assert [[row[0], row[2]] for row in after] == [[row[0], row[2]] for row in before]
    certificate = written(place)
    assert certificate["mechanism"]["name"] == name
    assert (certificate["records"], certificate["texts"]) == (3, 3)
    warned = result.err.startswith(f"warning: the guarantee of {name} is refuted: ")
    assert warned == (not certificate["private"]) == (name in REFUTED)
    assert f"3 records, 3 texts, by {name}\n" in result.err
    assert ("\nprotects       NOTHING: the claim is false" in result.err) == (name in REFUTED)
    end = "wrote out.csv and out.csv.certificate.json\nnext           deniable certificate check "
    assert result.err.endswith(f"{end}out.csv.certificate.json\n")


def test_a_release_in_a_few_lines(rewrite):
    """What is protected, not protected and copied, and the next step; --verbose says the rest."""
    result = rewrite("--delta", "1e-5", "-c", "text", "-c", "note", method="adept-gaussian")
    lines = [line for line in result.err.splitlines() if "for you only" not in line]
    assert len(lines) <= 10
    promise = "each text as a whole, epsilon 5 and delta 1e-05 (proved); only its first 12 tokens are used"
    assert lines[1:4] == [
        f"protects       {promise}",
        "rows           2 texts of a row together: epsilon 10 and delta 2e-05",
        "odds change    any two private texts: up to 149 times, delta aside",
    ]
    assert "               what the model was trained on (12 texts, " in result.err
    assert "\ncopied         'id', unchanged\n" in result.err
    assert "not protected  Whole records are not protected: " in rewrite("--force", epsilon="20").err
    verbose = rewrite("--verbose", "--force").err
    assert "\nguarantee " in verbose
    assert "\nnext " not in verbose


def test_noise_is_fresh_without_a_seed(rewrite, place):
    """Two runs differ; two with one public seed do not, and say that they are not private."""
    (place / "in.csv").write_text("text\n" + "show me\n" * 40)
    outputs = []
    for number, options in enumerate([(), (), ("--test-seed", "1"), ("--test-seed", "1"), ("--test-seed", "-2")]):
        assert rewrite(*options, output=f"{number}.csv", method="tokens").code == 0
        assert written(place, f"{number}.csv")["private"] is not bool(options)
        outputs.append((place / f"{number}.csv").read_bytes())
    assert len({*outputs}) == 4
    assert outputs[2] == outputs[3]


@pytest.mark.parametrize(
    ("options", "columns"),
    [(("--columns", "id"), ["id", "text"]), (("--columns", "note"), ["text", "note"]), (("--columns", ""), ["text"])],
)
def test_columns_are_left_out(rewrite, place, options, columns):
    """Only the columns that are to be copied leave beside the texts, and the certificate says so."""
    assert rewrite(*options).code == 0
    before, after = read_rows(TABLE.encode()), read_rows((place / "out.csv").read_bytes())
    assert after[0] == columns
    for name in set(columns) - {"text"}:
        place_before, place_after = before[0].index(name), columns.index(name)
        assert [row[place_after] for row in after] == [row[place_before] for row in before]
    certificate = written(place)
    assert len(after) == len(before)
    assert certificate["steps"][0].startswith("columns were left out")
    assert ("note" in str(certificate["not_protected"])) == ("note" in columns)


def test_entities_are_decoded_where_that_is_declared(rewrite, place):
    """The owner is warned of entities; decoded they are the text that stands without them, under one public seed."""
    texts = {"plain": "show me all", "escaped": "sh&#111;w me all"}
    outputs = {}
    for name, text in texts.items():
        (place / f"{name}.csv").write_text(f"text\n{text}\n")
        result = rewrite("--unescape", "html", "--test-seed", "1", source=f"{name}.csv", output=f"{name}.out.csv")
        assert result.code == 0
        assert "HTML entities such as" not in result.err
        outputs[name] = (place / f"{name}.out.csv").read_bytes()
    assert outputs["plain"] == outputs["escaped"]
    assert written(place, "escaped.out.csv")["steps"][0].startswith("HTML entities of the texts were decoded")
    result = rewrite(source="escaped.csv")
    assert result.code == 0
    assert "warning (for you only): 100.0% of the texts (1 of 1) hold HTML entities" in result.err


def test_max_tokens(rewrite, place):
    """The bound on the tokens of a new text reaches method and output."""
    assert rewrite("--max-tokens", "2", method="tokens-mixed").code == 0
    assert written(place)["mechanism"]["draws"] == 2
    assert all(
        len(row[1].replace(",", " ,").replace("?", " ?").split()) <= 2
        for row in read_rows((place / "out.csv").read_bytes())
    )


def test_columns(rewrite, place):
    """Several columns are rewritten, and the certificate adds up what a row spends."""
    assert rewrite("-c", "text", "--column", "note").code == 0
    assert written(place)["row"] == {"texts": 2, "epsilon": 10.0}
    assert written(place)["texts"] == 6
    assert written(place)["not_protected"][1] == "the columns copied unchanged: 'id'"


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "txt", "parquet"])
def test_pipes(rewrite, place, kind):
    """Between pipes the format is named, the table goes to standard output, the certificate to a file."""
    sink = io.BytesIO()
    pq.write_table(pa.table({"text": ["show", None]}), sink)
    data = {
        "csv": b"text,a\nshow,1\n",
        "tsv": b"a\ttext\n1\tshow\n",
        "jsonl": b'{"text":"show"}\n',
        "txt": b"show\n",
        "parquet": sink.getvalue(),
    }[kind]
    result = rewrite("--format", kind, "--certificate", "c.json", source="-", output="-", stdin=data)
    assert result.code == 0
    if kind == "parquet":
        assert [text is None for text in pq.read_table(io.BytesIO(result.out)).column("text").to_pylist()] == [
            False,
            True,
        ]
    else:
        assert len(result.out.splitlines()) == len(data.splitlines())
    assert json.loads((place / "c.json").read_text("utf-8"))["texts"] == 1


def test_long_texts(rewrite, place):
    """Of a text longer than the model takes the first tokens enter; the owner is told which, the certificate not."""
    (place / "in.csv").write_text("text\nshow\n" + "to " * 13 + "\n")
    result = rewrite()
    assert result.code == 0
    assert (
        "for you only   1 row with more than 12 tokens, of which only the first were used: row 2; this depends"
        in result.err
    )
    certificate = (place / "out.csv.certificate.json").read_text()
    (place / "in.csv").write_text("text\nshow\nto\n")
    assert rewrite("--force").err.count("for you only") == 0
    assert (place / "out.csv.certificate.json").read_text() == certificate
    assert (place / "out.csv").read_text().count("\n") == 3


def test_the_training_is_told(rewrite, place):
    """What the model was trained on stands in the certificate, as a leak of its own."""
    assert rewrite().code == 0
    [line] = [line for line in written(place)["not_protected"] if "trained on" in line]
    assert "12 texts" in line


def test_texts_of_another_language(rewrite, place):
    """Where the model knows few of the words the owner is told so; the certificate says nothing of it."""
    (place / "he.csv").write_text("text\nשלום עולם\n", encoding="utf-8")
    result = rewrite(source="he.csv", output="o.csv")
    assert result.code == 0
    assert "warning (for you only): 100.0% of the words are not in the vocabulary" in result.err
    assert "deniable train rewriter" in result.err
    assert "100.0%" not in (place / "o.csv.certificate.json").read_text("utf-8")


def test_a_signed_release(rewrite, call, place):
    """--sign-key signs certificate and table; a later run without it, by --force, leaves no signature behind."""
    pytest.importorskip("cryptography", reason="cryptography is not installed: pip install 'deniable[sign]'")
    call("key", "sign", "--sign")
    assert rewrite("--sign-key", "sign").code == 0
    command = ("certificate", "check", "out.csv.certificate.json", "--public-key", "sign.pub", "--table", "out.csv")
    checked = call(*command)
    assert (checked.code, "neither was changed" in checked.text) == (0, True)
    (place / "out.csv").write_bytes((place / "out.csv").read_bytes() + b"4,more,\r\n")
    assert call(*command).code == 1
    assert rewrite("--force").code == 0
    assert not (place / "out.csv.certificate.json.sig").exists()


def test_chosen_from_data(rewrite, place):
    """With --chosen-from-data, and only then, the certificate says that epsilon came from the texts."""
    assert rewrite("--chosen-from-data").code == 0
    assert written(place)["chosen"].startswith("from the private texts themselves")
    assert written(place)["not_protected"][0].startswith("what the choice of epsilon, which was made from")
    assert rewrite(output="other.csv").code == 0
    assert written(place, "other.csv")["chosen"].startswith("by the owner")


def test_a_copied_column_of_texts_is_warned_of(rewrite, place):
    """A column of remarks that is copied is named in a warning, and first of what is not protected."""
    (place / "in.csv").write_text("text,remark\nshow me,Ann Smith rang\nall,message to Dr. Park\n")
    result = rewrite("--column", "text")
    assert result.code == 0
    assert result.err.startswith("warning: copied unchanged, and look like texts: 'remark'; ")
    assert "look like texts" in written(place)["not_protected"][0]
    assert "copied unchanged" not in rewrite("--columns", "", output="other.csv").err

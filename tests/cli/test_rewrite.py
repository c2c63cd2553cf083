"""``deniable rewrite``: good runs, warnings, and everything that it refuses."""

import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.learning.artifact import ARTIFACT_FORMAT, serialize_model
from deniable.registry.methods import METHODS_WITH_DELTA, REWRITING_METHODS
from tests.learning.stored import write_stored
from tests.rewriting.untrained import untrained

TABLE = 'id,text,note\r\n1,"Show me, all",007\r\n2,,"x ""y"""\r\n3,from zork to 🙂,\r\n'
MODEL = serialize_model(untrained())


@pytest.fixture
def rewrite(call, place):
    """Return a function that rewrites in.csv to out.csv with the model, unless told otherwise."""
    (place / "model.pt").write_bytes(MODEL)
    (place / "in.csv").write_bytes(TABLE.encode())

    def rewriting(
        *options, source="in.csv", output="out.csv", epsilon="5", method="adept-true", model="model.pt", **more
    ):
        basic = [model, source, "--method", method, "--epsilon", epsilon, "--output", output]
        return call("rewrite", *basic, *options, **more)

    return rewriting


def rows(data):
    return list(csv.reader(io.StringIO(data.decode(), newline="")))


def written(place, name="out.csv"):
    return json.loads((place / f"{name}.certificate.json").read_text("utf-8"))


@pytest.mark.parametrize("name", REWRITING_METHODS)
def test_every_method(rewrite, place, name):
    """Every method rewrites a table, and writes its certificate; a refuted one warns and exits with 0 all the same."""
    result = rewrite(*(("--delta", "1e-5") if name in METHODS_WITH_DELTA else ()), method=name)
    assert result.code == 0
    assert result.out == b""
    before, after = rows(TABLE.encode()), rows((place / "out.csv").read_bytes())
    assert [[row[0], row[2]] for row in after] == [[row[0], row[2]] for row in before]
    certificate = written(place)
    assert certificate["mechanism"]["name"] == name
    assert (certificate["records"], certificate["texts"]) == (3, 3)
    warned = result.err.startswith(f"warning: the guarantee of {name} is refuted: ")
    assert warned == (not certificate["private"]) == (name in {"adept", "dptext"})
    assert f"3 records, 3 texts, by {name}\n" in result.err
    assert result.err.endswith("wrote out.csv and out.csv.certificate.json\n")


def test_noise_is_fresh_without_a_seed(rewrite, place):
    """Two runs differ; two with one public seed do not, and say that they are not private."""
    (place / "in.csv").write_text("text\n" + "show me\n" * 40)
    outputs = []
    for number, options in enumerate([(), (), ("--test-seed", "1"), ("--test-seed", "1"), ("--test-seed", "-2")]):
        result = rewrite(*options, output=f"{number}.csv")
        assert result.code == 0
        assert ("warning: the guarantee of adept-true is refuted: not private: public seed" in result.err) == bool(
            options
        )
        assert written(place, f"{number}.csv")["private"] is not bool(options)
        outputs.append((place / f"{number}.csv").read_bytes())
    assert len({*outputs}) == 4
    assert outputs[2] == outputs[3]


@pytest.mark.parametrize(
    ("options", "columns"),
    [(("--drop", "note"), ["id", "text"]), (("--columns", "note"), ["text", "note"]), (("--columns", ""), ["text"])],
)
def test_columns_are_left_out(rewrite, place, options, columns):
    """Only the columns that are to be copied leave beside the texts, and the certificate says so."""
    assert rewrite(*options).code == 0
    before, after = rows(TABLE.encode()), rows((place / "out.csv").read_bytes())
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
    assert "warning (for you only): 100.0 % of the texts (1 of 1) hold HTML entities" in result.err


def test_max_tokens(rewrite, place):
    """The bound on the tokens of a new text reaches method and output."""
    assert rewrite("--max-tokens", "2", method="tokens-mixed").code == 0
    assert written(place)["mechanism"]["draws"] == 2
    assert all(
        len(row[1].replace(",", " ,").replace("?", " ?").split()) <= 2 for row in rows((place / "out.csv").read_bytes())
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


def test_encoding_and_delimiter(rewrite, place):
    """The output has the input's encoding and delimiter."""
    (place / "in.csv").write_bytes("text;é\nshow;ü\n".encode("cp1252"))
    assert rewrite("--encoding", "cp1252", "--delimiter", ";").code == 0
    header, row = (place / "out.csv").read_bytes().decode("cp1252").splitlines()
    assert header == "text;é"
    assert row.endswith(";ü")


def test_force(rewrite, place):
    """With --force outputs are overwritten."""
    (place / "out.csv").write_text("old")
    assert rewrite("--force").code == 0
    assert "old" not in (place / "out.csv").read_text()


WRONG = [
    ({"method": "adept-gausian"}, (), "Did you mean 'adept-gaussian'? See: deniable rewrite --help"),
    ({"method": "magic"}, (), "'magic' is not one of adept-gaussian, adept-l1, adept-true, dptext-fixed, tokens, "),
    ({"method": "adept-gaussian"}, (), "needs a delta: give one in (0, 1), for example 1e-5."),
    ({"method": "adept-gaussian"}, ("--delta", "0"), "The 'delta' parameter of Gaussian must be a float in "),
    ({"method": "adept-gaussian"}, ("--delta", "1"), "The 'delta' parameter of Gaussian must be a float in "),
    ({"method": "tokens"}, ("--delta", "1e-5"), "The method 'tokens' has no delta: leave it out, or choose "),
    (
        {},
        ("--max-tokens", "3"),
        "The method 'adept-true' draws no tokens: leave their number out, or choose tokens or ",
    ),
    ({"method": "tokens"}, ("--max-tokens", "13"), "--max-tokens must be from 1 to 12, the model's limit. Got 13."),
    ({"method": "tokens"}, ("--max-tokens", "0"), "--max-tokens must be from 1 to 12, the model's limit. Got 0."),
    ({"epsilon": "0"}, (), "The 'epsilon' parameter of adept-true must be a float in (0, inf). Got 0.0."),
    ({"epsilon": "-1"}, (), "The 'epsilon' parameter of adept-true must be a float in (0, inf). Got -1.0."),
    ({"epsilon": "nan"}, (), "The 'epsilon' parameter of adept-true must be a float in (0, inf). Got nan."),
    ({"epsilon": "much"}, (), "Invalid value for '--epsilon'"),
    ({"epsilon": "1e-300", "method": "tokens"}, (), "is below what 62 bits can tell: choose a larger one."),
    ({"epsilon": "1e300"}, (), "cannot make noise of scale 5.65685e-300; choose "),
    ({"epsilon": "1e300", "method": "adept"}, (), "ADePT cannot make noise of scale 2e-300; choose "),
    ({"epsilon": "1e-305", "method": "dptext"}, (), "is too small for the noise of dptext: choose a larger one."),
    ({"method": "adept"}, ("--column", "body"), "in.csv has no column 'body'."),
    ({"model": "none.pt"}, (), "There is no model 'none.pt': name the file that training wrote."),
    (
        {"model": "in.csv"},
        (),
        "'in.csv' is not a model: it is not a whole zip file. Name the file that training wrote.",
    ),
    ({"source": "none.csv"}, (), "The input 'none.csv' is not a file: give the path of one, or - for a pipe."),
    ({}, ("--column", "body"), "in.csv has no column 'body'. Its columns: 'id', 'text', 'note'."),
    ({"output": "out.jsonl"}, (), "The output has the input's format, csv. Got 'out.jsonl': change its ending, or "),
    ({"output": "in.csv"}, ("--force",), "The output 'in.csv' is a file that is read: choose another name."),
    ({"output": "in.csv"}, (), "The output 'in.csv' exists: choose another name, or overwrite it with --force."),
    (
        {"output": "model.pt"},
        ("--force", "--format", "csv"),
        "The output 'model.pt' is a file that is read: choose another name.",
    ),
    (
        {},
        ("--force", "--certificate", "model.pt"),
        "The output 'model.pt' is a file that is read: choose another name.",
    ),
    ({}, ("--certificate", "out.csv"), "The outputs 'out.csv' and 'out.csv' are one file: name another."),
    ({}, ("--certificate", "-"), "The certificate must be a file: name one with --certificate FILE."),
    ({"output": "-"}, (), "With --output - the certificate needs a place: name one with --certificate FILE."),
    ({"output": "none/out.csv"}, (), "The folder of the output 'none/out.csv' does not exist: create 'none' first."),
    ({}, ("--format", "xml"), "'xml' is not one of csv, tsv, jsonl, parquet, txt."),
    ({}, ("--delimiter", ";;"), "The delimiter must be one character, no quote or line end. Got ';;'."),
    ({}, ("--encoding", "klingon"), "Unknown encoding 'klingon': try utf-8, utf-16, cp1252 or latin-1."),
    ({}, ("--test-seed", "x"), "Invalid value for '--test-seed'"),
]


@pytest.mark.parametrize(("given", "options", "message"), WRONG, ids=lambda value: str(value)[:40])
def test_refusals(rewrite, refused, given, options, message):
    """What cannot be done is told in one line, with exit code 2, and nothing is written."""
    refused.given()
    assert message in refused(rewrite(*options, **given))


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


@pytest.mark.parametrize("kind", ["image model", "text model", "damaged"])
def test_models_of_another_kind(rewrite, refused, kind):
    """A model of images or a classifier of texts is no model that rewrites, and damage is noticed."""
    if kind == "damaged":
        at = len(MODEL) // 2
        refused.given(other__pt=MODEL[:at] + bytes(byte ^ 255 for byte in MODEL[at : at + 8]) + MODEL[at + 8 :])
        expected = "is "
    else:
        empty_parts = {"configuration": {}, "weights": {}, "facts": {}}
        refused.given(other__pt=write_stored({"format": ARTIFACT_FORMAT, "kind": kind, **empty_parts}))
        expected = f"'other.pt' holds another kind of model, '{kind}': name the file of a model of kind 'rewriter'."
    assert expected in refused(rewrite(model="other.pt"))


def test_the_training_is_told(rewrite, place):
    """What the model was trained on stands in the certificate and on the terminal, as a leak of its own."""
    result = rewrite()
    [line] = [line for line in written(place)["not_protected"] if "trained on" in line]
    assert "4,478 texts" in line
    assert line in result.err


def test_help(call):
    """The help names every method, and says which are refuted."""
    result = call("rewrite", "--help")
    assert result.code == 0
    assert all(name in result.prose for name in REWRITING_METHODS)
    assert "adept and dptext are the published methods; their guarantees are refuted." in result.prose


def test_texts_of_another_language(rewrite, place):
    """Where the model knows few of the words the owner is told so; the certificate says nothing of it."""
    (place / "he.csv").write_text("text\nשלום עולם\n", encoding="utf-8")
    result = rewrite(source="he.csv", output="o.csv")
    assert result.code == 0
    assert "warning (for you only): 100.0 % of the words are not in the vocabulary" in result.err
    assert "deniable train rewriter" in result.err
    assert "100.0 %" not in (place / "o.csv.certificate.json").read_text("utf-8")


def test_a_signed_release(rewrite, call, place):
    """--sign-key signs certificate and table; a later run without it, by --force, leaves no signature behind."""
    pytest.importorskip("cryptography", reason="cryptography is not installed: pip install 'deniable[sign]'")
    call("key", "sign", "--sign")
    result = rewrite("--sign-key", "sign")
    assert result.err.endswith("wrote out.csv and out.csv.certificate.json and out.csv.certificate.json.sig\n")
    command = ("certificate", "check", "out.csv.certificate.json", "--public-key", "sign.pub", "--table", "out.csv")
    checked = call(*command)
    assert (checked.code, "neither was changed" in checked.text) == (0, True)
    (place / "out.csv").write_bytes((place / "out.csv").read_bytes() + b"4,more,\r\n")
    assert call(*command).code == 1
    assert rewrite("--force").code == 0
    assert not (place / "out.csv.certificate.json.sig").exists()


def test_what_signs_no_rewriting(rewrite, call, refused):
    """A noise key signs nothing, and the key that signs is not overwritten."""
    call("key", "noise")
    call("key", "sign", "--sign")
    refused.given()
    assert "noise key" in refused(rewrite("--sign-key", "noise"))
    assert "is a file that is read" in refused(rewrite("--sign-key", "sign", "--force", "--certificate", "sign"))


def test_chosen_from_data(rewrite, place):
    """With --chosen-from-data, and only then, certificate and summary say that epsilon came from the texts."""
    result = rewrite("--chosen-from-data")
    assert written(place)["chosen"].startswith("from the private texts themselves")
    assert written(place)["not_protected"][0].startswith("what the choice of epsilon, made from the private texts")
    assert "epsilon was chosen from the private texts" in result.err
    assert "epsilon was chosen" not in rewrite(output="other.csv").err
    assert written(place, "other.csv")["chosen"].startswith("by the owner")


def test_a_copied_column_of_texts_is_warned_of(rewrite, place):
    """A column of remarks that is copied is named in a warning, and first of what is not protected."""
    (place / "in.csv").write_text("text,remark\nshow me,Ann Smith rang\nall,message to Dr. Park\n")
    result = rewrite("--column", "text")
    assert result.code == 0
    assert result.err.startswith("warning: copied unchanged, and look like texts: 'remark'; ")
    assert "look like texts" in written(place)["not_protected"][0]
    assert "copied unchanged" not in rewrite("--drop", "remark", output="other.csv").err

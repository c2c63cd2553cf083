"""``deniable predict``: every format, every kind of model, pipes, and one line where something is wrong."""

import csv
import io
import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.learning.artifact import save_model, serialize_model
from deniable.models.text.documents import Documents, tokenize_texts
from deniable.models.text.model import fit_text_model
from deniable.models.text.training import TextTrainingOptions
from deniable.persons.classifier import LinearClassifier
from deniable.persons.features import FeatureMap
from deniable.registry import models
from deniable.space import Space
from tests.cli.text_models import SPACE, furnish, lines
from tests.rewriting.untrained import untrained

TEXTS = ["a good film", None, "zork", "the plot was awful"]
CLASSES = ["good", None, None, "bad"]
REMARKS = [
    "{}: 1 row without a text in 'text' not predicted: row 2",
    "{}: 1 row in whose 'text' the model knows no word, or finds too many, not predicted: row 3",
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return the bytes of a classifier of single texts, and of one of pairs."""
    place = tmp_path_factory.mktemp("trained")
    furnish(place)
    space = Space.load(str(place / "words.npz"))
    texts = tokenize_texts(space, [text for text, _ in lines()]).texts
    labels = np.array([int(label == "good") for _, label in lines()])
    options = TextTrainingOptions(epochs=20, learning_rate=0.05)
    single = fit_text_model("fasttext", space, Documents(texts, labels, ("bad", "good")), options, seed=1)
    pairs = Documents(texts, labels, ("bad", "good"), texts)
    paired = fit_text_model("attention", space, pairs, TextTrainingOptions(epochs=1), seed=1)
    return serialize_model(single), serialize_model(paired)


@pytest.fixture
def predict(call, place, trained):
    """Return a function that predicts with m.pt."""
    furnish(place)
    (place / "m.pt").write_bytes(trained[0])
    (place / "pairs.pt").write_bytes(trained[1])

    def predicting(source, output, *options, model="m.pt", space=SPACE, stdin=b""):
        return call("predict", model, source, "-o", output, *space, *options, stdin=stdin)

    return predicting


def test_csv(predict, place):
    """The table stays byte for byte, with two columns more; what has no text or no known word stays without."""
    (place / "t.csv").write_bytes(
        b'\xef\xbb\xbfid,"text"\r\n007,"a good\nfilm"\r\n8,\r\n\r\n9,zork\n10,the plot was awful'
    )
    result = predict("t.csv", "o.csv")
    assert (result.code, result.out) == (0, b"")
    out = (place / "o.csv").read_bytes()
    pattern = (
        rb'\xef\xbb\xbfid,"text",predicted,probability\r\n007,"a good\nfilm",good,0\.\d{6}\r\n8,,,\r\n\r\n9,zork,,\n'
        rb"10,the plot was awful,bad,0\.\d{6}"
    )
    assert re.fullmatch(pattern, out)
    shares = [float(row["probability"]) for row in csv.DictReader(io.StringIO(out.decode())) if row["probability"]]
    assert all(0.5 < share <= 1 for share in shares)
    assert result.err.splitlines() == [*(remark.format("t.csv") for remark in REMARKS), "wrote o.csv"]
    assert {path.name for path in place.iterdir()} >= {"o.csv"}


def test_rows_that_a_quote_would_swallow(predict, place):
    """A table without quotes keeps its rows and bytes with --quoting none, and is refused without it."""
    table = 'text\tn\na good film\t"x\nthe plot was awful\ty\nzork\tz"\n'
    (place / "q.tsv").write_text(table)
    result = predict("q.tsv", "oq.tsv")
    assert result.code == 2
    assert "line 2: the quoted cell of 'n' spans lines that would be rows of their own" in result.err
    assert not (place / "oq.tsv").exists()
    assert predict("q.tsv", "oq.tsv", "--quoting", "none").code == 0
    lines = (place / "oq.tsv").read_text().splitlines()
    assert [line.rsplit("\t", 2)[0] for line in lines] == table.splitlines()


def test_jsonl_through_pipes(predict):
    """Between pipes the rows go to standard output and everything else to standard error."""
    table = "".join(json.dumps({"text": text, "n": row}) + "\n" for row, text in enumerate(TEXTS)).encode()
    result = predict("-", "-", "--format", "jsonl", stdin=table)
    assert result.code == 0
    rows = [json.loads(line) for line in result.text.splitlines()]
    assert [list(row) for row in rows] == [["text", "n", "predicted", "probability"]] * 4
    assert [row["predicted"] for row in rows] == CLASSES
    assert [row["probability"] is None for row in rows] == [False, True, True, False]
    assert result.err.splitlines() == [*(remark.format("the input") for remark in REMARKS), "wrote -"]


def test_parquet(predict, place):
    """Nulls stay nulls, and rows in later groups are numbered on."""
    pq.write_table(pa.table({"text": TEXTS, "n": [1, 2, 3, 4]}), place / "t.parquet", row_group_size=1)
    result = predict("t.parquet", "o.parquet")
    assert result.code == 0
    out = pq.read_table(place / "o.parquet").to_pydict()
    assert (out["text"], out["n"], out["predicted"]) == (TEXTS, [1, 2, 3, 4], CLASSES)
    assert result.err.splitlines() == [*(remark.format("t.parquet") for remark in REMARKS), "wrote o.parquet"]


def test_a_table_in_which_nothing_can_be_predicted(predict, place):
    """A table of empty texts, or of none, gets empty columns."""
    (place / "t.csv").write_bytes(b"text\n\n\n")
    assert predict("t.csv", "o.csv").code == 0
    assert (place / "o.csv").read_bytes() == b"text,predicted,probability\n,,\n,,\n"
    (place / "none.csv").write_bytes(b"text\n")
    assert predict("none.csv", "o2.csv").code == 0
    assert (place / "o2.csv").read_bytes() == b"text,predicted,probability\n"


def test_pairs(predict, place):
    """A classifier of pairs takes the column of premises; a row that lacks either text is left empty."""
    (place / "p.csv").write_bytes(b"before,text\na film,good plot\n,good plot\na film,\n")
    result = predict("p.csv", "o.csv", "--premise", "before", model="pairs.pt")
    assert result.code == 0
    rows = (place / "o.csv").read_text().splitlines()
    assert re.fullmatch(r"a film,good plot,(good|bad),0\.\d{6}", rows[1])
    assert rows[2:] == [",good plot,,", "a film,,,"]
    assert "p.csv: 2 rows without a text in 'text' or 'before' not predicted: rows 2 and 3" in result.err


def test_a_kind_that_needs_no_space(predict, place, monkeypatch):
    """A kind of model is one entry of the registry: a self-contained one predicts without the space of words."""

    class Constant:
        classes = ("x", "y, z")

        def predict_probabilities(self, texts):
            return np.array([[0.25, 0.75]] * len(texts)).reshape(-1, 2)

        def count_unknown_words(self, texts):
            return 0, len(texts)

    monkeypatch.setitem(models.TEXT_PREDICTORS, "rewriter", lambda artifact, load_space: Constant())  # noqa: ARG005
    save_model(untrained(), place / "r.pt")
    (place / "t.csv").write_bytes(b"text\nzork\n")
    assert predict("t.csv", "o.csv", model="r.pt", space=()).code == 0
    assert (place / "o.csv").read_bytes() == b'text,predicted,probability\nzork,"y, z",0.750000\n'


def test_a_private_classifier(predict, place):
    """A private linear classifier predicts from its file alone, also a text of no word that it knows."""
    feature_map = FeatureMap(("good", "bad"), (), np.ones(3), np.zeros((3, 0)), "two words")
    weights = np.array([[0.1], [5.0], [-5.0]])
    save_model(LinearClassifier(feature_map, ("x", "y"), weights, None, None, {}), place / "l.pt")
    (place / "t.csv").write_bytes(b"text\na good film\na bad film\nzork\n\n")
    assert predict("t.csv", "o.csv", model="l.pt", space=()).code == 0
    rows = [line.split(",") for line in (place / "o.csv").read_text().splitlines()[1:]]
    assert {rows[0][1], rows[1][1]} == {"x", "y"}
    assert float(rows[0][2]) > 0.9 < float(rows[1][2])
    assert 0.5 <= float(rows[2][2]) < 0.6
    assert rows[3] == ["", "", ""]


def test_force(predict, place):
    """An existing output is overwritten by --force alone."""
    (place / "o.csv").write_bytes(b"before")
    assert predict("test.csv", "o.csv").code == 2
    assert (place / "o.csv").read_bytes() == b"before"
    assert predict("test.csv", "o.csv", "--force").code == 0
    rows = list(csv.DictReader(io.StringIO((place / "o.csv").read_text())))
    assert np.mean([row["label"] == row["predicted"] for row in rows]) > 0.9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("test.csv", "o.jsonl"), "The output has the input's format, csv"),
        (("t.txt", "o.txt"), "A txt file has no columns, and none can be added: give csv, tsv, jsonl, parquet."),
        (("none.csv", "o.csv"), "The input 'none.csv' is not a file"),
        (("test.csv", "o.csv", "--column", "words"), "test.csv has no column 'words'. Its columns: 'text', 'label'"),
        (("test.csv", "o.csv", "--premise", "label"), "The model classifies single texts: leave out --premise."),
        (("test.csv", "o.csv", "--premise", "text"), "The column 'text' cannot be texts and premises at once"),
        (("test.csv", "m.pt", "--force", "--format", "csv"), "The output 'm.pt' is a file that is read"),
        (("test.csv", "words.npz", "--force", "--format", "csv"), "The output 'words.npz' is a file that is read"),
        (("twice.csv", "o.csv"), "twice.csv has a column 'probability', which would be added: rename it"),
    ],
)
def test_what_is_refused(predict, refused, arguments, message):
    """What cannot be predicted is told in one line, and nothing is written."""
    refused.given(twice__csv="text,probability\na good film,1\n")
    assert message in refused(predict(*arguments))


def test_models_that_are_refused(predict, place, refused):
    """A model of pairs without premises, one on another space and one of no texts are refused in one line."""
    save_model(untrained(), place / "r.pt")
    refused.given()
    message = refused(predict("test.csv", "o.csv", model="pairs.pt"))
    assert message == "The model classifies pairs of texts: name the column of the first ones with --premise."
    assert "it is of the kind 'rewriter'" in refused(predict("test.csv", "o.csv", model="r.pt"))
    assert "There is no model 'none.pt'" in refused(predict("test.csv", "o.csv", model="none.pt"))
    message = refused(predict("test.csv", "o.csv", space=("--space", "space.npz")))
    assert "was trained on the words of words.npz" in message


def test_texts_of_another_language(predict, place):
    """Where the model knows few of the words the owner is told the share, and the table is written all the same."""
    (place / "t.csv").write_text("text\nein good film mit viel Witz\nund schlecht erzählt\n", encoding="utf-8")
    result = predict("t.csv", "o.csv")
    assert result.code == 0
    assert "warning (for you only): 77.8 % of the words are not in the vocabulary" in result.err
    assert "train a model on texts of their kind" in result.err
    (place / "t.csv").write_text("text\ngood film\n", encoding="utf-8")
    assert "warning" not in predict("t.csv", "o2.csv").err

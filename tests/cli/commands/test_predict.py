"""``deniable predict``: every format, every kind of model, pipes, and one line where something is wrong."""

import csv
import io
import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from tests.cli.text_models import SPACE, furnish, lines

TEXTS = ["a good film", None, "zork", "the plot was awful"]
CLASSES = ["good", None, None, "bad"]
REMARKS = [
    "{}: 1 row without a text in 'text' not predicted: row 2",
    "{}: 1 row in whose 'text' the model knows no word, or finds too many, not predicted: row 3",
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return a folder with a classifier of single texts, one of pairs, and a private one."""
    place = tmp_path_factory.mktemp("trained")
    furnish(place)
    space = dn.Space.load(str(place / "words.npz"), metric="euclidean")
    texts = dn.texts.tokenize_texts(space, [text for text, _ in lines()]).texts
    labels = np.array([int(label == "good") for _, label in lines()])
    options = dn.texts.TextTrainingOptions(epochs=20, learning_rate=0.05)
    single = dn.texts.fit_text_model(
        "fasttext", space, dn.texts.Documents(texts, labels, ("bad", "good")), options, seed=1
    )
    pairs = dn.texts.Documents(texts, labels, ("bad", "good"), texts)
    paired = dn.texts.fit_text_model("bow", space, pairs, dn.texts.TextTrainingOptions(epochs=1), seed=1)
    rows = [list(column) for column in zip(*lines(600), strict=True)]
    options = dn.ClassifierOptions(classes=("bad", "good"), epsilon=20.0, delta=1e-5, seed=1)
    private = dn.texts.fit_private_classifier(*rows, options, public=space)
    for model, name in ((single, "m.pt"), (paired, "pairs.pt"), (private, "private.pt")):
        dn.texts.save_model(model, place / name)
    return place


@pytest.fixture
def predict(call, place, trained):
    """Return a function that predicts with m.pt."""
    furnish(place)
    for path in trained.glob("*.pt"):
        (place / path.name).write_bytes(path.read_bytes())

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


def test_jsonl_through_pipes(predict):
    """Between pipes the rows go to standard output and everything else to standard error."""
    table = "".join(json.dumps({"text": text, "n": row}) + "\n" for row, text in enumerate(TEXTS)).encode()
    result = predict("-", "-", "--format", "jsonl", stdin=table)
    assert result.code == 0
    rows = [json.loads(line) for line in result.text.splitlines()]
    assert [list(row) for row in rows] == [["text", "n", "predicted", "probability"]] * 4
    assert [row["predicted"] for row in rows] == CLASSES
    assert [row["probability"] is None for row in rows] == [False, True, True, False]


def test_parquet(predict, place):
    """Nulls stay nulls, and rows in later groups are numbered on."""
    pq.write_table(pa.table({"text": TEXTS, "n": [1, 2, 3, 4]}), place / "t.parquet", row_group_size=1)
    result = predict("t.parquet", "o.parquet")
    assert result.code == 0
    out = pq.read_table(place / "o.parquet").to_pydict()
    assert (out["text"], out["n"], out["predicted"]) == (TEXTS, [1, 2, 3, 4], CLASSES)


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


def test_a_private_classifier(predict, place):
    """A private linear classifier predicts from its file alone, also a text of no word that it knows."""
    (place / "t.csv").write_bytes(b"text\na good film\na bad film\nzork\n\n")
    assert predict("t.csv", "o.csv", model="private.pt", space=()).code == 0
    rows = [line.split(",") for line in (place / "o.csv").read_text().splitlines()[1:]]
    assert [row[1] for row in rows[:2]] == ["good", "bad"]
    assert all(0.5 <= float(row[2]) <= 1 for row in rows[:3])
    assert rows[3] == ["", "", ""]


def test_force(predict, place):
    """An existing output is overwritten by --force alone."""
    (place / "o.csv").write_bytes(b"before")
    assert predict("test.csv", "o.csv").code == 2
    assert (place / "o.csv").read_bytes() == b"before"
    assert predict("test.csv", "o.csv", "--force").code == 0
    rows = list(csv.DictReader(io.StringIO((place / "o.csv").read_text())))
    assert np.mean([row["label"] == row["predicted"] for row in rows]) > 0.9


def test_texts_of_another_language(predict, place):
    """Where the model knows few of the words the owner is told the share, and the table is written all the same."""
    (place / "t.csv").write_text("text\nein good film mit viel Witz\nund schlecht erzählt\n", encoding="utf-8")
    result = predict("t.csv", "o.csv")
    assert result.code == 0
    assert "warning (for you only): 77.8% of the words are not in the vocabulary" in result.err
    assert "train a model on texts of their kind" in result.err
    (place / "t.csv").write_text("text\ngood film\n", encoding="utf-8")
    assert "warning" not in predict("t.csv", "o2.csv").err

"""``deniable train text``: models with true cards, runs that go on, and rows that can be used."""

import gzip
import hashlib
import json
import re

import pytest
import torch

import deniable as dn
from tests.cli.commands.train.helpers import (
    WRITTEN,
    are_same,
    fails,
    interrupted,
    list_left_out,
    read_card,
    read_weights,
    succeeds,
)
from tests.cli.text_models import QUICK, TABLE, furnish, lines, write

SETS = ("--substitutions", "sets.json")
ONE = ("--epochs", "1")
deep = pytest.mark.deep


@pytest.fixture
def train(call, place):
    """Return a function that trains a small model of train.csv to m.pt, unless told otherwise."""
    furnish(place)

    def training(*options, model="fasttext", data="train.csv", output="m.pt", table=TABLE, quick=QUICK):
        return call("train", "text", data, "--kind", model, "-o", output, *table, *quick, *options)

    return training


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("fasttext", ["--training", "ibp", *SETS]),
        pytest.param("cnn", ["--training", "ibp", *SETS], marks=deep),
        pytest.param("fasttext", [], marks=deep),
        ("bow", ["--training", "augmented", "--mechanism", "tem", "--mechanism-epsilon", "3", "--copies", "1"]),
    ],
)
def test_models(train, place, model, options):
    """A model learns what is asked of it, with the accuracy alone on stdout and no checkpoint left."""
    result = succeeds(train(*options, "--seed", "1", "--test", "test.csv", model=model))
    assert float(re.fullmatch(r"clean accuracy ([01]\.\d{3})\n", result.text)[1]) > 0.85
    assert sorted(path.name for path in place.iterdir() if path.name.startswith("m.pt")) == WRITTEN
    assert (place / "m.pt.card.txt").read_text() in result.err
    assert read_card(place)[0]["data"]["test texts"] == 20


@pytest.mark.parametrize("model", ["bow", pytest.param("attention", marks=deep)])
def test_pairs(train, place, model):
    """With --premise a model of pairs is trained; other models, and such a model without premises, are refused."""
    assert train("--premise", "before", model=model, data="pairs.csv", quick=ONE).code == 0
    assert read_card(place)[0]["data"]["pairs"]
    assert "a classifier of pairs of texts" in (place / "m.pt.card.txt").read_text()
    fails(train("--premise", "before", model="cnn", data="pairs.csv", output="n.pt"), "--premise")
    fails(train(model="attention", output="n.pt"), "--premise")


def test_the_card(train, place):
    """The card holds options, data, accuracies and their sets, and a commitment that its owner can open."""
    rows = sorted(lines(), key=lambda row: row[1])  # what is held out is not the end, which may be of one class
    write(place / "sorted.csv", rows)
    assert train("--training", "ibp", "--ibp-weight", "0.5", *SETS, "--seed", "3", data="sorted.csv").code == 0
    card, _ = read_card(place)
    digest = hashlib.blake2b((place / "sets.json").read_bytes(), digest_size=8).hexdigest()
    assert (card["model"], card["method"], card["drawn from"]) == ("fasttext", "ibp", f"sets.json ({digest})")
    assert (card["options"]["kappa"], card["options"]["epochs"], card["public seed"]) == (0.5, 8, 3)
    assert "copies" not in card["options"]
    assert card["training records"] == {"guarantee": "none", "status": "no privacy is claimed"}
    data = card["data"]
    assert (data["training texts"], data["test texts"], data["classes"]) == (72, 8, ["bad", "good"])
    assert card["certified accuracy"]["substitutions"] == card["drawn from"]
    assert 0.5 < card["certified accuracy"]["value"] <= card["clean accuracy"]["value"]
    assert card["clean accuracy"]["count"] == 8


def test_the_seed(train, place):
    """A public seed gives the same model again; without one every run differs."""
    for output, seed in (("m.pt", ("--seed", "7")), ("n.pt", ("--seed", "7")), ("o.pt", ())):
        assert train(*seed, output=output, quick=ONE).code == 0
    assert are_same(place / "m.pt", place / "n.pt")
    assert not are_same(place / "m.pt", place / "o.pt")


def test_an_interrupted_run(train, place):
    """An interrupted run says how to go on, and the same command ends as a run that was never interrupted."""
    with interrupted():
        fails(train("--seed", "1", "--checkpoint-every", "4"), "'m.pt.checkpoint'")
    assert not (place / "m.pt").exists()
    fails(train("--seed", "1", "--ibp-weight", "0.5", "--training", "ibp", *SETS), "'m.pt.checkpoint'")
    assert train("--seed", "1", "--checkpoint-every", "4").code == 0
    assert not (place / "m.pt.checkpoint").exists()
    assert train("--seed", "1", output="n.pt").code == 0
    assert are_same(place / "m.pt", place / "n.pt")


def test_odd_tables(train, place):
    """Any script, emoji, quoted line ends, repeated columns beside, numbers as classes and compression are taken."""
    odd = [(f"{text}\n👩‍👩‍👧 שלום e\u0301 \u200b", int(label == "good"), "x", "x") for text, label in lines()]
    write(place / "odd.csv", odd, ("text", "label", "note", "note"))
    (place / "odd.csv.gz").write_bytes(gzip.compress((place / "odd.csv").read_bytes()))
    result = succeeds(train(data="odd.csv.gz", quick=ONE))
    assert "odd.csv.gz: " in str(result)
    assert "% of the words are not in the vocabulary" in str(result)
    assert read_card(place)[0]["data"]["classes"] == ["0", "1"]


def test_lone_surrogates_and_markup(train, place):
    """Classes and texts that are no Unicode are kept as escapes; HTML in the texts is told."""
    rows = [{"text": f"{text} \ud83d <br />", "label": f"{label}\udc80"} for text, label in lines()]
    (place / "odd.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = succeeds(train(data="odd.jsonl", quick=ONE))
    assert "100.0% of the texts (80 of 80) hold HTML tags" in result.err
    assert read_card(place)[0]["data"]["classes"] == ["bad\udc80", "good\udc80"]


def test_few_texts_and_many_classes(train, place):
    """Two texts are enough, one to learn from and one to test on; a table may have hundreds of classes."""
    write(place / "two.csv", [("good", "1"), ("bad", "0")])
    assert train(data="two.csv").code == 0
    write(place / "many.csv", [(text, str(number)) for number, (text, _) in enumerate(lines(300))])
    assert train(data="many.csv", output="n.pt", quick=ONE).code == 0


@deep
def test_default_epochs(train, place):
    """Without --epochs a small table is passed over until a thousand steps are taken."""
    assert train(quick=()).code == 0
    card = read_card(place)[0]
    assert (card["steps"], card["options"]["epochs"]) == (1002, 334)


@pytest.mark.parametrize(
    ("table", "value"),
    [
        (b"text,label\n", "'bad.csv'"),
        (b"text,label\ngood film,1\nbad film,1\n", "'1'"),
        (b"text,label\ngood film,1\nbad film,\n", "row 2"),
        (b"text,label\ngood film,1\n  ,0\n", "row 2"),
        (b"text,label\nzork,1\nblah,0\n", "2 rows without a word of words.npz"),
        (b"text,label,text\ngood film,1,a\nbad film,0,b\n", "text"),
        (b"text,label\ngood \xff,1\n", "bad.csv"),
    ],
)
def test_tables_that_cannot_be_used(train, place, table, value):
    """A table without rows, or with less than two classes among those that can be used, is one line."""
    (place / "bad.csv").write_bytes(table)
    fails(train(data="bad.csv"), value)


def test_rows_that_cannot_be_used(train, place):
    """Rows without a known word, a text or a label, and too long ones, are left out and named: the rest is learned."""
    rows = lines(80)
    bad = [("execrable .,", "bad"), ("👍", "good"), ("  ", "bad"), ("good film", " "), ("good " * 20_001, "good")]
    write(place / "mixed.csv", [*bad[:2], *rows[:40], *bad[2:], *rows[40:]])
    write(place / "held.csv", [("good film", "good"), ("bad film", "mixed"), ("zork", "bad")])
    assert list_left_out(succeeds(train("--test", "held.csv", "--seed", "1", data="mixed.csv", quick=ONE))) == [
        ("mixed.csv", "row 43"),
        ("mixed.csv", "row 44"),
        ("mixed.csv", "rows 1 and 2"),
        ("mixed.csv", "row 45"),
        ("held.csv", "row 2"),
        ("held.csv", "row 3"),
    ]
    write(place / "clean.csv", rows)
    assert train("--test", "held.csv", "--seed", "1", data="clean.csv", output="n.pt", quick=ONE).code == 0
    assert are_same(place / "m.pt", place / "n.pt")


def test_the_test_table_is_looked_at_first(train, place):
    """What is wrong with --test is said before anything is trained."""
    write(place / "t.csv", [("bad film", "mixed")])
    fails(train("--test", "t.csv"), "In --test: ")
    fails(train("--test", "none.csv"), "'none.csv'")
    assert not (place / "m.pt.checkpoint").exists()


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b"", "'s.json.gz'"),
        (b"{}", "'s.json.gz'"),
        (b'{"good": "great"}', "'great'"),
        (b'{"good": [1]}', "[1]"),
        (b'{"good": ["zork"], "blah": ["great"]}', "words.npz"),
        (b'{"good": ["\xff"]}', "'s.json.gz'"),
        (b"[" * 100_000, "'s.json.gz'"),
        (b'{"go\\ud800od": ["\\ud800"]}', "words.npz"),
    ],
)
def test_substitutions_that_cannot_be_used(train, place, content, value):
    """Substitutions of another form, or of words without vectors, are one line."""
    (place / "s.json.gz").write_bytes(gzip.compress(content))
    fails(train("--training", "ibp", "--substitutions", "s.json.gz"), value)


def test_options_of_other_methods(train):
    """Options of one way to train are refused by the others."""
    for options, value in ((SETS, "--training"), (("--ibp-weight", "0.5"), "ibp"), (("--copies", "2"), "augmented")):
        fails(train(*options), value)


def test_damaged_substitutions(train, place):
    """A compressed file that is cut short or changed, and a folder, are refused by name."""
    whole = gzip.compress((place / "sets.json").read_bytes())
    (place / "s.json.gz").write_bytes(whole[:20])
    (place / "t.json.gz").write_bytes(whole[:12] + b"\xff\xff\xff" + whole[15:])
    (place / "u.json.xz").write_bytes(b"no xz")
    (place / "folder").mkdir()
    for name in ("s.json.gz", "t.json.gz", "u.json.xz", "folder", "none.json"):
        fails(train("--training", "ibp", "--substitutions", name), f"'{name}'")


def test_nothing_that_is_read_is_overwritten(train, place):
    """--force overwrites no file that the command reads, under whatever name."""
    (place / "hard.npz").hardlink_to(place / "words.npz")
    for output in ("train.csv", "test.csv", "sets.json", "hard.npz"):
        before = (place / output).read_bytes()
        fails(train("--training", "ibp", *SETS, "--test", "test.csv", "--force", output=output), f"'{output}'")
        assert (place / output).read_bytes() == before


def test_a_loss_that_is_no_number(train, place):
    """A learning rate that is far too large ends with one line, writes no model, and keeps the last good checkpoint."""
    quick = ("--epochs", "3", "--learning-rate", "1e30", "--checkpoint-every", "1")
    fails(train(model="cnn", quick=quick), "smaller learning rate")
    assert not (place / "m.pt").exists()
    assert (place / "m.pt.checkpoint").exists()


def test_a_model_is_one_of_the_library(train, place):
    """What the command wrote is read as a model of the space it was trained on, and of no other."""
    assert train("--seed", "1").code == 0
    assert all(isinstance(value, torch.Tensor) for value in read_weights(place / "m.pt").values())
    with pytest.raises(dn.InputError):
        dn.texts.load_text_model(place / "m.pt", dn.Space.load("space.npz", metric="euclidean"))

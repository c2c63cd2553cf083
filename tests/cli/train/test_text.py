"""``deniable train text``: models with true cards, runs that go on, and one line where something is wrong."""

import gzip
import hashlib
import json
import re
import stat

import numpy as np
import pytest
import torch

from deniable.cli.train import text as module
from deniable.models.text.model import load_text_model
from deniable.space import Space
from tests.cli.text_models import QUICK, SPACE, TABLE, furnish, lines, write

WRITTEN = ["m.pt", "m.pt.card.json", "m.pt.card.txt", "m.pt.owner.json"]
SETS = ("--substitutions", "sets.json")


@pytest.fixture
def train(call, place):
    """Return a function that trains a small model of train.csv to m.pt, unless told otherwise."""
    furnish(place)

    def training(*options, model="fasttext", data="train.csv", output="m.pt", table=TABLE, quick=QUICK):
        given = [data, "--kind", model, "-o", output]
        return call("train", "text", *given, *table, *quick, *options)

    return training


def weights(path):
    return load_text_model(path, Space.load(str(path.parent / "words.npz"))).network.state_dict()


def same(one, other):
    """Say whether two model files hold the same numbers, bit for bit."""
    first, second = weights(one), weights(other)
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("cnn", ["--training", "ibp", *SETS]),
        ("fasttext", []),
        ("bow", ["--training", "augmented", "--mechanism", "tem", "--mechanism-epsilon", "3", "--copies", "1"]),
    ],
)
def test_models(train, place, model, options):
    """A model learns what is asked of it, with the accuracy alone on stdout and no checkpoint left."""
    result = train(*options, "--seed", "1", "--test", "test.csv", model=model)
    assert result.code == 0, result.err
    found = re.fullmatch(r"clean accuracy ([01]\.\d{3})\n", result.text)
    assert float(found[1]) > 0.85
    assert sorted(path.name for path in place.iterdir() if path.name.startswith("m.pt")) == WRITTEN
    assert (place / "m.pt.card.txt").read_text() in result.err


@pytest.mark.parametrize("model", ["bow", "attention"])
def test_pairs(train, place, model):
    """With --premise a model of pairs is trained."""
    quick = ("--epochs", "1")
    assert train("--premise", "before", model=model, data="pairs.csv", quick=quick).code == 0
    card = json.loads((place / "m.pt.card.json").read_text())
    assert card["data"]["pairs"]
    assert "a classifier of pairs of texts" in (place / "m.pt.card.txt").read_text()


def test_the_card(train, place):
    """The card holds options, data, accuracies and their sets, and a commitment that its owner can open."""
    assert train("--training", "ibp", "--ibp-weight", "0.5", *SETS, "--seed", "3").code == 0
    card, owner = (json.loads((place / f"m.pt.{name}.json").read_text()) for name in ("card", "owner"))
    digest = hashlib.blake2b((place / "sets.json").read_bytes(), digest_size=8).hexdigest()
    assert (card["model"], card["method"], card["drawn from"]) == ("fasttext", "ibp", f"sets.json ({digest})")
    assert (card["options"]["kappa"], card["options"]["epochs"], card["public seed"]) == (0.5, 8, 3)
    assert "copies" not in card["options"]
    assert card["training records"] == {"guarantee": "none", "status": "no privacy is claimed"}
    data = card["data"]
    assert (data["training texts"], data["test texts"], data["classes"]) == (72, 8, ["bad", "good"])
    assert card["certified accuracy"]["substitutions"] == card["drawn from"]
    assert card["certified accuracy"]["value"] <= card["clean accuracy"]["value"]
    opened = hashlib.blake2b(owner["fingerprint"].encode(), key=bytes.fromhex(owner["key"]), digest_size=16)
    assert opened.hexdigest() == data["commitment"] == owner["commitment"]
    assert owner["fingerprint"] not in json.dumps(card)
    assert stat.S_IMODE((place / "m.pt.owner.json").stat().st_mode) == 0o600


def test_the_seed(train, place):
    """A public seed gives the same model again; without one every run differs."""
    for output in ("m.pt", "n.pt", "o.pt"):
        assert train(*(("--seed", "7") if output != "o.pt" else ()), output=output).code == 0
    assert same(place / "m.pt", place / "n.pt")
    assert not same(place / "m.pt", place / "o.pt")


def test_an_interrupted_run(train, place, monkeypatch):
    """An interrupted run says how to go on, and the same command ends as a run that was never interrupted."""

    class Interrupted(module.LossSteps):
        def __call__(self, done, steps, loss):
            super().__call__(done, steps, loss)
            if done == 10:
                raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "LossSteps", Interrupted)
        result = train("--seed", "1", "--checkpoint-every", "4")
    assert (result.code, result.out) == (2, b"")
    assert result.err == "deniable: interrupted: run the same command again to resume from 'm.pt.checkpoint'.\n"
    assert not (place / "m.pt").exists()
    other = train("--seed", "1", "--ibp-weight", "0.5", "--training", "ibp", *SETS)
    assert other.code == 2
    assert "'m.pt.checkpoint' is the checkpoint of a run with" in other.err
    assert train("--seed", "1", "--checkpoint-every", "4").err.startswith("resuming from m.pt.checkpoint\n")
    assert not (place / "m.pt.checkpoint").exists()
    assert train("--seed", "1", output="n.pt").code == 0
    assert same(place / "m.pt", place / "n.pt")


def test_odd_tables(train, place):
    """Any script, emoji, quoted line ends, repeated columns beside, numbers as classes and compression are taken."""
    odd = [(f"{text}\n👩‍👩‍👧 שלום e\u0301 \u200b", label == "good", "x") for text, label in lines()]
    rows = [(text, int(label), note, note) for text, label, note in odd]
    write(place / "odd.csv", rows, ("text", "label", "note", "note"))
    (place / "odd.csv.gz").write_bytes(gzip.compress((place / "odd.csv").read_bytes()))
    result = train(data="odd.csv.gz")
    assert result.code == 0, result.err
    assert "odd.csv.gz: " in result.err
    assert "% of the words are not in the vocabulary and were ignored. Are the texts in another language" in result.err
    assert json.loads((place / "m.pt.card.json").read_text())["data"]["classes"] == ["0", "1"]


def test_lone_surrogates(train, place):
    """Classes and texts that are no Unicode, as JSON may hold, are kept as escapes."""
    rows = [{"text": f"{text} \ud83d", "label": f"{label}\udc80"} for text, label in lines()]
    (place / "odd.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = train(data="odd.jsonl")
    assert result.code == 0, result.err
    assert json.loads((place / "m.pt.card.json").read_text())["data"]["classes"] == ["bad\udc80", "good\udc80"]


def test_many_classes(train, place):
    """A table may have hundreds of classes."""
    rows = [(text, str(number)) for number, (text, _) in enumerate(lines(300))]
    write(place / "many.csv", rows)
    assert train(data="many.csv", quick=("--epochs", "1")).code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--training", "ipb"], "'ipb' is not one of normal, ibp, augmented. Did you mean 'ibp'?"),
        (["--training", "ibp"], "The method ibp needs substitutions"),
        (["--training", "ibp", "--mechanism", "tem", "--mechanism-epsilon", "1"], "The method ibp needs substitutions"),
        (["--training", "augmented"], "The method augmented needs substitutions or a mechanism"),
        (["--training", "augmented", "--mechanism", "tem"], "--mechanism and --mechanism-epsilon belong together"),
        (
            ["--training", "augmented", "--mechanism-epsilon", "1"],
            "--mechanism and --mechanism-epsilon belong together",
        ),
        (
            ["--training", "augmented", "--mechanism", "tme", "--mechanism-epsilon", "1"],
            "Did you mean 'tem'? See: deniable train text --help",
        ),
        (
            ["--training", "augmented", "--mechanism", "tem", "--mechanism-epsilon", "1", *SETS],
            "--substitutions excludes --mechanism",
        ),
        (["--training", "augmented", "--mechanism", "tem", "--mechanism-epsilon", "-1"], "Got -1.0."),
        ([*SETS], "are for --training ibp and augmented: choose one"),
        (["--mechanism-epsilon", "1"], "are for --training ibp and augmented: choose one"),
        (["--ibp-weight", "0.5"], "--ibp-weight is for --training ibp. Got normal: leave it out."),
        (["--copies", "2"], "--copies is for --training augmented. Got normal: leave it out."),
        (["--epochs", "0"], "The 'epochs' parameter of training must be an int from 1 to 100,000. Got 0."),
        (["--learning-rate", "-1"], "must be a float in [1e-30, 1e+30]. Got -1.0."),
        (["--learning-rate", "1e300"], "must be a float in [1e-30, 1e+30]. Got 1e+300."),
        (["--batch-size", "0"], "Got 0."),
        (
            ["--checkpoint-every", "0"],
            "Invalid value for '--checkpoint-every': it must be greater than or equal to 1. Got 0.",
        ),
        (["--delta", "1e-5"], "--delta means nothing to --kind fasttext: leave it out."),
        (["--epsilon", "1"], "--epsilon means nothing to --kind fasttext: leave it out."),
        (["--max-records", "5"], "--max-records means nothing to --kind fasttext: leave it out."),
        (["--network", "small"], "No such option: --network"),
        (["--noise", "0"], "No such option: --noise"),
        (["--premise", "label"], "cannot be classes and premises at once"),
        (["--premise", "text"], "The column 'text' cannot be"),
        (["--premise", "note"], "has no column 'note'"),
        (["--column", "note"], "has no column 'note'"),
        (["--column", "label"], "The column 'label' cannot be"),
        (["--test", "none.csv"], "The input 'none.csv' is not a file"),
        (["--test", "-"], "which a pipe cannot do: give the path of a file."),
        (["--format", "xml"], "'xml' is not one of csv, tsv, jsonl, parquet, txt."),
        (["--space", "none.txt"], "none.txt"),
        (
            ["--metric", "cosine"],
            (
                "'cosine' is not one of euclidean, manhattan, chebyshev, angular, geodesic. Cosine distance is no "
                "metric: use angular."
            ),
        ),
    ],
)
def test_options_that_cannot_be_used(train, refused, options, message):
    """An option of the wrong value, or that goes with another, is one line before anything is trained."""
    refused.given()
    assert message in refused(train(*options))


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("dp-sgd", [], "'dp-sgd' is not one of dp-linear, dp-fasttext, cnn, bow, fasttext, attention."),
        ("fastext", [], "Did you mean 'fasttext'?"),
        ("attention", [], "The model is for pairs of texts: name the column of the premise with --premise."),
    ],
)
def test_models_that_cannot_be_trained(train, refused, model, options, message):
    """A model that is not known, or is for pairs, is refused."""
    refused.given()
    assert message in refused(train(*options, model=model))


def test_pairs_for_a_model_of_single_texts(train, refused):
    """A model of single texts refuses pairs."""
    refused.given()
    assert "leave out --premise" in refused(train("--premise", "before", model="cnn", data="pairs.csv"))


def test_no_column_of_classes(train, refused):
    """Without --label there is nothing to learn."""
    refused.given()
    assert refused(train(table=SPACE)) == "Missing option '--label'. See: deniable train text --help"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (b"text,label\n", "Got none, since there are no rows|The table 'bad.csv' has no rows"),
        (b"", "bad.csv"),
        (b"text,label\ngood film,1\nbad film,1\n", "must hold at least 2 classes. Got only '1'"),
        (b"text,label\ngood film,1\nbad film,\n", "Got only '1'.* without a label in 'label' left out: row 2"),
        (b"text,label\ngood film,1\n  ,0\n", "Got only '1'.* without a text in 'text' left out: row 2"),
        (b"text,label\ngood film,1\nzork blah,0\n", "Got only '1'.* without a word of words.npz in 'text' left out: r"),
        (b"text,label\nzork,1\nblah,0\n", r"No row .* can be used \(2 rows without a word of words.npz in 'text'\)"),
        (b"text,label,text\ngood film,1,a\nbad film,0,b\n", "text"),
        (b"text,label\ngood \xff,1\n", "bad.csv"),
    ],
)
def test_tables_that_cannot_be_used(train, refused, place, table, message):
    """A table without rows, or with less than two classes among those that can be used, is one line."""
    (place / "bad.csv").write_bytes(table)
    refused.given()
    assert re.search(message, refused(train(data="bad.csv")))


def test_rows_that_cannot_be_used(train, place):
    """Rows without a known word, a text or a label, and too long ones, are left out and named: the rest is learned."""
    rows = lines(80)
    bad = [("execrable .,", "bad"), ("👍", "good"), ("  ", "bad"), ("good film", " "), ("good " * 20_001, "good")]
    write(place / "mixed.csv", [*bad[:2], *rows[:40], *bad[2:], *rows[40:]])
    write(place / "held.csv", [("good film", "good"), ("bad film", "mixed"), ("zork", "bad")])
    result = train("--test", "held.csv", "--seed", "1", data="mixed.csv")
    assert result.code == 0
    assert [line for line in result.err.splitlines() if "left out: row" in line] == [
        "mixed.csv: 1 row without a label in 'label' left out: row 44",
        "mixed.csv: 1 row without a text in 'text' left out: row 43",
        "mixed.csv: 2 rows without a word of words.npz in 'text' left out: rows 1 and 2",
        "mixed.csv: 1 row with more than 20,000 words in 'text' left out: row 45",
        "held.csv: 1 row whose label in 'label' is no class of the model (bad, good) left out: row 2",
        "held.csv: 1 row without a word of words.npz in 'text' left out: row 3",
    ]
    write(place / "clean.csv", rows)
    assert train("--test", "held.csv", "--seed", "1", data="clean.csv", output="n.pt").code == 0
    mixed, clean = (load_text_model(place / name, Space.load("words.npz")) for name in ("m.pt", "n.pt"))
    for one, other in zip(mixed.network.parameters(), clean.network.parameters(), strict=True):
        assert torch.equal(one, other)


def test_the_test_table_is_looked_at_first(train, refused):
    """What is wrong with --test is said before anything is trained."""
    refused.given(t__csv="text,label\nbad film,mixed\n", u__csv="text,label\nblah,good\n")
    assert refused(train("--test", "t.csv")).startswith(
        "In --test: No row of the table 't.csv' can be used (1 row whose"
    )
    assert refused(train("--test", "u.csv")).startswith(
        "In --test: No row of the table 'u.csv' can be used (1 row with"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "are not valid JSON"),
        (b"[]", "must be an object of word: [substitute, ...]"),
        (b"{}", "must be an object of word: [substitute, ...]"),
        (b'{"good": "great"}', "Got 'great' for 'good'"),
        (b'{"good": [1]}', "Got [1] for 'good'"),
        (b'{"good": ["zork"], "blah": ["great"]}', "have no word that is in words.npz together with a substitute"),
        (b'{"good": ["\xff"]}', "are not valid JSON"),
        (b"[" * 100_000, "are not valid JSON"),
        (b'{"go\\ud800od": ["\\ud800"]}', "have no word that is in words.npz together with a substitute"),
    ],
)
@pytest.mark.parametrize("name", ["s.json", "s.json.gz"])
def test_substitutions_that_cannot_be_used(train, refused, place, content, message, name):
    """Substitutions of another form, or of words without vectors, are one line."""
    (place / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    refused.given()
    assert message in refused(train("--training", "ibp", "--substitutions", name))


def test_damaged_substitutions(train, refused, place):
    """A compressed file that is cut short or changed, and a folder, are refused by name."""
    whole = gzip.compress((place / "sets.json").read_bytes())
    (place / "s.json.gz").write_bytes(whole[:20])
    (place / "t.json.gz").write_bytes(whole[:12] + b"\xff\xff\xff" + whole[15:])
    (place / "u.json.xz").write_bytes(b"no xz")
    (place / "folder").mkdir()
    refused.given()
    for name in ("s.json.gz", "t.json.gz", "u.json.xz", "folder", "none.json"):
        assert f"The substitutions '{name}'" in refused(train("--training", "ibp", "--substitutions", name))


@pytest.mark.parametrize("output", ["train.csv", "test.csv", "sets.json", "words.npz", "hard.npz"])
def test_nothing_that_is_read_is_overwritten(train, refused, place, output):
    """--force overwrites no file that the command reads."""
    (place / "hard.npz").hardlink_to(place / "words.npz")
    refused.given()
    options = ["--training", "ibp", *SETS, "--test", "test.csv", "--force"]
    assert f"The output '{output}' is a file that is read" in refused(train(*options, output=output))


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("none/m.pt", "The folder of the output 'none/m.pt' does not exist"),
        ("in.csv", "The output 'in.csv' exists"),
        ("-", "The output '-' must be a file"),
        ("m.pt.gz", "must be a file, not compressed"),
    ],
)
def test_outputs_that_cannot_be_used(train, refused, output, message):
    """An output that cannot be written is refused before anything is trained."""
    refused.given()
    assert message in refused(train(output=output))


def test_a_pipe_for_the_table(train, refused):
    """A resumed run reads its table again, which a pipe cannot do."""
    refused.given()
    assert "which a pipe cannot do" in refused(train("--format", "csv", data="-"))


def test_a_loss_that_is_no_number(train, place):
    """A learning rate that is far too large ends with one line, and writes no model."""
    result = train(model="cnn", quick=("--epochs", "3", "--learning-rate", "1e30"))
    assert (result.code, result.out) == (2, b"")
    assert "take a smaller learning rate" in result.err.splitlines()[-1]
    assert not (place / "m.pt").exists()


def test_few_texts(train, place):
    """Two texts are enough: one to learn from and one to test on."""
    write(place / "two.csv", [("good", "1"), ("bad", "0")])
    assert train(data="two.csv").code == 0


def test_default_epochs(train, place):
    """Without --epochs a small table is passed over until a thousand steps are taken."""
    assert train(quick=(), model="fasttext").code == 0
    card = json.loads((place / "m.pt.card.json").read_text())
    assert (card["steps"], card["options"]["epochs"]) == (1002, 334)


def test_rows_are_held_out_by_chance(train, place):
    """The held out texts are not the last ones, which may be of one class."""
    rows = sorted(lines(), key=lambda row: row[1])
    write(place / "sorted.csv", rows)
    assert train(data="sorted.csv").code == 0
    assert np.isclose(json.loads((place / "m.pt.card.json").read_text())["clean accuracy"]["count"], 8)

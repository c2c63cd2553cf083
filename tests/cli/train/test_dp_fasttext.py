"""``deniable train text --kind dp-fasttext``: private figures for the owner alone, and options that are declared."""

import csv
import hashlib
import json
import re

import pytest
import torch

from deniable.cli.train import dp_fasttext
from deniable.models.text.model import load_text_model
from deniable.space import Space
from tests.cli.text_models import SPACE, furnish, lines, write

DECLARED = ("--classes", "bad,good", "--epsilon", "8", "--delta", "1e-3", "--records", "400", "--epochs", "10")


@pytest.fixture
def train(call, place):
    """Return a function that trains a private model of many.csv to m.pt."""
    furnish(place)
    write(place / "many.csv", lines(400))

    def training(*options, data="many.csv", output="m.pt", declared=DECLARED):
        given = [data, "--kind", "dp-fasttext", "--label", "label", "-o", output]
        return call("train", "text", *given, *SPACE, *declared, *options)

    return training


def read_model(place, name="m.pt"):
    return load_text_model(place / name, Space.load(str(place / "words.npz")))


def test_a_private_model(train, place):
    """The model is private and of use; its accuracy goes to the owner, and neither stdout nor card holds it."""
    result = train("--test", "test.csv")
    assert (result.code, result.text) == (0, ""), result.err
    assert "for you only: accuracy" in result.err
    assert read_model(place).guarantee is None  # a file cannot show how it was trained, the card says it
    card, owner = ((place / f"m.pt.{name}.json").read_text() for name in ("card", "owner"))
    assert "accuracy" not in card
    assert json.loads(owner)["test accuracy"]["value"] > 0.85
    assert json.loads(card)["data"]["places"] == 400
    assert json.loads(card)["training records"]["status"] == "proved for ideal arithmetic"
    assert 7 < json.loads(card)["training records"]["verdict"]["epsilon"] <= 8
    opened = hashlib.blake2b(
        json.loads(owner)["fingerprint"].encode(), key=bytes.fromhex(json.loads(owner)["key"]), digest_size=16
    )
    assert opened.hexdigest() == json.loads(card)["data"]["commitment"]
    assert not (place / "m.pt.checkpoint").exists()


def test_the_card_does_not_count_rows(train, place):
    """Fewer rows than places leave the same card, and surplus rows are told to the owner alone."""
    write(place / "few.csv", lines(300))
    cards = []
    for data in ("few.csv", "many.csv"):
        assert train(data=data, output=f"{data}.pt").code == 0
        card = json.loads((place / f"{data}.pt.card.json").read_text())
        card["data"].pop("commitment")
        cards.append(card)
    assert cards[0] == cards[1]
    surplus = train("--records", "250", output="s.pt")
    assert surplus.code == 0
    assert "warning (for you only): many.csv: 150 rows, chosen at random, left out: --records" in surplus.err
    assert not re.search(r"\b150\b", (place / "s.pt.card.txt").read_text())


def test_rows_that_cannot_be_used(train, place):
    """A row without a text or with a class that was not declared is an empty record, and no reason to refuse others."""
    write(place / "odd.csv", [*lines(100), ("", "good"), ("a film", "mixed"), ("xyzzy", "bad")])
    result = train(data="odd.csv")
    assert result.code == 0, result.err
    assert "warning (for you only): odd.csv: 1 row without a text in 'text' left out: row 101" in result.err
    assert "1 row whose label in 'label' is none of the declared classes left out: row 102" in result.err


def test_texts_that_do_not_fit(train, place):
    """HTML and many unknown words are told to the owner, and in nothing that is published."""
    write(place / "odd.csv", [(f"zwölf Boxkämpfer {text}<br />", label) for text, label in lines(100)])
    result = train(data="odd.csv")
    assert result.code == 0, result.err
    for problem in ("hold HTML tags", "not in the vocabulary"):
        assert any(problem in line for line in result.err.splitlines() if line.startswith("warning (for you only): "))
        assert problem not in (place / "m.pt.card.txt").read_text()


def test_an_interrupted_run(train, place, monkeypatch):
    """A resumed run has the key of the interrupted one, holds out the same rows, and removes its checkpoint."""
    held_out, hold_out = [], dp_fasttext.hold_out_rows

    def watch(table, key):
        parts = hold_out(table, key)
        held_out.append(parts[1].rows)
        return parts

    class Interrupted:
        def __enter__(self):
            return self

        def __exit__(self, *details):
            return None

        def update(self, done, total, note):  # noqa: ARG002 - as steps are reported
            if done == 7:
                raise KeyboardInterrupt

    monkeypatch.setattr(dp_fasttext, "hold_out_rows", watch)
    with monkeypatch.context() as patch:
        patch.setattr(dp_fasttext, "show_steps", lambda name: Interrupted())  # noqa: ARG005 - as it is called
        result = train("--checkpoint-every", "3")
    assert "run the same command again to resume" in result.err
    assert (place / "m.pt.checkpoint").exists()
    assert "other data" in train("--checkpoint-every", "3", data="train.csv").err
    result = train("--checkpoint-every", "3")
    assert result.code == 0, result.err
    assert "resuming from" in result.err
    assert held_out[0] == held_out[-1] != []
    assert not (place / "m.pt.checkpoint").exists()
    assert train(output="n.pt").code == 0
    assert held_out[-1] != held_out[0]
    weights = [read_model(place, name).network.net.output.weight for name in ("m.pt", "n.pt")]
    assert not torch.equal(*weights)


def test_predictions_attacks_and_certificates(train, call, place):
    """The model predicts the classes of a table, and is attacked and certified as any text model."""
    assert train().code == 0
    assert call("predict", "m.pt", "test.csv", *SPACE, "-o", "predicted.csv").code == 0
    rows = list(csv.DictReader((place / "predicted.csv").read_text().splitlines()))
    assert sum(row["predicted"] == row["label"] for row in rows) > 0.8 * len(rows)
    sets = ("--label", "label", *SPACE, "--substitutions", "sets.json")
    certified = call("certify", "text", "m.pt", "test.csv", *sets, "--attack-count", "5", "-o", "certified.csv")
    assert certified.code == 0, certified.err
    attacked = call("attack", "text", "m.pt", "test.csv", *sets, "--search", "greedy", "-o", "attacked.csv")
    assert attacked.code == 0, attacked.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--person", "who"], "--person means nothing to --kind dp-fasttext"),
        (["--public", "test.csv"], "take --kind dp-linear, or leave it out"),
        (["--max-records", "3"], "take --kind dp-linear"),
        (["--training", "ibp"], "--training means nothing to --kind dp-fasttext"),
        (["--premise", "before"], "--premise means nothing"),
        (["--seed", "1"], "--seed means nothing"),
        (["--metric", "angular"], "--metric means nothing"),
        (["--classes", "good"], "at least two names. Got 'good'"),
        (["--classes", "good,good"], "--classes names 'good' twice"),
        (["--test", "many.csv"], "'many.csv', is the private table itself"),
        (["--epsilon", "1000"], "ask for that or less"),
        (["--epsilon", "-1"], "epsilon"),
        (["--batch-size", "0"], "batch_size"),
    ],
)
def test_options_that_cannot_be_used(train, place, options, message):
    """An option that means nothing here, or a bad value, is one line, and nothing is written."""
    result = train(*options)
    assert result.code == 2
    assert message in result.err
    assert not (place / "m.pt").exists()


@pytest.mark.parametrize("missing", ["--classes", "--epsilon", "--delta", "--records"])
def test_what_must_be_declared(train, missing):
    """Budget, classes and number of places are asked for by name."""
    place = DECLARED.index(missing)
    result = train(declared=(*DECLARED[:place], *DECLARED[place + 2 :]))
    assert result.code == 2
    assert missing in result.err


def test_a_pipe_for_the_table(train):
    """A table that cannot be read again is refused."""
    result = train(data="-")
    assert result.code == 2
    assert "give the path of a file" in result.err

"""``deniable train fasttext``: private figures for the owner alone, and options that are declared."""

import csv
import re

import pytest

from tests.cli.commands.train.helpers import are_same, fails, interrupted, list_warnings, read_card, succeeds
from tests.cli.text_models import SPACE, furnish, lines, write

DECLARED = ("--classes", "bad,good", "--epsilon", "8", "--delta", "1e-3", "--records", "400", "--epochs", "10")
BRIEF = (*DECLARED[:-1], "1")


@pytest.fixture
def train(call, place):
    """Return a function that trains a private model of many.csv to m.pt."""
    furnish(place)
    write(place / "many.csv", lines(400))

    def training(*options, data="many.csv", output="m.pt", declared=BRIEF):
        given = [data, "--label", "label", "-o", output]
        return call("train", "fasttext", *given, *SPACE, *declared, *options)

    return training


def test_a_private_model(train, call, place):
    """The model is private and of use; its accuracy goes to the owner, and neither stdout nor card holds it."""
    assert succeeds(train("--test", "test.csv", declared=DECLARED)).text == ""
    card, owner = read_card(place)
    assert "accuracy" not in (place / "m.pt.card.json").read_text()
    assert owner["test accuracy"]["value"] > 0.85
    assert card["data"]["places"] == 400
    assert card["training records"]["status"] == "proved for ideal arithmetic"
    assert 7 < card["training records"]["verdict"]["epsilon"] <= 8
    assert not (place / "m.pt.checkpoint").exists()
    assert call("predict", "m.pt", "test.csv", *SPACE, "-o", "predicted.csv").code == 0
    rows = list(csv.DictReader((place / "predicted.csv").read_text().splitlines()))
    assert sum(row["predicted"] == row["label"] for row in rows) > 0.8 * len(rows)
    sets = ("--label", "label", *SPACE, "--substitutions", "sets.json")
    succeeds(call("certify", "text", "m.pt", "test.csv", *sets, "--attack-count", "5", "-o", "certified.csv"))
    succeeds(call("attack", "text", "m.pt", "test.csv", *sets, "--search", "greedy", "-o", "attacked.csv"))


def test_the_card_does_not_count_rows(train, place):
    """Fewer rows than places leave the same card, and surplus rows are told to the owner alone."""
    cards, told = [], []
    for count in (300, 537):
        write(place / "private.csv", lines(count))
        result = succeeds(train("--force", data="private.csv"))
        told += [line[:9] for line in list_warnings(result, "private.csv")]
        cards.append(read_card(place)[0])
        cards[-1]["data"].pop("commitment")
    assert cards[0] == cards[1]
    assert told == ["137 rows,"]
    assert not re.search(r"\b1?37\b", (place / "m.pt.card.txt").read_text())


def test_rows_that_do_not_fit(train, place):
    """Rows that cannot be used are empty records, no reason to refuse others; what is odd is for the owner alone."""
    odd = [(f"zwölf Boxkämpfer {text}<br />", label) for text, label in lines(100)]
    write(place / "odd.csv", [*odd, ("", "good"), ("a film", "mixed"), ("xyzzy", "bad")])
    remarks = list_warnings(succeeds(train(data="odd.csv")))
    for problem in ("row 101", "row 102", "hold HTML tags", "not in the vocabulary"):
        assert any(problem in line for line in remarks)
        assert problem not in (place / "m.pt.card.txt").read_text()


def test_an_interrupted_run(train, place):
    """A resumed run has the key of the interrupted one, and removes its checkpoint; another run has another key."""
    with interrupted():
        fails(train("--checkpoint-every", "3", declared=DECLARED), "'m.pt.checkpoint'")
    kept = (place / "m.pt.checkpoint").read_bytes()
    fails(train("--checkpoint-every", "3", data="train.csv", declared=DECLARED), "other table")
    assert train("--checkpoint-every", "3", declared=DECLARED).code == 0
    assert not (place / "m.pt.checkpoint").exists()
    (place / "n.pt.checkpoint").write_bytes(kept)
    for output in ("n.pt", "o.pt"):
        assert train("--checkpoint-every", "3", output=output, declared=DECLARED).code == 0
    assert are_same(place / "m.pt", place / "n.pt")
    assert not are_same(place / "m.pt", place / "o.pt")


@pytest.mark.parametrize(
    ("options", "value"),
    [
        (["--person", "who"], "--person"),
        (["--seed", "1"], "--seed"),
        (["--metric", "angular"], "--metric"),
        (["--classes", "good"], "'good'"),
        (["--test", "many.csv"], "private table"),
        pytest.param(["--epsilon", "1000"], "at most 100", marks=pytest.mark.deep),
        (["--epsilon", "-1"], "epsilon"),
        (["--batch-size", "0"], "batch_size"),
    ],
)
def test_options_that_cannot_be_used(train, place, options, value):
    """An option that means nothing here, or a bad value, is one line, and nothing is written."""
    fails(train(*options), value)
    assert not (place / "m.pt").exists()


@pytest.mark.parametrize("missing", ["--classes", "--epsilon", "--delta", "--records"])
def test_what_must_be_declared(train, missing):
    """Budget, classes and number of places are asked for by name."""
    place = BRIEF.index(missing)
    fails(train(declared=(*BRIEF[:place], *BRIEF[place + 2 :])), missing)

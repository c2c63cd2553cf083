"""``deniable train text --kind dp-linear``: true cards, figures for the owner alone, one line where it cannot run."""

import errno
import json
import os
import re
import stat

import pytest

from deniable.persons.classifier import LinearClassifier
from deniable.registry.models import load_model
from tests.cli.text_models import SPACE, furnish, lines, write

BUDGET = ("--epsilon", "8", "--delta", "1e-4")
DECLARED = ("--classes", "bad,good", "--records", "3000")
COUNT = 1_237
"""True number of records, which stands in nothing that is published."""


@pytest.fixture
def train(call, place):
    """Return a function that trains on 1,237 records of 619 persons to m.pt, unless told otherwise."""
    furnish(place)
    rows = [(text, label, f"p{row // 2}") for row, (text, label) in enumerate(lines(COUNT))]
    write(place / "private.csv", rows, ("text", "label", "who"))
    write(place / "public.csv", lines(100, seed=9), ("text", "label"))

    def training(*options, data="private.csv", budget=BUDGET, declared=DECLARED, space=SPACE):
        basic = ["train", "text", data, "--kind", "dp-linear", "--label", "label", "-o", "m.pt"]
        return call(*basic, *budget, *declared, *space, *options)

    return training


def read_published(place):
    """Return everything that is for others, both cards, but for the commitment, which is random."""
    commitment = json.loads((place / "m.pt.card.json").read_text())["data"]["commitment"]
    cards = (place / "m.pt.card.json").read_text() + (place / "m.pt.card.txt").read_text()
    return cards.replace(commitment, "")


@pytest.mark.parametrize("options", [(), ("--person", "who"), ("--public", "public.csv", "--public-label", "label")])
def test_a_private_model(train, place, options):
    """A model is written with its card; figures about private records go to the owner alone."""
    result = train(*options)
    assert (result.code, result.out) == (0, b""), result.err
    assert isinstance(load_model(place / "m.pt"), LinearClassifier)
    card, owner = (json.loads((place / f"m.pt.{name}.json").read_text()) for name in ("card", "owner"))
    assert card["training records"]["unit"] == ("person" if "--person" in options else "record")
    assert card["training records"]["status"] == "proved"
    assert card["data"]["nominal number"] == 3_000
    assert owner["test accuracy"]["value"] > 0.8
    assert owner["training rows"] < COUNT
    assert stat.S_IMODE((place / "m.pt.owner.json").stat().st_mode) == 0o600
    published = read_published(place)
    assert "accuracy" not in published
    numbers = {part.replace(",", "") for part in re.findall(r"[\d.,]*\d", published)}
    assert not numbers & {str(COUNT), str(owner["training rows"])}
    assert "3000" in numbers
    assert result.err.rstrip().splitlines()[-1].startswith("for you only: accuracy ")


def test_a_measured_number(train, place):
    """Without --records the card names a noisy number of records, another one in every run."""
    numbers = set()
    for _ in range(3):
        budget = ("--epsilon", "1", "--delta", "1e-4")
        assert train("--force", budget=budget, declared=("--classes", "bad,good")).code == 0
        card = json.loads((place / "m.pt.card.json").read_text())
        assert "number of units" in card["measurements"]
        assert "measured with noise" in (place / "m.pt.card.txt").read_text()
        numbers.add(card["data"]["nominal number"])
    assert len(numbers) > 1


def test_a_run_that_fails_shows_no_measured_number(train, monkeypatch):
    """A number that was measured with noise is shown once the model is written, and not by a run that fails then."""
    budget = ("--epsilon", "1", "--delta", "1e-3")
    options = {"budget": budget, "declared": ("--classes", "bad,good")}
    warnings = ("are few at epsilon", "is 1/n or more for n = ")
    shown = train(**options).err
    assert all(warning in shown for warning in warnings)

    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", fail)
    result = train("--force", **options)
    assert result.code == 2
    assert not any(warning in result.err for warning in warnings)


def test_public_labels_declare_the_classes(train, place):
    """The classes of public labels need not be declared; labels outside them are left out, for the owner to see."""
    write(place / "private.csv", [*lines(300), ("fine film", "mixed")], ("text", "label"))
    result = train("--public", "public.csv", "--public-label", "label", declared=("--records", "300"))
    assert result.code == 0, result.err
    assert json.loads((place / "m.pt.card.json").read_text())["data"]["classes"] == ["bad", "good"]
    assert "is none of the declared classes left out: row 301" in result.err
    assert "mixed" not in read_published(place)


def test_a_test_table(train, place):
    """With --test no private row is held out, and the accuracy is that on the test table."""
    result = train("--test", "test.csv")
    assert result.code == 0, result.err
    assert "on 20 test rows" in result.err
    assert json.loads((place / "m.pt.owner.json").read_text())["training rows"] == COUNT


def test_texts_that_do_not_fit(train, place):
    """HTML, and many words that the public ones lack, are told to the owner, and in nothing that is published."""
    strange = [(f"zwölf Boxkämpfer jagen Viktor &amp; {text}<br />", label) for text, label in lines(300)]
    write(place / "private.csv", strange)
    result = train("--public", "public.csv", "--public-label", "label", declared=("--records", "300"))
    assert result.code == 0, result.err
    remarks = [line for line in result.err.splitlines() if line.startswith("warning (for you only): private.csv: ")]
    for problem, remark in zip(("not in the vocabulary", "HTML entities", "HTML tags"), remarks, strict=True):
        assert problem in remark
        assert problem not in read_published(place)
    assert remarks[0].endswith("Give public texts of their kind with --public")


def test_rows_beyond_the_maximum(train):
    """With --max-records the further rows of each person are named for the owner."""
    result = train("--person", "who", "--max-records", "1")
    assert result.code == 0, result.err
    assert "warning (for you only): private.csv: 618 rows beyond the first 1 of their person not used" in result.err


def test_warnings_follow_public_numbers(train):
    """Few declared records and a delta of 1/n are warned of, whatever the table holds."""
    result = train(budget=("--epsilon", "1", "--delta", "1e-3"))
    assert result.code == 0, result.err
    assert "warning: delta 0.001 is 1/n or more for n = 3,000" in result.err
    assert "warning: about 3,000 records are few at epsilon 1" in result.err


@pytest.mark.parametrize("data", [[("fine film", "good")], [("fine film", "good"), ("", "bad"), ("x", "mixed")]])
def test_a_single_record_trains(train, place, data):
    """A table with one usable row trains as any other, also where that row is held out."""
    write(place / "private.csv", data)
    for _ in range(3):
        assert train("--force").code == 0


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"budget": ()}, (), "needs a budget: give --epsilon and --delta"),
        ({"budget": ("--epsilon", "1")}, (), "needs a budget: give --epsilon and --delta"),
        ({"budget": ("--epsilon", "0", "--delta", "1e-6")}, (), "'epsilon' parameter"),
        ({"budget": ("--epsilon", "1", "--delta", "1")}, (), "'delta' parameter"),
        ({"budget": ("--epsilon", "1e-9", "--delta", "1e-200")}, (), "teach no more than a blind guess"),
        ({"declared": ("--records", "3000")}, (), "The classes must be declared"),
        ({"declared": ("--classes", "good", "--records", "3000")}, (), "at least two different classes"),
        ({"declared": ("--classes", "good,good", "--records", "3000")}, (), "--classes names 'good' twice"),
        ({"declared": ("--classes", "good,", "--records", "3000")}, (), "leave no name empty"),
        ({"declared": ("--classes", "bad,good", "--records", "3")}, (), "3 records at epsilon 8 teach no more"),
        ({"declared": ("--classes", "bad,good", "--records", "0")}, (), "greater than or equal to 1"),
        ({"declared": ("--classes", "x,y", "--records", "3000")}, (), "No row of the table 'private.csv' can be used"),
        ({}, ("--max-records", "5"), "--max-records is for --person"),
        ({}, ("--person", "whom"), "has no column 'whom'"),
        ({}, ("--person", "label"), "'label' cannot be labels and persons at once"),
        ({}, ("--person", "text"), "'text' cannot be texts and persons at once"),
        ({}, ("--public", "private.csv"), "is the private table itself"),
        ({}, ("--test", "private.csv"), "'private.csv', is the private table itself"),
        ({}, ("--public-label", "label"), "--public-label is for --public"),
        ({}, ("--public", "public.csv", "--public-label", "kind"), "has no column 'kind'"),
        ({}, ("--public", "none.csv"), "none.csv"),
        ({}, ("--test", "pairs.csv"), "In --test: "),
        ({}, ("--seed", "1"), "--seed means nothing to --kind dp-linear: leave it out."),
        ({}, ("--epochs", "1"), "--epochs means nothing to --kind dp-linear: leave it out."),
        ({}, ("--premise", "who"), "--premise means nothing to --kind dp-linear: leave it out."),
        ({}, ("--training", "ibp"), "--training means nothing to --kind dp-linear: leave it out."),
        ({}, ("--checkpoint-every", "5"), "--checkpoint-every means nothing to --kind dp-linear: leave it out."),
        ({}, ("--hide", "none"), "--hide means nothing to --kind dp-linear: leave it out."),
        ({}, ("--metric", "angular"), "--metric means nothing to --kind dp-linear: leave it out."),
        ({}, ("-o", "private.csv", "--force"), "private.csv"),
    ],
)
def test_what_cannot_run_is_one_line(train, place, changes, options, message):
    """What is missing, contradicts itself or means nothing to this kind is refused in one line, and nothing written."""
    result = train(*options, **changes)
    assert (result.code, result.out) == (2, b"")
    errors = [line for line in result.err.splitlines() if line.startswith("deniable: ")]
    assert len(errors) == 1
    assert message in errors[0]
    assert "Traceback" not in result.err
    assert not list(place.glob("m.pt*"))

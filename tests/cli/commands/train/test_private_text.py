"""``deniable train private-text``: true cards, figures for the owner alone, one line where it cannot run."""

import errno
import os
import re

import pytest

import deniable as dn
from tests.cli.commands.train.helpers import fails, list_warnings, read_card, succeeds
from tests.cli.text_models import furnish, lines, write

BUDGET = ("--epsilon", "8", "--delta", "1e-4")
DECLARED = ("--classes", "bad,good", "--records", "3000")
PUBLIC = ("--public", "public.csv", "--public-label", "label")
COUNT = 1_237
"""True number of records, which stands in nothing that is published."""


@pytest.fixture
def train(call, place):
    """Return a function that trains on 1,237 records of 619 persons to m.pt, unless told otherwise."""
    furnish(place)
    rows = [(text, label, f"p{row // 2}") for row, (text, label) in enumerate(lines(COUNT))]
    write(place / "private.csv", rows, ("text", "label", "who"))
    write(place / "public.csv", lines(100, seed=9), ("text", "label"))

    def training(*options, data="private.csv", budget=BUDGET, declared=DECLARED):
        public = () if "--public" in options else ("--public", "words.npz")
        basic = ["train", "private-text", data, "--label", "label", "-o", "m.pt", *public]
        return call(*basic, *budget, *declared, *options)

    return training


def read_published(place):
    """Return everything that is for others, both cards, but for the commitment, which is random."""
    cards = (place / "m.pt.card.json").read_text() + (place / "m.pt.card.txt").read_text()
    return cards.replace(read_card(place)[0]["data"]["commitment"], "")


@pytest.mark.parametrize("options", [(), ("--person", "who"), PUBLIC])
def test_a_private_model(train, place, options):
    """A model is written with its card; figures about private records go to the owner alone."""
    result = succeeds(train(*options))
    assert result.out == b""
    assert isinstance(dn.texts.load_linear_classifier(place / "m.pt"), dn.texts.LinearClassifier)
    card, owner = read_card(place)
    assert card["training records"]["unit"] == ("person" if "--person" in options else "record")
    assert card["training records"]["status"] == "proved"
    assert card["data"]["nominal number"] == 3_000
    assert owner["test accuracy"]["value"] > 0.8
    assert owner["training rows"] < COUNT
    published = read_published(place)
    assert "accuracy" not in published
    numbers = {part.replace(",", "") for part in re.findall(r"[\d.,]*\d", published)}
    assert not numbers & {str(COUNT), str(owner["training rows"])}
    assert "3000" in numbers
    assert result.err.rstrip().splitlines()[-1].startswith("for you only: accuracy ")


def test_a_measured_number(train, place, monkeypatch):
    """Without --records the card names a noisy number of records, fresh in every run; one that fails shows it not."""
    given = {"budget": ("--epsilon", "1", "--delta", "1e-3"), "declared": ("--classes", "bad,good")}
    numbers, warnings = set(), ("are few at epsilon", "is 1/n or more for n = ")
    for _ in range(3):
        result = train("--force", **given)
        assert result.code == 0
        card = read_card(place)[0]
        assert "number of units" in card["measurements"]
        assert "measured with noise" in (place / "m.pt.card.txt").read_text()
        numbers.add(card["data"]["nominal number"])
        assert all(warning in result.err for warning in warnings)
    assert len(numbers) > 1

    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", fail)
    result = train("--force", **given)
    assert result.code == 2
    assert not any(warning in result.err for warning in warnings)


def test_public_labels_declare_the_classes(train, place):
    """The classes of public labels need not be declared; labels outside them are left out, for the owner to see."""
    write(place / "private.csv", [*lines(300), ("fine film", "mixed")])
    result = succeeds(train(*PUBLIC, declared=("--records", "300")))
    assert read_card(place)[0]["data"]["classes"] == ["bad", "good"]
    assert any("row 301" in line for line in list_warnings(result, "private.csv"))
    assert "mixed" not in read_published(place)


def test_a_test_table(train, place):
    """With --test no private row is held out; with --max-records a person's further rows are not used."""
    result = succeeds(train("--test", "test.csv", "--person", "who", "--max-records", "1"))
    assert [line[:9] for line in list_warnings(result, "private.csv")] == ["618 rows "]
    assert train("--test", "test.csv", "--force").code == 0
    assert read_card(place)[1]["training rows"] == COUNT


def test_texts_that_do_not_fit(train, place):
    """HTML, and many words that the public ones lack, are told to the owner, and in nothing that is published."""
    strange = [(f"zwölf Boxkämpfer jagen Viktor &amp; {text}<br />", label) for text, label in lines(300)]
    write(place / "private.csv", strange)
    remarks = list_warnings(succeeds(train(*PUBLIC, declared=("--records", "300"))), "private.csv")
    for problem, remark in zip(("not in the vocabulary", "HTML entities", "HTML tags"), remarks, strict=True):
        assert problem in remark
        assert problem not in read_published(place)


@pytest.mark.parametrize("data", [[("fine film", "good")], [("fine film", "good"), ("", "bad"), ("x", "mixed")]])
def test_a_single_record_trains(train, place, data):
    """A table with one usable row trains as any other, also where that row is held out."""
    write(place / "private.csv", data)
    for _ in range(3):
        assert train("--force").code == 0


@pytest.mark.parametrize(
    ("changes", "options", "value"),
    [
        ({"budget": ("--epsilon", "1")}, (), "--delta"),
        ({"budget": ("--epsilon", "0", "--delta", "1e-6")}, (), "'epsilon'"),
        ({"budget": ("--epsilon", "1", "--delta", "1")}, (), "'delta'"),
        ({"budget": ("--epsilon", "1e-9", "--delta", "1e-200")}, (), "blind guess"),
        ({"declared": ("--records", "3000")}, (), "--classes"),
        ({"declared": ("--classes", "good", "--records", "3000")}, (), "two"),
        ({"declared": ("--classes", "good,good", "--records", "3000")}, (), "'good' twice"),
        ({"declared": ("--classes", "bad,good", "--records", "3")}, (), "epsilon 8"),
        ({"declared": ("--classes", "x,y", "--records", "3000")}, (), "'private.csv'"),
        ({}, ("--max-records", "5"), "max_records"),
        ({}, ("--person", "whom"), "'whom'"),
        ({}, ("--person", "label"), "'label'"),
        ({}, ("--public", "private.csv"), "private table"),
        ({}, ("--test", "private.csv"), "private table"),
        ({}, ("--public-label", "label"), "--public"),
        ({}, ("--public", "public.csv", "--public-label", "kind"), "'kind'"),
        ({}, ("--test", "pairs.csv"), "In --test: "),
        ({}, ("--seed", "1"), "--seed"),
        ({}, ("-o", "private.csv", "--force"), "private.csv"),
    ],
)
def test_what_cannot_run(train, place, changes, options, value):
    """What is missing, contradicts itself or means nothing to this kind is refused in one line, and nothing written."""
    fails(train(*options, **changes), value)
    assert not list(place.glob("m.pt*"))

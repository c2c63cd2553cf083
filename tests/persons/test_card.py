"""The card of a private classifier: what stands in it, and what must not."""

import dataclasses
import json

import numpy as np
import pytest

from deniable.persons.card import build_linear_card
from deniable.persons.classifier_training import (
    ClassifierOptions,
    PublicTexts,
    fit_linear_classifier,
    fit_public_classifier,
)
from tests.persons.collections import CLASSES, MAP, PUBLIC_CODES, PUBLIC_TEXTS, make_private

OPTIONS = ClassifierOptions(CLASSES, 2.0, 1e-4, records=40_000)
COUNT = 237
"""True number of records, which stands in no card."""


def build(options=OPTIONS, persons=None):
    """Return the card of a classifier of 237 records."""
    return build_linear_card(fit_linear_classifier(make_private(COUNT, persons=persons), MAP, options), "c0ffee")


@pytest.mark.parametrize("records", [40_000, None])
def test_no_figure_about_the_records(records):
    """Neither the true number of records nor any accuracy stands in the card, whether the number is declared or not."""
    options = dataclasses.replace(OPTIONS, records=records, epsilon=0.01)
    card = build(options)
    numbers = [part.strip(",.;") for part in card.to_text().replace("\n", " ").split()]
    assert str(COUNT) not in numbers
    assert "accuracy" not in card.to_text()
    assert "accuracy" not in json.dumps(card.to_dict())
    assert str(COUNT) not in json.dumps(card.to_dict()).replace(",", " ").replace(":", " ").split()


def test_the_card_says_what_the_budget_was_spent_on():
    """Guarantee, unit, adjacency, status, every measurement with its bound and noise, and groups are there."""
    content = build().to_dict()
    protection = content["training records"]
    assert (protection["unit"], protection["status"]) == ("record", "proved")
    assert "record" in protection["adjacency"]
    assert [line.split(":")[0] for line in protection["groups"]] == [
        f"a person with {size} records" for size in (2, 5, 10)
    ]
    measurement = content["measurements"]["classifier"]
    budget = OPTIONS.plan_budget(MAP, "record")
    assert measurement == budget.describe_measurements()[0]
    assert content["data"]["nominal number"] == 40_000
    assert content["data"]["commitment"] == "c0ffee"
    assert content["data"]["classes"] == ["bad", "good"]
    text = build().to_text()
    assert "40,000" in text
    assert "declared" in text
    assert f"{budget.compute_norm_bound('classifier'):,}" in text


def test_persons_have_no_groups():
    """Where persons are the units the card names them, and speaks of no group of records."""
    content = build(persons=list(np.arange(COUNT) // 2)).to_dict()
    assert content["training records"]["unit"] == "person"
    assert "groups" not in content["training records"]
    assert not any("many records" in line for line in content["not protected"])


def test_two_runs_have_the_same_card_but_for_what_is_random():
    """With a declared number the whole card is the same for other records: it holds nothing of them."""
    cards = [
        build_linear_card(fit_linear_classifier(make_private(count, seed), MAP, OPTIONS), "c0ffee").to_dict()
        for count, seed in ((COUNT, 1), (90, 2))
    ]
    assert cards[0] == cards[1]


def test_a_public_classifier_claims_nothing():
    """The card of a classifier of public texts says that no privacy is claimed."""
    classifier = fit_public_classifier(MAP, CLASSES, PublicTexts(PUBLIC_TEXTS, PUBLIC_CODES))
    content = build_linear_card(classifier, "c0ffee").to_dict()
    assert content["training records"] == {"guarantee": "none", "status": "no privacy is claimed"}

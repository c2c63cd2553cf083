"""Model cards: the accounting of DP-SGD is composed again; other cards are read, and nothing is made of them."""

import json

import pytest

from deniable import InputError
from deniable.checking import check_certificate
from deniable.core.report import Fact, Section, make_facts
from deniable.learning.accounting import (
    SamplingSchedule,
    build_dp_sgd_guarantee,
    build_dp_sgd_verdict,
    describe_accounting,
)
from deniable.learning.card import NO_GUARANTEE, build_card, describe_protection
from tests.checking.mutations import check_mutations, list_leaves, mutate

SCHEDULE, MULTIPLIER, DELTA = SamplingSchedule(0.1, 20), 2.0, 1e-5
ACCOUNTING = describe_accounting(SCHEDULE, MULTIPLIER, 1.5, DELTA)
GUARANTEE = build_dp_sgd_guarantee(SCHEDULE, MULTIPLIER, DELTA)


def make(protection=None, accounting=ACCOUNTING):
    """Return the fields of a card as a file holds them."""
    protection = describe_protection(GUARANTEE, build_dp_sgd_verdict(GUARANTEE)) if protection is None else protection
    training = (Section("accounting", make_facts(accounting)),) if accounting else ()
    card = build_card(
        "dp-fasttext",
        "a classifier of texts",
        protection=protection,
        training=training,
        data=(Fact("places", 500),),
        commitment="c0ffee",
        results=(),
        not_protected=["the declared classes"],
    )
    return json.loads(card.to_json())


def test_the_accounting_of_dp_sgd():
    """Epsilon is composed again from rate, steps and noise, and guarantee and verdict follow from it."""
    document = make()
    check = check_certificate(document)
    assert (check.overall, check.select("contradicted")) == ("recomputed", [])
    assert len(check.fields) == len(list_leaves(document))
    statuses = {field.path: field.status for field in check.fields}
    assert statuses['accounting["epsilon, one record made empty"]'] == "recomputed"
    assert statuses["training records.guarantee"] == statuses["training records.verdict.epsilon"] == "recomputed"


def test_every_changed_leaf_is_noticed():
    """Steps, rate and noise decide epsilon; what the accounting does not depend on is only stated."""
    assert check_mutations(make()) == {
        "title",
        "deniable",
        "model",
        "accounting.clipping norm",
        "training records.verdict.seconds",
        "data.places",
        "data.commitment",
        "notes.data.commitment",
        "not protected[0]",
    }


def test_a_smaller_epsilon():
    """A card that states less than its steps spend is contradicted, before any composition takes long."""
    document = mutate(make(), ["accounting", "epsilon, one record made empty"], 0.01)
    wrong = {field.path for field in check_certificate(document).select("contradicted")}
    assert 'accounting["epsilon, one record made empty"]' in wrong
    document = mutate(make(), ["accounting", "steps"], 10_000_000)
    assert check_certificate(document).overall == "contradicted"


def test_a_card_without_a_guarantee():
    """Where no privacy is claimed everything is the owner's word, and no guarantee may be added in other words."""
    document = make(NO_GUARANTEE, None)
    check = check_certificate(document)
    assert (check.overall, check.unchecked, check.select("contradicted")) == ("stated", "no privacy is claimed", [])
    changed = mutate(document, ["training records", "status"], "proved")
    assert check_certificate(changed).overall == "contradicted"
    assert check_certificate(mutate(document, ["training records", "epsilon"], 1)).overall == "contradicted"


def test_a_guarantee_of_another_kind():
    """A guarantee that is not of DP-SGD is read and only stated, and the result says so."""
    check = check_certificate(make(accounting={"steps": 20, "noise multiplier": 2.0, "clipping norm": 1.5}))
    assert check.overall == "stated"
    check = check_certificate(make(accounting=None))
    assert (check.overall, check.unchecked) == ("stated", "guarantees of this kind of model are not recomputed")
    assert "dp-fasttext" in str(check)


def test_promises_that_no_card_makes():
    """A promise in the words of a certificate is contradicted, and is not what a card is read as saying."""
    document = make()
    for name in ("private", "mechanism", "guarantee", "verification", "meaning", "not_protected"):
        assert check_certificate({**document, name: {"status": "proved"}}).overall == "contradicted"
    promise = {"kind": "PureDP", "epsilon": 0.01, "delta": 0}
    check = check_certificate({**document, "training records": {**document["training records"], **promise}})
    assert {field.path for field in check.select("contradicted")} == {f"training records.{name}" for name in promise}
    (said,) = [section for section in check.make_report().sections if section.title == "what the certificate says"]
    assert next(fact.value for fact in said.facts if fact.label == "guarantee").startswith(str(GUARANTEE))


def test_another_adjacency():
    """The accounting is of one record made empty, whatever a card says in all places."""
    document = make()
    for steps in (["adjacency"], ["verdict", "guarantee", "adjacency"]):
        document = mutate(document, ["training records", *steps], "any two collections")
    assert check_certificate(document).overall == "contradicted"


@pytest.mark.parametrize(("name", "value"), [("sampling rate", 1e-320), ("delta", 5e-324)])
def test_numbers_too_small_to_compose(name, value):
    """What no accounting can compose is contradicted, and gives no traceback."""
    assert check_certificate(mutate(make(), ["accounting", name], value)).overall == "contradicted"


@pytest.mark.parametrize(
    ("name", "value"),
    [("sampling rate", 2), ("steps", 10**9), ("noise multiplier", 0), ("delta", 1), ("clipping norm", None)],
)
def test_accounting_out_of_bounds(name, value):
    """What would take forever, or is no accounting, is refused in one line."""
    with pytest.raises(InputError, match=f"accounting.{name} must be a number"):
        check_certificate(mutate(make(), ["accounting", name], value))
    document = mutate(make(), ["accounting", "noise multiplier"], 0.01)
    assert check_certificate(document).overall == "contradicted"

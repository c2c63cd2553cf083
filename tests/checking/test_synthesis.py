"""Certificates of synthetic tables and cards of private classifiers: the listed measurements compose to epsilon."""

import dataclasses
import json

import pytest

from deniable import InputError
from deniable.checking import check_certificate
from deniable.persons.card import build_linear_card
from deniable.persons.certificate import certify_synthesis
from deniable.persons.classifier_training import (
    ClassifierOptions,
    PublicTexts,
    fit_linear_classifier,
    make_private_texts,
)
from deniable.persons.histograms import parse_domain
from deniable.persons.synthesis import SynthesisOptions, measure_collection
from tests.checking.mutations import check_mutations, list_leaves, mutate
from tests.persons.collections import CLASSES, MAP, PUBLIC_CODES, PUBLIC_TEXTS, draw_reviews, make_private

TRAINING = ClassifierOptions(CLASSES, 2.0, 1e-6, 500)
PUBLIC_NAMES = {
    "mechanism.features",
    "mechanism.classes[0]",
    "mechanism.classes[1]",
    "mechanism.domains.stars[0]",
    "mechanism.domains.stars[1]",
}


def certify(persons=None, **others):
    """Return the fields of the certificate of a synthetic table."""
    texts, codes = draw_reviews(90, 3)
    training = dataclasses.replace(TRAINING, **others.pop("training", {}))
    options = SynthesisOptions(training, 40, domains=(parse_domain("stars=1..2"),), **others)
    private = make_private_texts(texts, codes, persons)
    public = PublicTexts(PUBLIC_TEXTS, PUBLIC_CODES)
    measured = measure_collection(private, {"stars": ["1"] * 90}, MAP, public, options)
    return json.loads(certify_synthesis(measured, options).to_json())


def make_card(persons=None, **others):
    """Return the fields of the card of a private classifier."""
    options = dataclasses.replace(TRAINING, **others)
    return json.loads(
        build_linear_card(fit_linear_classifier(make_private(90, persons=persons), MAP, options), "c0").to_json()
    )


PERSONS = [row // 3 for row in range(90)]


@pytest.mark.parametrize(
    "options",
    [
        {"training": {"records": None}},
        {"training": {"seed": 0}},
        {"training": {"chosen_from_data": True}, "counts": True},
        {"persons": PERSONS, "generator": "counts"},
        {"generator": "candidates", "propose": lambda request: [["good"]] * len(request)},
    ],
)
def test_what_was_written_is_confirmed(options):
    """The certificate of each way to write holds, and epsilon follows from the listed bounds and noise."""
    document = certify(**options)
    check = check_certificate(document)
    assert (check.overall, check.select("contradicted")) == ("recomputed", [])
    assert len(check.fields) == len(list_leaves(document))
    statuses = {field.path: field.status for field in check.fields}
    for path in ("guarantee.epsilon", "guarantee.delta", "measurements[0].norm bound of a unit", "meaning[0]"):
        assert statuses[path] == "recomputed"


def test_every_changed_leaf_is_noticed():
    """Nothing else than public names and counts, and the size of the classifier, can be changed unnoticed."""
    unnoticed = check_mutations(certify())
    assert unnoticed == {"deniable", "records", "nominal.units", "measurements[0].coordinates"} | PUBLIC_NAMES


@pytest.mark.parametrize(
    "options", [{}, {"persons": PERSONS}, {"records": None}, {"seed": 1}, {"chosen_from_data": True}]
)
def test_cards_of_private_classifiers(options):
    """The card of a private classifier is recomputed in the same way; these fields alone are the owner's word."""
    document = make_card(**options)
    check = check_certificate(document)
    assert (check.overall, check.select("contradicted")) == ("recomputed", [])
    unnoticed = check_mutations(document)
    assert unnoticed == {
        "title",
        "deniable",
        "model",  # a card of another kind, of which nothing is recomputed
        "training records.verdict.seconds",
        "data.classes[0]",
        "data.classes[1]",
        "data.vocabulary",
        "data.commitment",
    }
    assert check_certificate({**document, "model": "other"}).overall == "stated"


def test_a_smaller_epsilon_does_not_follow():
    """Who states half of epsilon everywhere is contradicted by the bounds that were used."""
    document = json.loads(json.dumps(certify()).replace('"epsilon": 2.0', '"epsilon": 1.0'))
    check = check_certificate(document)
    wrong = {field.path for field in check.select("contradicted")}
    assert "measurements[0].norm bound of a unit" in wrong
    (epsilon,) = [field for field in check.fields if field.path == "guarantee.epsilon"]
    assert (epsilon.status, epsilon.note) == ("stated", "it does not follow from the measurements that are listed")


@pytest.mark.parametrize(
    ("steps", "value"),
    [
        (("guarantee", "epsilon"), 1e-300),
        (("guarantee", "epsilon"), 1e9),
        (("guarantee", "delta"), 1e-300),
        (("guarantee", "delta"), 2),
        (("mechanism", "classes"), ["one"]),
        (("mechanism", "classes"), "two"),
        (("mechanism", "classes"), [1, 2]),
        (("mechanism", "domains"), {"a": ["1"]}),
        (("mechanism", "domains"), {f"c{number}": ["1", "2"] for number in range(5_000)}),
        (("measurements", 0, "coordinates"), 2**61),
    ],
)
def test_what_cannot_be_composed(steps, value):
    """What is missing, too much or no budget is refused in one line."""
    with pytest.raises(InputError) as caught:
        check_certificate(mutate(certify(), steps, value))
    assert "\n" not in str(caught.value)

"""The certificate of a synthetic table: the guarantee, what it was spent on, and nothing of the private records."""

import dataclasses
import json

import pytest

from deniable.persons.certificate import SYNTHESIS_CERTIFICATE_SCHEMA, certify_synthesis
from deniable.persons.classifier_training import ClassifierOptions, PublicTexts, make_private_texts
from deniable.persons.histograms import parse_domain
from deniable.persons.synthesis import SynthesisOptions, measure_collection
from tests.persons.collections import CLASSES, MAP, PUBLIC_CODES, PUBLIC_TEXTS, draw_reviews

PUBLIC = PublicTexts(PUBLIC_TEXTS, PUBLIC_CODES)
TRAINING = ClassifierOptions(CLASSES, 2.0, 1e-6, 500)


def certify(count=613, persons=None, training=TRAINING, **others):
    """Return the certificate of a table of 40 records."""
    texts, codes = draw_reviews(count, count)
    options = SynthesisOptions(training, 40, domains=(parse_domain("stars=1..5"),), **others)
    private = make_private_texts(texts, codes, persons)
    return certify_synthesis(measure_collection(private, {"stars": ["1"] * count}, MAP, PUBLIC, options), options)


def test_what_it_says():
    """Guarantee, status, declared number, and every measurement with its share stand in the certificate."""
    content = json.loads(certify().to_json())
    assert content["schema"] == SYNTHESIS_CERTIFICATE_SCHEMA
    assert content["private"] is True
    assert (content["guarantee"]["epsilon"], content["guarantee"]["delta"]) == (2.0, 1e-6)
    assert content["guarantee"]["status"] == content["verification"]["status"] == "proved"
    assert content["nominal"] == {"units": 500, "source": "declared"}
    assert [one["name"] for one in content["measurements"]] == ["classifier", "classes", "lengths", "column 'stars'"]
    assert content["selection_delta"] == 0
    assert content["mechanism"]["domains"] == {"stars": ["1", "2", "3", "4", "5"]}
    assert len(content["groups"]) == 3


@pytest.mark.parametrize(("epsilon", "certainty"), [(1.0, "73.2"), (2.0, "88.1"), (8.0, "100")])
def test_certainty_is_rounded_up(epsilon, certainty):
    """ "At most so sure" is no less than e^epsilon / (1 + e^epsilon)."""
    lines = json.loads(certify(training=dataclasses.replace(TRAINING, epsilon=epsilon)).to_json())["meaning"]
    assert any(f"is at most {certainty} % sure afterwards" in line for line in lines)


def test_it_says_nothing_of_the_private_records():
    """With a declared number certificates of other records, of more or fewer of them, are equal to the last byte."""
    assert certify(613).to_json() == certify(640).to_json()


def test_a_measured_number_is_noisy():
    """Without a declared number the certificate has a noisy one, and the measurement that paid for it."""
    training = dataclasses.replace(TRAINING, records=None)
    contents = [certify(training=training) for _ in range(2)]
    assert {content.nominal["source"] for content in contents} == {"measured with noise"}
    assert contents[0].nominal["units"] != contents[1].nominal["units"]
    assert contents[0].measurements[-1]["name"] == "number of units"


def test_counts_take_a_part_of_delta():
    """The delta that the selection of phrases has stands beside the measurements, which have the rest."""
    certificate = certify(counts=True)
    assert certificate.selection_delta == 5e-7
    assert "5e-07 of delta, for which words and phrases are named" in certificate.summary()


def test_persons_have_no_groups():
    """Where persons are hidden the certificate says so, and has no line on persons with several records."""
    certificate = certify(persons=[row // 3 for row in range(613)])
    assert certificate.groups == []
    assert "all records of one person added or removed" in certificate.summary()
    assert any("the records of one person are" in line for line in certificate.meaning)


def test_a_public_seed_is_no_privacy():
    """Noise from a public seed hides nothing, and the certificate says that and no more."""
    certificate = certify(training=dataclasses.replace(TRAINING, seed=0))
    assert certificate.private is False
    assert certificate.guarantee["status"] == "refuted"
    assert certificate.meaning == ["nothing is protected: the seed undoes the noise"]


@pytest.mark.parametrize(
    ("generator", "sentence"),
    [
        ("recombined", "every sentence of a text is a sentence of the public texts"),
        ("counts", "released phrases alone"),
    ],
)
def test_how_texts_were_written(generator, sentence):
    """The certificate says how texts were written."""
    assert sentence in certify(generator=generator).summary()


def test_what_the_callable_knows_is_not_protected():
    """A callable that proposes texts could know private ones, of which the certificate warns."""
    certificate = certify(generator="candidates", propose=lambda request: ["a"] * request.count)
    assert certificate.not_protected[-1].startswith("whatever the callable knows")

"""Synthetic records and private classifiers from Python: columns of any container, unusable records left out."""

import json

import numpy as np
import pandas as pd
import pytest

import deniable as dn
from deniable.core.errors import InputError
from deniable.learning.artifact import save_model
from deniable.persons.release import fit_private_classifier, load_linear_classifier
from tests.persons.collections import CLASSES, PUBLIC_CODES, PUBLIC_TEXTS, draw_reviews

TEXTS, CODES = draw_reviews(600, 1)
LABELS = [CLASSES[code] for code in CODES.tolist()]
PUBLIC = {"public_texts": PUBLIC_TEXTS, "public_labels": [CLASSES[code] for code in PUBLIC_CODES.tolist()]}
BASIC = {"classes": CLASSES, "epsilon": 20.0, "delta": 1e-6, "records": 600}


def synthesize(texts=TEXTS, labels=LABELS, **others):
    """Return a release of 20 records."""
    return dn.synthesize(texts, labels, **{**BASIC, **PUBLIC, "rows": 20, **others})


@pytest.mark.parametrize("container", [list, np.array, pd.Series])
def test_a_release(container):
    """Lists, arrays and series give texts, labels, typed columns, a classifier and one certificate of all."""
    stars = [4 if label == "good" else 1 for label in LABELS]
    release = synthesize(
        container(TEXTS), container(LABELS), columns={"stars": container(stars)}, domains={"stars": range(1, 6)},
        counts=True,
    )  # fmt: skip
    assert len(release.texts) == len(release.labels) == len(release.columns["stars"]) == 20
    assert all(isinstance(value, int) and 1 <= value <= 5 for value in release.columns["stars"])
    assert {*release.labels} <= {*CLASSES}
    assert release.counts.ngrams
    certificate = json.loads(release.certificate.to_json())
    assert (certificate["guarantee"]["epsilon"], certificate["nominal"]["units"]) == (20.0, 600)
    assert release.classifier.guarantee.status == "proved"
    probabilities = release.classifier.predict_probabilities(["the film was great and fine", "awful poor film"])
    assert probabilities.argmax(axis=1).tolist() == [1, 0]


def test_seeds_are_for_tests():
    """With a public seed two releases agree, and their certificate promises nothing."""
    first, second = (synthesize(seed=3) for _ in range(2))
    assert (first.texts, first.labels) == (second.texts, second.labels)
    assert first.certificate.private is False


@pytest.mark.parametrize("is_chosen", [True, False])
def test_an_epsilon_chosen_from_the_data(is_chosen):
    """Who chose epsilon by looking at the records says so, and certificate and classifier say it too."""
    release = synthesize(chosen_from_data=is_chosen)
    assert ("from the private texts themselves" in release.certificate.to_json()) is is_chosen
    classifier = fit_private_classifier(TEXTS, LABELS, chosen_from_data=is_chosen, **BASIC, **PUBLIC)
    assert ("from the private texts themselves" in classifier.facts["epsilon chosen"]) is is_chosen


def test_persons():
    """Where persons are given they are the units."""
    release = synthesize(persons=[row // 5 for row in range(600)], max_records=3)
    assert release.certificate.guarantee["unit"] == "person"


def test_spellings_of_a_person():
    """White space or another type makes no other person, and a record whose person is blank is left out."""
    persons = [[f"{row // 6}", f" {row // 6}", row // 6, float(row // 6)][row % 4] for row in range(600)]
    with pytest.warns(UserWarning, match=r"^for you only: 3 of 600 records have no text"):
        fit = fit_private_classifier(TEXTS, LABELS, persons=[*persons[:-3], " ", "", None], seed=1, **BASIC, **PUBLIC)
    trimmed = [str(row // 6) for row in range(597)]
    expected = fit_private_classifier(TEXTS[:-3], LABELS[:-3], persons=trimmed, seed=1, **BASIC, **PUBLIC)
    np.testing.assert_array_equal(fit.weights, expected.weights)


def test_candidates():
    """A callable that is given proposes the texts."""
    release = synthesize(propose=lambda request: [f"the film {code}" for code in request.codes.tolist()])
    assert {*release.texts} <= {"the film 0", "the film 1"}


def test_records_that_cannot_be_used():
    """Nulls and labels of no class are left out, each record by itself, with a warning for the owner."""
    with pytest.warns(UserWarning, match=r"^for you only: 3 of 603 records have no text"):
        release = synthesize([*TEXTS, None, "a film", " "], [*LABELS, "good", "zork", "bad"])
    assert "zork" not in release.labels


def test_numbers_are_classes_by_their_spelling():
    """Labels that are numbers are classes as they are written, whole ones of a column of floats too."""
    for labels in (CODES, CODES.astype(float), pd.Series(CODES).astype("float32")):
        release = synthesize(labels=labels, classes=[0, 1], public_labels=PUBLIC_CODES)
        assert {*release.labels} <= {"0", "1"}
    release = synthesize(labels=CODES == 1, classes=[False, True], public_labels=PUBLIC_CODES == 1)
    assert {*release.labels} <= {"false", "true"}


def test_a_classifier(tmp_path):
    """A private classifier learns, says what it promises, and comes back from its file."""
    classifier = fit_private_classifier(TEXTS, LABELS, **BASIC, **PUBLIC)
    texts, codes = draw_reviews(200, 9)
    probabilities = classifier.predict_probabilities(texts)
    assert np.mean(probabilities.argmax(axis=1) == codes) > 0.9
    assert str(classifier.guarantee).startswith("(20")
    save_model(classifier, tmp_path / "m.pt")
    assert load_linear_classifier(tmp_path / "m.pt").predict_probabilities(texts) == pytest.approx(probabilities)


@pytest.mark.parametrize("classes", [None, "good", {"good", "bad"}])
def test_a_classifier_of_no_list_of_classes(classes):
    """A classifier learns no classes off its labels: without a list of them there is none."""
    with pytest.raises(InputError, match=r"Classes are a list"):
        fit_private_classifier(TEXTS, LABELS, **{**BASIC, **PUBLIC, "classes": classes})


def test_the_words_of_a_space():
    """Without public texts the words of a space are the vocabulary."""
    words = ["the", "film", "was", "good", "bad", "awful", "great", "fine", "poor"]
    space = dn.Space(words, np.eye(9), hide=())
    classifier = fit_private_classifier(TEXTS, LABELS, **BASIC, space=space)
    assert {*classifier.feature_map.words} == {*words}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"labels": LABELS[1:]}, "Labels must be as many as texts, 600. Got 599"),
        ({"persons": [1]}, "Persons must be as many as texts, 600. Got 1"),
        ({"columns": {"n": [1]}, "domains": {"n": [1, 2]}}, "Columns must be as many as texts"),
        ({"columns": {"n": LABELS}}, "Got columns ['n'], domains []"),
        ({"domains": {"n": [1, 2]}}, "Got columns [], domains ['n']"),
        ({"columns": {"n": LABELS}, "domains": {"n": ["x"]}}, "must be 2 to 10,000 different values"),
        ({"max_records": 3}, "A maximum of records is for persons"),
        ({"classes": ["good", " "], "public_labels": None}, "A class has a name. Got one that is blank"),
        ({"classes": {*CLASSES}}, "Classes are a list, and a set has no order"),
        ({"classes": frozenset(CLASSES)}, "a set has no order"),
        ({"columns": {"n": LABELS}, "domains": {"n": {"x", "y"}}}, "The values of 'n' are a list, and a set has no"),
        ({"classes": [1, 1.0]}, "at least two different classes. Got 1, 1"),
        ({"classes": "good"}, "Got str, 'good'"),
        ({"classes": None}, "Got NoneType, None"),
        ({"classes": ["x", "y"], "public_labels": None}, "No record has a text and one of the declared classes"),
        ({"classes": ["x", "y"]}, "No public text has one of the classes x, y"),
        ({"public_texts": None}, "Public labels are for public texts"),
        ({"public_texts": None, "public_labels": None, "generator": "tilted"}, "'tilted' writes with public texts"),
        ({"public_texts": ["", None], "public_labels": None}, "hold no word"),
        ({"texts": "good"}, "A batch is a list of texts"),
        ({"texts": [1] * 600}, "Texts must be str or None. Got int in row 0"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"rows": 0}, "rows"),
    ],
)
def test_refusals(change, problem):
    """What cannot be done is said in one line that names the value."""
    with pytest.raises(InputError) as error:
        synthesize(**change)
    assert problem in str(error.value)
    assert "\n" not in str(error.value)

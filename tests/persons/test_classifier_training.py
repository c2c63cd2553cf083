"""Training private classifiers: what they learn, what they claim, and what private records decide (nothing)."""

import dataclasses

import numpy as np
import pytest

from deniable.core.errors import InputError
from deniable.persons.budget import NOISE_STEPS
from deniable.persons.classifier_training import (
    PUBLIC_SEED_SOURCE,
    ClassifierOptions,
    PrivateTexts,
    PublicTexts,
    fit_linear_classifier,
    fit_public_classifier,
    make_private_texts,
)
from deniable.persons.collection import group_rows
from tests.persons.collections import CLASSES, MAP, PUBLIC_CODES, PUBLIC_TEXTS, draw_reviews, make_private

OPTIONS = ClassifierOptions(CLASSES, 8.0, 1e-4, records=2_000)
PUBLIC = PublicTexts(PUBLIC_TEXTS, PUBLIC_CODES)


def measure_accuracy(classifier):
    """Return the share of fresh reviews whose class is predicted."""
    texts, codes = draw_reviews(400, seed=50)
    return np.mean(classifier.predict_probabilities(texts).argmax(axis=1) == codes)


@pytest.mark.parametrize("persons", [None, [row // 2 for row in range(4_000)]])
def test_many_records_teach_the_classes(persons):
    """With 2,000 records or persons at epsilon 8 nine reviews of ten are told apart; the guarantee names the unit."""
    private = make_private(2_000 if persons is None else 4_000, persons=persons)
    classifier = fit_linear_classifier(private, MAP, OPTIONS)
    assert measure_accuracy(classifier) > 0.9
    assert classifier.guarantee.unit == ("record" if persons is None else "person")
    assert (classifier.guarantee.epsilon, classifier.guarantee.delta) == (8.0, 1e-4)
    assert (classifier.verdict.status, classifier.verdict.guarantee) == ("proved", classifier.guarantee)


def test_public_labels_help_where_records_are_few():
    """Started from public labels, twenty records at epsilon 1 leave what was learned in the open."""
    options = dataclasses.replace(OPTIONS, epsilon=1.0, records=20)
    classifier = fit_linear_classifier(make_private(20), MAP, options, PUBLIC)
    assert measure_accuracy(classifier) > 0.85
    assert classifier.facts["started from"] == "weights learned from labelled public texts"
    unlabelled = PublicTexts(PUBLIC_TEXTS, np.full(len(PUBLIC_TEXTS), -1))
    assert not unlabelled.has_labels
    assert fit_linear_classifier(make_private(20), MAP, options, unlabelled).facts["started from"] == "zeros"


def test_public_rows_without_a_label_teach_nothing():
    """Public texts with the label -1 are left out of the start."""
    more = PublicTexts([*PUBLIC_TEXTS, *["awful"] * 50], np.array([*PUBLIC_CODES, *[-1] * 50]))
    found = fit_public_classifier(MAP, CLASSES, more)
    np.testing.assert_array_equal(found.weights, fit_public_classifier(MAP, CLASSES, PUBLIC).weights)
    assert (found.guarantee, found.verdict) == (None, None)
    with pytest.raises(InputError, match="--public-label"):
        fit_public_classifier(MAP, CLASSES, PublicTexts(PUBLIC_TEXTS))


@pytest.mark.parametrize("records", [None, 300])
def test_nothing_but_weights_and_noisy_number_depends_on_records(records):
    """Of other texts, more of them and other classes, everything but the weights and a measured number is the same."""
    options = ClassifierOptions(CLASSES, 2.0, 1e-4, records, seed=3)
    first = fit_linear_classifier(make_private(300), MAP, options)
    texts = ["İ <br> zzz"] * 350
    second = fit_linear_classifier(make_private_texts(texts, np.zeros(350, dtype=int)), MAP, options)
    public_facts = [
        {name: fact for name, fact in one.facts.items() if name not in {"nominal number of units", "training"}}
        for one in (first, second)
    ]
    assert public_facts[0] == public_facts[1]
    assert (first.guarantee, first.verdict, first.classes) == (second.guarantee, second.verdict, second.classes)
    if records is not None:
        assert first.facts == second.facts


def test_one_record_moves_every_sum_within_its_bound():
    """Leaving out one record or person moves the weights' first sum by at most B, in exact integers, for real texts."""
    from deniable.persons.linear_training import compute_contrasts
    from deniable.persons.noisy_sums import ResidualSums

    texts, codes = draw_reviews(60)
    persons = [row % 7 for row in range(60)]
    rows, weights = MAP.extract_features(texts), np.random.default_rng(0).normal(size=(len(MAP), 1))

    def sum_all(units, labels):
        sums = ResidualSums(rows.offsets, rows.columns, rows.values, labels, units, compute_contrasts(2))
        return sums.sum_gradients(weights, 0.7, NOISE_STEPS).astype(object)

    for owners in (range(60), persons):
        for owner in {*owners}:
            without = np.where(np.array(owners) == owner, -1, codes)  # a row without a class adds nothing
            units = group_rows(60, list(owners))
            moved = sum_all(units, codes) - sum_all(units, without)
            assert 0 < sum(int(number) ** 2 for number in moved.ravel()) <= NOISE_STEPS**2


def test_empty_collections_train():
    """No record at all, or only records of no class, give a model of noise and no error that would tell."""
    for private in (make_private_texts([], []), make_private_texts([], [], []), make_private_texts(["a"], [-1])):
        for records in (None, 100):
            options = dataclasses.replace(OPTIONS, records=records)
            classifier = fit_linear_classifier(private, MAP, options)
            assert np.isfinite(classifier.weights).all()
            assert classifier.weights.std() > 0


def test_noise_is_fresh_unless_a_seed_is_given():
    """Two releases differ; a public seed repeats one, and refutes its guarantee."""
    private = make_private(50)
    first, second = (fit_linear_classifier(private, MAP, OPTIONS).weights for _ in range(2))
    assert not np.any(first == second)
    seeded = [fit_linear_classifier(private, MAP, dataclasses.replace(OPTIONS, seed=1)) for _ in range(2)]
    np.testing.assert_array_equal(seeded[0].weights, seeded[1].weights)
    assert (seeded[0].guarantee.status, seeded[0].verdict.status) == ("refuted", "refuted")
    assert seeded[0].guarantee.source == PUBLIC_SEED_SOURCE


def test_what_does_not_match_is_refused():
    """Fewer than two classes, equal ones, and parts of different lengths are refused."""
    for classes in ((), ("one",), ("one", "one")):
        with pytest.raises(InputError, match="at least two different classes"):
            dataclasses.replace(OPTIONS, classes=classes)
    with pytest.raises(InputError, match="2 texts need as many labels"):
        make_private_texts(["a", "b"], [0])
    with pytest.raises(InputError, match="rows outside the 2 texts"):
        PrivateTexts(["a", "b"], np.zeros(2, dtype=int), group_rows(3))

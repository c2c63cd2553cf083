"""Private classifiers: what they learn and claim, that records decide nothing else, and how they are stored."""

import dataclasses

import numpy as np
import pytest
import torch

import deniable as dn
from tests.persons.collections import CLASSES, PUBLIC_CODES, PUBLIC_TEXTS, draw_reviews, fit_classifier
from tests.refusals import refuses

PUBLIC_LABELS = [CLASSES[code] for code in PUBLIC_CODES.tolist()]
ODD_TEXTS = ["a great film", "the plot was awful", "", "unknown \ud800", "GREAT <br /> awful"]


def fit(reviews, **others):
    """Return a private classifier of reviews and their class numbers."""
    texts, codes = reviews
    options = {
        "classes": CLASSES,
        "epsilon": 8.0,
        "delta": 1e-4,
        "records": 2_000,
        "public": dn.PublicTexts(PUBLIC_TEXTS),
    }
    return fit_classifier(texts, [CLASSES[code] for code in codes.tolist()], **{**options, **others})


@pytest.fixture(scope="module")
def classifier():
    """Return a classifier of 2,000 records."""
    return fit(draw_reviews(2_000, 1))


def measure_accuracy(classifier):
    """Return the share of fresh reviews whose class is predicted."""
    texts, codes = draw_reviews(400, seed=50)
    return np.mean(classifier.predict_probabilities(texts).argmax(axis=1) == codes)


def test_many_units_teach_the_classes(classifier):
    """With 2,000 records or persons at epsilon 8 nine reviews of ten are told apart; the guarantee names the unit."""
    of_persons = fit(draw_reviews(4_000, 1), persons=[row // 2 for row in range(4_000)])
    for one, unit in ((classifier, "record"), (of_persons, "person")):
        assert measure_accuracy(one) > 0.9
        guarantee = one.guarantee
        assert (guarantee.epsilon, guarantee.delta, guarantee.unit) == (8.0, 1e-4, unit)
        assert (one.verdict.status, one.verdict.guarantee) == ("proved", guarantee)
        assert bool(one.facts["groups"]) is (unit == "record")


def test_public_labels_help_where_records_are_few():
    """Started from public labels, twenty records at epsilon 1 leave what was learned in the open.

    Public texts without a label teach nothing.
    """
    few = {"epsilon": 1.0, "records": 20}
    started = fit(draw_reviews(20, 1), public=dn.PublicTexts(PUBLIC_TEXTS, PUBLIC_LABELS), **few)
    assert measure_accuracy(started) > 0.85
    assert started.facts["started from"] == "weights learned from labelled public texts"
    assert fit(draw_reviews(20, 1), **few).facts["started from"] == "zeros"
    texts, more = [*PUBLIC_TEXTS, *["awful bad"] * 50], {"seed": 1, **few}
    labels = [[*PUBLIC_LABELS, *last] for last in ([None] * 50, ["none of them"] * 50, ["good"] * 50)]
    weights = [fit(draw_reviews(20, 1), public=dn.PublicTexts(texts, one), **more).weights for one in labels]
    np.testing.assert_array_equal(weights[0], weights[1])
    assert not np.array_equal(weights[0], weights[2])


@pytest.mark.parametrize("records", [None, 300])
def test_nothing_but_weights_and_noisy_number_depends_on_records(records):
    """Of other texts, more of them and other classes, everything but the weights and a measured number is the same."""
    others = ["İ <br> zzz"] * 350, np.zeros(350, dtype=int)
    first, second = (fit(reviews, records=records, seed=3) for reviews in (draw_reviews(300, 1), others))
    measured = {"nominal number of units", "training"} if records is None else set()
    facts = [{name: fact for name, fact in one.facts.items() if name not in measured} for one in (first, second)]
    assert facts[0] == facts[1]
    assert (first.guarantee, first.verdict, first.classes) == (second.guarantee, second.verdict, second.classes)


def test_noise_is_fresh_unless_a_seed_is_given():
    """Two releases differ; a public seed repeats one, and refutes its guarantee."""
    reviews = draw_reviews(50, 1)
    first, second = (fit(reviews).weights for _ in range(2))
    assert not np.any(first == second)
    seeded = [fit(reviews, seed=1) for _ in range(2)]
    np.testing.assert_array_equal(seeded[0].weights, seeded[1].weights)
    assert (seeded[0].guarantee.status, seeded[0].verdict.status) == ("refuted", "refuted")
    assert seeded[0].guarantee.source == "not private: public seed"


def test_the_words_of_a_space():
    """Without public texts the words of a space are the vocabulary."""
    words = ["the", "film", "was", "good", "bad", "awful", "great", "fine", "poor"]
    space = dn.Space(words, np.eye(9), hide=())
    assert {*fit(draw_reviews(50, 1), public=space).feature_map.words} == {*words}


def test_probabilities_are_those_of_softmax(classifier):
    """Each text has probabilities that sum to 1, as in a batch so alone; no text has none."""
    probabilities = classifier.predict_probabilities(ODD_TEXTS)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    for place, text in enumerate(ODD_TEXTS):
        np.testing.assert_allclose(classifier.predict_probabilities([text])[0], probabilities[place])
    assert classifier.predict_probabilities([]).shape == (0, 2)
    np.testing.assert_allclose(classifier.class_weights.sum(axis=1), 0, atol=1e-9)


class Stored:
    """A file of a classifier with changed parts."""

    def __init__(self, classifier, configuration=(), weights=()):
        artifact = classifier.to_artifact()
        self._artifact = dataclasses.replace(
            artifact,
            configuration={**artifact.configuration, **dict(configuration)},
            weights={**artifact.weights, **dict(weights)},
        )

    def to_artifact(self):
        """Return the file."""
        return self._artifact


def test_a_stored_classifier_is_the_same(classifier, tmp_path):
    """Probabilities, classes and facts come back from the file, bit for bit; no claim does, whatever the file says."""
    claims = {"guarantee": {"epsilon": 0.1}, "verdict": "proved"}
    for model in (classifier, Stored(classifier, claims)):
        dn.texts.save_model(model, tmp_path / "m.pt")
        restored = dn.texts.load_linear_classifier(tmp_path / "m.pt")
        expected = classifier.predict_probabilities(ODD_TEXTS)
        np.testing.assert_array_equal(restored.predict_probabilities(ODD_TEXTS), expected)
        assert (restored.classes, restored.facts) == (classifier.classes, classifier.facts)
        assert (restored.guarantee, restored.verdict) == (None, None)
        assert restored.feature_map.fingerprint == classifier.feature_map.fingerprint
        (tmp_path / "m.pt").unlink()


@pytest.mark.parametrize(
    ("part", "name", "change"),
    [
        ("weights", "weights", lambda weights: weights[1:]),
        ("weights", "weights", lambda weights: weights.repeat(1, 2)),
        ("weights", "feature weights", lambda weights: weights * 0),
        ("weights", "feature weights", lambda weights: weights * float("nan")),
        ("weights", "feature weights", lambda weights: weights[:, None]),
        ("weights", "feature weights", lambda weights: weights * 1e200),
        ("configuration", "words", lambda _: []),
        ("configuration", "words", lambda _: None),
        ("configuration", "words", lambda words: [*words[:-1], words[0]]),
        ("configuration", "pairs", lambda pairs: ["not there"] * len(pairs)),
        ("configuration", "classes", lambda _: ["one"]),
        ("configuration", "classes", lambda _: ["one", "one"]),
        ("configuration", "classes", lambda _: [str(number) for number in range(5_000)]),  # large contrasts
    ],
)
def test_a_damaged_file_is_one_line(classifier, tmp_path, part, name, change):
    """Parts of a file that are missing, of other shapes or contradict each other are one line that says so."""
    changed = {part: {name: change(getattr(classifier.to_artifact(), part)[name])}}
    if isinstance(changed[part][name], list) and len(changed[part][name]) == 5_000:
        changed["weights"] = {"weights": torch.zeros(len(classifier.feature_map), 4_999)}
    dn.texts.save_model(Stored(classifier, **changed), tmp_path / "m.pt")
    with refuses(tmp_path / "m.pt"):
        dn.texts.load_linear_classifier(tmp_path / "m.pt")


@pytest.mark.parametrize("places", [8, pytest.param(40, marks=pytest.mark.deep)])
def test_changed_bytes_and_cut_files(classifier, tmp_path, places):
    """A byte changed anywhere, or a file cut short, is refused in one line or changes no number."""
    path = tmp_path / "m.pt"
    dn.texts.save_model(classifier, path)
    content, expected = path.read_bytes(), classifier.predict_probabilities(ODD_TEXTS).tobytes()
    refused = 0
    for place in np.linspace(0, len(content) - 1, places).astype(int).tolist():
        changed = bytearray(content)
        changed[place] ^= 0x5A
        for damaged in (bytes(changed), content[:place]):
            path.write_bytes(damaged)
            try:
                restored = dn.texts.load_linear_classifier(path)
            except dn.InputError as error:
                refused += "\n" not in error.args[0]
            else:
                assert restored.predict_probabilities(ODD_TEXTS).tobytes() == expected
    assert refused >= 1.5 * places

"""The stored linear classifier: the same after a round trip, refused in one line where its file is damaged."""

import numpy as np
import pytest
import torch

from deniable.core.errors import InputError
from deniable.learning.artifact import Artifact, save_model
from deniable.persons.classifier import LinearClassifier
from deniable.persons.classifier_training import ClassifierOptions, fit_linear_classifier
from deniable.registry.models import load_model
from tests.persons.collections import CLASSES, MAP, make_private

OPTIONS = ClassifierOptions(CLASSES, 20.0, 1e-3, records=400)
CLASSIFIER = fit_linear_classifier(make_private(), MAP, OPTIONS)
TEXTS = ["a great film", "the plot was awful", "", "unknown \ud800", "GREAT <br /> awful"]


class Stored:
    """A file with changed parts."""

    def __init__(self, **changes):
        artifact = CLASSIFIER.to_artifact()
        self._artifact = Artifact(
            artifact.kind,
            {**artifact.configuration, **changes.get("configuration", {})},
            {**artifact.weights, **changes.get("weights", {})},
            artifact.facts,
        )

    def to_artifact(self):
        """Return the file."""
        return self._artifact


def test_a_stored_classifier_is_the_same(tmp_path):
    """Probabilities, classes and facts come back from the file, bit for bit, and no claim does."""
    save_model(CLASSIFIER, tmp_path / "m.pt")
    restored = load_model(tmp_path / "m.pt")
    assert isinstance(restored, LinearClassifier)
    np.testing.assert_array_equal(restored.predict_probabilities(TEXTS), CLASSIFIER.predict_probabilities(TEXTS))
    assert (restored.classes, restored.facts) == (CLASSIFIER.classes, CLASSIFIER.facts)
    assert CLASSIFIER.guarantee is not None
    assert (restored.guarantee, restored.verdict) == (None, None)
    assert restored.feature_map.fingerprint == MAP.fingerprint


def test_probabilities_are_those_of_softmax():
    """Each text has probabilities that sum to 1, as in a batch so alone; no text has none."""
    probabilities = CLASSIFIER.predict_probabilities(TEXTS)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    for place, text in enumerate(TEXTS):
        np.testing.assert_allclose(CLASSIFIER.predict_probabilities([text])[0], probabilities[place])
    assert CLASSIFIER.predict_probabilities([]).shape == (0, 2)
    np.testing.assert_allclose(CLASSIFIER.class_weights.sum(axis=1), 0, atol=1e-9)


def test_what_a_file_claims_is_not_read(tmp_path):
    """A guarantee and a verdict in a file are ignored: it cannot show how the classifier was trained."""
    save_model(Stored(configuration={"guarantee": {"epsilon": 0.1}, "verdict": "proved"}), tmp_path / "m.pt")
    restored = load_model(tmp_path / "m.pt")
    assert (restored.guarantee, restored.verdict) == (None, None)


@pytest.mark.parametrize(
    "changes",
    [
        {"weights": {"weights": CLASSIFIER.to_artifact().weights["weights"][1:]}},
        {"weights": {"weights": CLASSIFIER.to_artifact().weights["weights"] * float("inf")}},
        {"weights": {"weights": CLASSIFIER.to_artifact().weights["weights"].repeat(1, 2)}},
        {"weights": {"feature weights": CLASSIFIER.to_artifact().weights["feature weights"] * 0}},
        {"weights": {"feature weights": CLASSIFIER.to_artifact().weights["feature weights"] * float("nan")}},
        {"weights": {"feature weights": CLASSIFIER.to_artifact().weights["feature weights"][:, None]}},
        {"weights": {"feature weights": CLASSIFIER.to_artifact().weights["feature weights"] * 1e200}},
        {"configuration": {"words": []}},
        {"configuration": {"words": None}},
        {"configuration": {"words": [*MAP.words[:-1], MAP.words[0]]}},
        {"configuration": {"pairs": ["not there"] * len(MAP.pairs)}},
        {"configuration": {"classes": ["one"]}},
        {"configuration": {"classes": ["one", "one"]}},
        {  # their contrasts would take 20 GB
            "configuration": {"classes": [str(number) for number in range(50_000)]},
            "weights": {"weights": torch.zeros(len(MAP), 49_999)},
        },
    ],
)
def test_a_damaged_file_is_one_line(tmp_path, changes):
    """Parts of a file that are missing, of other shapes or contradict each other are one line that says so."""
    save_model(Stored(**changes), tmp_path / "m.pt")
    with pytest.raises(InputError, match=r"m\.pt' is a damaged model \(.*\): train it again\.") as caught:
        load_model(tmp_path / "m.pt")
    assert "\n" not in str(caught.value)


def read_predictions(path):
    """Return the predictions of a stored model as bytes, and the refusal of a damaged one."""
    try:
        return load_model(path).predict_probabilities(TEXTS).tobytes(), ""
    except InputError as error:
        return b"", str(error)


def test_changed_bytes_and_cut_files(tmp_path):
    """A byte changed anywhere, or a file cut short, is refused in one line or changes no number."""
    path = tmp_path / "m.pt"
    save_model(CLASSIFIER, path)
    content, true_predictions = path.read_bytes(), CLASSIFIER.predict_probabilities(TEXTS).tobytes()
    refusals = []
    for place in np.linspace(0, len(content) - 1, 40).astype(int).tolist():
        changed = bytearray(content)
        changed[place] ^= 0x5A
        for damaged in (bytes(changed), content[:place]):
            path.write_bytes(damaged)
            predictions, refusal = read_predictions(path)
            assert refusal or predictions == true_predictions
            assert "\n" not in refusal
            refusals.append(bool(refusal))
    assert sum(refusals) >= 60

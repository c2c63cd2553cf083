"""Text models in files: they predict the same, and other spaces, other bytes and other labels are refused."""

import dataclasses

import numpy as np
import pytest

from deniable.core.errors import InputError
from deniable.learning.artifact import serialize_model
from deniable.models.text.documents import Documents, concatenate_texts
from deniable.models.text.model import (
    certify_by_intervals,
    fit_text_model,
    load_text_model,
    measure_text_accuracy,
)
from deniable.models.text.networks import TEXT_NETWORKS
from deniable.models.text.training import TextTrainingOptions
from deniable.space import Space
from tests.learning.stored import read_stored, write_stored


@pytest.fixture(scope="module")
def pairs(reviews):
    """Return the reviews as pairs, each beside the one before."""
    return dataclasses.replace(reviews, premises=reviews.texts.take(np.roll(np.arange(200), 1)))


@pytest.fixture(scope="module", params=TEXT_NETWORKS)
def model(request, words_space, reviews, pairs):
    """Return a model that learned little, and documents for it."""
    documents = pairs if request.param == "attention" else reviews
    return fit_text_model(request.param, words_space, documents, TextTrainingOptions(epochs=1), seed=1), documents


@pytest.fixture
def saved(tmp_path, words_space, reviews):
    """Return the path of a model of the FastText form."""
    found = fit_text_model("fasttext", words_space, reviews, TextTrainingOptions(epochs=1), seed=1)
    (tmp_path / "m.pt").write_bytes(serialize_model(found))
    return tmp_path / "m.pt"


def test_a_model_comes_back(model, words_space, word_sets, tmp_path):
    """What is read predicts and certifies what was written, bit for bit, and keeps its facts."""
    made, documents = model
    (tmp_path / "m.pt").write_bytes(serialize_model(made))
    found = load_text_model(tmp_path / "m.pt", words_space)
    for name in ("name", "classes", "pairs", "space_fingerprint", "space_source", "facts"):
        assert getattr(found, name) == getattr(made, name)
    rows = np.arange(len(documents))
    scores = [one.network.make_scorer(documents)(documents.texts, rows) for one in (made, found)]
    assert np.array_equal(*scores)
    assert np.array_equal(found.predict(documents), made.predict(documents))
    assert np.array_equal(
        certify_by_intervals(found, documents, word_sets), certify_by_intervals(made, documents, word_sets)
    )
    assert serialize_model(found) == serialize_model(made)


def test_the_vectors_are_left_out(model):
    """A file holds the weights that were learned, not the vectors of the space."""
    made, _ = model
    held = read_stored(serialize_model(made))
    assert not [name for name in held["weights"] if "vectors" in name]


def test_accuracy_counts_labels(model):
    """Accuracy is 1 on what the model says itself, and 0 where every label is the other one."""
    made, documents = model
    said = made.predict(documents)
    assert measure_text_accuracy(made, dataclasses.replace(documents, labels=said)).value == 1
    assert measure_text_accuracy(made, dataclasses.replace(documents, labels=1 - said)).value == 0


def test_what_is_wrong_is_not_certified(model, word_sets):
    """A text that is classified wrongly is never certified, and with all labels turned none is."""
    made, documents = model
    held = certify_by_intervals(made, documents, word_sets)
    assert (made.predict(documents)[held] == documents.labels[held]).all()
    turned = dataclasses.replace(documents, labels=1 - made.predict(documents))
    assert not certify_by_intervals(made, turned, word_sets).any()


def test_batches_of_certificates(words_space, reviews, word_sets):
    """A certificate does not depend on the documents beside it."""
    found = fit_text_model("cnn", words_space, reviews, TextTrainingOptions(epochs=4, learning_rate=0.01), seed=1)
    whole = certify_by_intervals(found, reviews, word_sets)
    alone = [
        bool(certify_by_intervals(found, reviews.take(np.array([row])), word_sets)[0]) for row in range(0, 200, 20)
    ]
    assert whole[::20].tolist() == alone


def test_another_space(saved, words_space):
    """A model is read with the space that it was trained on, whatever its name, and no other."""
    same = Space(words_space.words, words_space.vectors, source="another name")
    assert load_text_model(saved, same).classes == ("bad", "good")
    for other in (
        Space(words_space.words[::-1], words_space.vectors[::-1], source="turned"),
        Space(words_space.words, 2 * words_space.vectors, source="twice"),
    ):
        with pytest.raises(InputError, match=rf"was trained on the words of fourteen words .*Got {other.source}"):
            load_text_model(saved, other)


@pytest.mark.parametrize(
    "change",
    [
        lambda _: b"",
        lambda _: b"text,label\n",
        lambda data: data[: len(data) // 2],
        lambda data: data[:700] + bytes([data[700] ^ 1]) + data[701:],
        lambda _: write_stored([1]),
        lambda _: write_stored({"format": "deniable-other/1"}),
    ],
    ids=["empty", "a table", "cut short", "a byte changed", "a list", "another version"],
)
def test_damaged_files(saved, words_space, change):
    """Whatever is no model is refused by name."""
    saved.write_bytes(change(saved.read_bytes()))
    with pytest.raises(InputError, match=r"m\.pt' (is not a model|was written by another version)"):
        load_text_model(saved, words_space)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("network", "resnet"),
        ("weights", {}),
        ("weights", 3),
        ("classes", 5),
        ("classes", ["a", "b", "c"]),
        ("classes", ["a", "a"]),
        ("facts", 5),
        ("pairs", None),
    ],
)
def test_parts_that_do_not_fit(saved, words_space, name, value):
    """A file of the right form with a part that is wrong is a damaged model, or as good as before."""
    held = read_stored(saved.read_bytes())
    part = held["configuration"] if name in held["configuration"] else held
    part[name] = value
    saved.write_bytes(write_stored(held))
    if name == "pairs":
        assert load_text_model(saved, words_space).name == "fasttext"
        return
    with pytest.raises(InputError, match=r"is a damaged model \("):
        load_text_model(saved, words_space)


def test_weights_that_are_no_numbers(saved, words_space):
    """A model with weights that are not finite is damaged."""
    held = read_stored(saved.read_bytes())
    held["weights"] = {name: value * float("nan") for name, value in held["weights"].items()}
    saved.write_bytes(write_stored(held))
    with pytest.raises(InputError, match="is a damaged model"):
        load_text_model(saved, words_space)


def test_documents_of_another_kind(saved, words_space, word_sets, pairs):
    """Pairs for a model of single texts are refused, whatever is asked of it."""
    found = load_text_model(saved, words_space)
    long = Documents(concatenate_texts([[0] * 20_001]), np.array([0]), found.classes)
    for documents, message in ((pairs, "not pairs"), (long, "20,001 words")):
        with pytest.raises(InputError, match=message):
            measure_text_accuracy(found, documents)
        with pytest.raises(InputError, match=message):
            certify_by_intervals(found, documents, word_sets)

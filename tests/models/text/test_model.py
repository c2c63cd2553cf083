"""Text models in files: they predict the same, and other spaces, other bytes and other labels are refused."""

import dataclasses

import numpy as np
import pytest

import deniable as dn
from tests.learning.stored import read_stored, write_stored
from tests.models.text.samples import documents
from tests.refusals import refuses

deep = pytest.mark.deep
NETWORKS = ["cnn", "attention", pytest.param("bow", marks=deep), pytest.param("fasttext", marks=deep)]


@pytest.fixture(params=NETWORKS)
def made(request, fitted, reviews, pairs):
    """Return a model that learned little, and documents for it."""
    return fitted(request.param), pairs if request.param == "attention" else reviews


@pytest.fixture
def saved(tmp_path, fitted):
    """Return the path of a model of the FastText form."""
    dn.texts.save_model(fitted("fasttext"), tmp_path / "m.pt")
    return tmp_path / "m.pt"


def test_a_model_comes_back(made, words_space, word_sets, tmp_path):
    """What is read predicts and certifies what was written, bit for bit, keeps its facts, and holds no vectors."""
    model, held = made
    dn.texts.save_model(model, tmp_path / "m.pt")
    found = dn.texts.load_text_model(tmp_path / "m.pt", words_space)
    for name in ("name", "classes", "pairs", "space_fingerprint", "space_source", "facts"):
        assert getattr(found, name) == getattr(model, name)
    scores = [one.network.make_scorer(held)(held.texts, np.arange(len(held))) for one in (model, found)]
    assert np.array_equal(*scores)
    assert np.array_equal(found.predict(held), model.predict(held))
    certified = [dn.texts.certify_by_intervals(one, held, word_sets) for one in (model, found)]
    assert np.array_equal(*certified)
    dn.texts.save_model(found, tmp_path / "n.pt")
    assert (tmp_path / "n.pt").read_bytes() == (tmp_path / "m.pt").read_bytes()
    assert not [name for name in read_stored((tmp_path / "m.pt").read_bytes())["weights"] if "vectors" in name]


def test_what_is_counted(made, word_sets):
    """Accuracy is 1 on what the model says and 0 on the other labels; what is classified wrongly is never certified."""
    model, held = made
    said = model.predict(held)
    assert dn.texts.measure_text_accuracy(model, dataclasses.replace(held, labels=said)).value == 1
    turned = dataclasses.replace(held, labels=1 - said)
    assert dn.texts.measure_text_accuracy(model, turned).value == 0
    certified = dn.texts.certify_by_intervals(model, held, word_sets)
    assert (said[certified] == held.labels[certified]).all()
    assert not dn.texts.certify_by_intervals(model, turned, word_sets).any()


def test_batches_of_certificates(fitted, reviews, word_sets):
    """A certificate does not depend on the documents beside it."""
    model = fitted("cnn", "ibp", epochs=8, learning_rate=0.02)
    whole = dn.texts.certify_by_intervals(model, reviews, word_sets)
    rows = [*range(0, 200, 20)]
    alone = [dn.texts.certify_by_intervals(model, reviews.take(np.array([row])), word_sets)[0] for row in rows]
    assert whole[rows].tolist() == alone
    assert whole.any()


def test_another_space(saved, words_space):
    """A model is read with the space that it was trained on, whatever its name, and no other."""
    words, vectors = words_space.words, words_space.vectors
    same = dn.Space(words, vectors, source="another name")
    assert dn.texts.load_text_model(saved, same).classes == ("bad", "good")
    for source, *other in (("turned", words[::-1], vectors[::-1]), ("twice", words, 2 * vectors)):
        with refuses(source):
            dn.texts.load_text_model(saved, dn.Space(*other, source=source))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("network", "resnet"),
        ("weights", {}),
        ("weights", 3),
        ("weights", "nan"),
        ("classes", 5),
        ("classes", ["a", "b", "c"]),
        ("classes", ["a", "a"]),
        ("facts", 5),
    ],
)
def test_parts_that_do_not_fit(saved, words_space, name, value):
    """A file of the right form with a part that is wrong is a damaged model, and other bytes are none."""
    held = read_stored(saved.read_bytes())
    if value == "nan":
        value = {part: weight * float("nan") for part, weight in held["weights"].items()}
    (held["configuration"] if name in held["configuration"] else held)[name] = value
    saved.write_bytes(write_stored(held))
    with refuses("cannot be read as a model"):
        dn.texts.load_text_model(saved, words_space)
    for content in (b"text,label\n", write_stored({"format": "deniable-other/1"}), saved.read_bytes()[:-9]):
        saved.write_bytes(content)
        with refuses("m.pt"):
            dn.texts.load_text_model(saved, words_space)


def test_documents_that_do_not_fit(words_space, fit, fitted, reviews, pairs, word_sets):
    """Pairs and single texts are told apart, and texts without words or with too many are named by their row."""
    model = fitted("fasttext")
    for held, value in ((pairs, "not pairs"), (documents([[0] * 20_001]), "20,001 words")):
        for ask in (dn.texts.measure_text_accuracy, lambda *given: dn.texts.certify_by_intervals(*given, word_sets)):
            with refuses(value):
                ask(model, held)
    short, empty, long = [[0], [1], [2]], [[0], [], [2]], [[0], [1] * 501, [2]]
    labels = [0, 1, 0]
    for name, held, value in (
        ("attention", reviews, "premise"),
        ("cnn", pairs, "not pairs"),
        ("attention", documents(empty, labels, premises=short), "text of row 2"),
        ("attention", documents(short, labels, premises=empty), "premise of row 2"),
        ("attention", documents(long, labels, premises=short), "501 words"),
        ("attention", documents(short, labels, premises=long), "premise of row 2"),
        ("lstm", reviews, "'lstm'"),
        ("dp-fasttext", reviews, "'dp-fasttext'"),  # its name would promise what this training does not keep
    ):
        with refuses(value):
            fit(name, documents=held)
    fit("attention", documents=documents([[0], [1] * 500, [2]], labels, premises=short))
    for method, source, value in (
        ("ibp", None, "ibp"),
        ("ibp", dn.TEM(words_space, epsilon=1.0), "ibp"),
        ("augmented", None, "augmented"),
    ):
        with refuses(value):
            fit("fasttext", method, source=source)

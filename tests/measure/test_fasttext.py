"""The FastText form of a classifier: what it learns, what it computes, and what it does not depend on."""

import numpy as np
import pytest
import torch

from deniable.measure.classifiers import CLASSIFIERS
from deniable.measure.fasttext import FastTextClassifier
from tests.measure import toy


def fitted(rows=120, classes=2, **options):
    """Return a classifier that learned a toy table."""
    texts, codes = toy.table(rows, classes)
    return FastTextClassifier(**{"dimensions": 8, "epochs": 30, **options}).fit(texts, codes, classes)


@pytest.fixture(scope="module")
def net():
    return fitted()


def weights(net):
    """Return embeddings (words, dimensions), output weights (classes, dimensions) and biases (classes,)."""
    return [tensor.detach().double().numpy() for tensor in net._network.parameters()]


def by_hand(net, texts):
    """Return the probabilities by a plain computation: mean of embeddings, one linear layer, softmax."""
    embeddings, output, bias = weights(net)
    rows = []
    for text in texts:
        known = [embeddings[net._number_of_word[word]] for word in text.split() if word in net._number_of_word]
        logits = output @ (np.mean(known, axis=0) if known else np.zeros(embeddings.shape[1])) + bias
        rows.append(np.exp(logits) / np.exp(logits).sum())
    return np.array(rows)


@pytest.mark.parametrize("classes", [2, 3])
def test_learns_a_separable_table(classes):
    """Where words tell the class nearly all new texts are named."""
    learned = fitted(300, classes)
    texts, codes = toy.table(200, classes, seed=9)
    assert (learned.probabilities(texts).argmax(axis=1) == codes).mean() > 0.95


def test_learns_nothing_from_noise():
    """Where words tell nothing new texts are named no better than by chance."""
    codes = np.arange(300) % 2
    learned = FastTextClassifier(dimensions=8, epochs=10).fit(toy.noise(300), codes, 2)
    hits = (learned.probabilities(toy.noise(400, seed=5)).argmax(axis=1) == np.arange(400) % 2).sum()
    assert abs(hits - 200) < 50


def test_the_forward_pass(net):
    """Probabilities are those of a plain computation from the weights, unknown words left out."""
    texts = [*toy.table(20, seed=3)[0], "the the the", "zzz class0word1", "class1word2"]
    found = net.probabilities(texts)
    assert (found.shape, found.dtype) == ((23, 2), np.float64)
    np.testing.assert_allclose(found, by_hand(net, texts), rtol=1e-5)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_words_are_folded(net):
    """Words are cut and folded as everywhere in the package."""
    plain, other = net.probabilities(["class0word1 was the", "CLASS0word1, Was (the)!"])
    np.testing.assert_array_equal(plain, other)


@pytest.mark.parametrize("text", ["", "...", "zzz qqq"])
def test_texts_without_known_words(net, text):
    """A text without a known word has the probabilities of the bias alone, wherever it stands."""
    told = "class0word1 the"
    alone, other = net.probabilities([text]), net.probabilities([told])
    bias = weights(net)[2]
    np.testing.assert_allclose(alone[0], np.exp(bias) / np.exp(bias).sum(), rtol=1e-5)
    # Not to the last bit: how many texts a layer is given decides which instructions compute it, in float32.
    together = net.probabilities([text, told, text, text])
    np.testing.assert_allclose(together, np.vstack([alone, other, alone, alone]), rtol=1e-6)


def test_learning_from_texts_without_words():
    """Texts without words teach how frequent classes are, and no more; probabilities stay finite."""
    learned = FastTextClassifier(dimensions=4, epochs=300).fit([""] * 60 + ["..."] * 20, np.arange(80) % 4 // 3, 2)
    found = learned.probabilities(["", "word"])
    assert np.isfinite(found).all()
    assert found[0, 0] == found[1, 0] == pytest.approx(0.75, abs=0.1)


def test_no_texts(net):
    """No texts have no rows."""
    assert net.probabilities([]).shape == (0, 2)


def test_a_class_that_was_never_seen():
    """There is a column for every class, and one that was never seen is hardly ever named."""
    texts, codes = toy.table(120)
    learned = FastTextClassifier(dimensions=8, epochs=30).fit(texts, codes, 3)
    found = learned.probabilities(toy.table(50, seed=4)[0])
    assert found.shape == (50, 3)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (found.argmax(axis=1) < 2).all()


def test_seeds():
    """The same seed gives the same weights, whatever torch drew before; another one gives others."""
    torch.manual_seed(1)
    first = weights(fitted(40, epochs=3))
    torch.manual_seed(2)
    again, other = weights(fitted(40, epochs=3)), weights(fitted(40, epochs=3, seed=1))
    assert all((one == two).all() for one, two in zip(first, again, strict=True))
    assert all((one != two).any() for one, two in zip(first, other, strict=True))


def test_threads():
    """Weights and probabilities do not depend on the number of threads that torch was given."""
    before = torch.get_num_threads()
    texts = toy.table(30, seed=6)[0]
    found = []
    try:
        for count in (1, 4):
            torch.set_num_threads(count)
            learned = fitted(40, epochs=3)
            torch.set_num_threads(count)
            found.append([*weights(learned), learned.probabilities(texts)])
    finally:
        torch.set_num_threads(before)
    assert all((one == two).all() for one, two in zip(*found, strict=True))


def test_words_as_numbers():
    """Texts given as numbers are learned as the same texts given as words."""
    texts, codes = toy.table(40)
    first = FastTextClassifier(dimensions=4, epochs=3).fit(texts, codes, 2)
    words, offsets = first._encode_words([text.split() for text in texts])
    second = FastTextClassifier(dimensions=4, epochs=3).fit_words(
        words, offsets, codes, classes=2, size=len(first._number_of_word)
    )
    assert all((one == two).all() for one, two in zip(weights(first), weights(second), strict=True))
    np.testing.assert_array_equal(second.probabilities_of_words(words, offsets), first.probabilities(texts))


def test_the_registry():
    """The classifier is known by name, with a seed."""
    made = CLASSIFIERS["fasttext"](3)
    assert isinstance(made, FastTextClassifier)
    assert made._seed == 3

"""Membership inference on a table, with classifiers whose memory is known."""

import numpy as np
import pytest

import deniable as dn
from tests.refusals import refuses

ATTACKS = ("lira", "rmia", "shadow")


class Fake:
    """A classifier of two classes whose certainty of the true class is a rule of text and training."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)

    def fit(self, texts, codes, classes):
        """Keep which texts were seen, and how many classes there are; the class of a text is its number's parity."""
        del codes
        assert classes == 2
        self._seen = set(texts)
        return self

    def probabilities(self, texts):
        sure = 1 / (1 + np.exp(-np.array([self._logit(text) for text in texts])))
        out = np.column_stack([sure, 1 - sure])
        return np.where(np.array([int(text.split()[-1]) % 2 for text in texts])[:, None] == 0, out, out[:, ::-1])


class Memory(Fake):
    """Is sure of the texts that it was trained on."""

    def _logit(self, text):
        return (4.0 if text in self._seen else 0.0) + 0.3 * self._rng.normal()


class Ignorant(Fake):
    """Answers at random."""

    def _logit(self, text):
        del text
        return self._rng.normal()


class Neighbour(Fake):
    """Learns of each text only whether it was trained on the next one: nothing of the text itself."""

    def _logit(self, text):
        word, number = text.split()
        return (2.0 if f"{word} {int(number) ^ 1}" in self._seen else 0.0) + 0.3 * self._rng.normal()


def table(records=300, word="word"):
    """Return texts and their classes."""
    return [f"{word} {number}" for number in range(records)], np.arange(records) % 2


@pytest.mark.parametrize("attack", ATTACKS)
def test_memory_is_found(attack):
    """A classifier that remembers its texts is found out by every attack."""
    found = dn.measure.measure_membership(*table(200), 2, classifier=Memory, attack=attack, shadows=6)
    assert list(found) == ["original"]
    result = found["original"]
    assert result.auc.value > 0.99
    assert result.tpr[0.01].low > 0.8
    assert (result.attack, result.members, result.others, result.records) == (attack, 600, 600, 200)


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("classifier", [pytest.param(Ignorant, marks=pytest.mark.deep), Neighbour])
def test_no_memory_gives_no_signal(attack, classifier):
    """A classifier that learns nothing of a record, but something of its neighbour, leaves one half."""
    found = dn.measure.measure_membership(*table(400), 2, classifier=classifier, attack=attack, shadows=8, seed=1)
    area = found["original"].auc
    assert area.low < 0.5 < area.high
    assert area.high - area.low < 0.12


def test_private_records_find_what_originals_do_not():
    """A model that remembers private texts is found out with these, and not with the originals."""
    private, _ = table(300, "other")
    found = dn.measure.measure_membership(*table(), 2, private=private, classifier=Memory, shadows=6)
    assert found["private"].auc.value > 0.99
    assert found["original"].auc.low < 0.5 < found["original"].auc.high


def test_texts_equal_to_the_private_ones_are_found_alike():
    """With private texts that equal the originals both attacks are one, and the seed fixes them."""
    rng = np.random.default_rng(3)
    texts = [" ".join(rng.choice(["ab", "cd", "ef", "gh", "ij"], size=4)) + f" w{row}" for row in range(60)]
    codes = rng.integers(2, size=60)
    found = dn.measure.measure_membership(texts, codes, 2, private=texts, shadows=6, seed=5)
    assert found["private"] == found["original"]
    again, other = (dn.measure.measure_membership(texts, codes, 2, shadows=6, seed=seed)["original"] for seed in (5, 6))
    assert found["original"] == again != other
    # The label of a text is a coin and each text holds a word of its own, so that being trained on it tells.
    assert found["original"].auc.low > 0.5


def test_every_record_is_in_half_of_the_models():
    """Each model learns half of the records, its twin the other half, and each record is in half of the models."""
    learned = []

    class Noted(Memory):
        def fit(self, texts, codes, classes):
            learned.append(frozenset(texts))
            return super().fit(texts, codes, classes)

    texts, codes = table(31)
    dn.measure.measure_membership(texts, codes, 2, classifier=Noted, shadows=8)
    assert [sum(text in half for half in learned) for text in texts] == [4] * 31
    for half, twin in zip(learned[::2], learned[1::2], strict=True):
        assert len(half) == 15
        assert half | twin == {*texts}


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({"texts": ["a"] * 7, "codes": [0] * 7}, 7),
        ({"codes": [0, 1]}, "20, 2"),
        ({"private": ["a"]}, "20, 20, 1"),
        ({"codes": [2] * 20}, "from 0 to 1"),
        ({"codes": [-1] * 20}, "from 0 to 1"),
        ({"codes": [0.5] * 20}, "from 0 to 1"),
        ({"shadows": 0}, "'shadows'"),
        ({"shadows": 4}, 4),
        ({"shadows": 7}, 7),
        ({"shadows": 2, "attack": "rmia"}, 2),
        ({"shadows": 2.0}, 2.0),
        ({"attack": "guess"}, "'guess'"),
        ({"classifier": "oracle"}, "'oracle'"),
    ],
)
def test_bad_input_is_refused(change, value):
    """Tables that do not fit and unknown names are refused."""
    texts, codes = table(20)
    given = {"texts": texts, "codes": codes, "classes": 2, "classifier": Memory, **change}
    with refuses(value):
        dn.measure.measure_membership(given.pop("texts"), given.pop("codes"), given.pop("classes"), **given)

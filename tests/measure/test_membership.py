"""Membership inference on a table, with classifiers whose memory is known."""

import numpy as np
import pytest

from deniable import InputError
from deniable.core.progress import report_progress_to
from deniable.measure.classifiers import CLASSIFIERS
from deniable.measure.membership import _draw_halves, measure_membership

ATTACKS = ("lira", "rmia", "shadow")


class Fake:
    """A classifier of two classes whose certainty of the true class is a rule of text and training."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)

    def fit(self, texts, codes, classes):
        self._seen, self._codes, self._classes = set(texts), dict(zip(texts, codes, strict=True)), classes
        return self

    def probabilities(self, texts):
        sure = 1 / (1 + np.exp(-np.array([self._logit(text) for text in texts])))
        out = np.column_stack([sure, 1 - sure])
        return np.where(np.array([hash_of(text) % 2 for text in texts])[:, None] == 0, out, out[:, ::-1])


def hash_of(text):
    """Return the number at the end of a text."""
    return int(text.rsplit(maxsplit=1)[-1])


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


@pytest.fixture(autouse=True)
def fakes(monkeypatch):
    """Register the known classifiers."""
    for kind in (Memory, Ignorant, Neighbour):
        monkeypatch.setitem(CLASSIFIERS, kind.__name__.lower(), kind)


def table(records=300, word="word"):
    """Return texts and their classes."""
    return [f"{word} {number}" for number in range(records)], np.arange(records) % 2


@pytest.mark.parametrize("attack", ATTACKS)
def test_memory_is_found(attack):
    """A classifier that remembers its texts is found out by every attack."""
    texts, codes = table()
    found = measure_membership(texts, codes, 2, classifier="memory", attack=attack, shadows=8)
    assert list(found) == ["original"]
    assert found["original"].auc.value > 0.99
    assert found["original"].tpr[0.01].low > 0.8
    assert found["original"].attack == attack
    assert (found["original"].members, found["original"].others, found["original"].records) == (1_200, 1_200, 300)


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("classifier", ["ignorant", "neighbour"])
def test_no_memory_gives_no_signal(attack, classifier):
    """A classifier that learns nothing of a record, but something of its neighbour, leaves one half."""
    texts, codes = table(600)
    area = measure_membership(texts, codes, 2, classifier=classifier, attack=attack, shadows=8, seed=1)["original"].auc
    assert area.low < 0.5 < area.high
    assert area.high - area.low < 0.1


def test_private_records_find_what_originals_do_not():
    """A model that remembers private texts is found out with these, and not with the originals."""
    texts, codes = table(400)
    private, _ = table(400, "other")
    found = measure_membership(texts, codes, 2, private=private, classifier="memory", shadows=8)
    assert found["private"].auc.value > 0.99
    assert found["original"].auc.low < 0.5 < found["original"].auc.high


def test_tfidf_runs_and_texts_equal_to_the_private_ones_are_found_alike():
    """With private texts that equal the originals both attacks are one, and the seed fixes them."""
    rng = np.random.default_rng(3)
    texts = [" ".join(rng.choice(["ab", "cd", "ef", "gh", "ij"], size=4)) + f" w{row}" for row in range(60)]
    codes = rng.integers(2, size=60)
    found = measure_membership(texts, codes, 2, private=texts, shadows=6, seed=5)
    assert found["private"] == found["original"]
    assert found["original"] == measure_membership(texts, codes, 2, shadows=6, seed=5)["original"]
    assert found["original"] != measure_membership(texts, codes, 2, shadows=6, seed=6)["original"]
    # The label of a text is a coin and each text holds a word of its own, so that being trained on it tells.
    assert found["original"].auc.low > 0.5


def test_every_record_is_in_half_of_the_models():
    """Each model has half of the records, its twin the other half, and each record half of the models."""
    members = _draw_halves(31, 8, np.random.default_rng(0))
    assert (members.sum(axis=0) == 4).all()
    assert (members[::2].sum(axis=1) == 15).all()
    assert (members[::2] == ~members[1::2]).all()


def test_progress_is_shown():
    """Whoever watches sees every model counted."""
    seen = []
    texts, codes = table(20)
    with report_progress_to(lambda done, total: seen.append((done, total))):
        measure_membership(texts, codes, 2, classifier="memory", shadows=6)
    assert seen[:7] == [(done, 6) for done in range(7)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"texts": ["a"] * 7, "codes": [0] * 7}, "at least 8 records. Got 7"),
        ({"codes": [0, 1]}, "Got 20, 2"),
        ({"private": ["a"]}, "Got 20, 20, 1"),
        ({"codes": [2] * 20}, "from 0 to 1"),
        ({"codes": [-1] * 20}, "from 0 to 1"),
        ({"codes": [0.5] * 20}, "from 0 to 1"),
        ({"shadows": 0}, "'shadows' .* at least 6 for 'lira'. Got 0"),
        ({"shadows": 4}, "at least 6"),
        ({"shadows": 7}, "even"),
        ({"shadows": 2, "attack": "rmia"}, "at least 4"),
        ({"shadows": 2.0}, "even int"),
        ({"attack": "guess"}, r"^Unknown attack 'guess'\. Known: lira, rmia, shadow\.$"),
        ({"classifier": "oracle"}, "^Unknown classifier 'oracle'. Known: tfidf"),
    ],
)
def test_bad_input_is_refused(change, message):
    """Tables that do not fit and unknown names are refused in one line."""
    texts, codes = table(20)
    given = {"texts": texts, "codes": codes, "classes": 2, "classifier": "memory", **change}
    with pytest.raises(InputError, match=message) as caught:
        measure_membership(given.pop("texts"), given.pop("codes"), given.pop("classes"), **given)
    assert "\n" not in str(caught.value)

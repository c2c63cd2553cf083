"""Reviews as word numbers: which words stay, where texts begin, and independent private copies."""

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from studies.ledger import Ledger
from studies.reviews import (
    Corpus,
    build_mechanism,
    describe_mechanism,
    measure_accuracy,
    privatize_corpus,
    read_halves,
    read_reviews,
    train_classifier,
)
from studies.runner import Context
from tests.conftest import SMALL_WORDS
from tests.refusals import refuses

TEXTS = ["Baran zork, batel!", "zork blarg", "", "batel batel ZORK baran", "Dotel"]
LABELS = [1, 0, 0, 1, 0]


@pytest.fixture
def file(tmp_path):
    pq.write_table(pa.table({"text": TEXTS, "label": LABELS}), tmp_path / "reviews.parquet")
    return tmp_path / "reviews.parquet"


@pytest.fixture
def corpus(file, small_space):
    return read_reviews(file, small_space, range(5), "TR1")


def words_of(space, words, offsets):
    """Return the words of each text."""
    return [[space.words[word] for word in words[a:b]] for a, b in itertools.pairwise(offsets)]


def random_corpus(count, size, name="TR1"):
    """Return a corpus of so many texts of one to nine words, all known."""
    rng = np.random.default_rng(0)
    offsets = np.cumsum([0, *rng.integers(1, 10, count)])
    words = rng.integers(0, size, offsets[-1]).astype(np.int32)
    return Corpus(name, words, offsets, np.zeros(len(words), dtype=bool), rng.integers(0, 2, count))


def test_reviews(corpus, small_space):
    """Texts are cut into words in the order asked for, the public word stands for unknown ones."""
    public = small_space.unknown_word
    assert words_of(small_space, corpus.words, corpus.offsets) == [
        ["baran", public, "batel"], [public, public], [], ["batel", "batel", public, "baran"], ["dotel"],
    ]  # fmt: skip
    assert corpus.is_unknown.tolist() == [False, True, False, True, True, False, False, True, False, False]
    assert corpus.codes.tolist() == LABELS


def test_the_order_of_rows(file, small_space):
    """Rows are taken in the order given, with their own labels."""
    corpus = read_reviews(file, small_space, [4, 0], "TE1")
    assert words_of(small_space, *corpus.original()) == [["dotel"], ["baran", "batel"]]
    assert corpus.codes.tolist() == [0, 1]


def test_original(corpus, small_space):
    """Unknown words are dropped, every text keeps its place, and one without known words is empty."""
    words, offsets = corpus.original()
    assert words_of(small_space, words, offsets) == [
        ["baran", "batel"], [], [], ["batel", "batel", "baran"], ["dotel"],
    ]  # fmt: skip
    assert (offsets[0], offsets[-1]) == (0, len(words))


@pytest.mark.parametrize("texts", [1, 3, 5])
def test_head(corpus, small_space, texts):
    """The first texts alone are those of the whole, with their words, unknown ones and classes."""
    head = corpus.head(texts)
    assert len(head.codes) == len(head.offsets) - 1 == texts
    assert len(head.words) == len(head.is_unknown) == head.offsets[-1]
    assert words_of(small_space, *head.original()) == words_of(small_space, *corpus.original())[:texts]


def test_fingerprint(corpus):
    """Other words, and other texts of the same words, have another fingerprint; equal ones share it."""
    moved = Corpus("TR1", corpus.words, np.sort([0, 1, *corpus.offsets[2:]]), corpus.is_unknown, corpus.codes)
    changed = Corpus("TR1", corpus.words[::-1].copy(), corpus.offsets, corpus.is_unknown, corpus.codes)
    assert len({one.fingerprint for one in (corpus, moved, changed, corpus.head(3))}) == 4
    assert corpus.head(5).fingerprint == corpus.fingerprint


@pytest.mark.deep
def test_copies_are_independent(small_space):
    """Copies agree with one another no more often than independent draws of the law do."""
    corpus, mechanism = random_corpus(1_000, 60), dn.TEM(small_space, epsilon=1.0)
    first, second = privatize_corpus(Context(None, 0), mechanism, corpus, 2)
    law = np.array([mechanism.probabilities(word) for word in SMALL_WORDS])[corpus.words]
    for expected, found in (
        ((law**2).sum(axis=1), first == second),
        (law[np.arange(len(law)), corpus.words], first == corpus.words),
    ):
        assert abs(found.sum() - expected.sum()) < 5 * np.sqrt((expected * (1 - expected)).sum())


def test_copies_are_reproducible(small_space):
    """The same seed gives the same copies, however many are drawn; another seed, name or epsilon gives others."""
    corpus, mechanism = random_corpus(60, 60), dn.TEM(small_space, epsilon=1.0)
    found = privatize_corpus(Context(None, 0), mechanism, corpus, 3)
    assert (found.shape, found.dtype) == ((3, len(corpus.words)), np.int32)
    np.testing.assert_array_equal(privatize_corpus(Context(None, 0), mechanism, corpus, 2), found[:2])
    head = corpus.head(20)
    np.testing.assert_array_equal(
        privatize_corpus(Context(None, 0), mechanism, head, 1)[0], found[0, : len(head.words)]
    )
    others = [
        privatize_corpus(Context(None, 1), mechanism, corpus, 1)[0],
        privatize_corpus(Context(None, 0), mechanism, random_corpus(60, 60, "TR2"), 1)[0],
        privatize_corpus(Context(None, 0), dn.TEM(small_space, epsilon=1.01), corpus, 1)[0],
    ]
    assert len({one.tobytes() for one in (*found, *others)}) == 6


def test_copies_are_kept(small_space, tmp_path, monkeypatch):
    """The ledger keeps what was drawn, once for each mechanism, corpus, seed and number of copies."""
    corpus, mechanism = random_corpus(30, 60), dn.TEM(small_space, epsilon=1.0)
    ledger = Ledger(tmp_path / "x.unfinished", {})
    first, second = Context(None, 0, ledger=ledger), Context(None, 1, ledger=ledger)
    found = privatize_corpus(first, mechanism, corpus, 2)
    for context, *arguments in (
        (first, mechanism, corpus, 1), (second, mechanism, corpus, 2), (first, mechanism, corpus.head(5), 2),
        (first, dn.TEM(small_space, epsilon=2.0), corpus, 2),
    ):  # fmt: skip
        privatize_corpus(context, *arguments)
    assert len(list((tmp_path / "arrays").iterdir())) == 5
    monkeypatch.setattr(dn.TEM, "draw_words", lambda *_: pytest.fail("drawn again"))
    np.testing.assert_array_equal(privatize_corpus(first, mechanism, corpus, 2), found)


@pytest.mark.parametrize(("size", "kind"), [(2**16, np.uint16), (2**16 + 1, np.uint32)])
def test_as_small_as_numbers_allow(size, kind, tmp_path):
    """Copies are kept in two bytes a word where all numbers fit, and the largest number comes back."""

    class Last:
        """Draws the last word whatever it is given."""

        name, fingerprint, space = "last", "last", range(size)

        def draw_words(self, words, _):
            return np.full(len(words), size - 1, dtype=np.int32)

    found = privatize_corpus(Context(None, ledger=Ledger(tmp_path / "x", {})), Last(), random_corpus(4, 10), 2)
    assert (found == size - 1).all()
    (path,) = (tmp_path / "arrays").iterdir()
    assert np.load(path).dtype == kind


@pytest.mark.deep
def test_halves(study_data):
    """The four corpora are disjoint halves of the two files, drawn by the seed, and no larger than these allow."""
    space = dn.Space.glove(200)
    found = read_halves(Context(None, 0, study_data), space, 20)
    assert [(name, len(corpus.codes)) for name, corpus in found.items()] == [
        (n, 20) for n in ("TR1", "TR2", "TE1", "TE2")
    ]
    assert all(corpus.name == name for name, corpus in found.items())
    assert [len(corpus.codes) for corpus in read_halves(Context(None, 0, study_data), space, 10**6).values()] == [
        24
    ] * 4
    again, other = (read_halves(Context(None, seed, study_data), space, 20) for seed in (0, 1))
    assert [again[name].fingerprint == found[name].fingerprint for name in found] == [True] * 4
    assert [other[name].fingerprint == found[name].fingerprint for name in found] == [False] * 4
    whole = [c.words[a:b].tobytes() for c in found.values() for a, b in itertools.pairwise(c.offsets)]
    assert len(set(whole)) == len(whole)


def test_too_few_reviews(tmp_path):
    """A file with one review is refused in one line that names it."""
    pq.write_table(pa.table({"text": ["the"], "label": [1]}), tmp_path / "imdb_train.parquet")
    with refuses("imdb_train.parquet"):
        read_halves(Context(None, 0, tmp_path), dn.Space.glove(50), 5)


@pytest.mark.parametrize("name", ["auto", "tem", "calibrated", "tight", "truncated-gumbel", "multivariate-laplace"])
def test_what_is_known_of_a_mechanism(name, small_space):
    """Every mechanism is built by name; its rows say what is proved of it and what is guessed after it."""
    mechanism = build_mechanism(name, small_space, 40.0)
    assert mechanism.epsilon == 40.0
    rows = describe_mechanism(Context(None), mechanism, "curve")
    verdict = dn.verify(mechanism)
    known = {row.metric: row for row in rows}
    assert known["refuted"].value == (verdict.status == "refuted")
    assert known["epsilon proved"].value == verdict.epsilon
    guessed = known["words named"]
    assert 0 < guessed.interval[0] <= guessed.value <= guessed.interval[1] <= 1


@pytest.mark.deep
def test_classifiers_learn_from_one_form_of_the_texts(small_space):
    """A classifier learns from one form of the texts and is right on the original ones, or not where labels lie."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 120)
    numbers = (rng.integers(0, 30, (120, 8)) + 30 * codes[:, None]).astype(np.int32)
    offsets = np.arange(0, 961, 8)
    corpus = Corpus("TR1", numbers.ravel(), offsets, np.zeros(960, dtype=bool), codes)
    net = train_classifier(corpus, corpus.words, offsets, small_space, seed=0, dimensions=8, epochs=60)
    assert measure_accuracy(net, corpus) > 0.95
    liar = Corpus("TR1", corpus.words, offsets, corpus.is_unknown, 1 - codes)
    assert measure_accuracy(net, liar) < 0.05

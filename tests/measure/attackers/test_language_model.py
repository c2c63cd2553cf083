"""The trigram model against a slow one, and what it refuses."""

from collections import Counter

import numpy as np
import pytest

import deniable as dn
from deniable.measure.attackers.language_model import LanguageModel, number_texts

START = -1


def texts(count, size, seed=0):
    """Return random texts over skewed words, so that many trigrams repeat."""
    generator = np.random.default_rng(seed)
    shares = 1 / np.arange(1, size + 2)
    return [generator.choice(size + 1, length, p=shares / shares.sum()) for length in generator.integers(0, 12, count)]


class Slow:
    """Interpolated Kneser-Ney by dictionaries, as the formula reads."""

    def __init__(self, sequences, size):
        self.size = size
        trigrams, starting = Counter(), Counter()
        for text in sequences:
            padded = [START, *(int(word) for word in text)]
            starting.update((START, padded[1]) for _ in padded[1:2])
            trigrams.update(zip(padded, padded[1:], padded[2:], strict=False))
        bigrams = Counter((u, w) for _, u, w in trigrams) + starting
        unigrams = Counter(w for _, w in bigrams)
        self.orders = [unigrams, bigrams, trigrams]
        self.discounts = []
        for counts in self.orders:
            tally = Counter(counts.values())
            rare = tally[1] + 2 * tally[2]
            self.discounts.append(min(max(tally[1] / rare, 0.1), 0.9) if rare else 0.5)

    def probability(self, history, word):
        """Return P(word|history) of a history of at most two symbols."""
        if history is None:
            return 1 / (self.size + 1)
        counts, discount = self.orders[len(history)], self.discounts[len(history)]
        lower = self.probability(history[1:] if history else None, word)

        def key(symbol):
            return (*history, symbol) if history else symbol

        seen = [counts[key(symbol)] for symbol in range(self.size + 1)]
        if not sum(seen):
            return lower
        left = discount * sum(count > 0 for count in seen) / sum(seen)
        return max(counts[key(word)] - discount, 0) / sum(seen) + left * lower


def test_agrees_with_dictionaries():
    """Every probability after every kind of history is that of the formula."""
    size = 9
    sequences = texts(60, size)
    model, slow = LanguageModel.fit(sequences, size), Slow(sequences, size)
    histories = [[], [0], [9], *([u, v] for u in range(0, 10, 2) for v in range(10))]
    for history in histories:
        short = tuple(history) if len(history) == 2 else (START, *history)
        expected = [slow.probability(short, word) for word in range(size + 1)]
        assert model.probabilities(history) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("count", [3, 400])
def test_sums_to_one_and_leaves_none_out(count):
    """After random histories, most of them never seen, the probabilities sum to 1 and are all positive."""
    size = 200
    model = LanguageModel.fit([*texts(count, size), [3]], size)
    generator = np.random.default_rng(7)
    for _ in range(200):
        history = generator.integers(0, size + 1, generator.integers(0, 4)).tolist()
        found = model.probabilities(history)
        assert found.sum() == pytest.approx(1.0, abs=1e-9)
        assert found.min() > 0


def test_only_two_words_of_a_history_matter():
    """Histories that end in the same two words are one."""
    model = LanguageModel.fit(texts(100, 20), 20)
    assert model.probabilities([5, 1, 2]).tolist() == model.probabilities([1, 2]).tolist()
    assert model.probabilities([1, 2]).tolist() != model.probabilities([2, 1]).tolist()


def test_frequencies_and_prior():
    """Frequencies are counts plus a half over all symbols; the prior leaves unknown words out."""
    model = LanguageModel.fit([[0, 0, 1, 3]], 3)
    assert model.frequencies == pytest.approx(np.array([2.5, 1.5, 0.5, 1.5]) / 6)
    assert model.prior == pytest.approx(np.array([2.5, 1.5, 0.5]) / 4.5)


def test_learns_what_follows(small_space):
    """In a language where each word has one successor, that one is all but certain."""
    walk = (np.arange(600) * 7) % 60
    model = LanguageModel.fit([walk], len(small_space))
    assert model.probabilities([4]).argmax() == 11
    assert model.probabilities([57, 4])[11] > 0.9


def test_reading_marks_unknown_words(small_space):
    """Texts become the numbers of their words, and the number of words where one is unknown."""
    first, second = small_space.words[:2]
    found = number_texts(small_space, [f"{first}, nonesuch {second.upper()}!", ""])
    assert [text.tolist() for text in found] == [[0, 60, 1], []]


BAD = {
    "nothing": ([], 5, "needs words to learn from. Got none"),
    "empty texts": ([[], []], 5, "needs words to learn from. Got none"),
    "beyond": ([[6]], 5, "takes word numbers from 0 to 5. Got 6 to 6"),
    "negative": ([[0, -1]], 5, "takes word numbers from 0 to 5. Got -1 to 0"),
    "too large": ([[0]], 1 << 21, "takes 1 to 2,097,149 words. Got 2097152"),
    "too small": ([[0]], 0, "Got 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_texts_are_refused(name):
    """What cannot be learnt from is refused in one line."""
    sequences, size, message = BAD[name]
    with pytest.raises(dn.InputError, match=message) as caught:
        LanguageModel.fit(sequences, size)
    assert "\n" not in str(caught.value)

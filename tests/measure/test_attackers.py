"""What attackers on words know: guesses by Bayes' rule, surrogates where no law is known, and a model of a language."""

import dataclasses
import functools
import itertools
from collections import Counter

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.measure.attackers.decoding import look_up_after_pair, look_up_after_word
from deniable.measure.attackers.guesses import (
    WordLikelihood,
    build_likelihood,
    draw_from_prior,
    fit_surrogate,
    rank_guesses,
)
from deniable.measure.attackers.language_model import TrigramModel, measure_perplexity, number_texts
from tests.measure.toy import chain, predict, zipf
from tests.refusals import refuses

START = -1


def test_candidates_are_those_of_bayes_rule(twin_space, small_space):
    """Candidates, their likelihoods and their order are those of the law's matrix; unknown words are one more."""
    subject = dn.TEM(twin_space, epsilon=1.5)
    prior = np.random.default_rng(1).dirichlet(np.ones(13))
    outputs = np.arange(12, dtype=np.int32)
    found = rank_guesses(build_likelihood(subject, prior[:12]), prior, outputs, 13)
    matrix = np.array([subject.probabilities(word) for word in (*twin_space.words, twin_space.unknown_word)])
    for output in outputs:
        row = found.row_of[twin_space.point_by_word[output]]
        joint = prior * matrix[:, output]
        assert found.words[row].tolist() == np.argsort(-joint, kind="stable").tolist()
        ratios = np.exp(found.scores[row] - found.scores[row, 0])
        assert ratios == pytest.approx(np.sort(joint)[::-1] / joint.max(), rel=1e-9)
    assert build_likelihood(subject, prior[:12]).is_exact
    columns = build_likelihood(subject, prior[:12]).compute_columns(np.arange(5, dtype=np.int32))
    own = (
        np.exp(columns[:, twin_space.point_by_word])
        / matrix[:12].T[[twin_space.words_by_point[0][end - 1] for end in twin_space.words_by_point[1]]]
    )
    assert np.ptp(own, axis=1) == pytest.approx(np.zeros(5), abs=1e-5 * own.max())
    assert not build_likelihood(dn.MultivariateLaplace(small_space, epsilon=1.0), zipf(60)).is_exact


@pytest.mark.parametrize(
    "make",
    [dn.CalibratedExponential, *(pytest.param(make, marks=pytest.mark.deep) for make in (dn.TEM, dn.TightExponential))],
)
def test_surrogate_is_a_lower_bound(small_space, make):
    """A surrogate's success on fresh draws is not above the Bayes rate, and close to it."""
    subject, prior = make(small_space, epsilon=1.5), zipf(60)
    words, outputs = draw_from_prior(subject, prior, 20_000, 5, "test")
    likelihood = WordLikelihood(small_space, fit_surrogate(subject, prior).compute_logs, is_exact=False)
    best = rank_guesses(likelihood, prior, outputs, 1)
    hits = int((best.words[best.row_of[small_space.point_by_word[outputs]], 0] == words).sum())
    truth = dn.recovery(subject)
    assert stats.binomtest(hits, 20_000, truth, alternative="greater").pvalue > 1e-6
    assert hits / 20_000 > 0.85 * truth


def test_each_use_has_its_own_draws(small_space):
    """A seed repeats the words and the draws of a use; another use of the seed has others."""
    first, again, other = (
        [numbers.tolist() for numbers in draw_from_prior(dn.TEM(small_space, epsilon=1.0), zipf(60), 50, 3, purpose)]
        for purpose in ("fit", "fit", "count")
    )
    assert first == again
    assert first[0] != other[0]


def texts(count, size, seed=0):
    """Return random texts over skewed words, so that many trigrams repeat."""
    generator = np.random.default_rng(seed)
    return [generator.choice(size + 1, length, p=zipf(size + 1)) for length in generator.integers(0, 12, count)]


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
        self.orders = [Counter(w for _, w in bigrams), bigrams, trigrams]
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


def test_the_model_agrees_with_dictionaries():
    """Every probability after every kind of history is that of the formula; only two words of a history matter."""
    sequences = texts(60, 9)
    model, slow = TrigramModel.fit(sequences, 9), Slow(sequences, 9)
    for history in [[], [0], [9], *([u, v] for u in range(0, 10, 2) for v in range(0, 10, 3))]:
        short = tuple(history) if len(history) == 2 else (START, *history)
        expected = [slow.probability(short, word) for word in range(10)]
        assert predict(model, history) == pytest.approx(expected, rel=1e-12)
    assert predict(model, [5, 1, 2]).tolist() == predict(model, [1, 2]).tolist()
    assert predict(model, [1, 2]).tolist() != predict(model, [2, 1]).tolist()


@pytest.mark.parametrize("count", [3, 400])
def test_probabilities_sum_to_one_and_leave_none_out(count):
    """After random histories, most of them never seen, the probabilities sum to 1 and are all positive."""
    model, generator = TrigramModel.fit([*texts(count, 200), [3]], 200), np.random.default_rng(7)
    for _ in range(50):
        found = predict(model, generator.integers(0, 201, generator.integers(0, 4)).tolist())
        assert found.sum() == pytest.approx(1.0, abs=1e-9)
        assert found.min() > 0


def test_frequencies_and_prior():
    """Frequencies are counts plus a half over all symbols; the prior leaves unknown words out."""
    model = TrigramModel.fit([[0, 0, 1, 3]], 3)
    assert model.frequencies == pytest.approx(np.array([2.5, 1.5, 0.5, 1.5]) / 6)
    assert model.prior == pytest.approx(np.array([2.5, 1.5, 0.5]) / 4.5)


def test_reading_marks_unknown_words(small_space):
    """Texts become the numbers of their words, and the number of words where one is unknown."""
    first, second = small_space.words[:2]
    found = number_texts(small_space, [f"{first}, nonesuch {second.upper()}!", ""])
    assert [text.tolist() for text in found] == [[0, 60, 1], []]


def draw_cycles(count, seed):
    """Return texts whose words follow one another in a cycle most of the time, some of them unknown."""
    rng = np.random.default_rng(seed)
    texts = np.empty((count, 12), dtype=np.int32)
    texts[:, 0] = rng.integers(6, size=count)
    for place in range(1, 12):
        following = (texts[:, place - 1] + 1) % 6
        texts[:, place] = np.where(rng.random(count) < 0.8, following, rng.integers(6 + 1, size=count))
    return [*texts]


def test_perplexity_is_that_of_the_model():
    """It is that of the probabilities that the model gives, unknown words left out; word order makes a text fluent."""
    model, texts = TrigramModel.fit(draw_cycles(100, 0), 6), draw_cycles(30, 1)
    surprisals = [
        -np.log(predict(model, text[:place])[text[place]])
        for text in texts
        for place in range(len(text))
        if text[place] != 6
    ]
    found = measure_perplexity(model, texts)
    assert found.value == pytest.approx(np.exp(np.mean(surprisals)))
    assert found.low < found.value < found.high
    assert found.count == 30
    shuffled = [np.random.default_rng(row).permutation(text) for row, text in enumerate(texts)]
    assert found.high < measure_perplexity(model, shuffled).low
    with refuses("words"):
        measure_perplexity(model, [np.full(3, 6, dtype=np.int32), np.empty(0, dtype=np.int32)])


@pytest.mark.parametrize("width", [2, 21])
@pytest.mark.parametrize("weight", [1.0, 0.5])
def test_look_ups_have_the_probabilities_of_the_model(width, weight):
    """After every pair of words, few or all candidates have the model's probability to the power of the weight."""
    model = TrigramModel.fit(texts(100, 20), 20)
    tables = model.tables.temper(weight)
    candidates = np.sort(np.random.default_rng(0).permutation(21)[:width]).astype(np.int32)
    bigram_chances, trigram_chances = np.empty((2, width))
    pairs, next_pairs, matches = np.empty((3, width), dtype=np.int64)
    everything = np.arange(21, dtype=np.int32)
    for first in range(21):
        all_chances, all_pairs = np.empty(21), np.empty(21, dtype=np.int64)
        look_up_after_word(everything, first, tables, tables.unigrams, all_chances, all_pairs)
        for second in range(21):
            look_up_after_word(candidates, second, tables, tables.unigrams, bigram_chances, next_pairs)
            look_up_after_pair(candidates, all_pairs[second], tables, bigram_chances, matches, trigram_chances)
            expected = predict(model, [first, second])[candidates] ** weight
            np.testing.assert_allclose(trigram_chances, expected, rtol=1e-9)
    look_up_after_word(candidates, -1, tables, tables.unigrams, bigram_chances, pairs)
    assert bigram_chances.tolist() == tables.unigrams[candidates].tolist()
    assert set(pairs.tolist()) == {-1}


def guess_exhaustively(space, subject, model, outputs, weight):
    """Return the word of the largest posterior at each place, by summing over all texts."""
    size = len(space)
    matrix = np.array([subject.probabilities(word) for word in (*space.words, space.unknown_word)])
    after = functools.cache(lambda *history: predict(model, history))
    alone = model.frequencies ** (1 - weight)
    posterior = np.zeros((len(outputs), size + 1))
    for text in itertools.product(range(size + 1), repeat=len(outputs)):
        chance = 1.0
        for i, word in enumerate(text):
            chance *= after(*text[:i])[word] ** weight * alone[word] * matrix[word, outputs[i]]
        for i, word in enumerate(text):
            posterior[i, word] += chance
    return posterior[:, :size].argmax(axis=1)


@pytest.mark.parametrize("weight", [0.6, pytest.param(1.0, marks=pytest.mark.deep)])
def test_a_full_beam_is_exhaustive(small_space, weight):
    """With all candidates and a full beam the guesses are those of the sum over all texts."""
    space = dn.Space(small_space.words[:4], small_space.vectors[:4])
    subject = dn.TEM(space, epsilon=1.0)
    model = TrigramModel.fit(number_texts(space, [*chain(space, 30, 6, loyal=0.8), "nonesuch"]), len(space))
    drawn = dn.measure.privatize_texts(subject, chain(space, 8, 4, seed=8), seed=3)
    options = {"weight": weight}
    outputs = drawn.outputs.reshape(8, 4)
    expected = np.concatenate([guess_exhaustively(space, subject, model, row, weight) for row in outputs])
    found = dn.measure.measure_contextual_recovery(subject, drawn, model, **options)
    assert found.share.value == (expected == drawn.words).mean()
    # The same releases, with the expected guesses in the place of the originals: all of them are recovered.
    guessed = dataclasses.replace(drawn, words=expected.astype(np.int32))
    assert dn.measure.measure_contextual_recovery(subject, guessed, model, **options).share.value == 1.0


def test_context_helps(small_space):
    """Where words follow each other closely, who knows the language recovers far more."""
    subject = dn.CalibratedExponential(small_space, epsilon=1.2)
    drawn = dn.measure.privatize_texts(subject, chain(small_space, 80, 25), seed=5)
    model = TrigramModel.fit(number_texts(small_space, chain(small_space, 200, 25, seed=1)), 60)
    alone = dn.measure.measure_recovery(subject, drawn, prior=model.prior)
    found = dn.measure.measure_contextual_recovery(subject, drawn, model)
    assert not found.optimal
    assert found.share.low > 1.5 * alone.share.high


def test_unknown_words_are_left_out(small_space):
    """Words beyond the vocabulary are counted apart, and the model knows them as one symbol more."""
    subject = dn.TEM(small_space, epsilon=200.0)
    strange = [f"nonesuch {small_space.words[3]} strange {small_space.words[4]}"] * 5
    model = TrigramModel.fit(number_texts(small_space, strange), len(small_space))
    drawn = dn.measure.privatize_texts(subject, strange, seed=1)
    found = dn.measure.measure_contextual_recovery(subject, drawn, model)
    assert (found.left_out, found.share.value) == (10, 1.0)


@pytest.mark.parametrize(
    ("sequences", "size", "value"),
    [
        ([], 5, "none"),
        ([[], []], 5, "none"),
        ([[0]], 1 << 21, 1 << 21),
        ([[0]], 0, 0),
    ],
)
def test_texts_that_teach_no_language(sequences, size, value):
    """What cannot be learnt from is refused."""
    with refuses(value):
        TrigramModel.fit(sequences, size)


@pytest.mark.parametrize(
    ("words", "options", "value"),
    [
        ("nonesuch", {}, "vocabulary"),
        ("baran", {"weight": -1.0}, -1.0),
        ("baran", {"model": TrigramModel.fit([[1]], 5)}, "5 words"),
    ],
)
def test_attacks_that_cannot_be_made(small_space, words, options, value):
    """Texts, models and sizes that do not go together are refused."""
    subject = dn.TEM(small_space, epsilon=1.0)
    given = {"model": TrigramModel.fit([[1, 2]], 60), **options}
    with refuses(value):
        dn.measure.measure_contextual_recovery(subject, dn.measure.privatize_texts(subject, [words], seed=1), **given)

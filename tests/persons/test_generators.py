"""Generators of synthetic texts: their laws, what they see, what classes their texts get, and what is refused."""

import dataclasses
import itertools
import re
import sys
import types

import numpy as np
import pytest
from scipy import stats

from deniable.persons.generators.candidates import CandidateTexts, list_class_words
from deniable.persons.generators.counted import CountedTexts, build_counted_model
from deniable.persons.generators.knowledge import ReleasedKnowledge, balance_probabilities, label_texts
from deniable.persons.generators.recombined import STRENGTH, RecombinedTexts, split_sentences
from deniable.persons.generators.tilted import AGREEMENT, TiltedTexts, find_strength
from deniable.persons.histograms import LENGTH_EDGES
from deniable.persons.ngram_counts import NgramCounts
from deniable.persons.ngrams import MAX_SURPLUS, TrigramModel, build_text_model, tidy_marks
from tests.measure.toy import predict
from tests.refusals import refuses

WORDS = ("good", "bad", "film", "plot", "fine", "dull")
WEIGHTS = np.array([1.0, -1.0, 0.0, 0.0, 0.7, -0.7])
PUBLIC_TEXTS = (
    "the film is good.",
    "the film is bad.",
    "a fine film with a good plot!",
    "a dull film with a bad plot.",
    "the plot is long. the film is short.",
    "good and bad films, fine and dull plots.",
    "the cast is fine.",
    "what a dull cast.",
)


def split_tokens(text):
    """Return the words and marks of a text."""
    return re.findall(r"\w+|[^\w\s]", text)


class CountingClassifier:
    """Adds the weights of all words of a text; in place of a `LinearClassifier`."""

    classes = ("negative", "positive")
    feature_map = types.SimpleNamespace(words=WORDS)

    def __init__(self, weights=WEIGHTS):
        self.word_weights = np.stack([-weights, weights], axis=1)

    def predict_probabilities(self, texts):
        """See `LinearClassifier`."""
        weights = dict(zip(WORDS, WEIGHTS, strict=True))
        scores = np.array([sum(weights.get(token, 0.0) for token in split_tokens(text)) for text in texts])
        return np.stack([1 / (1 + np.exp(scores)), 1 / (1 + np.exp(-scores))], axis=1)


SHORT, LONG = (int(np.searchsorted(LENGTH_EDGES, length)) for length in (11, 23))
LENGTH_SHARES = np.zeros(len(LENGTH_EDGES) - 1)
LENGTH_SHARES[[SHORT, LONG]] = 0.3, 0.7
KNOWLEDGE = ReleasedKnowledge(CountingClassifier(), np.array([0.4, 0.6]), LENGTH_SHARES)


def count_share(texts, codes, code, words):
    """Return the share of tokens of the texts of a class that are among some words."""
    tokens = [token for text, one in zip(texts, codes, strict=True) if one == code for token in split_tokens(text)]
    return sum(token in words for token in tokens) / len(tokens)


def test_drawn_classes_and_lengths_have_the_shares():
    """Classes come as often as their shares say, up to one; lengths fit the bins and are uniform within.

    Shares 30 % off are rejected.
    """
    codes = KNOWLEDGE.draw_codes(1_001, np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(codes, minlength=2), 1_001 * KNOWLEDGE.class_shares, atol=1)
    assert not np.all(np.diff(codes) >= 0)
    lengths = KNOWLEDGE.draw_lengths(20_000, np.random.default_rng(0))
    counts, shares = np.histogram(lengths, LENGTH_EDGES)[0][[SHORT, LONG]], np.array([0.3, 0.7])
    assert counts.sum() == 20_000
    assert stats.chisquare(counts, 20_000 * shares).pvalue > 1e-6
    wrong = shares * [1.3] + [0, -0.3 * shares[0] - 0.3 * shares[1]]
    assert stats.chisquare(counts, 20_000 * wrong / wrong.sum()).pvalue < 1e-6
    first, last = LENGTH_EDGES[LONG : LONG + 2]
    assert stats.chisquare(np.bincount(lengths[lengths >= first] - first, minlength=last - first)).pvalue > 1e-6


def test_balanced_probabilities_have_the_shares():
    """The mean of balanced probabilities is the shares, whatever class the texts lean to."""
    scores = np.random.default_rng(0).normal(3, 2, 500)
    probabilities = np.stack([1 / (1 + np.exp(scores)), 1 / (1 + np.exp(-scores))], axis=1)
    balanced = balance_probabilities(probabilities, np.array([0.3, 0.7]))
    np.testing.assert_allclose(balanced.mean(axis=0), [0.3, 0.7], atol=1e-6)
    np.testing.assert_allclose(balanced.sum(axis=1), 1)
    assert stats.spearmanr(balanced[:, 1], scores).statistic > 1 - 1e-12


def test_the_least_certain_texts_are_dropped():
    """The texts that remain are the most certain ones, in their order, with the class of larger probability."""
    texts = ["good " * count + "bad " * (9 - count) for count in range(10)]
    knowledge = dataclasses.replace(KNOWLEDGE, class_shares=np.array([0.5, 0.5]))
    labelled, codes = label_texts(knowledge, texts, 6)
    assert labelled == [texts[place] for place in (0, 1, 2, 7, 8, 9)]
    np.testing.assert_array_equal(codes, [0, 0, 0, 1, 1, 1])


def compute_probabilities(model, history, log_weights):
    """Return P_v(w|history) (V + 1,), by the definition; an empty history is a text's start."""
    tables, start = model.tables, len(model.words) + 1
    first, last = [start, start, *history][-2:]
    run = slice(*tables.bigram_starts[last : last + 2])
    probabilities = tables.bigram_backoffs[last] * tables.unigrams
    probabilities[tables.bigram_words[run]] += tables.bigrams[run]
    for pair in range(*tables.bigram_starts[first : first + 2]):
        if tables.bigram_words[pair] == last:
            run = slice(*tables.trigram_starts[pair : pair + 2])
            probabilities *= tables.trigram_backoffs[pair]
            probabilities[tables.trigram_words[run]] += tables.trigrams[run]
    probabilities *= np.exp(np.append(log_weights, 0.0))
    return probabilities / probabilities.sum()


def test_probabilities_are_those_of_kneser_and_ney():
    """Without a tilt the law after every kind of history is that of the language model of the same texts."""
    texts = (*PUBLIC_TEXTS, "")
    model = build_text_model(texts)
    numbers = {word: number for number, word in enumerate(model.words)}
    sequences = [[*map(numbers.get, split_tokens(text)), len(numbers)] for text in texts if text]
    reference = TrigramModel.fit(sequences, len(numbers))
    for words in ((), ("the",), ("the", "film"), ("film", "the"), ("!", "cast"), ("plot", "is", "dull")):
        history = [numbers[word] for word in words]
        expected = predict(reference, history)
        np.testing.assert_allclose(compute_probabilities(model, history, np.zeros(len(numbers))), expected, rtol=1e-9)


def measure_fit(model, texts, history, law):
    """Return how often words came after a history, and the p-value of a law without the end of a text."""
    numbers = {word: number for number, word in enumerate(model.words)}
    counts = np.zeros(len(model.words))
    for text in texts:
        # A text that ends leaves no trace, so the history is taken well before the length is reached.
        tokens = split_tokens(text)[:57]
        for place in range(len(tokens) - len(history)):
            if tokens[place : place + len(history)] == history:
                counts[numbers[tokens[place + len(history)]]] += 1
    return counts.sum(), stats.chisquare(counts, law * counts.sum()).pvalue


@pytest.mark.parametrize("count", [1_500, pytest.param(6_000, marks=pytest.mark.deep)])
def test_drawn_words_follow_the_tilted_law(count):
    """Words drawn after a history fit the law of the definition; they reject one whose tilt is 30 % off."""
    model = build_text_model(PUBLIC_TEXTS)
    tilt = np.random.default_rng(0).normal(0, 1.5, len(model.words))
    texts = model.write_texts(tilt, np.full(count, 60), np.random.default_rng(1))
    numbers = [model.words.index(word) for word in ("film", "is")]

    def measure(factor):
        # Where the text ends, the next word is the first of another text, which may end at once too.
        law, first = (compute_probabilities(model, words, factor * tilt) for words in (numbers, []))
        return measure_fit(model, texts, ["film", "is"], law[:-1] + law[-1] * first[:-1] / (1 - first[-1]))

    assert measure(1.0)[0] > 500
    assert measure(1.0)[1] > 1e-6
    assert measure(0.7)[1] < 1e-6
    assert measure(1.3)[1] < 1e-6


def test_written_texts():
    """Texts end with a sentence near their length and follow from the generator; marks stand as people write them."""
    model, lengths = build_text_model(PUBLIC_TEXTS), np.array([1, 5, 30, 200])
    no_tilt = np.zeros(len(model.words))
    first, second, other = (model.write_texts(no_tilt, lengths, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first == second != other
    counts = np.array([len(split_tokens(text)) for text in first])
    assert np.all(counts >= lengths)
    assert np.all(counts <= lengths + MAX_SURPLUS)
    text = 'he said " a well - made film " - - and " no'
    assert tidy_marks(text) == 'he said "a well-made film" -- and " no'
    assert split_tokens(tidy_marks(text)) == split_tokens(text)
    for weight in (31.0, np.nan):
        with refuses("smaller strength"):
            model.write_texts(no_tilt + weight, lengths, np.random.default_rng(0))


def test_tilted_texts():
    """Texts of a class hold more of its words than others; classes have their shares, words are public.

    Equal seeds give equal texts.
    """
    texts, codes = TiltedTexts(PUBLIC_TEXTS).write_texts(KNOWLEDGE, 300, seed=3)
    assert len(texts) == len(codes) == 300
    assert 0.5 < np.mean(codes) < 0.7
    for code, words in enumerate(({"bad", "dull"}, {"good", "fine"})):
        assert count_share(texts, codes, code, words) > 2 * count_share(texts, codes, 1 - code, words)
    assert {*split_tokens(" ".join(texts))} <= {*split_tokens(" ".join(PUBLIC_TEXTS))}
    assert TiltedTexts(PUBLIC_TEXTS).write_texts(KNOWLEDGE, 300, seed=3)[0] == texts
    assert TiltedTexts(PUBLIC_TEXTS).write_texts(KNOWLEDGE, 300, seed=4)[0] != texts
    assert len(TiltedTexts(PUBLIC_TEXTS).write_texts(KNOWLEDGE, 1, seed=0)[0]) == 1
    blank = dataclasses.replace(KNOWLEDGE, classifier=CountingClassifier(np.zeros(len(WORDS))))
    assert all(TiltedTexts(PUBLIC_TEXTS).write_texts(blank, 5, seed=0)[0])


def test_labels_agree_with_classes_as_often_as_wanted():
    """At the strength that is found labels agree in about four of five texts, and not at half or twice of it."""
    model = build_text_model(PUBLIC_TEXTS)
    weights = dict(zip(WORDS, WEIGHTS, strict=True))
    one = np.array([weights.get(word, 0.0) for word in model.words])
    log_weights = np.stack([-one, one], axis=1)
    strength = find_strength(KNOWLEDGE, model, log_weights, np.random.default_rng(0))

    def measure_agreement(factor):
        generator = np.random.default_rng(1)
        codes = KNOWLEDGE.draw_codes(2_000, generator)
        lengths = KNOWLEDGE.draw_lengths(2_000, generator)
        labels = np.empty(2_000, dtype=int)
        for code in (0, 1):
            texts = model.write_texts(factor * strength * log_weights[:, code], lengths[codes == code], generator)
            labels[codes == code] = KNOWLEDGE.classifier.predict_probabilities(texts).argmax(axis=1)
        return np.mean(labels == codes)

    assert abs(measure_agreement(1.0) - AGREEMENT) < 0.04
    assert measure_agreement(0.5) < AGREEMENT - 0.05
    assert measure_agreement(2.0) > AGREEMENT + 0.05


def list_sentences(text):
    """Return the sentences of a text of `PUBLIC_TEXTS`, which all end with a mark."""
    return text.replace("!", "!|").replace(".", ".|").replace("| ", "|").strip("|").split("|")


def test_recombined_texts():
    """Texts are whole public sentences, drawn by the stated law over both classes, of about the lengths drawn.

    A law of less than half of the strength is further away, and texts of a class hold more of its words.
    """
    texts, codes = RecombinedTexts(PUBLIC_TEXTS).write_texts(KNOWLEDGE, 2_000, seed=2)
    sentences = [sentence for text in texts for sentence in list_sentences(text)]
    public = sorted({sentence for text in PUBLIC_TEXTS for sentence in list_sentences(text)})
    assert sorted({*sentences}) == public
    lengths = np.array([len(split_tokens(text)) for text in texts])
    assert lengths.max() <= 40 + 8
    assert abs(lengths.mean() - 22) < 3
    chances = KNOWLEDGE.classifier.predict_probabilities(public)
    counts = np.array([sentences.count(sentence) for sentence in public])

    def measure_distance(strength):
        law = chances**strength / (chances**strength).sum(axis=0) @ KNOWLEDGE.class_shares
        return np.abs(counts / counts.sum() - law).sum()

    assert measure_distance(STRENGTH) < 0.1
    assert measure_distance(0.1) > 2 * measure_distance(STRENGTH)
    assert count_share(texts, codes, 1, {"good", "fine"}) > 1.5 * count_share(texts, codes, 0, {"good", "fine"})


def test_sentences_end_with_a_mark_before_a_word():
    """A text is cut between a mark and a word with white space between them; tokenized marks are attached."""
    assert split_sentences("One. two?  Three! 3.5, no cut.x") == ["One.", "two?", "Three!", "3.5, no cut.x"]
    assert split_sentences("so , it\n ends . . . here it is (  not ) .") == ["so, it ends...", "here it is (not)."]


ENTRIES = {
    (0, "bad"): 90.0,
    (0, "film"): 100.0,
    (0, "."): 80.0,
    (0, "bad film"): 70.0,
    (0, "film ."): 60.0,
    (0, "bad film ."): 50.0,
    (0, "dull plot"): 40.0,
    (1, "good"): 120.0,
    (1, "film"): 100.0,
    (1, "fine"): 50.0,
    (1, "good film"): 60.0,
}
COUNTS = NgramCounts(
    np.array([code for code, _ in ENTRIES]),
    tuple(tuple(ngram.split()) for _, ngram in ENTRIES),
    np.array([*ENTRIES.values()]),
    30.0,
    5.0,
)


def test_the_law_of_counted_words():
    """Words follow the documented shares of words, pairs and triples, unreleased words left out; not the unigrams."""
    model = build_counted_model(COUNTS, 0, "negative")
    assert model.words == (".", "bad", "film")
    stop, bad, film = range(3)
    nothing = np.zeros(3)
    unigrams = np.append(np.array([80, 90, 100]) / 270, 1e-9) / (1 + 1e-9)
    np.testing.assert_allclose(compute_probabilities(model, [], nothing), unigrams)
    after_film = (1 - 60 / 130) * unigrams
    after_film[stop] += 60 / 130
    np.testing.assert_allclose(compute_probabilities(model, [film], nothing), after_film, rtol=1e-6)
    after_bad_film = (1 - 50 / 100) * after_film
    after_bad_film[stop] += 50 / 100
    np.testing.assert_allclose(compute_probabilities(model, [bad, film], nothing), after_bad_film, rtol=1e-6)
    texts = model.write_texts(nothing, np.full(400, 60), np.random.default_rng(0))
    pairs = [pair for text in texts for pair in itertools.pairwise(split_tokens(text))]
    counts = np.bincount([model.words.index(word) for before, word in pairs if before == "bad"], minlength=3)
    for history, is_right in (([bad], True), ([], False)):
        law = compute_probabilities(model, history, nothing)[:3]
        assert bool(stats.chisquare(counts, law / law.sum() * counts.sum()).pvalue > 1e-6) is is_right


def test_counted_texts():
    """Texts consist of released words, more of them of their own class, and follow from the seed."""
    texts, codes = CountedTexts(COUNTS).write_texts(KNOWLEDGE, 200, seed=1)
    assert len(texts) == 200
    assert {*split_tokens(" ".join(texts))} == {".", "bad", "film", "good", "fine"}
    assert count_share(texts, codes, 1, {"good", "fine"}) > 0.4
    assert CountedTexts(COUNTS).write_texts(KNOWLEDGE, 200, seed=1)[0] == texts
    only_first = NgramCounts(np.array([0]), (("bad",),), np.array([50.0]), 30.0, 5.0)
    with refuses("'positive'"):
        CountedTexts(only_first).write_texts(KNOWLEDGE, 20, seed=0)


def test_candidates_are_labelled_and_the_uncertain_dropped():
    """A request holds what was released; proposed texts keep their classes, those that say nothing are left out."""
    requests = []

    def propose(request):
        """Return the first words of each class; every tenth text says nothing."""
        requests.append(request)
        return [
            "film" if place % 10 == 0 else " ".join(request.class_words[code] * (length // 2))
            for place, (code, length) in enumerate(zip(request.codes.tolist(), request.lengths.tolist(), strict=True))
        ]

    texts, codes = CandidateTexts(propose).write_texts(KNOWLEDGE, 90, seed=5)
    assert len(texts) == 90
    for text, code in zip(texts, codes, strict=True):
        assert text.split()[0] == ("good" if code else "bad")
    (request,) = requests
    assert (request.classes, request.seed, request.count) == (CountingClassifier.classes, 5, 100)
    assert request.class_words == (("bad", "dull"), ("good", "fine")) == list_class_words(KNOWLEDGE.classifier)
    np.testing.assert_array_equal(np.bincount(request.codes), [40, 60])
    assert request.lengths.min() >= 5
    assert request.lengths.max() < 40


@pytest.mark.parametrize("is_compiled", [True, False])
def test_an_interruption_is_no_failure(is_compiled):
    """Ctrl-C while a callable runs stays one, also where compiled code made another error of it."""
    error = SystemError("an exception set") if is_compiled else KeyboardInterrupt()
    error.__cause__ = KeyboardInterrupt() if is_compiled else None

    def propose(_):
        raise error

    with pytest.raises(type(error)) as caught:
        CandidateTexts(propose).write_texts(KNOWLEDGE, 9, seed=0)
    assert caught.value is error


def propose_last(last):
    """Return a callable that proposes good texts and a last one."""
    return lambda request: ["good"] * (request.count - 1) + last


@pytest.mark.parametrize(
    ("generate", "value"),
    [
        *(
            (lambda propose=propose: CandidateTexts(propose).write_texts(KNOWLEDGE, 9, seed=0), value)
            for propose, value in (
                (lambda _: "good", "Got str"),
                (propose_last([]), "10 texts"),
                (propose_last([3]), "Got int at place 9"),
                (propose_last([" "]), "place 9"),
                (lambda _: 1 / 0, "ZeroDivisionError"),
                (lambda _: sys.exit(0), "SystemExit: 0"),
            )
        ),
        (lambda: CountedTexts(COUNTS).write_texts(KNOWLEDGE, 0, seed=0), "'rows'"),
        (lambda: RecombinedTexts(PUBLIC_TEXTS).write_texts(KNOWLEDGE, 0, seed=0), "'rows'"),
        (lambda: RecombinedTexts([" "]).write_texts(KNOWLEDGE, 5, seed=0), "texts with words"),
        (lambda: TiltedTexts(PUBLIC_TEXTS).write_texts(KNOWLEDGE, 0, seed=0), "'rows'"),
        (lambda: TiltedTexts([" "]).write_texts(KNOWLEDGE, 5, seed=0), "texts with words"),
        (lambda: build_text_model(["", "  "]), "needs words"),
    ],
)
def test_refusals(generate, value):
    """No rows, no public words, parts that do not match, and anything but texts of a callable are one line."""
    with refuses(value):
        generate()

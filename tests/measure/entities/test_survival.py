"""How many labelled words come out of private texts, and of a table while it is released."""

import dataclasses

import numpy as np
import pytest

import deniable as dn
from deniable.measure.entities.sources import DetectedEntities
from tests.conftest import SMALL_WORDS
from tests.measure.toy import drawn_as
from tests.refusals import refuses

TEXTS = ["Baran dotel, fevim.", "kuzor baran", "", "fevim mopen naran"]
OUTPUTS = ["baran kuzor fevim", "baran baran", "", "mopen baran naran"]
SPANS = [
    [(0, 11, "PERSON"), (13, 18, "CITY"), (11, 13, "SIGN")],
    [(0, 5, "CITY"), (6, 11, "PERSON")],
    [],
    [(0, 17, "PERSON"), (6, 11, "CITY")],
]


def measure(space, texts=TEXTS, outputs=OUTPUTS, spans=SPANS):
    return dn.measure.measure_entities(space, texts, drawn_as(space, texts, outputs), spans)


def test_by_hand(small_space):
    """Shares, chance levels and whole spans of a few words, counted by hand."""
    total, (person, city) = (result := measure(small_space)).total, result.kinds
    assert (total.kind, total.spans, total.words, total.unknown, total.texts) == ("all", 6, 8, 0, 3)
    assert result.wordless == 1
    # At their places: baran, fevim | baran | naran. Anywhere: baran, fevim | baran | mopen, naran.
    assert (total.at_place.value, total.in_text.value) == (4 / 8, 5 / 8)
    # Spans whole: the city of the first text and the person of the second.
    assert total.whole.value == 2 / 6
    assert (person.kind, person.spans, person.words) == ("PERSON", 3, 6)
    assert (city.kind, city.spans, city.words) == ("CITY", 3, 3)
    assert (person.at_place.value, city.at_place.value) == (3 / 6, 1 / 3)
    assert (person.whole.value, city.whole.value) == (1 / 3, 1 / 3)
    # Places of the other texts that hold the word, and other texts that hold it.
    places = [3 / 5, 0, 0, 1 / 6, 2 / 6, 1 / 5, 0, 0]
    texts = [1.0, 0, 0, 1 / 2, 1.0, 1 / 2, 0, 0]
    assert total.chance_at_place.value == pytest.approx(np.mean(places))
    assert total.chance_in_text.value == pytest.approx(np.mean(texts))
    assert city.chance_at_place.value == pytest.approx(np.mean([places[2], places[3], places[6]]))


def test_nothing_and_everything_comes_out(small_space):
    """Texts that came out as they were show every span, others none; both keep an interval."""
    same = measure(small_space, outputs=["baran dotel fevim", "kuzor baran", "", "fevim mopen naran"]).total
    assert (same.at_place.value, same.in_text.value, same.whole.value) == (1, 1, 1)
    assert 0 < same.at_place.low < 1
    assert same.is_beyond_chance == (same.at_place.low > same.chance_at_place.high)
    other = measure(small_space, outputs=["ligus ligus ligus", "ligus ligus", "", "ligus ligus ligus"]).total
    assert (other.at_place.value, other.in_text.value, other.whole.value) == (0, 0, 0)
    assert (other.chance_at_place.value, other.chance_in_text.value) == (0, 0)
    assert other.at_place.high > 0
    assert not other.is_beyond_chance


def test_unknown_words_never_come_out(small_space):
    """A word that the vocabulary lacks is counted, and does not come out whatever is drawn for it."""
    outputs = [f"{small_space.unknown_word} baran"]
    total = measure(small_space, ["Zork baran"], outputs, [[(0, 10, "P")]]).total
    assert (total.words, total.unknown, total.at_place.value, total.in_text.value) == (2, 1, 0.5, 0.5)
    assert total.whole.value == 0


def test_texts_beside_the_labelled_one(small_space):
    """Without another text nothing tells what comes out by chance; many empty ones before it change no figure."""
    total = measure(small_space, ["baran"], ["baran"], [[(0, 5, "P")]]).total
    assert (total.chance_at_place, total.chance_in_text, total.is_beyond_chance) == (None, None, False)
    texts = [""] * 9 + ["baran"]
    total = measure(small_space, texts, texts, [[]] * 9 + [[(0, 5, "P")]]).total
    assert (total.whole.value, total.at_place.value, total.texts) == (1, 1, 1)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("Anna", 1),
        ("Anna's", 2),
        ("nn", 1),
        ("friend, Ωm", 2),
        ("O'Neil", 1),
        ("(b. 1,984)", 2),
        (", ", 0),
        (").", 0),
        ("Anna's friend, Ωmega O'Neil (b. 1,984).", 7),
    ],
)
def test_a_span_covers_the_words_that_it_touches(small_space, part, words):
    """A word belongs to a span if they share a character; punctuation is no word."""
    text = "Anna's friend, Ωmega O'Neil (b. 1,984)."
    start = text.index(part)
    spans = [[(start, start + len(part), "A")], [(0, 5, "B")]]
    drawn = dn.measure.privatize_texts(dn.TEM(small_space, epsilon=1.0), [text, "baran"], seed=0)
    result = dn.measure.measure_entities(small_space, [text, "baran"], drawn, spans)
    assert (result.total.words, result.wordless) == (words + 1, words == 0)


def many_texts(count, words=6):
    generator = np.random.default_rng(3)
    return [" ".join(generator.choice(SMALL_WORDS, words)) for _ in range(count)]


@pytest.mark.parametrize("epsilon", [2.0, *(pytest.param(epsilon, marks=pytest.mark.deep) for epsilon in (0.5, 4.0))])
def test_the_share_is_that_of_the_law(small_space, epsilon):
    """The share at their places is the exact chance that a word is kept, and neither 30 % more nor less."""
    texts = many_texts(1500)
    mechanism = dn.TEM(small_space, epsilon=epsilon)
    batch = dn.measure.privatize_texts(mechanism, texts, seed=4)
    found = dn.measure.measure_entities(small_space, texts, batch, [[(0, len(text), "P")] for text in texts])
    kept_shares = np.array([mechanism.probabilities(word)[number] for number, word in enumerate(SMALL_WORDS)])
    truth, share = kept_shares[batch.words].mean(), found.total.at_place
    assert share.low < truth < share.high
    assert not share.low < 1.3 * truth < share.high
    assert not share.low < 0.7 * truth < share.high


def test_the_chance_level_is_that_of_unrelated_words(small_space):
    """Words labelled at random come out of unrelated outputs as often as by chance, and of their own more often."""
    texts = many_texts(400)
    spans = [[(0, text.index(" "), "P")] for text in texts]
    own = dn.measure.privatize_texts(dn.TEM(small_space, epsilon=3.0), texts, seed=1)
    unrelated = dataclasses.replace(own, outputs=np.roll(own.outputs, 12))
    for batch, is_beyond in ((own, True), (unrelated, False)):
        total = dn.measure.measure_entities(small_space, texts, batch, spans).total
        assert total.is_beyond_chance == is_beyond
        assert 1 / 120 < total.chance_at_place.value < 1 / 30
    assert total.at_place.low < total.chance_at_place.value < total.at_place.high
    assert total.in_text.low < total.chance_in_text.value < total.in_text.high


@pytest.mark.parametrize(
    ("text", "spans", "value"),
    [
        ("baran", [[], []], "1, 1 and 2"),
        ("baran", [[(0, 6, "P")]], "Row 1: a span ends at 6"),
        ("baran", [[(0, 5)]], "[int, int]"),
        ("baran", [["PERSON"]], "str"),
        ("baran", [[(0, 0, "P")]], "from 0 to 0"),
        ("baran", [[]], "0 spans"),
        ("....", [[(0, 1, "P")]], "1 spans"),
    ],
)
def test_what_cannot_be_measured(small_space, text, spans, value):
    """Spans that do not fit, and texts that are not those of the batch, are refused."""
    batch = dn.measure.privatize_texts(dn.TEM(small_space, epsilon=1.0), [text], seed=0)
    with refuses(value):
        dn.measure.measure_entities(small_space, [text], batch, spans)
    with refuses("originals"):
        dn.measure.measure_entities(small_space, ["baran dotel"], batch, [[(0, 5, "P")]])


ALL = DetectedEntities(lambda text: [(0, len(text), "ALL")] if text else [], "d")
"""Names the whole of a text as one span."""

"""Public features of texts: the same for a text alone and among others, of norm 1, for whatever stands in it."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.core.errors import InputError
from deniable.persons.features import build_feature_map, build_space_feature_map
from deniable.text.tokenization import split_tokens
from tests.text.helpers import SPACE

PUBLIC = ["the film was good", "the film was bad", "a good plot", "not a good film <br /> at all", "naïve café, 日本"]
MAP = build_feature_map(PUBLIC)
TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from([*MAP.words, "unknown", "<br />", "Ａ", "İ", "\ud800", "\x00"]), max_size=30).map(
        " ".join
    ),
)


def list_features(text):
    """Return the features of a text as words and pairs, by definition."""
    tokens = split_tokens(text)
    pairs = {f"{one} {two}" for one, two in itertools.pairwise(tokens)}
    return sorted({*tokens} & {*MAP.words}), sorted(pairs & {*MAP.pairs})


@settings(deadline=None)
@given(TEXTS, st.lists(TEXTS, max_size=5))
def test_features_of_a_text_depend_on_no_other(text, others):
    """Any text has, to the last bit, the features among others that it has alone; their norm is 1."""
    alone = MAP.extract_features([text])
    among = MAP.extract_features([*others, text, *others])
    first, last = among.offsets[len(others)], among.offsets[len(others) + 1]
    assert alone.columns.tolist() == among.columns[first:last].tolist()
    assert alone.values.tobytes() == among.values[first:last].tobytes()
    assert np.linalg.norm(alone.values) == pytest.approx(1.0, rel=1e-12)


@settings(deadline=None)
@given(TEXTS)
def test_features_are_the_listed_words_and_pairs(text):
    """Every listed word and pair that occurs is one feature, however often, in order after the constant one."""
    columns = MAP.extract_features([text]).columns.tolist()
    words, pairs = list_features(text)
    assert columns[0] == 0
    assert columns == sorted({*columns})
    word_count = len(MAP.words)
    assert sorted(MAP.words[one - 1] for one in columns[1:] if one <= word_count) == words
    assert sorted(MAP.pairs[one - 1 - word_count] for one in columns if one > word_count) == pairs


def test_values_follow_the_weights():
    """A text's values are the public weights, with a fifth of their norm for the constant, scaled to norm 1."""
    rows = MAP.extract_features(["the bad film"])
    expected = MAP.weights[rows.columns]
    expected[0] = 0.2 * np.linalg.norm(expected[1:])
    np.testing.assert_allclose(rows.values, expected / np.linalg.norm(expected))
    assert MAP.extract_features(["", "unknown"]).values.tolist() == [1.0, 1.0]
    assert len(MAP.extract_features([])) == 0


def test_weights_are_those_of_rarity():
    """A feature that f of N texts have weighs ln((N + 1) / (f + 1/2)) to the power 1.5; pairs need two texts."""
    weights = dict(zip(("", *MAP.words, *MAP.pairs), MAP.weights, strict=True))
    assert weights["film"] == pytest.approx(np.log(6 / 3.5) ** 1.5)
    assert weights["plot"] == pytest.approx(np.log(6 / 1.5) ** 1.5)
    assert weights["the film"] == pytest.approx(np.log(6 / 2.5) ** 1.5)
    assert "good plot" not in weights
    assert MAP.words[:2] == ("film", "good")


def test_conditioning_is_a_fixed_linear_map():
    """A gradient shrinks to 0.2^2 along the heavy directions, which are orthonormal, and stays across them."""
    directions = MAP.directions
    np.testing.assert_allclose(directions.T @ directions, np.eye(directions.shape[1]), atol=1e-9)
    np.testing.assert_allclose(MAP.condition(directions), 0.04 * directions, atol=1e-9)
    across = np.random.default_rng(0).normal(size=(len(MAP), 2))
    across -= directions @ (directions.T @ across)
    np.testing.assert_allclose(MAP.condition(across), across, atol=1e-9)


def test_the_same_texts_make_the_same_map():
    """A vocabulary is built the same way twice; another text gives another fingerprint."""
    again = build_feature_map(PUBLIC)
    assert again.fingerprint == MAP.fingerprint
    np.testing.assert_array_equal(again.directions, MAP.directions)
    assert build_feature_map([*PUBLIC, "one more"]).fingerprint != MAP.fingerprint


def test_one_text_is_enough():
    """A vocabulary of a single text has no heavy directions, and one of a space knows one."""
    assert build_feature_map(["word"]).directions.shape == (2, 0)
    of_space = build_space_feature_map(SPACE)
    assert (of_space.words, of_space.pairs) == ((*SPACE.words,), ())
    assert of_space.directions.shape == (len(of_space), 1)
    assert np.linalg.norm(of_space.directions) == pytest.approx(1.0)
    assert of_space.extract_features(["The DOG"]).columns.tolist() == [0, 1, 1 + SPACE.words.index("dog")]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"words": ()}, "at least one word"),
        ({"words": MAP.words[:-1]}, "do not match"),
        ({"words": (*MAP.words[:-1], MAP.words[0])}, "twice"),
        ({"pairs": (*MAP.pairs[:-1], MAP.pairs[0])}, "twice"),
        ({"pairs": (*MAP.pairs[:-1], "good unlisted")}, "other words"),
        ({"pairs": (*MAP.pairs[:-1], "good")}, "other words"),
        ({"weights": np.where(np.arange(len(MAP)) == 3, 0.0, MAP.weights)}, "do not match"),
        ({"weights": np.where(np.arange(len(MAP)) == 3, np.nan, MAP.weights)}, "do not match"),
        ({"weights": np.where(np.arange(len(MAP)) == 3, np.inf, MAP.weights)}, "do not match"),
        ({"directions": MAP.directions[1:]}, "do not match"),
    ],
)
def test_a_map_that_contradicts_itself_is_refused(changes, reason):
    """Parts of a vocabulary that do not fit together are refused when it is made, not when a text is read."""
    with pytest.raises(InputError, match=reason):
        dataclasses.replace(MAP, **changes)


def test_texts_without_words_make_no_vocabulary():
    """Public texts that hold no token are refused."""
    with pytest.raises(InputError, match="hold no word"):
        build_feature_map(["", "  "])

"""Public features of texts: the same for a text alone and among others, of norm 1, for whatever stands in it."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.persons.features import build_feature_map, build_space_feature_map
from tests.refusals import refuses

PUBLIC = ["the film was good", "the film was bad", "a good plot", "not a good film <br /> at all", "naïve café, 日本"]
MAP = build_feature_map(PUBLIC)
TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from([*MAP.words, "unknown", "<br />", "Ａ", "İ", "\ud800", "\x00"]), max_size=30).map(
        " ".join
    ),
)


@settings(max_examples=20)
@given(TEXTS, st.lists(TEXTS, max_size=3))
def test_features_of_a_text_depend_on_no_other(text, others):
    """Any text has, to the last bit, the features among others that it has alone; their norm is 1."""
    alone = MAP.extract_features([text])
    among = MAP.extract_features([*others, text, *others])
    first, last = among.indptr[len(others)], among.indptr[len(others) + 1]
    assert alone.indices.tolist() == among.indices[first:last].tolist()
    assert alone.data.tobytes() == among.data[first:last].tobytes()
    assert np.linalg.norm(alone.data) == pytest.approx(1.0, rel=1e-12)


@settings(max_examples=30)
@given(st.lists(st.sampled_from([*MAP.words, "unknown", "Film", "GOOD", ","]), max_size=30))
def test_features_are_the_listed_words_and_pairs(tokens):
    """Every listed word and pair that occurs is one feature, however often, in order after the constant one."""
    columns = MAP.extract_features([" ".join(tokens)]).indices.tolist()
    spelled = [token.lower() for token in tokens]
    pairs = {f"{one} {two}" for one, two in itertools.pairwise(spelled)}
    assert columns[0] == 0
    assert columns == sorted({*columns})
    names = ["", *MAP.words, *MAP.pairs]
    assert {names[one] for one in columns[1:]} == ({*spelled} & {*MAP.words}) | (pairs & {*MAP.pairs})


def test_values_and_weights():
    """Weights are of rarity; a text's values are they, with a fifth of their norm for the constant, scaled to norm 1.

    A feature that f of N texts have weighs ln((N + 1) / (f + 1/2)) to the power 1.5; pairs need two texts.
    """
    rows = MAP.extract_features(["the bad film"])
    expected = MAP.weights[rows.indices]
    expected[0] = 0.2 * np.linalg.norm(expected[1:])
    np.testing.assert_allclose(rows.data, expected / np.linalg.norm(expected))
    assert MAP.extract_features(["", "unknown"]).data.tolist() == [1.0, 1.0]
    assert MAP.extract_features([]).shape == (0, len(MAP))
    weights = dict(zip(("", *MAP.words, *MAP.pairs), MAP.weights, strict=True))
    for name, count in (("film", 3), ("plot", 1), ("the film", 2)):
        assert weights[name] == pytest.approx(np.log(6 / (count + 0.5)) ** 1.5)
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


def test_vocabularies():
    """Equal texts make equal maps, others another; a single text has no heavy direction, and a space has one."""
    again = build_feature_map(PUBLIC)
    assert again.fingerprint == MAP.fingerprint
    np.testing.assert_array_equal(again.directions, MAP.directions)
    assert build_feature_map([*PUBLIC, "one more"]).fingerprint != MAP.fingerprint
    assert build_feature_map(["word"]).directions.shape == (2, 0)
    space = dn.Space(["the", "dog", "cat"], np.eye(3))
    of_space = build_space_feature_map(space)
    assert (of_space.words, of_space.pairs) == (("the", "dog", "cat"), ())
    assert of_space.directions.shape == (4, 1)
    assert np.linalg.norm(of_space.directions) == pytest.approx(1.0)
    assert of_space.extract_features(["The DOG"]).indices.tolist() == [0, 1, 2]
    with refuses("hold no word"):
        build_feature_map(["", "  "])


@pytest.mark.parametrize(
    "changes",
    [
        {"words": ()},
        {"words": MAP.words[:-1]},
        {"words": (*MAP.words[:-1], MAP.words[0])},
        {"pairs": (*MAP.pairs[:-1], MAP.pairs[0])},
        {"pairs": (*MAP.pairs[:-1], "good unlisted")},
        {"pairs": (*MAP.pairs[:-1], "good")},
        *({"weights": np.where(np.arange(len(MAP)) == 3, one, MAP.weights)} for one in (0.0, np.nan, np.inf)),
        {"directions": MAP.directions[1:]},
    ],
)
def test_a_map_that_contradicts_itself_is_refused(changes):
    """Parts of a vocabulary that do not fit together are refused when it is made, not when a text is read."""
    with refuses("vocabulary"):
        dataclasses.replace(MAP, **changes)

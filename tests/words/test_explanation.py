"""What becomes of one word."""

import numpy as np
import pytest

import deniable as dn
from deniable.words.explanation import explain_word

SPACE = dn.Space(["bad", "good", "mary", "ann"], np.array([[0.0], [1.0], [5.0], [6.0]]), hide=["names"])
MECHANISM = dn.TEM(SPACE, epsilon=1.0)


def test_a_known_word():
    """Its outputs follow the law, a hidden class is one of them, and the guess is that of the mechanism."""
    explained = explain_word(MECHANISM, "good")
    law = dict(zip(SPACE.words, MECHANISM.probabilities("good"), strict=True))
    shown = {output.word: output.probability for output in explained.outputs}
    assert shown["good"] == explained.kept == law["good"]
    assert sum(shown.values()) == pytest.approx(1)
    (names,) = [output for output in explained.outputs if output.hidden_class == "names"]
    assert names.members == 2
    assert names.probability == pytest.approx(law["mary"] + law["ann"])
    assert explained.guessed == MECHANISM.word_shares().guessed[SPACE.index_of("good")]
    assert (explained.is_known, explained.rank, explained.draws) == (True, 2, 0)


def test_other_words():
    """An unknown word is read as the public one; of a hidden one nobody knows how often it is guessed."""
    assert explain_word(MECHANISM, "zork").read_as == SPACE.unknown_word
    hidden = explain_word(MECHANISM, "mary")
    assert (hidden.hidden_class, hidden.class_size, hidden.guessed) == ("names", 2, None)


def test_a_law_that_nobody_knows():
    """Shares of draws stand for probabilities, and their number is told."""
    explained = explain_word(dn.MultivariateLaplace(SPACE, epsilon=1.0), "good", draws=500)
    assert (explained.draws, explained.guessed) == (500, None)
    assert sum(output.probability for output in explained.outputs) == pytest.approx(1)

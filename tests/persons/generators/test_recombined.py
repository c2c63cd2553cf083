"""Texts of whole public sentences."""

import numpy as np
import pytest
from scipy import stats

from deniable.core.errors import InputError
from deniable.persons.generators.recombined import STRENGTH, generate_recombined_texts, split_sentences
from deniable.text.tokenization import split_tokens
from tests.persons.generators.examples import KNOWLEDGE, PUBLIC_TEXTS, count_share


def list_sentences(text):
    """Return the sentences of a text of `PUBLIC_TEXTS`, which all end with a mark."""
    return text.replace("!", "!|").replace(".", ".|").replace("| ", "|").strip("|").split("|")


def test_every_sentence_is_public():
    """Texts consist of whole public sentences, and their lengths are near those drawn."""
    synthetic = generate_recombined_texts(KNOWLEDGE, PUBLIC_TEXTS, 300, seed=1)
    public = {sentence for text in PUBLIC_TEXTS for sentence in list_sentences(text)}
    assert {sentence for text in synthetic.texts for sentence in list_sentences(text)} == public
    lengths = np.array([len(split_tokens(text)) for text in synthetic.texts])
    assert lengths.max() <= 40 + 8
    assert abs(lengths.mean() - 22) < 3


def test_sentences_are_drawn_by_their_scores():
    """First sentences of texts fit the stated law over both classes; one of 1.5 times the strength is rejected."""
    synthetic = generate_recombined_texts(KNOWLEDGE, PUBLIC_TEXTS, 4_000, seed=2)
    public = sorted({sentence for text in PUBLIC_TEXTS for sentence in list_sentences(text)})
    # The most uncertain texts are dropped, so all drafts are compared with the law of all: ask for the drafts' texts.
    chances = KNOWLEDGE.classifier.predict_probabilities(public)
    counts = np.bincount(
        [public.index(sentence) for text in synthetic.texts for sentence in list_sentences(text)], minlength=len(public)
    )

    def measure_distance(strength):
        law = chances**strength / (chances**strength).sum(axis=0) @ KNOWLEDGE.class_shares
        return np.abs(counts / counts.sum() - law).sum()

    assert measure_distance(STRENGTH) < 0.1
    assert measure_distance(0.1) > 2 * measure_distance(STRENGTH)
    assert stats.spearmanr(counts, chances[:, 1]).statistic > 0


def test_classes_differ_by_the_words_of_the_classifier():
    """Texts of a class hold more of its words than texts of the other."""
    synthetic = generate_recombined_texts(KNOWLEDGE, PUBLIC_TEXTS, 300, seed=1)
    negative, positive = (
        [text for text, code in zip(synthetic.texts, synthetic.codes, strict=True) if code == one] for one in (0, 1)
    )
    assert count_share(positive, {"good", "fine"}) > 1.5 * count_share(negative, {"good", "fine"})


def test_sentences_end_with_a_mark_before_a_word():
    """A text is cut between a mark and a word with white space between them; tokenized marks are attached."""
    assert split_sentences("One. two?  Three! 3.5, no cut.x") == ["One.", "two?", "Three!", "3.5, no cut.x"]
    assert split_sentences("so , it\n ends . . . here it is (  not ) .") == ["so, it ends...", "here it is (not)."]


def test_no_rows_and_no_public_words_are_refused():
    """Zero rows, or public texts without words, are refused in one line."""
    with pytest.raises(InputError, match="rows"):
        generate_recombined_texts(KNOWLEDGE, PUBLIC_TEXTS, 0, seed=0)
    with pytest.raises(InputError, match="texts with words"):
        generate_recombined_texts(KNOWLEDGE, [" "], 5, seed=0)

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.models.text.documents import Documents, concatenate_texts, tokenize_texts


@given(st.lists(st.lists(st.integers(0, 9))), st.data())
def test_texts_end_to_end_give_back_each_text(held, data):
    """Whatever the texts, empty ones among them, each comes back, alone, in a loop and by rows."""
    found = concatenate_texts(held)
    assert len(found) == len(held)
    assert [words.tolist() for words in found] == held
    assert found.lengths.tolist() == [len(words) for words in held]
    rows = data.draw(st.lists(st.integers(0, max(len(held) - 1, 0)), max_size=5 if held else 0))
    assert [words.tolist() for words in found.take(np.array(rows, dtype=np.int64))] == [held[row] for row in rows]


def test_words_are_looked_up_folded_and_unknown_ones_left_out(words_space):
    """Capitals and punctuation do not matter, an unknown word is counted and has no number."""
    found = tokenize_texts(words_space, ["The FILM was, qzx, Good!"])
    assert [words_space.words[number] for number in found.texts[0]] == ["the", "film", "was", "good"]
    assert found.unknown_count == 1


def test_a_text_is_written_with_other_words_in_their_places(words_space):
    """What stands between the words stays as it is, and so do unknown words and those without a substitute."""
    found = tokenize_texts(words_space, ["The FILM was, qzx, Good!", "bad"])
    assert found.replace_words(0, [None, "movie", None, "fine"]) == "The movie was, qzx, fine!"
    assert found.replace_words(1, ["awful"]) == "awful"


@pytest.mark.parametrize("text", [None, "", "  \n", "qzx qzy"])
def test_a_text_without_known_words_has_none(words_space, text):
    """A row without a text, or without a word that the space knows, has no words, and the others keep theirs."""
    found = tokenize_texts(words_space, ["good", text, "bad film"])
    assert found.texts.lengths.tolist() == [1, 0, 2]
    assert found.unknown_count == (2 if text == "qzx qzy" else 0)


def test_reading_is_taken_by_rows(words_space):
    """A choice of rows keeps words, gaps and places together, and counts the unknown words of those rows alone."""
    found = tokenize_texts(words_space, ["zork good", "bad", "The FILM, blah"]).take(np.array([2, 0]))
    assert found.unknown_count == 2
    assert found.replace_words(0, ["a", "plot"]) == "a plot, blah"
    assert found.replace_words(1, ["fine"]) == "zork fine"


def test_documents_are_taken_with_labels_and_premises(words_space):
    """A choice of rows keeps text, label and premise together."""
    held = tokenize_texts(words_space, ["good", "bad film", "a plot"]).texts
    documents = Documents(
        held, np.array([0, 1, 1]), ("x", "y"), tokenize_texts(words_space, ["the", "was", "not"]).texts
    )
    taken = documents.take(np.array([2, 0]))
    assert len(taken) == 2
    assert taken.labels.tolist() == [1, 0]
    assert [words_space.words[words[0]] for words in taken.texts] == ["a", "good"]
    assert [words_space.words[words[0]] for words in taken.premises] == ["not", "the"]

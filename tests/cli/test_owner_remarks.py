"""Remarks on private texts, on the owner's terminal alone."""

import numpy as np
import pytest

from deniable.cli.choices import EscapesName
from deniable.cli.owner_remarks import decode_texts, get_escapes, warn_of_texts, warn_owner
from deniable.space import Space


@pytest.fixture
def space():
    """Return a space of three words."""
    return Space(["the", "cat", "sleeps"], np.eye(3))


def test_remarks_go_to_standard_error_and_are_marked(capsys):
    """Each remark is a line of standard error that says for whom it is; standard output stays empty."""
    warn_owner(["one", "two"])
    assert capsys.readouterr() == ("", "warning (for you only): one\nwarning (for you only): two\n")


def test_texts_that_fit_get_no_remark(space, capsys):
    """Known words without HTML leave nothing to say."""
    warn_of_texts(["the cat sleeps", ""], space)
    assert capsys.readouterr() == ("", "")


def test_unknown_words_and_html_are_noticed(space, capsys):
    """The shares are those of words and of texts, each with what to do about it."""
    warn_of_texts(["the Katze schl&auml;ft", "<br />the cat"], space)
    unknown, entities, tags = capsys.readouterr().err.splitlines()
    assert unknown.startswith("warning (for you only): 62.5 % of the words are not in the vocabulary")
    assert "--space FILE" in unknown
    assert "50.0 % of the texts (1 of 2) hold HTML entities" in entities
    assert "--unescape html" in entities
    assert "50.0 % of the texts (1 of 2) hold HTML tags" in tags


def test_texts_are_decoded_where_that_is_asked_for():
    """The one choice decodes entities once and keeps nulls; without it texts stay as they are."""
    texts = ["it&#039;s", None, "&amp;lt;"]
    assert decode_texts(texts, EscapesName.HTML) == ["it's", None, "&lt;"]
    assert decode_texts(texts, None) == texts
    assert (get_escapes(None), get_escapes(EscapesName.HTML)) == (None, "html")

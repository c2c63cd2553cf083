"""Remarks on private texts, on the owner's terminal alone."""

import numpy as np
import pytest

from deniable.cli.choices import EscapesName
from deniable.cli.owner_remarks import (
    decode_texts,
    describe_source_markup,
    describe_unlisted_words,
    get_escapes,
    warn_of_texts,
    warn_owner,
)
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


def test_html_in_a_table_to_learn_from():
    """The table is named, and no option that a training command lacks."""
    (remark,) = describe_source_markup("t.csv", ["<br />the cat", "the cat"])
    assert remark.startswith("t.csv: 50.0 % of the texts (1 of 2) hold HTML tags")
    (remark,) = describe_source_markup("t.csv", ["schl&auml;ft"])
    assert "--unescape" not in remark
    assert describe_source_markup("t.csv", ["the cat"]) == []


def test_words_that_a_vocabulary_lacks():
    """Words count in any case and marks do not; of many texts a thousand, drawn at random, are looked at."""
    words, advice = ("the", "cat"), "Give others"
    assert describe_unlisted_words("t.csv", ["The cat!!! ...", ""], words, advice) == []
    (remark,) = describe_unlisted_words("t.csv", ["the Katze; the cat"], words, advice)
    assert remark.startswith("t.csv: 25.0 % of the words are not in the vocabulary")
    assert remark.endswith(" Give others")
    (remark,) = describe_unlisted_words("t.csv", ["the cat", "die Katze"] * 2_000, words, advice)
    assert 44 < float(remark.removeprefix("t.csv: ").partition(" %")[0]) < 56


def test_texts_are_decoded_where_that_is_asked_for():
    """The one choice decodes entities once and keeps nulls; without it texts stay as they are."""
    texts = ["it&#039;s", None, "&amp;lt;"]
    assert decode_texts(texts, EscapesName.HTML) == ["it's", None, "&lt;"]
    assert decode_texts(texts, None) == texts
    assert (get_escapes(None), get_escapes(EscapesName.HTML)) == (None, "html")


GERMAN = (
    "Der Aufenthalt war wunderbar, das Zimmer sauber und das Frühstück reichhaltig. Leider mussten wir lange auf den "
    "Schlüssel warten, und niemand entschuldigte sich."
)
HEBREW = "המלון היה נהדר והחדר נקי מאוד. לצערי חיכינו זמן רב למפתח ואף אחד לא התנצל."


@pytest.mark.parametrize(("text", "least"), [(GERMAN, 40), (HEBREW, 99)], ids=["German", "Hebrew"])
def test_other_languages_on_the_default_space(call, place, capsys, text, least):
    """On the space on board the owner of a German or Hebrew table hears that most words are unknown, and only he."""
    (place / "t.csv").write_text(f'text\n"{text}"\n', encoding="utf-8")
    result = call(
        *("privatize", "t.csv", "--column", "text", "--epsilon", "8"),
        *("--mechanism", "multivariate-laplace", "--hide", "none", "--output", "o.csv"),
    )
    assert result.code == 0, result.err
    [remark] = [line for line in result.err.splitlines() if line.startswith("warning (for you only): ")]
    assert float(remark.removeprefix("warning (for you only): ").partition(" %")[0]) > least
    assert "--space FILE" in remark
    assert "not in the vocabulary" not in (place / "o.csv.certificate.json").read_text("utf-8")
    warn_of_texts([text], Space.glove())  # as tune, measure and compare do
    assert capsys.readouterr().err.startswith(remark.partition(" %")[0][: len("warning (for you only): ")])

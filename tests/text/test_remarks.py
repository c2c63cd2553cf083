"""Remarks on texts for their owner."""

import json

import pytest

from deniable import Certificate, Release
from deniable.text.escapes import MarkupCounts
from deniable.text.remarks import describe_copied_columns, describe_markup, describe_unknown_words
from deniable.text.tables.layout import CopiedContent, TableLayout
from tests.text.helpers import MECHANISM


@pytest.mark.parametrize(("unknown", "words", "count"), [(0, 0, 0), (20, 100, 0), (21, 100, 1), (1, 1, 1)])
def test_many_unknown_words_are_told(unknown, words, count):
    """More than a fifth of unknown words is told, with the share and what to do."""
    remarks = describe_unknown_words(unknown, words)
    assert len(remarks) == count
    assert all(
        "--space" in remark and "German" in remark and f"{100 * unknown / words:.1f} %" in remark for remark in remarks
    )


def test_advice_of_the_one_who_asks():
    """What to do about unknown words can be said otherwise."""
    [remark] = describe_unknown_words(3, 4, "Give other texts")
    assert remark.endswith("nothing tells one of them from another. Give other texts")


@pytest.mark.parametrize(
    ("layout", "advice"),
    [
        (TableLayout("t"), "release them too, each with --column NAME, or leave them out with --drop NAME"),
        (TableLayout("t", copied=["n"]), "release them too, each with --column NAME, or leave them out of --columns"),
        (TableLayout("t", id_column="n"), "record ids are never left out: name another column with --id"),
        (TableLayout("t", id_column="n", person_column="n"), "name another column with --id"),
    ],
)
def test_advice_on_copied_columns_can_be_followed(layout, advice):
    """Nobody is told to drop what was named with --columns, or the record ids."""
    [remark] = describe_copied_columns(CopiedContent(("n",), texts=("n",)), layout)
    assert remark.endswith(advice)
    assert ("--drop" in remark) == ("--drop" in advice)


def test_html_is_told_from_one_percent_on():
    """Entities and tags are told each by themselves, where they are in at least a hundredth of the texts."""
    assert describe_markup(MarkupCounts()) == describe_markup(MarkupCounts(101, 1, 1)) == []
    [remark] = describe_markup(MarkupCounts(100, 60, 0))
    assert remark.startswith("60.0 % of the texts (60 of 100) hold HTML entities")
    assert "--unescape html" in remark
    [remark] = describe_markup(MarkupCounts(100, 60, 0), can_decode=False)
    assert "--unescape" not in remark
    assert remark.endswith("decode them first")
    [remark] = describe_markup(MarkupCounts(100, 0, 1))
    assert "<br />" in remark


@pytest.mark.parametrize("unknown", ["draw", "mask", "drop"])
@pytest.mark.parametrize(
    "text",
    [
        "der Hund bellt laut the",
        "他的狗很大。 今天 天气 很好",
        "الكلب كبير جدا",
        "\U0001f600 \U0001f602 the \U0001f44d",
    ],
)
def test_other_languages_are_noticed_in_a_tally(text, unknown):
    """A tally tells of texts in another language and of emoji, whatever becomes of unknown words."""
    tally = Release(MECHANISM, unknown=unknown).batch([text, "the dog was good"]).tally
    assert len(tally.remarks) == 1
    assert "not in the vocabulary" in tally.remarks[0]


def test_kept_words_are_not_unknown():
    """Public words that pass through count among the words that were read."""
    tally = Release(MECHANISM, keep=["zork"]).batch(["zork zork blarg the the the the the the"]).tally
    assert (tally.read_words, tally.unknown, tally.remarks) == (9, 1, [])


def test_no_remark_is_in_a_certificate():
    """A certificate of texts full of HTML and unknown words is that of other texts of their lengths."""
    release = Release(MECHANISM)
    certificates = [
        Certificate.of(release, release.batch(texts).tally).to_json()
        for texts in (["zork <br /> blarg &amp;"], ["the dog was red"])
    ]
    assert json.loads(certificates[0])["words"] == json.loads(certificates[1])["words"]
    assert certificates[0] == certificates[1]

"""What is counted of a batch, for the certificate and for its owner alone."""

import dataclasses
from collections import Counter

import numpy as np
import pytest

import deniable as dn
from tests.text.helpers import MECHANISM, SPACE, WORDS


def tally_of(*lengths):
    """Return the counts of a release of records of so many words."""
    return dn.Tally(records=len(lengths), words=sum(lengths), lengths=Counter(lengths))


@pytest.mark.parametrize(
    ("lengths", "median"),
    [([], 0), ([3], 3), ([1, 9], 1), ([5, 1, 3], 3), ([1, 2, 3, 9], 2), ([0, 0, 7], 0), ([4] * 6, 4)],
)
def test_the_median_of_a_tally(lengths, median):
    """The median is the lower one of two in the middle, and 0 of no records."""
    assert tally_of(*lengths).median_length() == median


def test_tallies_add_up():
    """None stays None, empty stays empty, and tallies of parts add up to that of the whole, in any order."""
    release = dn.Release(MECHANISM, keep=["the"], key="seed:1")
    texts = ["the food zork", None, "", "London", "?!", "&amp; <br />"]
    whole = release.batch(texts)
    assert whole.texts[1:3] == [None, ""]
    assert whole.texts[4] == "?!"
    tally = whole.tally
    assert (tally.records, tally.words, tally.unknown, tally.missing) == (6, 6, 3, 1)
    assert tally.lengths == {3: 1, 1: 1, 0: 3, 2: 1}
    parts = [release.batch([text], [str(row)]) for row, text in enumerate(texts)]
    assert [part.texts[0] for part in parts] == whole.texts
    tallies = [part.tally for part in parts]
    assert sum(tallies, dn.Tally()) == sum(tallies[::-1], dn.Tally()) == tally


def test_nulls_of_every_kind_are_counted():
    """Nulls pass as None, are counted, and stand in the owner's line, if there are any."""
    release = dn.Release(MECHANISM)
    released = release.batch(["the zork", None, float("nan"), ""])
    assert released.texts[1:] == [None, None, ""]
    assert (released.tally.records, released.tally.missing) == (4, 2)
    line, warning = released.tally.summary().splitlines()
    assert "2 without a text" in line
    assert all(one.partition("for you only")[1] for one in (line, warning))
    assert dn.Tally().summary().count("\n") == 0


class Always(dn.laws.Simulation):
    """Draws the public word for every word."""

    def draw(self, points, streams, workers=None):
        del streams, workers
        return np.full_like(points, SPACE.point_by_word[SPACE.index_of(SPACE.unknown_word)])


class AlwaysMechanism(dn.TEM):
    """A mechanism with this law."""

    def build_law(self):
        return dn.laws.SimulatedLaw(self.space, Always())


def test_changed_words_are_counted():
    """A word counts as changed where it differs from the private one, and every word drawn for an unknown one does."""
    release = dn.Release(AlwaysMechanism(SPACE, epsilon=1.0), keep=["dog"])
    other = next(word for word in WORDS if word != SPACE.unknown_word)
    tally = release.batch([f"{SPACE.unknown_word} zork {other} dog", "", "the"]).tally
    assert (tally.words, tally.changed, tally.unknown, tally.read_words) == (
        5,
        3 + (SPACE.unknown_word != "the") - 1,
        1,
        5,
    )


def test_kept_words():
    """A certificate does not tell words that were kept from drawn ones; public words are not unknown."""
    release = dn.Release(MECHANISM, keep=["the", "zork"])
    kept, drawn = (dn.Certificate.of(release, release.batch([text]).tally) for text in ("the the", "food food"))
    assert kept == drawn
    tally = release.batch(["zork zork blarg the the the the the the"]).tally
    assert (tally.read_words, tally.unknown, tally.remarks) == (9, 1, [])


@pytest.mark.parametrize(("unknown", "words", "count"), [(0, 0, 0), (20, 100, 0), (21, 100, 1), (1, 1, 1)])
def test_many_unknown_words_are_told(unknown, words, count):
    """More than a fifth of unknown words is told, with the share."""
    remarks = dn.Tally(unknown=unknown, read_words=words).remarks
    assert len(remarks) == count
    assert all(f"{100 * unknown / words:.1f}%" in remark for remark in remarks)


def test_html_is_told_from_one_percent_on():
    """Entities and tags are told each by themselves, where they are in at least a hundredth of the texts."""

    def tell(texts, entities, tags):
        markup = dataclasses.replace(dn.Tally().markup, texts=texts, with_entities=entities, with_tags=tags)
        return dn.Tally(markup=markup).remarks

    assert tell(0, 0, 0) == tell(101, 1, 1) == []
    assert ["60.0%" in remark for remark in tell(100, 60, 0)] == [True]
    assert [len(tell(100, 0, 1)), len(tell(100, 1, 1))] == [1, 2]


@pytest.mark.parametrize(
    "text", ["der Hund bellt laut the", "他的狗很大。 今天 天气 很好", "\U0001f600 \U0001f602 the"]
)
def test_other_languages_are_noticed(text):
    """A tally tells of texts in another language and of emoji, whatever becomes of unknown words."""
    for unknown in ("draw", "mask", "drop"):
        tally = dn.Release(MECHANISM, unknown=unknown).batch([text, "the dog was good"]).tally
        assert len(tally.remarks) == 1


def test_no_remark_is_in_a_certificate():
    """A certificate of texts full of HTML and unknown words is that of other texts of their lengths."""
    release = dn.Release(MECHANISM)
    texts = (["zork <br /> blarg &amp;"], ["the dog was red"])
    one, other = (dn.Certificate.of(release, release.batch(batch).tally).to_json() for batch in texts)
    assert one == other

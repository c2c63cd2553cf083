"""Authorship: how often attackers name who wrote a private text."""

import dataclasses

import numpy as np
import pytest

from deniable import InputError
from deniable.measure.authorship import measure_authorship
from tests.measure.toy import noise, table

TEXTS, CODES = table(120, classes=3)
AUTHORS = [("ann", "bob", "cyd")[code] for code in CODES]


def measure_one(texts, private, authors, **options):
    """Return the attack on a single private version."""
    return measure_authorship(texts, {"private": private}, authors, **options)["private"]


def test_authors_with_words_of_their_own():
    """Where nothing is privatized, all three attackers name nearly every author."""
    found = measure_one(TEXTS, TEXTS, AUTHORS)
    assert found.ceiling == found.static == found.adaptive
    assert found.ceiling.low > 0.9
    assert (found.majority, found.authors, found.texts, found.left_out, found.folds) == (1 / 3, 3, 120, 0, 5)


def test_texts_that_tell_nothing():
    """Noise is named by chance, whatever was learned from, while originals are still named."""
    found = measure_one(TEXTS, noise(120), AUTHORS)
    assert found.ceiling.low > 0.9
    for attacked in (found.static, found.adaptive):
        assert attacked.low < 1 / 3 < attacked.high


def test_the_adaptive_attacker_learns_the_private_words():
    """Authors whose words are replaced one for one are hidden from the static attacker alone."""
    cipher = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm", "0123456789")
    private = [text.replace("class0", "Q").replace("class1", "X").replace("class2", "Z") for text in TEXTS]
    private = [text.lower().translate(cipher) for text in private]
    found = measure_one(TEXTS, private, AUTHORS)
    assert found.adaptive.low > 0.9
    assert found.static.high < 0.6


def test_punctuation_betrays_authors():
    """What passes through a privatizer, such as punctuation, is read too."""
    marks = {"ann": "!!", "bob": "...", "cyd": ";"}
    private = [text.replace(" ", f"{marks[name]} ") for text, name in zip(noise(120), AUTHORS, strict=True)]
    assert measure_one(TEXTS, private, AUTHORS).adaptive.low > 0.9


def test_many_versions_give_what_each_gives_alone():
    """Versions measured together give what each gives alone."""
    versions = {"same": TEXTS, "noise": noise(120)}
    found = measure_authorship(TEXTS, versions, AUTHORS, folds=3, seed=2)
    assert list(found) == ["same", "noise"]
    for name, private in versions.items():
        assert found[name] == measure_one(TEXTS, private, AUTHORS, folds=3, seed=2)


def test_authors_of_one_text_are_left_out():
    """Texts of authors who wrote no other are neither learned nor attacked, and counted."""
    texts = [*TEXTS[:60], "solo one", "solo two", *TEXTS[60:]]
    found = measure_one(texts, texts, [*AUTHORS[:60], "dan", "eve", *AUTHORS[60:]])
    assert (found.left_out, found.texts, found.authors) == (2, 120, 3)
    assert dataclasses.replace(found, left_out=0) == measure_one(TEXTS, TEXTS, AUTHORS)


def test_texts_without_any_word():
    """Empty texts can be attacked; the attackers do not beat the majority."""
    found = measure_one([""] * 30, [""] * 30, ["a"] * 20 + ["b"] * 10)
    assert found.adaptive.value == found.majority == 2 / 3


def test_authors_of_two_texts():
    """Two texts of each author suffice: the folds never hold both."""
    names = [f"author{row // 2}" for row in range(20)]
    texts = [f"{name} writes as {name} does {row}" for row, name in enumerate(names)]
    found = measure_one(texts, texts, names)
    assert found.ceiling.value > 0.8
    assert found.majority == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("authors", "message"),
    [
        ([None] * 120, "Got none, since no row has a label"),
        (["ann"] * 120, "must hold at least 2 classes. Got only 'ann'"),
        (["ann"] * 119 + ["bob"], r"at least 2 authors with 2 texts each\. Got 1 such among 2 authors: .*\.$"),
        (AUTHORS[1:], "120 texts need as many labels. Got 119"),
    ],
)
def test_authors_that_cannot_be_told_apart(authors, message):
    """No authors, one author, or authors of one text each are refused in one line."""
    with pytest.raises(InputError, match=message):
        measure_one(TEXTS, TEXTS, authors)


def test_texts_without_an_author_are_left_out():
    """Where some authors are missing the others are attacked as if those texts were not there."""
    gaps = [None if row % 10 == 3 else name for row, name in enumerate(AUTHORS)]
    kept = [row for row, name in enumerate(gaps) if name]
    texts = [TEXTS[row] for row in kept]
    expected = measure_one(texts, texts, [gaps[row] for row in kept])
    found = measure_one(TEXTS, TEXTS, gaps)
    assert found == dataclasses.replace(expected, left_out=len(gaps) - len(kept))


def test_fewer_texts_than_folds():
    """More folds than texts are refused."""
    with pytest.raises(InputError, match=r"9 folds need at least 9 rows\. Got 4"):
        measure_one(TEXTS[:4], TEXTS[:4], ["a", "a", "b", "b"], folds=9)


def test_majority_is_of_the_attacked():
    """The blind guess counts the attacked texts alone."""
    rows = np.arange(40)
    found = measure_one(noise(40), noise(40), ["a" if row < 30 else "b" for row in rows])
    assert found.majority == 0.75


def test_a_lone_surrogate():
    """A character that is half of one does not stop the attack."""
    texts = [f"{text} {row}" for row in range(4) for text in ("the \ud800 cat", "a dog")]
    assert measure_one(texts, texts, list("abababab"), folds=2).texts == 8


def test_one_text_each():
    """Where every author has written but one text, many times over, no attacker has read it before."""
    texts = ["the cat", "a dog"] * 4
    assert measure_one(texts, texts, list("abababab"), folds=2).ceiling.value == 0

"""Authorship: how often attackers name who wrote a private text."""

import dataclasses

import pytest

import deniable as dn
from tests.measure.toy import noise, table
from tests.refusals import refuses

TEXTS, CODES = table(90, classes=3)
AUTHORS = [("ann", "bob", "cyd")[code] for code in CODES]


def measure_one(texts, private, authors, **options):
    """Return the attack on a single private version."""
    return dn.measure.measure_authorship(texts, {"private": private}, authors, **options)["private"]


def test_authors_with_words_of_their_own_and_texts_that_tell_nothing():
    """Attackers name nearly every author of originals, and noise by chance; versions give what each gives alone."""
    found = dn.measure.measure_authorship(TEXTS, {"same": TEXTS, "noise": noise(90)}, AUTHORS)
    same, lost = found["same"], found["noise"]
    assert same.ceiling == same.static == same.adaptive == lost.ceiling
    assert same.ceiling.low > 0.9
    assert (same.majority, same.authors, same.texts, same.left_out, same.folds) == (1 / 3, 3, 90, 0, 5)
    for attacked in (lost.static, lost.adaptive):
        assert attacked.low < 1 / 3 < attacked.high
    assert found == {"same": measure_one(TEXTS, TEXTS, AUTHORS), "noise": measure_one(TEXTS, noise(90), AUTHORS)}


def test_the_adaptive_attacker_learns_the_private_words():
    """Authors whose words are replaced one for one are hidden from the static attacker alone."""
    cipher = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm", "0123456789")
    private = [text.replace("class0", "Q").replace("class1", "X").replace("class2", "Z") for text in TEXTS]
    found = measure_one(TEXTS, [text.lower().translate(cipher) for text in private], AUTHORS)
    assert found.adaptive.low > 0.9
    assert found.static.high < 0.6


def test_punctuation_betrays_authors():
    """What passes through a privatizer, such as punctuation, is read too."""
    marks = {"ann": "!!", "bob": "...", "cyd": ";"}
    private = [text.replace(" ", f"{marks[name]} ") for text, name in zip(noise(90), AUTHORS, strict=True)]
    assert measure_one(TEXTS, private, AUTHORS).adaptive.low > 0.9


def test_texts_without_a_usable_author_are_left_out():
    """Texts without an author, or of authors who wrote no other, are neither learned nor attacked, and counted."""
    texts = [*TEXTS[:60], "solo one", "no name", "solo two", *TEXTS[60:]]
    found = measure_one(texts, texts, [*AUTHORS[:60], "dan", None, "eve", *AUTHORS[60:]])
    assert (found.left_out, found.texts, found.authors) == (3, 90, 3)
    assert dataclasses.replace(found, left_out=0) == measure_one(TEXTS, TEXTS, AUTHORS)


def test_texts_that_teach_nothing():
    """Empty texts are attacked no better than by the majority; half of a character does not stop the attack."""
    found = measure_one([""] * 30, [""] * 30, ["a"] * 20 + ["b"] * 10)
    assert found.adaptive.value == found.majority == 2 / 3
    texts = [f"{text} {row}" for row in range(4) for text in ("the \ud800 cat", "a dog")]
    assert measure_one(texts, texts, list("abababab"), folds=2).texts == 8


def test_no_attacker_has_read_a_text_before():
    """Two texts of each author suffice, never both in one fold; one text, many times over, is not learned from."""
    names = [f"author{row // 2}" for row in range(20)]
    texts = [f"{name} writes as {name} does {row}" for row, name in enumerate(names)]
    found = measure_one(texts, texts, names)
    assert found.ceiling.value > 0.8
    assert found.majority == pytest.approx(0.1)
    texts = ["the cat", "a dog"] * 4
    assert measure_one(texts, texts, list("abababab"), folds=2).ceiling.value == 0


@pytest.mark.parametrize(
    ("authors", "options", "value"),
    [
        ([None] * 90, {}, "none"),
        (["ann"] * 90, {}, "'ann'"),
        (["ann"] * 89 + ["bob"], {}, "1 such among 2 authors"),
        (AUTHORS[1:], {}, 89),
        (AUTHORS, {"folds": 99}, 99),
        (AUTHORS, {"folds": 1}, 1),
    ],
)
def test_authors_that_cannot_be_told_apart(authors, options, value):
    """No authors, one author, authors of one text each, and folds that cannot be made are refused."""
    with refuses(value):
        measure_one(TEXTS, TEXTS, authors, **options)

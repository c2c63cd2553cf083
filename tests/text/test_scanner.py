"""The compiled half of the grammar beside the expressions: they find the same words."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deniable.space import grammar
from deniable.text.encoded import EncodedTexts
from deniable.text.scanner import SPACE_BIT, STAND_IN_MASK, get_character_table, get_scan_tables, scan_texts
from tests.text.helpers import ODD_PIECES

PIECES = [
    *ODD_PIECES,
    *"aNt'.,:/@-_ 10",
    "n't",
    "'S",
    "'ll",
    "'re",
    "www.",
    "://",
    ".com",
    ".It",
    ".it",
    ".IT",
    ".museum",
    "\x1f",
    "\t",
    "\x0b",
    "٣",
    "５",
    "²",
    "٫",
    "－",
    "\u202f",
]
texts = st.lists(st.sampled_from(PIECES) | st.text(st.characters(codec=None), max_size=3), max_size=12).map("".join)


def split(strings, rule):
    """Return texts split as `grammar.split_words` splits them, by the compiled loops."""
    scanned = scan_texts(EncodedTexts.of(strings), rule)
    data, offsets = scanned.data.tobytes(), scanned.offsets.tolist()
    split_texts = []
    for row, (first, count) in enumerate(zip(scanned.first_words, scanned.word_counts, strict=True)):
        at, parts = offsets[row], []
        for word in range(first, first + count):
            parts += [data[at : scanned.starts[word]], data[scanned.starts[word] : scanned.ends[word]]]
            at = scanned.ends[word]
        parts.append(data[at : offsets[row + 1]])
        split_texts.append([part.decode("utf-8", "surrogatepass") for part in parts])
    return split_texts


def test_all_characters_are_known_alike():
    """Every code point has the stand-in that the grammar gives it, and is white space where Python says so."""
    table = get_character_table()
    everything = "".join(map(chr, range(0x110000)))
    table.extend_to(EncodedTexts.of([everything]).data)
    assert (table.characters & STAND_IN_MASK).tobytes().decode() == grammar.find_stand_ins(everything)
    spaces = [character.isspace() for character in everything]
    assert (table.characters >= SPACE_BIT).tolist() == spaces


@pytest.mark.parametrize("rule", ["plain", "whole"])
@pytest.mark.parametrize(
    "pattern", ["{}", "a{}b", "1{}1", "n{}t", "a.{}", "{0}{0}a", "a'{}", "w{}.b", "٣{}\u200b5", "1{}٣"]
)
def test_every_kind_of_character_is_cut_alike(rule, pattern):
    """Each ASCII character and some others, in the places where they matter, are cut as the expressions cut them."""
    characters = [*map(chr, range(128)), *ODD_PIECES, *"٣５²٫，－−\u00a0\u2003"]
    strings = [pattern.format(character) for character in characters]
    assert split(strings, rule) == [grammar.split_words(string, rule) for string in strings]


@given(strings=st.lists(texts, min_size=1, max_size=6), rule=st.sampled_from(["plain", "whole"]))
@example(strings=["do", "n't don't rock'n'roll I'd've"], rule="plain")
@example(strings=["1.2.com 1www.2 x.com.", "a\x02n't \x021:2"], rule="whole")
def test_words_are_those_of_the_expressions(strings, rule):
    """Whatever texts are made of, the words are those that the expressions find."""
    assert split(strings, rule) == [grammar.split_words(string, rule) for string in strings]


def test_domains_are_those_of_the_grammar():
    """Every end of a domain name is known in the capitals in which the grammar reads it as one."""
    tables = get_scan_tables()
    assert len(tables.domain_codes) == len(grammar.list_domain_ends())
    for name in grammar.list_domain_ends():
        strings = [f"a.{form}" for form in (name, name.upper(), name.title(), name + "q")]
        assert split(strings, "whole") == [grammar.split_words(string, "whole") for string in strings]


@pytest.mark.parametrize("hostile", ["w", "w.", "1.", "a.\x02", "n'", "\x02", "'", "a.aa", "\u200b1", "1'"])
def test_hostile_texts_take_no_longer(hostile):
    """A text that repeats what begins a word costs a fixed number of steps a character."""
    split([hostile], "whole")
    start = time.process_time()
    scan_texts(EncodedTexts.of([hostile * 200_000]), "whole")
    assert time.process_time() - start < 2

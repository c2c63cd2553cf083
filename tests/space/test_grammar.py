"""The grammar of words: nothing is lost, nothing but gaps passes, and the examples that matter."""

import sys
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.space.grammar import fold_word, is_address, is_clitic, is_number, is_one_word, split_words

ANY_TEXT = st.text(st.characters(), max_size=60)
_ENGLISH = ["don't", "n't", "'s", "'", "o'clock", "N'T", "'LL", "a"]
_NUMBERS = ["1,000", "3.14", "10:30", "1,", ",", ":", "0", "_", "-", "$", "+", "^"]
_SPACES = [" ", "\x1c", "\x85", "\u2028"]
_INVISIBLE = ["\x00", "\x01", "\x02", "\u00ad", "\u200d", "\ufe0f", "\ufeff", "\u20e3", "\U000e0067"]
_OTHERS = ["\u2019", "\U0001f600", "\U0001f3fd", "\u0301", "\ud83d", "\ue000", "\u0660", "\u0905\u093e"]
PIECES = st.sampled_from(_ENGLISH + _NUMBERS + _SPACES + _INVISIBLE + _OTHERS)
ANY_PIECES = st.lists(PIECES, max_size=12).map("".join)


def passes(letter):
    """Say whether a character may pass through: white space, punctuation, or one of three kinds of symbols.

    Of the control characters only those that lay out text are white space, whatever else Python takes for it.
    """
    return (
        letter in "\t\n\x0b\x0c\r\x85"
        or unicodedata.category(letter)[0] in "PZ"
        or unicodedata.category(letter) in {"Sm", "Sc", "Sk"}
    )


def words(text):
    """Return the words of a text."""
    return split_words(text)[1::2]


def check(text):
    """Check what must hold for every text."""
    parts = split_words(text)
    assert "".join(parts) == text
    assert len(parts) % 2 == 1
    assert all(parts[1::2])
    assert all(passes(letter) for gap in parts[0::2] for letter in gap)
    assert not any(passes(letter) and letter.isspace() for word in parts[1::2] for letter in word)


@pytest.mark.parametrize("examples", [40, pytest.param(500, marks=pytest.mark.deep)])
def test_nothing_is_lost_and_only_gaps_pass(examples):
    """The parts join to the text, words are not empty, and gaps hold no letter, digit, mark or emoji.

    It holds for any text, and for texts put together from what the rules treat specially.
    """
    decorate = settings(max_examples=examples)
    decorate(given(ANY_TEXT)(example("")(example("\ud800 lone \udfff")(check))))()
    decorate(given(ANY_PIECES)(check))()


few = settings(max_examples=30)


@pytest.mark.parametrize("step", [61, pytest.param(1, marks=pytest.mark.deep)])
def test_every_character_alone(step):
    """Every code point on a line of its own is a word or a gap by its category."""
    text = "\n".join(map(chr, range(0, sys.maxunicode + 1, step)))
    parts = split_words(text)
    assert "".join(parts) == text
    assert all(map(passes, set("".join(parts[0::2]))))
    assert not any(letter.isalnum() for letter in "".join(parts[0::2]))


@pytest.mark.deep
def test_every_character_between_letters():
    """Every code point of the first two planes between two letters is part of a word or a gap by its category."""
    parts = split_words("".join(f"a{chr(code)}a " for code in range(0x20000)))
    assert all(map(passes, set("".join(parts[0::2]))))


@few
@given(st.one_of(st.text(st.characters(max_codepoint=127), max_size=40), ANY_PIECES.filter(str.isascii)))
def test_ascii_and_unicode_paths_agree(text):
    """A text in ASCII is cut as it is before a word in another script, which takes the general path."""
    assert split_words(text + " \u00e9") == [*split_words(text + " ")[:-1], split_words(text + " ")[-1], "\u00e9", ""]


@few
@given(ANY_TEXT)
@example("A\u00ad\u0301")
@example("e\u200d\u0301")
def test_folding_twice_is_folding_once(text):
    """A folded word is its own folded form, for the words that a text holds."""
    for word in words(text):
        once = fold_word(word)
        assert fold_word(once) == once


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The food in London was great.", "The food in London was great"),
        ("don't", "do n't"),
        ("DON'T", "DO N'T"),
        ("can't won't ain't", "ca n't wo n't ai n't"),
        ("don\u2019t", "do n\u2019t"),
        ("it's we'll they've I'm you're he'd", "it 's we 'll they 've I 'm you 're he 'd"),
        ("It\u2019s", "It \u2019s"),
        ("o'clock O'Brien rock'n'roll", "o'clock O'Brien rock'n'roll"),
        ("y'all'd've", "y'all 'd 've"),
        ("couldn't've", "could n't 've"),
        ("dogs' 'quoted' 'tis", "dogs quoted tis"),
        ("'s", "s"),
        ("n't", "n't"),
        ("'sup it'sa", "sup it'sa"),
        ("1,000 3.14 10:30 1,000,000.50", "1,000 3.14 10:30 1,000,000.50"),
        ("1. 2, 3: 4", "1 2 3 4"),
        ("-5 +5 $5 5% #5", "5 5 5 5 5"),
        ("v1.2 2nd 3rd 4x4", "v1 2 2nd 3rd 4x4"),
        ("1,000s 1.5kg", "1,000 s 1.5 kg"),
        ("state-of-the-art", "state of the art"),
        ("user_name@mail.com", "user name mail com"),
        ("a/b a\u005cb a|b a*b a^b a~b a`b", "a b a b a b a b a b a b a b"),
    ],
)
def test_english(text, expected):
    """Contractions, apostrophes, numbers and compounds are cut as documented."""
    assert words(text) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("caf\u00e9 cafe\u0301", "caf\u00e9|cafe\u0301"),
        ("na\u00efve \u0160koda \u00dcber", "na\u00efve|\u0160koda|\u00dcber"),
        ("привет, мир!", "привет|мир"),
        ("मैं हिन्दी।", "मैं|हिन्दी"),
        ("\u0ba4\u0bae\u0bbf\u0bb4\u0bcd", "\u0ba4\u0bae\u0bbf\u0bb4\u0bcd"),
        ("مرحبا، عالم؟", "مرحبا|عالم"),
        ("\u0645\u064f\u062d\u064e\u0645\u0651\u064e\u062f", "\u0645\u064f\u062d\u064e\u0645\u0651\u064e\u062f"),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"),
        ("\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd", "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd"),
        ("\u65e5\u672c\u8a9e\u3001\u4e2d\u6587\u3002", "\u65e5\u672c\u8a9e|\u4e2d\u6587"),
        ("\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22", "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22"),
        ("\u0661\u0662\u0663 \u00bd x\u00b2", "\u0661\u0662\u0663|\u00bd|x\u00b2"),
        ("se\u00f1or\u00bfqu\u00e9? \u00aboui\u00bb", "se\u00f1or|qu\u00e9|oui"),
    ],
)
def test_other_scripts(text, expected):
    """Letters, marks and digits of any script make up words; their punctuation does not."""
    assert words(text) == expected.split("|")


def test_invisible_characters_do_not_pass():
    """Zero-width characters and direction marks are parts of words, since they could carry a message."""
    for text in ("pass\u200bword", "\u200bhidden", "soft\u00adhyphen", "\u202eright", "a\u2060b", "\ufeffmark"):
        assert split_words(text) == ["", text, ""]


SYMBOLS = (
    "\U0001f600|\U0001f44d\U0001f3fd|\U0001f468\u200d\U0001f469\u200d\U0001f467|\u2764\ufe0f|\U0001f1eb\U0001f1f7|\u2603"
    "|\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f|\u00a9|\ue000|\ud83d|\x00|\x1b|\x7f|\U000e0fff"
)


@pytest.mark.parametrize("symbol", SYMBOLS.split("|"))
def test_symbols_are_words(symbol):
    """An emoji with its tone and joiners, other symbols, controls and lone surrogates are words of their own."""
    assert split_words(symbol) == ["", symbol, ""]
    assert split_words(f"great {symbol}!") == ["", "great", " ", symbol, "!"]
    assert split_words(f"great{symbol}day")[1::2] == ["great", symbol, "day"]


def test_what_passes_between_words():
    """White space and punctuation, and mathematical, currency and modifier symbols stay as they are."""
    for gap in (*" \t\n\u00a0\u2003\u3000\u2028\x85\x0b\x0c", "\r\n"):
        assert split_words(f"one{gap}two") == ["", "one", gap, "two", ""]
    for gap in ".,;:!?-_()[]{}'\"/\\@#%&*$+<=>^`|~\u2014\u2026\u201c\u20ac\u00d7\u00b4\u3002\u066b":
        assert split_words(f"one {gap} two") == ["", "one", f" {gap} ", "two", ""]


def test_control_characters_are_words():
    """No control character but those that lay out text passes, in ASCII and beside other scripts."""
    for control in "\x1c\x1d\x1e\x1f\x00\x1b\x7f\x80\x9f":
        assert split_words(f"one {control} two") == ["", "one", " ", control, " ", "two", ""]
        assert split_words(f"\u00e9{control}\u00e9")[1::2] == ["\u00e9", control, "\u00e9"]


@pytest.mark.parametrize(
    ("word", "folded"),
    [
        ("London", "london"),
        ("LONDON", "london"),
        ("CAFE\u0301", "caf\u00e9"),
        ("\u00c9COLE", "\u00e9cole"),
        ("n\u2019t", "n't"),
        ("N'T", "n't"),
        ("soft\u00adhyphen", "softhyphen"),
        ("pass\u200bword", "password"),
        ("\u041c\u0418\u0420", "\u043c\u0438\u0440"),
        ("\u65e5\u672c", "\u65e5\u672c"),
        ("1,000", "1,000"),
        ("\u200b", ""),
    ],
)
def test_folding(word, folded):
    """Words are looked up in lower case, composed, with straight apostrophes and nothing invisible."""
    assert fold_word(word) == folded


def test_clitics():
    """The second parts of contractions are known as such, and nothing else is."""
    assert all(is_clitic(word) for word in ("n't", "'s", "'d", "'m", "'re", "'ve", "'ll"))
    assert not any(is_clitic(word) for word in ("N'T", "s", "not", "", "'", "'t", "o'clock"))


def test_entries_that_are_one_word():
    """What a text would give as one word with a letter or digit can stand in a space, and nothing else."""
    for entry in ("london", "o'clock", "1,000", "'s", "n't", "caf\u00e9", "\u65e5\u672c", "x2"):
        assert is_one_word(entry), entry
    for entry in ("", " ", ".", "--", "a-b", "new york", "don't", "'", "'ss'", "\U0001f600", "...", "it's", "1,000s"):
        assert not is_one_word(entry), entry


def test_long_runs_are_cut():
    """Long runs of letters, digits, apostrophes, symbols or parts of addresses are cut without a quadratic search."""
    for unit in ("a", "1", "'", "1,", "n't", "a'", "\x01", "\u00e9", "\U0001f600\u200d", "'s", "'n", "1.a"):
        text = unit * (200_000 // len(unit))
        assert "".join(split_words(text)) == text
    for unit in (
        "a.",
        "a@",
        "http://",
        "www.",
        "1-",
        "a.com/!",
        "@",
        "com.",
        "a" * 63 + ".",
        "ab://",
        "_a.",
        "http://! ",
    ):
        text = unit * (200_000 // len(unit)) + "x"
        assert "".join(split_words(text, "whole")) == text


_ADDRESS_PIECES = st.sampled_from(
    [*"a1.@/:_-'\"!? é", "www.", "://", "http", ".com", ".it", ".Is", "n't", "'s", "\u0660", "\x02"]
)
ANY_ADDRESS = st.lists(_ADDRESS_PIECES, max_size=20).map("".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mail jo.smith+x@gmail.com, please!", ["Mail", "jo.smith+x@gmail.com", "please"]),
        ("o'brien@mail.x.co.uk's", ["o'brien@mail.x.co.uk", "'s"]),
        ("see https://a.b/c?d=e#f). Next", ["see", "https://a.b/c?d=e#f", "Next"]),
        ("(www.foo.com/bar)", ["www.foo.com/bar"]),
        ("bbc.co.uk is on.", ["bbc.co.uk", "is", "on"]),
        ("münchen.de jü@ö.de", ["münchen.de", "jü@ö.de"]),
        ("I am @jo_s, e.g. in the U.S. now", ["I", "am", "@jo_s", "e", "g", "in", "the", "U", "S", "now"]),
        ("the end.Next day...and or/and", ["the", "end", "Next", "day", "and", "or", "and"]),
        ("(555) 123-4567 or +49-30-12.34", ["555", "123-4567", "or", "49-30-12.34"]),
        ("2024-05-06T12:30:00Z, 10.0.0.1:80, 12/05/80", ["2024-05-06T12:30:00Z", "10.0.0.1:80", "12/05/80"]),
        ("a 4-year-old's 1990s", ["a", "4", "year", "old", "'s", "1990s"]),
        ("4111-1111-1111-1111 4111 1111", ["4111-1111-1111-1111", "4111", "1111"]),
    ],
)
def test_numbers_and_addresses_are_whole(text, expected):
    """By the whole grammar addresses and groups of digits are one word each; punctuation behind them is not theirs."""
    assert split_words(text, "whole")[1::2] == expected


@few
@given(ANY_ADDRESS)
@example("a@b.c/d e")
def test_whole_words_lose_nothing_and_hold_no_space(text):
    """Joined, the parts are the text; no word holds a space; no more passes than by the plain grammar."""
    parts = split_words(text, "whole")
    assert "".join(parts) == text
    assert all(word and not any(letter.isspace() for letter in word) for word in parts[1::2])
    assert all(passes(letter) for gap in parts[::2] for letter in gap)
    plain_gaps, whole_gaps = (sum(map(len, split_words(text, grammar)[::2])) for grammar in ("plain", "whole"))
    assert whole_gaps <= plain_gaps


@few
@given(ANY_TEXT | ANY_PIECES)
def test_text_without_digits_and_addresses_is_cut_alike(text):
    """Where there is no digit, no at sign, slash or full stop, the two grammars agree."""
    cleaned = "".join(letter for letter in text if letter not in "@./" and unicodedata.category(letter)[0] != "N")
    assert split_words(cleaned, "whole") == split_words(cleaned)


@few
@given(ANY_ADDRESS)
def test_whole_words_are_of_one_kind(text):
    """No word is both a number and an address, and one with a sign of punctuation inside is one of them."""
    for word in split_words(text, "whole")[1::2]:
        assert not (is_number(word) and is_address(word))
        if any(sign in word for sign in "@./:"):
            assert is_number(word) or is_address(word)


def test_numbers_begin_with_a_digit():
    """A word of any script that begins with a digit is a number, unless it is an address."""
    for word in ("7", "1990s", "3rd", "3.14", "555-0123", "١٢", "½", "１２", "10.0.0.1"):
        assert is_number(word), word
        assert not is_address(word)
    for word in ("mp3", "seven", "covid", "", "一", "3com.com", "1@x.com", "'s"):
        assert not is_number(word), word


@pytest.mark.parametrize(
    "address",
    ["@anna.smith", "@anna@mas.to", "FOO.DE", "J&J@x.com", "foo.com\u200b", "www\u00ad.x.com", "anna.page"],
)
def test_addresses_of_other_shapes(address):
    """Handles with dots and servers, capitals, invisible characters and newer endings are addresses, whole."""
    assert split_words(f"to {address} now", "whole")[1::2] == ["to", address, "now"]
    assert is_address(fold_word(address))


def test_invisible_characters_around_a_number():
    """As telephones copy them, numbers are whole."""
    for number in ("\u202a555-0123\u202c", "\u200b1,000"):
        assert split_words(f"at {number} or", "whole")[1::2] == ["at", number, "or"]
        assert is_number(fold_word(number))


_DIGITS = st.characters(categories=["Nd", "No", "Nl"])
_NUMBER_SIGNS = st.one_of(
    st.sampled_from(".,:/'_-"),
    st.characters(categories=["Pc", "Pd", "Po", "Ps", "Pe", "Pi", "Pf", "Sm", "Sc", "Sk"], min_codepoint=128),
    st.sampled_from("\u00a0\u2007\u202f"),
)


@few
@given(st.text(_DIGITS, min_size=1), st.lists(st.tuples(_NUMBER_SIGNS, st.text(_DIGITS, min_size=1)), max_size=4))
@example("٥", [("٬", "٠"), ("٫", "1")])
def test_numbers_of_any_script_are_whole(first, rest):
    """Digits of any scripts with one sign between them, of any script too, are one word, and it is a number."""
    number = first + "".join(map("".join, rest))
    assert split_words(f"at {number} or", "whole") == ["", "at", " ", number, " ", "or", ""]
    assert is_number(fold_word(number))


def test_numbers_of_other_scripts():
    """Numbers as they are written elsewhere are one word each; the signs around them are not theirs."""
    numbers = (
        "٥٥٥-٠١٢٣ ١٬٢٣٤٫٥٦ ٢٠٢٤/٠٥/٠٦ १२,३४,५६७.८९ १०:३० ２０２４－０５－０６ １，２３４．５ １０：３０ ৫৫৫–০১২৩"
        " 1\u2212٢ 1\u202f234,5 10⁻³ 555\u201101\u201023 1’000’000 5\u200b-\u200b5 ٥\u200f-\u200f٥ ½/¾ 1·5 5€30"
    )
    for number in numbers.split(" "):
        assert split_words(f"(+{number}), a", "whole")[1::2] == [number, "a"]
        assert is_number(fold_word(number))


def test_what_is_no_number_together():
    """White space that breaks, two signs, or a sign of ASCII that numbers do not hold, stand between two numbers."""
    for text in ("1 2", "1\x0b2", "1\u20032", "1\u30002", "1\t2", "1, 2", "1--2", "1،\u00a02", "1+2"):
        assert split_words(text, "whole")[1::2] == ["1", "2"]
        assert split_words(text.replace("2", "٢"), "whole")[1::2] == ["1", "٢"]


def test_domain_ends_and_their_capitals():
    """Generic domains count in any capitals, countries in one case, ordinary words written small."""
    for form in ("x.COM", "x.Com", "x.IT", "x.it", "x.life"):
        assert split_words(form, "whole")[1::2] == [form]
    for form in ("x.It", "x.Life", "x.the"):
        assert len(split_words(form, "whole")[1::2]) == 2, form

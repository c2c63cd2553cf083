"""What a word is: the one grammar that spaces and tokenizers share.

Every character is mapped to an ASCII stand-in by its Unicode category, one to one, so that a
single regular expression over ASCII finds the words of any script, quickly for plain English:

* letters, digits, combining marks and invisible format characters make up **words**;
* emoji, other symbols, control characters, private use, unassigned code points and lone surrogates
  make up **words of symbols**: they carry meaning, and nothing but punctuation passes through;
* white space, punctuation, and the mathematical, currency and modifier symbols are **gaps**.

Contractions are cut as the Penn Treebank and GloVe cut them (do|n't, it|'s, we|'ll), other inner
apostrophes stay (o'clock), and numbers keep their inner ``. , :`` (1,000  3.14  10:30). Digits are those of any script,
and what else Unicode counts among numbers (superscripts, fractions, Roman numerals).

There are two grammars. The **plain** one is as above: it is that of published vocabularies. Spaces that hide classes of
words read texts by the **whole** one, in which two more kinds of words are not cut:

* **numbers** begin with a digit and go on over one sign between digits: ``. , : / ' _ -``, any gap character beyond
  ASCII that is no white space (the Arabic separators, dashes, the minus, full-width marks), or a no-break space, which
  groups digits: 555-0123, 2024-05-06T10:30, 10.0.0.1, \u0661\u066c\u0662\u0663\u0664;
* **addresses**: e-mail addresses, URLs, domain names, @handles.

No word of either grammar contains other white space.
"""

import itertools
import re
import unicodedata
from typing import Literal

Grammar = Literal["plain", "whole"]

_LETTER, _DIGIT, _SYMBOL, _JOINER, _GAP = "a", "0", "\x01", "\x02", " "
SIGN = "\x0b"
"""A gap that may stand inside a number; the vertical tab itself, which may not, has a space for its stand-in."""
_GAP_CATEGORIES = frozenset({"Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "Zs", "Zl", "Zp"})
_SYMBOL_CATEGORIES = frozenset({"So", "Cs", "Co", "Cn", "Cc"})
# They hold an emoji sequence together, and are found inside words of other scripts too.
_JOINERS = frozenset({0x200C, 0x200D, 0x20E3, 0xFE0E, 0xFE0F, *range(0xE0020, 0xE0080)})
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_NEXT_LINE = 0x85
_NO_BREAK_SPACES = frozenset({0x00A0, 0x2007, 0x202F})


class _AsciiClasses(dict[int, str]):
    """Table for `str.translate`: the ASCII stand-in of every character, found when first met."""

    def __missing__(self, code: int) -> str:
        self[code] = ascii_class = self._classify(code)
        return ascii_class

    @staticmethod
    def _classify(code: int) -> str:
        category = unicodedata.category(chr(code))
        if code in _JOINERS or category == "Cf":  # the latter are invisible, and no part of the folded word
            return _JOINER
        if category in _SYMBOL_CATEGORIES or code in _SKIN_TONES:
            return _SYMBOL
        if category in _GAP_CATEGORIES:
            return _GAP if category.startswith("Z") and code not in _NO_BREAK_SPACES else SIGN
        return _DIGIT if category.startswith("N") else _LETTER


# Other ASCII characters stand for themselves.
_ASCII_CLASSES = _AsciiClasses(
    {code: chr(code) for code in range(128)} | {ord(SIGN): _GAP, ord("’"): "'", _NEXT_LINE: _GAP}
)

_WORD_END = r"(?![0-9A-Za-z\x02])"
_NEGATION = rf"[nN]'[tT]{_WORD_END}"
_CLITIC = rf"'(?:[sSdDmM]|[rR][eE]|[vV][eE]|[lL][lL]){_WORD_END}"
# A run of letters gives its last n back where n't follows.
_LETTERS = rf"[0-9A-Za-z\x02]+(?!'(?<=[nN]')[tT]{_WORD_END})"
# \x01 and \x02 stand for symbols and joiners; the other ASCII controls are symbols themselves, those among them
# that Python takes for white space (\x1c to \x1f) too.
_SYMBOLS = r"[\x00\x01\x03-\x08\x0e-\x1f\x7f][\x00-\x08\x0e-\x1f\x7f]*+"
# No group is possessive: Python before 3.11.5 goes on from where the body of such a group failed.
_PLAIN_NUMBER = r"[0-9]++(?:[.,:][0-9]++)+"
_OTHER_WORD = rf"{_LETTERS}(?:(?!{_CLITIC})'{_LETTERS})*|{_NEGATION}|(?<=[0-9A-Za-z\x02]){_CLITIC}|{_SYMBOLS}"
_WORD = re.compile(rf"({_PLAIN_NUMBER}|{_OTHER_WORD})")

_NUMBER = r"\x02*+[0-9][0-9A-Za-z\x02]*+(?:[.,:/'_\x0b-]\x02*+[0-9][0-9A-Za-z\x02]*+)*"
GENERIC_DOMAINS = (
    "com|org|net|edu|gov|mil|int|arpa|info|biz|name|pro|mobi|coop|aero|museum|jobs|tel|travel|asia|post|app|blog|cloud|dev"
    "|email|example|invalid|local|localhost|online|shop|site|store|tech|test|top|web|wiki|xyz"
)
# Country codes, written small: a sentence that follows a full stop without a space begins with a capital.
COUNTRY_DOMAINS = (
    "a[cdefgilmoqrstuwxz]|b[abdefghijmnorstvwyz]|c[acdfghiklmnoruvwxyz]|d[ejkmoz]|e[ceghrstu]|f[ijkmor]"
    "|g[abdefghilmnpqrstuwy]|h[kmnrtu]|i[delmnoqrst]|j[emop]|k[eghimnprwyz]|l[abcikrstuvy]|m[acdeghklmnopqrstuvwxyz]"
    "|n[acefgilopruz]|om|p[aefghklmnrstwy]|qa|r[eosuw]|s[abcdeghijklmnorstuvxyz]|t[cdfghjklmnortvwz]|u[agksyz]"
    "|v[aceginu]|w[fs]|y[et]|z[amw]"
)
# Ordinary words that are domains too, written small as well.
WORD_DOMAINS = (
    "academy|agency|art|bank|berlin|care|chat|church|click|club|company|design|digital|express|finance|fun|gallery|games"
    "|global|group|guru|health|host|international|law|legal|life|link|live|london|media|money|music|network|news|page"
    "|photo|photography|photos|press|school|services|social|software|solutions|space|studio|systems|team|technology"
    "|today|university|video|vip|website|work|world|zone"
)
_DOMAIN_END = (
    rf"(?:(?i:{GENERIC_DOMAINS})|{COUNTRY_DOMAINS}|{COUNTRY_DOMAINS.upper()}|{WORD_DOMAINS})\x02*+(?![0-9A-Za-z])"
)
_LABEL = r"[0-9A-Za-z\x02_-]{1,63}"
# What a path may hold, and what it may end in: punctuation behind an address is the sentence's.
_PATH = r"[!#-;=?-~\x02]*[0-9A-Za-z\x02/_=&#%~+$@*-]"
# Repeats are bounded, so that a hostile text costs no more than a fixed number of steps a character.
_ADDRESS = (
    rf"[A-Za-z][0-9A-Za-z+.-]{{0,30}}://{_PATH}|[wW]{{3}}\.{_PATH}"
    rf"|[0-9A-Za-z\x02][0-9A-Za-z\x02._%+&'-]{{0,127}}+@{_LABEL}(?:\.{_LABEL}){{0,9}}"
    rf"|@[0-9A-Za-z\x02_]{{1,63}}(?:[.@]{_LABEL}){{0,9}}"
    rf"|(?:{_LABEL}\.){{1,9}}{_DOMAIN_END}(?::[0-9]+)?(?:[/?#](?:{_PATH})?)?"
)
_WHOLE_WORD = re.compile(rf"({_ADDRESS}|{_NUMBER}|{_OTHER_WORD})")
_WHOLE_WORD_WITHOUT_ADDRESSES = re.compile(rf"({_NUMBER}|{_OTHER_WORD})")
_DOMAIN_SIGN = re.compile(rf"\.{_DOMAIN_END}")
_ONE_NUMBER = re.compile(_NUMBER)
_ONE_ADDRESS = re.compile(_ADDRESS)
_CLITIC_FORMS = frozenset({"n't", "'s", "'d", "'m", "'re", "'ve", "'ll"})


def split_words(text: str, grammar: Grammar = "plain") -> list[str]:
    """Return [gap, word, gap, word, ..., gap]; joined they are ``text`` itself."""
    if text.isascii() and "\x02" not in text and SIGN not in text:
        return _choose_pattern(text, grammar).split(text)
    stand_in = text.translate(_ASCII_CLASSES)
    ends = list(itertools.accumulate(map(len, _choose_pattern(stand_in, grammar).split(stand_in))))
    return [text[start:end] for start, end in itertools.pairwise([0, *ends])]


def _choose_pattern(text: str, grammar: Grammar) -> re.Pattern[str]:
    """Return what finds the words of a text of ASCII stand-ins."""
    if grammar == "plain":
        return _WORD
    # Most texts have no sign of an address, and are read much faster without looking for one at each word.
    has_sign = "@" in text or "://" in text or "www." in text.lower() or _DOMAIN_SIGN.search(text)
    return _WHOLE_WORD if has_sign else _WHOLE_WORD_WITHOUT_ADDRESSES


def is_number(word: str) -> bool:
    """Return whether a word of the whole grammar is a number: it begins with a digit of any script."""
    return not (word.isascii() and word.isalpha()) and bool(_ONE_NUMBER.fullmatch(word.translate(_ASCII_CLASSES)))


def is_address(word: str) -> bool:
    """Return whether a word of the whole grammar is an address."""
    is_plain = word.isascii() and word.isalpha()
    return not is_plain and bool(_ONE_ADDRESS.fullmatch(word.translate(_ASCII_CLASSES))) and not is_number(word)


def fold_word(word: str) -> str:
    """Return the form under which a word is looked up: NFC, lower case, straight apostrophe.

    Invisible format characters (zero-width, soft hyphen, direction marks) are dropped.
    """
    if not word.isascii():
        for letter in set(word):
            if unicodedata.category(letter) == "Cf":
                word = word.replace(letter, "")
        word = unicodedata.normalize("NFC", word.replace("’", "'"))
        return unicodedata.normalize("NFC", word.lower())
    return word.lower()


def is_clitic(word: str) -> bool:
    """Return whether the word is the second part of a contraction (n't, 's, 'll, ...)."""
    return word in _CLITIC_FORMS


def has_trailing_word(text: str) -> bool:
    """Return whether the last character of a text belongs to a word."""
    return split_words(text[-1:]) == ["", text[-1:], ""]


def is_one_word(entry: str) -> bool:
    """Return whether ``entry`` has a letter or digit and the tokenizer reads it as one word.

    A clitic such as ``'s`` counts: it is found after another word.
    """
    if not any(letter.isalnum() for letter in entry):
        return False
    return is_clitic(entry) or split_words(entry) == ["", entry, ""]

"""What a word is: the one grammar that spaces and tokenizers share.

Every character is mapped to an ASCII stand-in by its Unicode category, one to one, so that a
single regular expression over ASCII finds the words of any script, quickly for plain English:

* letters, digits, combining marks and invisible format characters make up **words**;
* emoji, other symbols, control characters, private use, unassigned code points and lone surrogates
  make up **words of symbols**: they carry meaning, and nothing but punctuation passes through;
* white space, punctuation, and the mathematical, currency and modifier symbols are **gaps**.

Contractions are cut as the Penn Treebank and GloVe cut them (do|n't, it|'s, we|'ll), other inner
apostrophes stay (o'clock), and numbers keep their inner ``. , :`` (1,000  3.14  10:30).
"""

import itertools
import re
import unicodedata

_LETTER, _SYMBOL, _JOINER, _GAP = "a", "\x01", "\x02", " "
_GAP_CATEGORIES = frozenset({"Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "Zs", "Zl", "Zp"})
_SYMBOL_CATEGORIES = frozenset({"So", "Cs", "Co", "Cn", "Cc"})
# They hold an emoji sequence together, and are found inside words of other scripts too.
_JOINERS = frozenset({0x200C, 0x200D, 0x20E3, 0xFE0E, 0xFE0F, *range(0xE0020, 0xE0080)})
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_NEXT_LINE = 0x85


class _AsciiClasses(dict[int, str]):
    """Table for `str.translate`: the ASCII stand-in of every character, found when first met."""

    def __missing__(self, code: int) -> str:
        self[code] = ascii_class = self._classify(code)
        return ascii_class

    @staticmethod
    def _classify(code: int) -> str:
        if code == ord("’"):
            return "'"
        if code in _JOINERS:
            return _JOINER
        if code == _NEXT_LINE:
            return _GAP
        category = unicodedata.category(chr(code))
        if category in _SYMBOL_CATEGORIES or code in _SKIN_TONES:
            return _SYMBOL
        return _GAP if category in _GAP_CATEGORIES else _LETTER


# ASCII characters stand for themselves.
_ASCII_CLASSES = _AsciiClasses({code: chr(code) for code in range(128)})

_WORD_END = r"(?![0-9A-Za-z\x02])"
_NEGATION = rf"[nN]'[tT]{_WORD_END}"
_CLITIC = rf"'(?:[sSdDmM]|[rR][eE]|[vV][eE]|[lL][lL]){_WORD_END}"
# A run of letters gives its last n back where n't follows.
_LETTERS = rf"[0-9A-Za-z\x02]+(?!'(?<=[nN]')[tT]{_WORD_END})"
# \x01 and \x02 stand for symbols and joiners; the other ASCII controls are symbols themselves, those among them
# that Python takes for white space (\x1c to \x1f) too.
_SYMBOLS = r"[\x00\x01\x03-\x08\x0e-\x1f\x7f][\x00-\x08\x0e-\x1f\x7f]*+"
# No group is possessive: Python before 3.11.5 goes on from where the body of such a group failed.
_WORD = re.compile(
    rf"([0-9]++(?:[.,:][0-9]++)+"
    rf"|{_LETTERS}(?:(?!{_CLITIC})'{_LETTERS})*"
    rf"|{_NEGATION}|(?<=[0-9A-Za-z\x02]){_CLITIC}|{_SYMBOLS})"
)
_CLITIC_FORMS = frozenset({"n't", "'s", "'d", "'m", "'re", "'ve", "'ll"})


def split_words(text: str) -> list[str]:
    """Return [gap, word, gap, word, ..., gap]; joined they are ``text`` itself."""
    if text.isascii() and "\x02" not in text:
        return _WORD.split(text)
    ends = list(itertools.accumulate(map(len, _WORD.split(text.translate(_ASCII_CLASSES)))))
    return [text[start:end] for start, end in itertools.pairwise([0, *ends])]


def fold_word(word: str) -> str:
    """Return the form under which a word is looked up: NFC, lower case, straight apostrophe.

    Invisible format characters (zero-width, soft hyphen, direction marks) are dropped.
    """
    if not word.isascii():
        word = "".join(letter for letter in word if unicodedata.category(letter) != "Cf")
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

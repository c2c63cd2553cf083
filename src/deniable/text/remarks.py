"""What texts look like to a mechanism that was not made for them: remarks for the owner of the texts alone.

They tell of the private texts, and so stand in no certificate, and are no Python warnings, which end in logs.
"""

from deniable.text.escapes import MarkupCounts

UNKNOWN_SHARE_LIMIT = 0.2
"""Share of words outside the vocabulary above which the space does not fit the texts."""
MARKUP_SHARE_LIMIT = 0.01
"""Share of texts with HTML from which on it is worth a remark."""
OTHER_VECTORS = (
    "Are the texts in another language than the vectors (glove knows English, not German, Chinese or Arabic), or full "
    "of emoji or codes? Name vectors of their language with --space FILE (Space.load in Python)"
)
"""What to do where a space lacks many words of the texts."""


def describe_unknown_words(unknown: int, words: int, advice: str = OTHER_VECTORS) -> list[str]:
    """Return a remark where many words are outside the vocabulary.

    Args:
        unknown: words that the vocabulary lacks.
        words: all words that were read.
        advice: what to do about it, in whole sentences without the last full stop.
    """
    if unknown <= UNKNOWN_SHARE_LIMIT * words:
        return []
    share = f"{100 * unknown / words:.1f}%"
    return [f"{share} of the words are not in the vocabulary, and are all treated alike. {advice}"]


def describe_markup(counts: MarkupCounts, *, can_decode: bool = True) -> list[str]:
    """Return remarks on HTML entities and tags that were cut into words.

    Args:
        counts: of the texts.
        can_decode: whether who reads this has an option that decodes entities.
    """
    decoding = '--unescape html (unescape="html" in Python) decodes one level of them before words are read'
    remarks = []
    if counts.with_entities and counts.with_entities >= MARKUP_SHARE_LIMIT * counts.texts:
        remarks.append(
            f"{_format_share(counts.with_entities, counts.texts)} hold HTML entities such as &#039; or &amp;, which "
            f"are cut into words: {decoding if can_decode else 'decode them first'}"
        )
    if counts.with_tags and counts.with_tags >= MARKUP_SHARE_LIMIT * counts.texts:
        remarks.append(
            f"{_format_share(counts.with_tags, counts.texts)} hold HTML tags such as <br />, whose names and "
            "attributes are read as words while the brackets stay: replace tags by spaces first"
        )
    return remarks


def _format_share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}% of the texts ({part:,} of {whole:,})"

"""HTML in texts: entities decoded as a declared step, and how many texts hold entities or tags."""

import html
import re
from dataclasses import dataclass, fields
from typing import Literal

from deniable.core.errors import make_parameter_error
from deniable.text.encoded import EncodedTexts

Escapes = Literal["html"]
"""How texts are escaped; None where they are read as they are."""

REFERENCE = re.compile(r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?)")
"""What HTML takes for a character reference in a text, as `html.unescape` finds it."""
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
"""An entity as tools write it, with its semicolon: "AT&T" and "a&copy=1" are none."""
_TAG = re.compile(
    r"</?(?:a|b|blockquote|body|br|center|code|dd|del|div|dl|dt|em|font|form|h[1-6]|head|hr|html|i|img|ins|li|link|meta|"
    r"ol|p|pre|q|s|script|small|span|strong|style|sub|sup|table|tbody|td|th|thead|tr|tt|u|ul)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_LINE_BREAKS = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_MAX_REFERENCE_CHARACTERS = 600
"""Longer ones name no character; Python refuses to read numbers of over 640 digits where it is told to."""
_REPLACEMENT_CHARACTER = "\ufffd"


def check_escapes(owner: str, escapes: object) -> None:
    """Raise `InputError`, in the name of ``owner``, unless a value is one of `Escapes` or None."""
    if escapes not in (None, "html"):
        raise make_parameter_error(owner, "unescape", "'html' or None", escapes)


def decode_escapes(text: str, escapes: Escapes | None) -> str:
    """Return a text with its HTML entities decoded, once, as a browser does; the text itself for None.

    A decoded line break becomes a space, whatever the format of the table, since in plain text it would end a record.
    Line breaks that stood in the text stay. Tags are not removed.
    """
    if escapes is None or "&" not in text:
        return text
    return REFERENCE.sub(decode_reference, text)


def decode_reference(match: re.Match[str]) -> str:
    """The characters that a match of `REFERENCE` stands for."""
    reference = match[0]
    if len(reference) > _MAX_REFERENCE_CHARACTERS:
        return _REPLACEMENT_CHARACTER
    return _LINE_BREAKS.sub(" ", html.unescape(reference))


def has_entity(text: str) -> bool:
    """Return whether a text holds an HTML entity, such as ``&#039;``."""
    return "&" in text and any(html.unescape(match[0]) != match[0] for match in _ENTITY.finditer(text))


def has_tag(text: str) -> bool:
    """Return whether a text holds a tag of HTML, such as ``<br />``; any other word in angle brackets is none."""
    return "<" in text and _TAG.search(text) is not None


@dataclass(frozen=True)
class MarkupCounts:
    """How many texts hold HTML, for their owner only. Counts add up.

    Attributes:
        texts: number of texts.
        with_entities: those with an HTML entity left.
        with_tags: those with a tag.
    """

    texts: int = 0
    with_entities: int = 0
    with_tags: int = 0

    @classmethod
    def count(cls, texts: EncodedTexts) -> "MarkupCounts":
        """The counts of texts as they are privatized: decoded, where that is declared."""
        flags = [(has_entity(text), has_tag(text)) for text in map(texts.decode, texts.find_rows(b"<&").tolist())]
        return cls(len(texts), sum(entity for entity, _ in flags), sum(tag for _, tag in flags))

    def __add__(self, other: "MarkupCounts") -> "MarkupCounts":
        """The counts of both."""
        return MarkupCounts(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

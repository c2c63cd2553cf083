"""Decoding a byte stream in chunks, with line numbers for errors and no byte lost."""

import codecs
from collections.abc import Iterator
from typing import BinaryIO

from deniable.core.errors import InputError
from deniable.text.tables.copied_columns import (
    START_BYTES,
    describe_content,
    find_marked_encoding,
    guess_wide_encoding,
)
from deniable.text.tables.layout import TableLayout

CHUNK_BYTES = 1 << 22
MAX_ROW_CHARACTERS = 1 << 29
"""Characters a single row may have; a quote left open would otherwise swallow the file."""

_UNSUPPORTED_ENCODINGS = {"idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined", "utf-7"}
_UNICODE_ENCODINGS = {"utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"}


class DecodedSource:
    """The decoded text of a stream, read on demand.

    A byte order mark is not part of `read_more`'s text; it is in `byte_order_mark`, and `encode` does not add one.
    """

    def __init__(self, stream: BinaryIO, layout: TableLayout) -> None:
        self._stream = stream
        self._name = layout.name
        first_bytes = _read_start(stream)
        if not first_bytes:
            raise InputError(f"{layout.name} is empty: give a file with texts.")
        self.encoding = _resolve_encoding(layout.encoding, first_bytes)
        _check_start(layout, self.encoding, first_bytes)
        self._decoder = codecs.getincrementaldecoder(self.encoding)()
        self._newlines = 0
        self.is_exhausted = False
        self._buffered = self._decode(first_bytes)
        self.byte_order_mark = "\ufeff" if self._buffered.startswith("\ufeff") else ""
        self._buffered = self._buffered.removeprefix("\ufeff")

    def read_more(self, pending: str) -> str:
        """Return more text, about as much as is pending; sets `is_exhausted` when there is none left."""
        if len(pending) > MAX_ROW_CHARACTERS:
            raise InputError(
                f"{self._name} has a row of over {MAX_ROW_CHARACTERS:,} characters that ends before line "
                f"{self._newlines + 1}: is a quote left open?"
            )
        if self._buffered:
            text, self._buffered = self._buffered, ""
            return text
        text = ""
        while len(text) < len(pending) or not text:
            data = self._stream.read(max(CHUNK_BYTES, len(pending)))
            text += self._decode(data)
            if not data:
                self.is_exhausted = True
                break
        return text

    def read_lines(self) -> Iterator[str]:
        """Yield the lines, each with its line feed."""
        buffer = ""
        while not self.is_exhausted:
            buffer += self.read_more(buffer)
            *complete, buffer = buffer.split("\n")
            for line in complete:
                yield line + "\n"
        if buffer:
            yield buffer

    def encode(self, text: str) -> bytes:
        """Return file text as bytes."""
        return text.encode(self.encoding)

    def replace_unencodable(self, text: str) -> str:
        """Return new text with a question mark for every character that the encoding lacks, and for lone surrogates."""
        return text.encode(self.encoding, "replace").decode(self.encoding)

    def _decode(self, data: bytes) -> str:
        pending = self._decoder.getstate()[0]  # bytes of a character that has not ended
        try:
            text = self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            line = self._newlines + error.object[: error.start].count(b"\n") + 1
            invalid_byte = error.object[error.start]
            raise InputError(
                f"{self._name} line {line} is not valid {self.encoding} (byte 0x{invalid_byte:02x}). "
                "Name the file's encoding with --encoding, such as utf-8, cp1252 or latin-1."
            ) from None
        self._newlines += text.count("\n")
        if self.encoding not in _UNICODE_ENCODINGS:
            written = text.encode(self.encoding, "replace") + self._decoder.getstate()[0]
            if written != pending + data:
                problem = f"does not survive decoding and encoding as {self.encoding}: convert it to UTF-8 first"
                raise InputError(f"{self._name} {problem}.")
        return text


def _read_start(stream: BinaryIO) -> bytes:
    """Return the first bytes of a stream, enough to tell what it holds where it gives few at a time."""
    start = stream.read(CHUNK_BYTES)
    while 0 < len(start) < START_BYTES and (data := stream.read(CHUNK_BYTES)):
        start += data
    return start


def _resolve_encoding(encoding: str, first_bytes: bytes) -> str:
    """Return the codec's name; the byte order of UTF-16 and UTF-32 is told by the mark."""
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)
    except (LookupError, ValueError):
        name = "undefined"
    if name in _UNSUPPORTED_ENCODINGS:
        raise InputError(f"Unknown encoding {encoding!r}: try utf-8, utf-16, cp1252 or latin-1.")
    if name in ("utf-16", "utf-32"):
        marked = find_marked_encoding(first_bytes) or ""
        return marked if marked.startswith(name) else f"{name}-le"
    return "utf-8" if name == "utf-8-sig" else name


def _check_start(layout: TableLayout, encoding: str, first_bytes: bytes) -> None:
    """Raise `InputError` for a file that is no text, or shows that it is in another encoding."""
    start, is_wide = first_bytes[:START_BYTES], encoding.startswith(("utf-16", "utf-32"))
    content = None if is_wide else describe_content(start)
    if content is not None:
        raise InputError(f"{layout.name} holds {content[0]}, but is read as text: {content[1]}.")
    # A line end of a wide encoding has a zero byte; pairs of ASCII read as one character might pass as punctuation.
    is_narrow = is_wide and start.isascii() and 0 not in start
    guess = None if is_wide else guess_wide_encoding(start)
    found = find_marked_encoding(start) or ("utf-8" if is_narrow else guess)
    if found not in (None, encoding):
        raise InputError(f"{layout.name} looks like {found}, and is read as {encoding}: give --encoding {found}.")

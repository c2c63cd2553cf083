"""Decoding a byte stream in chunks, with line numbers for errors and no byte lost."""

import codecs
import hashlib
from typing import BinaryIO

from deniable.core.contents import (
    GZIP_MAGIC,
    START_BYTES,
    ZSTD_MAGIC,
    describe_content,
    find_marked_encoding,
    guess_wide_encoding,
)
from deniable.core.errors import InputError
from deniable.text.tables.layout import TableLayout

CHUNK_BYTES = 1 << 22
MAX_ROW_CHARACTERS = 1 << 29
"""Characters a single row may have; a quote left open would otherwise swallow the file."""

_UNSUPPORTED_ENCODINGS = {"idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined", "utf-7"}
_UNICODE_ENCODINGS = {"utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"}
_TELLING_BYTES = 32
"""Bytes of ASCII, none of them zero, that no text of two bytes a character has by chance."""
_LIKELY_ENCODINGS = ("utf-8", "cp1252", "latin-1")
"""What an undecodable file may be in, the likeliest first."""


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
        self._hashes = (hashlib.blake2b(), hashlib.blake2b())
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
                self._check_round_trip()
                break
        return text

    def encode(self, text: str) -> bytes:
        """Return file text as bytes."""
        return text.encode(self.encoding)

    def is_encodable(self, text: str) -> bool:
        """Return whether the encoding has every character of a text; none has a lone surrogate."""
        try:
            text.encode(self.encoding)
        except UnicodeEncodeError:
            return False
        return True

    def replace_unencodable(self, text: str) -> str:
        """Return new text with a question mark for every character that the encoding lacks."""
        if self.encoding in _UNICODE_ENCODINGS:
            return text
        return text.encode(self.encoding, "replace").decode(self.encoding)

    def _decode(self, data: bytes) -> str:
        try:
            text = self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            line = self._newlines + error.object[: error.start].count(b"\n") + 1
            invalid_byte = error.object[error.start]
            raise InputError(
                f"{self._name} line {line} is not valid {self.encoding} (byte 0x{invalid_byte:02x}). "
                f"{_advise_encoding(error.object, self.encoding)}."
            ) from None
        self._newlines += text.count("\n")
        if self.encoding not in _UNICODE_ENCODINGS:
            self._hashes[0].update(data)
            self._hashes[1].update(text.encode(self.encoding, "replace"))
        return text

    def _check_round_trip(self) -> None:
        read_hash, written_hash = self._hashes
        if read_hash.digest() != written_hash.digest():
            raise InputError(
                f"{self._name} does not survive decoding and encoding as {self.encoding}: convert it to UTF-8 first."
            )


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
    if name == "utf-16":
        return "utf-16-be" if first_bytes.startswith(codecs.BOM_UTF16_BE) else "utf-16-le"
    if name == "utf-32":
        return "utf-32-be" if first_bytes.startswith(codecs.BOM_UTF32_BE) else "utf-32-le"
    return "utf-8" if name == "utf-8-sig" else name


def _check_start(layout: TableLayout, encoding: str, first_bytes: bytes) -> None:
    """Raise `InputError` for a file that is no text, or shows that it is in another encoding."""
    start, is_wide = first_bytes[:START_BYTES], encoding.startswith(("utf-16", "utf-32"))
    content = None if is_wide else describe_content(start)
    if content is not None:
        is_twice = start.startswith((GZIP_MAGIC, ZSTD_MAGIC)) and layout.name.lower().endswith((".gz", ".zst"))
        advice = "it was compressed twice, decompress it once" if is_twice else content[1]
        raise InputError(f"{layout.name} holds {content[0]}, and is read as text: {advice}.")
    marked = find_marked_encoding(start)
    if is_wide and not marked and len(start) >= _TELLING_BYTES and start.isascii() and 0 not in start:
        raise InputError(f"{layout.name} looks like plain ASCII, and is read as {encoding}: leave out --encoding.")
    if marked == "utf-8" and not _is_decodable(first_bytes, marked):
        return
    if {marked, encoding} == {"utf-32-le", "utf-16-le"}:  # the mark of the one is that of the other and a zero
        return
    found = marked or (None if is_wide else guess_wide_encoding(start))
    if found in (None, encoding):
        return
    evidence = "begins with the byte order mark of" if marked else "has the zero bytes of"
    option = "leave out --encoding" if found == "utf-8" else f"give --encoding {found[:6] if marked else found}"
    raise InputError(f"{layout.name} {evidence} {found[:6].upper()}, and is read as {encoding}: {option}.")


def _is_decodable(data: bytes, encoding: str) -> bool:
    """Return whether the beginning of a file can be decoded."""
    try:
        codecs.getincrementaldecoder(encoding)().decode(data)
    except UnicodeDecodeError:
        return False
    return True


def _advise_encoding(data: bytes, encoding: str) -> str:
    """Return what to do about bytes that an encoding lacks."""
    for candidate in _LIKELY_ENCODINGS:
        if codecs.lookup(candidate).name != encoding and _is_decodable(data, candidate):
            if candidate == "utf-8":
                return "It may be UTF-8: leave out --encoding"
            return f"Name the file's encoding with --encoding, for example --encoding {candidate}"
    return "Name the file's encoding with --encoding, or convert it to UTF-8"

"""Decoding a byte stream in chunks, with line numbers for errors and no byte lost."""

import codecs
import hashlib
from typing import BinaryIO

from deniable.core.errors import InputError
from deniable.text.tables.layout import TableLayout

CHUNK_BYTES = 1 << 22
MAX_ROW_CHARACTERS = 1 << 29
"""Characters a single row may have; a quote left open would otherwise swallow the file."""

_LONGEST_MARK = 3
"""Bytes of the longest byte order mark, that of UTF-8."""
_UNSUPPORTED_ENCODINGS = {"idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined", "utf-7"}
_UNICODE_ENCODINGS = {"utf-8", "utf-16-le", "utf-16-be"}


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
                "Name the file's encoding with --encoding, for example --encoding cp1252."
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
    """Return the first bytes of a stream, enough to tell a byte order mark where it gives few at a time."""
    start = stream.read(CHUNK_BYTES)
    while 0 < len(start) < _LONGEST_MARK and (data := stream.read(CHUNK_BYTES)):
        start += data
    return start


def _resolve_encoding(encoding: str, first_bytes: bytes) -> str:
    """Return the codec's name; UTF-16 is told apart by the byte order mark."""
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)
    except (LookupError, ValueError):
        name = "undefined"
    if name in _UNSUPPORTED_ENCODINGS:
        raise InputError(f"Unknown encoding {encoding!r}: try utf-8, utf-16, cp1252 or latin-1.")
    if name == "utf-16":
        return "utf-16-be" if first_bytes.startswith(codecs.BOM_UTF16_BE) else "utf-16-le"
    return "utf-8" if name == "utf-8-sig" else name

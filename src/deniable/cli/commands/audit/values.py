"""Values that files hold, one a line or row: outputs of a black box as they came, records of a training."""

import csv
import io
import json
from pathlib import Path
from typing import Any

from deniable.cli.commands.audit.black_box import read_text_file, read_text_lines
from deniable.core.errors import InputError, shorten_text

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_MAX_SHOWN_LINES = 5
_JSON_SUFFIXES = (".jsonl", ".ndjson")


def read_outputs(path: str) -> list[Any]:
    """Return the outputs of a file: rows of .npy, else lines, whose bytes are kept but for the line feed at their end.

    Blank lines are outputs, a carriage return is part of its line, and bytes that are no UTF-8 are kept as surrogates.

    Raises:
        InputError: it cannot be read, is a table, or holds no outputs; a line of .jsonl that is not JSON.
    """
    if path.endswith((".parquet", *_DELIMITERS)):
        raise InputError(
            f"The file {path!r} is a table: give outputs as .npy, .jsonl or text with one output per line. A "
            "table would be compared cell by cell, and not as it was written."
        )
    outputs = _read_array(path, "outputs") if path.endswith(".npy") else _read_lines(path)
    if not outputs:
        raise InputError(f"The file {path!r} holds no outputs.")
    if path.endswith(_JSON_SUFFIXES):
        for number, line in enumerate(outputs, 1):
            _parse_json(line.removeprefix("\ufeff") if number == 1 else line, number, path)
    return outputs


def _read_lines(path: str) -> list[str]:
    try:
        text = Path(path).read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise InputError(f"The file {path!r} cannot be read: {error.strerror}.") from None
    return text.removesuffix("\n").split("\n") if text else []


def read_values(path: str, kind: str) -> list[Any]:
    """Return the values of a file: .npy by rows, .jsonl and .ndjson as JSON, .csv, .tsv and .parquet by rows as dicts.

    Any other file is text: its lines, or rows of numbers if all of them are.

    Args:
        path: of the file.
        kind: what the values are, for messages: records.

    Raises:
        InputError: it cannot be read, or holds no values, or blank lines among numbers.
    """
    if path.endswith(".npy"):
        values = _read_array(path, kind)
    elif path.endswith(".parquet"):
        values = _read_parquet(path, kind)
    elif path.endswith(_JSON_SUFFIXES):
        values = [_parse_json(line, number, path) for number, line in enumerate(read_text_lines(path), 1)]
    elif path.endswith(tuple(_DELIMITERS)):
        values = _read_delimited(path, _DELIMITERS[path[-4:]])
    else:
        values = _parse_numbers(read_text_lines(path), path)
    if not values:
        raise InputError(f"The file {path!r} holds no {kind}.")
    return values


def _read_array(path: str, kind: str) -> list[Any]:
    import numpy as np

    try:
        return list(np.load(path, allow_pickle=False))
    except OSError as error:
        raise InputError(f"The file {path!r} cannot be read: {error.strerror or error}.") from None
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever bytes there are
        raise InputError(f"The file {path!r} holds no array of {kind}: {shorten_text(str(error))}.") from None


def _read_delimited(path: str, delimiter: str) -> list[Any]:
    try:
        rows = list(csv.reader(io.StringIO(read_text_file(path), newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise InputError(f"The file {path!r} cannot be read as a table: {error}.") from None
    header, *records = rows or [[]]
    if len(set(header)) < len(header):
        raise InputError(f"The file {path!r} has two columns of one name: rename one.")
    for number, cells in enumerate(records, 2):
        if len(cells) != len(header):
            raise InputError(
                f"Row {number} of {path!r} must have {len(header)} cells, as the header has. Got {len(cells)}: fix it."
            )
    return [dict(zip(header, cells, strict=True)) for cells in records]


def _read_parquet(path: str, kind: str) -> list[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows: list[Any] = pq.read_table(path).to_pylist()
    except OSError as error:
        raise InputError(f"The file {path!r} cannot be read: {error.strerror or error}.") from None
    except pa.ArrowException as error:
        raise InputError(f"The file {path!r} holds no table of {kind}: {shorten_text(str(error))}.") from None
    return rows


def _parse_json(line: str, number: int, path: str) -> Any:  # noqa: ANN401 - any value
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"Line {number} of {path!r} cannot be read as JSON: {error}.") from None


def _parse_numbers(lines: list[str], path: str) -> list[Any]:
    """Return lines as rows of numbers if all of them are, separated by commas or spaces, else as they are."""
    blank_lines = [number for number, line in enumerate(lines, 1) if not line.strip()]
    try:
        rows = [[float(cell) for cell in line.replace(",", " ").split()] for line in lines]
    except ValueError:
        return lines
    if 0 < len(blank_lines) < len(lines):
        shown = ", ".join(map(str, blank_lines[:_MAX_SHOWN_LINES]))
        raise InputError(
            f"The file {path!r} has {len(blank_lines)} blank lines among its numbers, the first at {shown}: remove "
            "them, or write numbers there."
        )
    return [] if blank_lines else rows

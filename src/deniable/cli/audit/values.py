"""Values that files hold, one a line or row: outputs of a black box, records of a training."""

import csv
import io
import json
from typing import Any

from deniable.cli.audit.black_box import read_text_file, read_text_lines
from deniable.core.errors import InputError, shorten_text

_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def read_values(path: str, kind: str) -> list[Any]:
    """Return the values of a file: .npy by rows, .jsonl and .ndjson as JSON, .csv, .tsv and .parquet by rows as dicts.

    Any other file is text: its lines, or rows of numbers if all of them are.

    Args:
        path: of the file.
        kind: what the values are, for messages: outputs, records.

    Raises:
        InputError: it cannot be read, or holds no values.
    """
    if path.endswith(".npy"):
        values = _read_array(path, kind)
    elif path.endswith(".parquet"):
        values = _read_parquet(path, kind)
    elif path.endswith((".jsonl", ".ndjson")):
        values = _read_json_lines(path)
    elif path.endswith(tuple(_DELIMITERS)):
        delimiter = _DELIMITERS[path[-4:]]
        values = list(csv.DictReader(io.StringIO(read_text_file(path)), delimiter=delimiter))
    else:
        values = _parse_numbers(read_text_lines(path))
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


def _read_json_lines(path: str) -> list[Any]:
    values = []
    for number, line in enumerate(read_text_lines(path), 1):
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise InputError(f"Line {number} of {path!r} cannot be read as JSON: {error}.") from None
    return values


def _parse_numbers(lines: list[str]) -> list[Any]:
    """Return lines as rows of numbers if all of them are, separated by commas or spaces, else as they are."""
    try:
        return [[float(cell) for cell in line.replace(",", " ").split()] for line in lines if line.strip()]
    except ValueError:
        return lines

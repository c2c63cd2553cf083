"""Tables that commands write themselves, a row for each text."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from deniable.errors import InputError

Columns = Mapping[str, Sequence[object]]
KINDS = ("csv", "tsv", "jsonl", "parquet")
_COMPRESSED = (".gz", ".zst")


def kind_of(path: str) -> str:
    """Return how a table is written, by the ending of its name.

    Raises:
        InputError: another ending.
    """
    name = PurePath(path)
    if name.suffix.lower() in _COMPRESSED:
        name = name.with_suffix("")
    kind = name.suffix.lower().removeprefix(".")
    if kind not in KINDS:
        endings = ", ".join(f".{known}" for known in KINDS)
        raise InputError(f"The output {path!r} must end in {endings}, each also with .gz or .zst: rename it.")
    return kind


def packed_rows(columns: Columns, kind: str) -> bytes:
    """Return a table as a file of one of `KINDS` holds it; what is no Unicode, as jsonl may hold, is an escape.

    Args:
        columns: name -> values, all of one length.
        kind: one of `KINDS`.
    """
    rows = list(zip(*columns.values(), strict=True))
    if kind == "parquet":
        import pyarrow as pa  # noqa: PLC0415 - slow to import
        from pyarrow import parquet  # noqa: PLC0415

        sink = io.BytesIO()
        parquet.write_table(pa.table({name: list(map(_unicode, values)) for name, values in columns.items()}), sink)
        return sink.getvalue()
    held = io.StringIO(newline="")
    if kind == "jsonl":
        held.writelines(json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) + "\n" for row in rows)
    else:
        writer = csv.writer(held, delimiter="\t" if kind == "tsv" else ",", lineterminator="\r\n")  # either is quoted
        writer.writerow(columns)
        writer.writerows(rows)
    return held.getvalue().encode("utf-8", "backslashreplace")


def _unicode(value: object) -> object:
    """Return a text without lone surrogates; any other value as it is."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value

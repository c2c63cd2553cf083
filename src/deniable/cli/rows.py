"""Tables that commands write themselves, a row for each text."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from deniable.errors import InputError

OutputColumns = Mapping[str, Sequence[object]]
OUTPUT_FORMATS = ("csv", "tsv", "jsonl", "parquet")
_COMPRESSED_ENDINGS = (".gz", ".zst")


def parse_output_format(path: str) -> str:
    """Return how a table is written, by the ending of its name.

    Raises:
        InputError: another ending.
    """
    name = PurePath(path)
    if name.suffix.lower() in _COMPRESSED_ENDINGS:
        name = name.with_suffix("")
    output_format = name.suffix.lower().removeprefix(".")
    if output_format not in OUTPUT_FORMATS:
        endings = ", ".join(f".{known}" for known in OUTPUT_FORMATS)
        raise InputError(f"The output {path!r} must end in {endings}, each also with .gz or .zst: rename it.")
    return output_format


def encode_rows(columns: OutputColumns, output_format: str) -> bytes:
    """Return a table as a file of one of `OUTPUT_FORMATS` holds it; what is no Unicode, as jsonl may hold, is an escape.

    Args:
        columns: name -> values, all of one length.
        output_format: one of `OUTPUT_FORMATS`.
    """
    rows = list(zip(*columns.values(), strict=True))
    if output_format == "parquet":
        import pyarrow as pa  # noqa: PLC0415 - slow to import
        from pyarrow import parquet  # noqa: PLC0415

        sink = io.BytesIO()
        parquet.write_table(
            pa.table({name: list(map(_escape_surrogates, values)) for name, values in columns.items()}), sink
        )
        return sink.getvalue()
    buffer = io.StringIO(newline="")
    if output_format == "jsonl":
        buffer.writelines(json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) + "\n" for row in rows)
    else:
        writer = csv.writer(
            buffer, delimiter="\t" if output_format == "tsv" else ",", lineterminator="\r\n"
        )  # either is quoted
        writer.writerow(columns)
        writer.writerows(rows)
    return buffer.getvalue().encode("utf-8", "backslashreplace")


def _escape_surrogates(value: object) -> object:
    """Return a text without lone surrogates; any other value as it is."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value

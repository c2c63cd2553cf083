"""Tables on the command line: formats, the columns that are read, and the tables that commands write themselves."""

import csv
import dataclasses
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Literal, cast

from deniable.cli.commandline import option
from deniable.core.errors import InputError
from deniable.core.files import PIPE, check_stream_name

if TYPE_CHECKING:
    from deniable.text.tables.layout import TableLayout

TableFormatName = Literal["csv", "tsv", "jsonl", "parquet", "txt"]
OutputColumns = Mapping[str, Sequence[object]]
OUTPUT_FORMATS = ("csv", "tsv", "jsonl", "parquet")
COMPRESSED_ENDINGS = (".gz", ".zst")


@dataclasses.dataclass(frozen=True)
class TableOptions:
    """Table format.

    Attributes:
        format: csv, tsv, jsonl, parquet or txt.
        delimiter: field delimiter of csv and tsv files.
        encoding: character encoding, except of parquet.
        quoting: quotes in csv and tsv files; with none they are ordinary characters.
    """

    format: TableFormatName | None = dataclasses.field(
        default=None, metadata=option(metavar="FORMAT", show_default="by its name")
    )
    delimiter: str | None = dataclasses.field(
        default=None, metadata=option(metavar="CHARACTER", show_default="comma; tab for tsv")
    )
    encoding: str = "utf-8"
    quoting: Literal["standard", "none"] | None = None

    def adapt(self, format_name: str) -> "TableOptions":
        """How another table is written, of which only the format is known."""
        name = cast("TableFormatName", format_name)
        if format_name in ("csv", "tsv"):
            return dataclasses.replace(self, format=name)
        return TableOptions(name, encoding=self.encoding)

    def build_layout(self, source: str, format_name: str, columns: Sequence[str]) -> "TableLayout":
        """Return where some columns of a table stand.

        Args:
            source: path of the table, or - for standard input.
            format_name: its format.
            columns: names of the columns that are read.

        Raises:
            InputError: a delimiter that is no single character; or one, or quotes, for a format that has none.
        """
        from deniable.text.tables.layout import TableLayout

        if format_name not in ("csv", "tsv"):
            for name, value in (("--quoting", self.quoting), ("--delimiter", self.delimiter)):
                if value is not None:
                    raise InputError(f"{name} is for csv and tsv. Got it for {format_name}: leave it out.")
        delimiter = ("\t" if format_name == "tsv" else ",") if self.delimiter is None else self.delimiter
        delimiter = "\t" if delimiter == "\\t" else delimiter
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise InputError(f"The delimiter must be one character, no quote or line end. Got {self.delimiter!r}.")
        return TableLayout(
            name="the input" if source == PIPE else source,
            columns=columns,
            delimiter=delimiter,
            encoding=self.encoding,
            quoting=self.quoting,
        )


def check_input_file(source: str) -> None:
    """Raise `InputError` for an input that is neither a file nor a pipe."""
    if source != PIPE and not Path(source).is_file():
        raise InputError(f"The input {source!r} is not a file: give the path of one, or - for a pipe.")


def resolve_format(source: str, output: str, given_format: str | None) -> str:
    """Return the format of a table and of its release: the one chosen, or that of the file names.

    Raises:
        InputError: two different formats, or none that can be told.
    """
    from deniable.text.tables import detect_table_format

    if output != PIPE:
        check_stream_name(output)
    if given_format is not None:
        return given_format
    formats = [detect_table_format(path) for path in (source, output) if path != PIPE]
    if not formats:
        raise InputError("Between two pipes the format must be named, for example --format csv.")
    if len(set(formats)) > 1:
        raise InputError(
            f"The output has the input's format, {formats[0]}. Got {output!r}: change its ending, or name the "
            "format with --format."
        )
    return formats[0]


def parse_output_format(path: str) -> str:
    """Return how a table is written, by the ending of its name.

    Raises:
        InputError: another ending.
    """
    name = PurePath(path)
    if name.suffix.lower() in COMPRESSED_ENDINGS:
        name = name.with_suffix("")
    output_format = name.suffix.lower().removeprefix(".")
    if output_format not in OUTPUT_FORMATS:
        endings = ", ".join(f".{known}" for known in OUTPUT_FORMATS)
        raise InputError(f"The output {path!r} must end in {endings}, each also with .gz or .zst: rename it.")
    return output_format


def encode_rows(columns: OutputColumns, output_format: str) -> bytes:
    """Return a table as the bytes of a file; lone surrogates, as jsonl may hold, are written as escapes.

    Args:
        columns: name -> values, all of one length.
        output_format: one of `OUTPUT_FORMATS`.
    """
    rows = list(zip(*columns.values(), strict=True))
    if output_format == "parquet":
        import pyarrow as pa
        from pyarrow import parquet

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

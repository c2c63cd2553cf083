"""Tables on the command line: formats, the columns that are read, and the tables that commands write themselves."""

import csv
import dataclasses
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, cast

from deniable.cli.commandline import option
from deniable.cli.options import QuotingName, TableFormatName
from deniable.cli.owner_remarks import warn_owner
from deniable.core.errors import InputError
from deniable.core.files import PIPE, check_stream_name
from deniable.persons.value_lists import parse_list

if TYPE_CHECKING:
    from deniable.text.tables.base import TextColumns
    from deniable.text.tables.copied_columns import CopiedColumns
    from deniable.text.tables.layout import TableLayout

OutputColumns = Mapping[str, Sequence[object]]
OUTPUT_FORMATS = ("csv", "tsv", "jsonl", "parquet")
COMPRESSED_ENDINGS = (".gz", ".zst")


@dataclasses.dataclass(frozen=True)
class TableOptions:
    """Table format.

    Attributes:
        format: format of the table.
        delimiter: field delimiter of csv and tsv files.
        encoding: character encoding of everything but parquet.
        quoting: quotes of csv and tsv files; none are ordinary characters.
    """

    format: TableFormatName | None = dataclasses.field(default=None, metadata=option(show_default="by its name"))
    delimiter: str | None = dataclasses.field(
        default=None, metadata=option(metavar="CHARACTER", show_default="comma; tab for tsv")
    )
    encoding: str = "utf-8"
    quoting: QuotingName | None = None

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
            InputError: the format has no delimiter or no quotes, and one was given.
        """
        from deniable.text.tables.layout import TableLayout

        if self.quoting is not None and format_name not in ("csv", "tsv"):
            raise InputError(f"--quoting is for csv and tsv. Got it for {format_name}: leave it out.")
        return TableLayout(
            name="the input" if source == PIPE else source,
            columns=columns,
            delimiter=parse_delimiter(format_name, self.delimiter),
            encoding=self.encoding,
            quoting=self.quoting,
        )


@dataclasses.dataclass(frozen=True)
class ColumnChoice:
    """The columns of a released table, as the options say.

    Attributes:
        texts: names of the text columns; None for "text".
        record_id: name of the column of ids, or None.
        dropped: names of the columns to leave out; None for none.
        copied: list of the only columns to copy, separated by commas; None for all others.
        person: name of the column that says whose records they are, or None.
    """

    texts: list[str] | None
    record_id: str | None
    dropped: list[str] | None
    copied: str | None
    person: str | None = None


def build_release_layout(
    source: str, format_name: str, columns: ColumnChoice, table_format: TableOptions, *, replace_empty: bool = False
) -> "TableLayout":
    """Return where the texts of a table stand, and which columns are released.

    Raises:
        InputError: columns at odds with each other, or with the format.
    """
    if format_name == "txt" and (columns.dropped or columns.copied is not None):
        raise InputError("A txt file has no columns, each line is a record: leave out --drop and --columns.")
    if format_name == "txt" and columns.person is not None:
        raise InputError("A txt file has no columns, each line is a record: leave out --person.")
    text_columns = resolve_text_columns(format_name, columns.texts, columns.record_id)
    layout = dataclasses.replace(
        table_format.build_layout(source, format_name, text_columns),
        id_column=columns.record_id,
        replace_empty=replace_empty,
        dropped=list(dict.fromkeys(columns.dropped or ())),
        copied=None if columns.copied is None else list(dict.fromkeys(parse_list("--columns", columns.copied))),
        person_column=columns.person,
    )
    layout.check_text_columns()
    return layout


def read_table_columns(
    source: str,
    columns: Sequence[str | None],
    table_format: TableOptions,
    *,
    record_id: str | None = None,
    person: str | None = None,
    copied: "CopiedColumns | None" = None,
) -> "TextColumns":
    """Return the columns of a table that were named.

    Args:
        source: a path, or - for standard input.
        columns: the text column, then others; None where an option was not given.
        table_format: how it is written.
        record_id: column of record ids, which are read as identities.
        person: column of persons, which are read as identities.
        copied: takes note of what a release would copy, if that is asked for.

    Raises:
        InputError: the table cannot be read, lacks a column, or one column was named twice.
    """
    from deniable.text.tables import detect_table_format, read_table

    column_names = [column for column in columns if column is not None]
    for column in ({column_names[0]} & {*column_names[1:]}) | ({record_id, person} & {*column_names}):
        raise InputError(f"The column {column!r} cannot be texts and labels or authors or ids at once: name another.")
    if table_format.format is None and source == PIPE:
        raise InputError("The format of a pipe must be named, for example --format csv.")
    check_input_file(source)
    format_name = table_format.format or detect_table_format(source)
    if format_name == "txt" and (column_names != ["text"] or record_id is not None or person is not None):
        raise InputError(
            "A txt file has no columns, each line is a text: leave out the options that name some, or give a csv, tsv, "
            f"jsonl or parquet with the columns {', '.join(map(repr, column_names))}."
        )
    layout = dataclasses.replace(
        table_format.build_layout(source, format_name, list(dict.fromkeys(column_names))),
        id_column=record_id,
        person_column=person,
    )
    text_columns = read_table(source, layout, format_name, copied)
    warn_owner(layout.remarks)
    return text_columns


def read_public_texts(
    source: str, column: str, table_format: TableOptions, option: str = "--public-texts"
) -> list[str | None]:
    """Return the texts of a file: of a table the column, of any other file the lines.

    Args:
        source: path of the file.
        column: name of the column of texts.
        table_format: of the private table.
        option: by which the file was named.

    Raises:
        InputError: the file cannot be read, or holds no text.
    """
    from deniable.text.tables import detect_table_format

    try:
        format_name = detect_table_format(source)
    except InputError:
        format_name = "txt"
    column_name = "text" if format_name == "txt" else column
    texts = read_table_columns(source, [column_name], table_format.adapt(format_name))[column_name]
    if not any(text and text.strip() for text in texts):
        raise InputError(f"The public file {source!r} holds no text: give one with texts, or leave out {option}.")
    return texts


def check_input_file(source: str) -> None:
    """Raise `InputError` for an input that is neither a file nor a pipe."""
    if source != PIPE and not Path(source).is_file():
        raise InputError(f"The input {source!r} is not a file: give the path of one, or - for a pipe.")


def parse_delimiter(format_name: str, given_delimiter: str | None) -> str:
    """Return the delimiter of a csv or tsv.

    Raises:
        InputError: it is no single character, or the format has none.
    """
    if given_delimiter is None:
        return "\t" if format_name == "tsv" else ","
    if format_name not in ("csv", "tsv"):
        raise InputError(f"--delimiter is for csv and tsv. Got it for {format_name}: leave it out.")
    delimiter = "\t" if given_delimiter == "\\t" else given_delimiter
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise InputError(f"The delimiter must be one character, no quote or line end. Got {given_delimiter!r}.")
    return delimiter


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


def resolve_text_columns(format_name: str, given_columns: list[str] | None, record_id: str | None = None) -> list[str]:
    """Return the columns of text, "text" where none was named.

    Raises:
        InputError: columns of a txt file, or the ids among them.
    """
    if format_name == "txt" and (given_columns or record_id):
        raise InputError("A txt file has no columns, each line is a record: leave out --column and --id.")
    columns = list(dict.fromkeys(given_columns or ["text"]))
    if record_id in columns:
        raise InputError(f"The id column {record_id!r} cannot be a text column too: ids are copied as they are.")
    return columns


def resolve_certificate_path(output: str, given_path: str | None) -> str:
    """Return where the certificate of an output goes.

    Raises:
        InputError: to a pipe, or beside one.
    """
    if given_path == PIPE:
        raise InputError("The certificate must be a file: name one with --certificate FILE.")
    if given_path is None and output == PIPE:
        raise InputError("With --output - the certificate needs a place: name one with --certificate FILE.")
    return given_path or f"{output}.certificate.json"


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

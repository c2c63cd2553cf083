"""What commands that release a table share: which columns leave it, and the files that are read and written."""

import dataclasses
import functools
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from deniable.cli.commandline import option
from deniable.cli.options import OutputOptions
from deniable.cli.owner_remarks import warn_of_copied_columns
from deniable.cli.process import note_stdout
from deniable.cli.tables import TableOptions, check_input_file, resolve_format
from deniable.cli.value_lists import parse_list
from deniable.core.errors import InputError
from deniable.core.files import PIPE

if TYPE_CHECKING:
    from deniable.text.table_release import ReleaseFiles
    from deniable.text.tables.layout import TableLayout


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReleasedColumns:
    """Data.

    Attributes:
        column: name of a column with text; may be given more than once.
        person: column that says which person each row belongs to; required by --ledger.
        columns: names of the only columns to copy along with texts and ids, separated by commas; "" for none.
        unescape: decode HTML entities such as &#039; before words are read.
    """

    column: list[str] | None = dataclasses.field(
        default=None, metadata=option("--column", "-c", metavar="COLUMN", show_default="text")
    )
    person: str | None = dataclasses.field(default=None, metadata=option(metavar="COLUMN"))
    columns: str | None = dataclasses.field(default=None, metadata=option(metavar="COLUMN,...", show_default="all"))
    unescape: Literal["html"] | None = None
    record_id: str | None = dataclasses.field(default=None, init=False)

    def build_layout(self, source: str, format_name: str, table: TableOptions, *, replace_empty: bool) -> "TableLayout":
        """Where the texts of a table stand, and which columns are released.

        Raises:
            InputError: columns at odds with each other, or with the format.
        """
        named = (self.column, self.person, self.record_id)
        if format_name == "txt" and (any(named) or self.columns is not None):
            raise InputError(
                "A txt file has no columns, each line is a record: leave out the options that name columns."
            )
        columns = list(dict.fromkeys(self.column or ["text"]))
        if self.record_id in columns:
            raise InputError(
                f"The id column {self.record_id!r} cannot be a text column too: ids are copied as they are."
            )
        layout = dataclasses.replace(
            table.build_layout(source, format_name, columns),
            id_column=self.record_id,
            replace_empty=replace_empty,
            copied=None if self.columns is None else list(dict.fromkeys(parse_list("--columns", self.columns))),
            person_column=self.person,
        )
        layout.check_text_columns()
        return layout


@dataclasses.dataclass(frozen=True, kw_only=True)
class IdentifiedColumns(ReleasedColumns):
    """Data.

    Attributes:
        record_id: name of the column with unique record ids.
    """

    record_id: str | None = dataclasses.field(
        default=None, metadata=option("--id", metavar="COLUMN", show_default="row number")
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReleaseOutput(OutputOptions):
    """Output.

    Attributes:
        output: released table, in the format of the input; "-" writes to standard output.
        certificate: where to write the certificate.
    """

    output: str = dataclasses.field(metadata=option("--output", "-o", metavar="FILE"))
    certificate: str | None = dataclasses.field(
        default=None, metadata=option(metavar="FILE", show_default="OUTPUT.certificate.json")
    )


def open_release_files(
    source: str,
    table: TableOptions,
    columns: ReleasedColumns,
    output: ReleaseOutput,
    read_paths: Iterable[str | Path | None],
    *,
    replace_empty: bool = False,
) -> "ReleaseFiles":
    """What is read and written, checked before anything that takes long.

    Args:
        source: path of the table, or - for standard input.
        table: how it is written.
        columns: which hold texts, and which are left out.
        output: where the released table and its certificate go.
        read_paths: of what else is read; None for nothing.
        replace_empty: whether an empty cell is written anew.

    Raises:
        InputError: a file that cannot be read or written, or options at odds with each other.
    """
    from deniable.text.table_release import ReleaseFiles
    from deniable.text.tables import check_head

    if output.certificate == PIPE:
        raise InputError("The certificate must be a file: name one with --certificate FILE.")
    if output.certificate is None and output.output == PIPE:
        raise InputError("With --output - the certificate needs its own file: name one with --certificate FILE.")
    format_name = resolve_format(source, output.output, table.format)
    layout = columns.build_layout(source, format_name, table, replace_empty=replace_empty)
    files = ReleaseFiles(
        source=source,
        target=output.output,
        certificate=output.certificate or f"{output.output}.certificate.json",
        table_format=format_name,
        layout=layout,
        force=output.force,
        input_paths=[str(path) for path in (*read_paths, output.sign_key) if path is not None],
        signing_key=output.read_signing_key(),
        see_copied=functools.partial(warn_of_copied_columns, layout),
    )
    check_input_file(source)
    files.check_paths()
    check_head(source, layout, format_name)
    if output.output == PIPE:
        note_stdout()
    return files

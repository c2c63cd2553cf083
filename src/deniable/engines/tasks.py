"""What all hosts share: which releases may run in tasks that are run again, a batch of Arrow privatized, the result.

A host runs a task as often as it likes: a worker dies, another one is slow, a lazy table is read twice. Each run would
draw noise anew, and two outputs for one private text spend epsilon twice. Noise under a key is a function of the
record's id and text, so that every run gives the same output. So a host takes a release with a key, or is told that
fresh noise in every run is what is wanted.
"""

import dataclasses
import functools
import os
import pickle
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar

import pyarrow as pa

from deniable.core.errors import InputError
from deniable.core.randomness import SecretBytes
from deniable.engines.tallies import RecordSet, TallyFolder, digest_id
from deniable.text.batches import Tally
from deniable.text.certificate import Certificate
from deniable.text.release import Release
from deniable.text.row_release import RowPrivatizer
from deniable.text.tables import release_parts
from deniable.text.tables.arrow import (
    convert_texts,
    extract_rows,
    is_text_type,
    list_identities,
    widen_dictionary_indices,
)
from deniable.text.tables.copied_columns import CopiedColumns
from deniable.text.tables.layout import CopiedContent, TableLayout

TableT = TypeVar("TableT")


def make_layout(table: str, text: str | Sequence[str], id_column: str | None) -> TableLayout:
    """Return where the texts of a host's table stand.

    Args:
        table: what the host calls it, for messages, such as "the DataFrame".
        text: name of the column of texts, or names of several.
        id_column: name of the column of record ids, or None.

    Raises:
        InputError: a name is no text, a column of texts is named twice, or is the column of ids.
    """
    columns = (text,) if isinstance(text, str) else text
    if not isinstance(columns, Sequence) or not columns or not all(isinstance(name, str) for name in columns):
        raise _make_kind_error(table, "text", "the name of a column, or a list of names", text)
    if id_column is not None and not isinstance(id_column, str):
        raise _make_kind_error(table, "id", "the name of a column, or None", id_column)
    layout = TableLayout(table, tuple(columns), id_column)
    layout.check_text_columns()
    return layout


def check_repeatable(host: str, release: Release, *, has_ids: bool, fresh: bool, is_pickled: bool = True) -> None:
    """Raise `InputError` unless a task of a host may run more than once under a release.

    Args:
        host: its name, for messages, such as "Spark".
        release: how texts are released.
        has_ids: whether a column of record ids is named.
        fresh: whether new noise in every run of a task is asked for.
        is_pickled: whether the release travels to other processes.

    Raises:
        InputError: a release without a key and not ``fresh``, ``fresh`` with a key, a key without ids, or a key of
            bytes where the release travels.
    """
    if not isinstance(release, Release):
        raise _make_kind_error(host, "release", "a Release, such as Release(mechanism, key='env:NAME')", release)
    if release.ledger is not None:
        raise InputError(
            f"{host} takes no release with a ledger: write the table with deniable privatize --ledger, or pass "
            "persons=... along with the texts to Release.batch."
        )
    if release.key is None and not fresh:
        raise InputError(
            f"{host} may run a task twice, and without a key each run draws new noise for the same text, which spends "
            'epsilon again: give the Release a key, key="env:NAME" or "file:PATH", or allow it with fresh=True, '
            "if the function takes that."
        )
    if release.key is not None and fresh:
        raise InputError(
            f"fresh=True asks {host} for new noise in every run, and a key for the same noise: leave out one of them."
        )
    if release.key is not None and not has_ids:
        raise InputError(
            "Under a key the noise follows the record's id: name the column of unique record ids with id=..."
        )
    if is_pickled and isinstance(release.key, SecretBytes):
        raise InputError(
            f"{host} sends the release to other processes, and a key held as bytes cannot be sent: keep it where every "
            'worker can read it, key="env:NAME" or "file:PATH".'
        )


def _make_kind_error(owner: str, name: str, expected: str, value: object) -> InputError:
    """Return the error of a parameter of another kind, without its value: it may be a column of texts, or a key."""
    return InputError(f"The {name!r} parameter of {owner} must be {expected}. Got one {type(value).__name__}.")


def make_folder(
    layout: TableLayout, tallies: str | os.PathLike[str] | None, *, is_fresh: bool = False
) -> TallyFolder | None:
    """Return the folder that a ``tallies`` parameter names, wherever the program goes afterwards; None for none.

    Raises:
        InputError: counts are to be left, and no column of ids is named.
    """
    if tallies is None:
        return None
    if layout.id_column is None:
        raise InputError("Tallies count each record once, by its id: name the column of record ids with id=...")
    return TallyFolder(Path(tallies).absolute(), is_fresh)


def check_schema(layout: TableLayout, schema: pa.Schema) -> None:
    """Raise `InputError` unless a table has the columns of a layout: texts, and ids that are texts or numbers."""
    layout.check_columns(schema.names)
    for column in layout.columns:
        check_text_kind(layout, column, str(schema.field(column).type), is_text=is_text_type(schema.field(column).type))
    kind = None if layout.id_column is None else schema.field(layout.id_column).type
    if kind is not None and not _is_identity_type(kind):  # what else there is may be written in several ways
        raise InputError(
            f"The id column {layout.id_column!r} of {layout.name} holds {kind}: an id must be a text or a whole "
            "number, so convert it to strings."
        )


def _is_identity_type(data_type: pa.DataType) -> bool:
    """Return whether a column of a type may name persons or records."""
    if pa.types.is_dictionary(data_type):
        return _is_identity_type(data_type.value_type)
    is_number = pa.types.is_integer(data_type) or pa.types.is_floating(data_type) or pa.types.is_decimal(data_type)
    return is_number or is_text_type(data_type)


def check_text_kind(layout: TableLayout, column: str, kind: str, *, is_text: bool) -> None:
    """Raise `InputError` where a column of texts is of another kind."""
    if not is_text:
        raise InputError(f"The column {column!r} of {layout.name} holds {kind}, not text: convert it to strings.")


def privatize_batch(batch: pa.RecordBatch, layout: TableLayout, privatizer: RowPrivatizer) -> pa.RecordBatch:
    """Return a batch with its texts privatized, as `privatize_table` gives them for the whole table.

    Null and empty texts stay, and so do all other columns. What the schema says of itself and of its columns beside
    names and types is left out: nobody knows whether it describes private texts.

    Args:
        batch: R rows.
        layout: where the texts stand; ids, if named, are unique in the whole table: who privatizes parts of it by
            several privatizers has checked that.
        privatizer: of the table, or of a part of it; it counts what it privatizes.

    Raises:
        InputError: columns or ids that cannot be used, or the key cannot be read.
    """
    check_schema(layout, batch.schema)
    schema = pa.schema([field.remove_metadata() for field in widen_dictionary_indices(batch.schema, layout)])
    try:
        rows = extract_rows(pa.Table.from_batches([batch]), layout)
    except (UnicodeDecodeError, pa.ArrowInvalid):
        raise InputError(f"A text or id of {layout.name} is not valid UTF-8: decode it before.") from None
    new_columns = release_parts(rows, privatizer).columns  # no row is left out without a ledger
    columns = [
        convert_texts(new_columns[name], column.type).combine_chunks() if name in new_columns else column
        for name, column in zip(schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def privatize_batches(
    batches: Iterable[pa.RecordBatch],
    layout: TableLayout,
    release: Release,
    *,
    tallies: TallyFolder | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of one task privatized, by one thread; after the last one, leave their counts.

    Args:
        batches: those of the task.
        layout: see `privatize_batch`; it names a column of ids where there is a folder.
        release: how texts are released; without a key each task has a fresh one.
        tallies: where the counts of the run are kept, if anywhere.

    Raises:
        InputError: see `privatize_batch` and `TallyFolder.commit`.
    """
    records, privatizer = RecordSet(), RowPrivatizer(layout, release, workers=1)
    for batch in batches:
        new_batch = privatize_batch(batch, layout, privatizer)
        if tallies is not None:
            ids = list_ids(layout, batch.column(batch.schema.get_field_index(layout.id_column)))
            records += RecordSet.of_digests(map(digest_id, ids))
        yield new_batch
    if tallies is not None:
        tallies.commit(records, privatizer.tally)


def check_unique_ids(layout: TableLayout, arrays: Iterable[pa.Array]) -> RecordSet:
    """Return the records of a whole table, or raise `InputError` where two have one id, or one has none.

    For hosts that have all ids at hand, of which the digests are kept.

    Args:
        layout: whose column of ids it is.
        arrays: the ids, part by part.
    """
    digests = [digest_id(record_id) for array in arrays for record_id in list_ids(layout, array)]
    if len(set(digests)) < len(digests):
        refuse_repeated_ids(layout, f"rows that repeat an id: {len(digests) - len(set(digests)):,}")
    return RecordSet.of_digests(digests)


def list_ids(layout: TableLayout, array: pa.Array) -> list[str]:
    """Return the identities of records, which name the noise; raise `InputError` where one is missing or none."""
    column = str(layout.id_column)
    return layout.require_ids(list_identities(pa.table({column: array}), column, layout))


def refuse_repeated_ids(layout: TableLayout, repeats: str) -> NoReturn:
    """Raise the `InputError` of a table in which rows have the id of another row; ``repeats`` says which."""
    raise InputError(
        f"The id column {layout.id_column!r} of {layout.name} is not unique ({repeats}). Equal ids would share their "
        "noise: give every row an id of its own."
    )


@functools.lru_cache(maxsize=4)  # releases that a worker process keeps, with the tables of their laws
def unpack_release(data: bytes) -> Release:
    """Return the release that a host pickled: one object in a process, however many tasks it runs."""
    release: Release = pickle.loads(data)  # noqa: S301 - the host brought it from the program that pickled it
    return release


@dataclasses.dataclass(frozen=True, eq=False)
class ReleasedTable(Generic[TableT]):
    """A table whose texts were privatized, and its counts.

    Attributes:
        table: the private table, of the host's own class.
        tally: counts, of which the certificate uses those that the texts show; the others are for the owner only.
        release: how the texts were released.
        copied: the columns that the table has unchanged from the private one, and which look like texts or identifiers.
    """

    table: TableT
    tally: Tally
    release: Release
    copied: CopiedContent

    def make_certificate(self, **options: Any) -> Certificate:  # noqa: ANN401 - those of `Certificate.of`
        """Return the certificate that accompanies the table, which names the columns that were copied.

        Args:
            **options: ``chosen_from_data`` and ``prior``, see `Certificate.of`.
        """
        return Certificate.of(self.release, self.tally, copied=self.copied, **options)


def describe_copied(
    layout: TableLayout, columns: Iterable[str], *heads: Sequence[tuple[str, Sequence[object]]]
) -> CopiedContent:
    """Return what a host's table copies.

    Args:
        layout: where its texts and ids stand.
        columns: that are copied.
        heads: name and cells of each column in the first rows of the released table, or of each of its parts.
    """
    copied = CopiedColumns(layout)
    copied.names += columns
    for head in heads:
        copied.add_head(head)
    return dataclasses.replace(copied.describe(), columns=tuple(copied.names))

"""Texts of a Ray data set, privatized where they are: `Dataset.map_batches` over a `Release`."""

import dataclasses
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from deniable.core.errors import InputError, import_extra, make_parameter_error
from deniable.engines.tallies import TallyFolder
from deniable.engines.tasks import (
    check_repeatable,
    check_schema,
    check_unique_ids,
    make_folder,
    make_layout,
    privatize_batches,
)
from deniable.text.release import Release
from deniable.text.tables.layout import CopiedContent, TableLayout

if TYPE_CHECKING:
    from ray.data import Dataset


def privatize_dataset(
    dataset: "Dataset",
    release: Release,
    *,
    text: str | Sequence[str],
    id: str | None = None,
    fresh: bool = False,
    tallies: str | os.PathLike[str] | None = None,
    **map_options: Any,  # noqa: ANN401 - those of Ray
) -> "Dataset":
    """Return a data set whose texts are privatized when it is read or written.

    The new texts are those of ``deniable privatize`` on the same table, however it is cut into blocks and however often
    a task runs. Names and order of columns stay; null and empty texts stay; what a schema says of columns beside their
    types is left out. All ids are read at once, to see that no two are equal; this process keeps a digest of each.

    Args:
        dataset: with a key the same rows have to have the same ids whenever it is read: ids are read more than once.
        release: how texts are released; its key is named by a place that every worker can read, ``"env:NAME"`` or
            ``"file:PATH"``.
        text: name of the column of texts, or of several.
        id: name of the column of record ids, texts or whole numbers; needed with a key, and with ``tallies``.
        fresh: draw new noise whenever a task runs, for a release without a key. Write the result once: each time that
            it is read spends epsilon again.
        tallies: a new folder that all workers can write to, for the counts of `merge_tallies` and `make_certificate`.
        map_options: further options of `Dataset.map_batches`, such as ``compute``, how many actors privatize, and
            ``batch_size``, rows that are privatized together; by default as Ray finds useful, and those of a block.

    Raises:
        InputError: columns, ids or the release cannot be used, or ray is missing. What a worker cannot use (its key,
            for one) is an error of Ray when the data set is read.
    """
    data = import_extra("ray.data", "privatize_dataset", "ray")
    if not isinstance(dataset, data.Dataset):
        raise make_parameter_error("privatize_dataset", "dataset", "a ray.data.Dataset", type(dataset))
    layout = make_layout("the data set", text, id)
    check_repeatable("Ray", release, has_ids=id is not None, fresh=fresh)
    folder = make_folder(layout, tallies, is_fresh=fresh)
    schema = dataset.schema()
    if schema is None:
        raise InputError("The data set is empty, without a column: there is nothing to privatize.")
    layout.check_columns(schema.names)
    for batch in dataset.limit(1).iter_batches(batch_format="pyarrow"):  # blocks of pandas have types when converted
        check_schema(layout, _cast_nulls(cast("pa.Table", batch), layout).schema)
    if id is not None:
        batches = dataset.select_columns([id]).iter_batches(batch_size=None, batch_format="pyarrow")
        records = check_unique_ids(layout, (chunk for batch in batches for chunk in batch.column(id).chunks))
        if folder is not None:
            copied = CopiedContent(layout.list_other_columns(schema.names), ("which of its rows stand in one block",))
            folder.create(release, layout.columns, records, copied)
    private: Dataset = dataset.map_batches(
        BatchPrivatizer,
        fn_constructor_args=(release, layout, folder),
        batch_format="pyarrow",
        **{"batch_size": None, **map_options},
    )
    return private


@dataclasses.dataclass  # not frozen: Ray puts attributes of its own on it
class BatchPrivatizer:
    """Privatizes batches of Arrow: the class of an actor, by one thread, since Ray runs an actor for each processor.

    Attributes:
        release: how texts are released.
        layout: where the texts stand.
        tallies: where counts of batches are left, if anywhere.
    """

    release: Release
    layout: TableLayout
    tallies: TallyFolder | None = None

    def __call__(self, table: pa.Table) -> pa.Table:
        """Return a batch with new texts."""
        table = _cast_nulls(table, self.layout)
        batches = table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], schema=table.schema)]
        return pa.Table.from_batches(privatize_batches(batches, self.layout, self.release, tallies=self.tallies))


def _cast_nulls(table: pa.Table, layout: TableLayout) -> pa.Table:
    """Return a block in which columns of texts without a single text, which Ray finds to be of no type, are texts."""
    for column in layout.columns:
        place = table.schema.get_field_index(column)
        if place >= 0 and pa.types.is_null(table.schema.field(place).type):
            table = table.set_column(place, column, table.column(place).cast(pa.string()))
    return table

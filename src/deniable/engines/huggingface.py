"""Hugging Face datasets: the texts of a dataset, privatized by its own ``map``, in one process or several.

A dataset is known by its fingerprint: what another one with the same fingerprint has stored is read again in place of
work. Here it is a keyed hash of the private data's fingerprint, the release and its columns: what is stored
is read again under the same key alone, and the fingerprint tells nobody which data it is of. With fresh noise nothing
is ever read again.
"""

import contextlib
import dataclasses
import json
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from deniable.core.errors import InputError, import_extra, make_parameter_error
from deniable.core.keys import derive_name
from deniable.engines.released import ReleasedTable, describe_copied
from deniable.engines.tallies import RecordSet, TallyFolder, decode_tally, digest_id, encode_tally, merge_tallies
from deniable.engines.tasks import check_repeatable, check_schema, check_unique_ids, make_layout, privatize_batch
from deniable.text.batches import Tally
from deniable.text.release import Release
from deniable.text.tables.arrow import list_head
from deniable.text.tables.copied_columns import MAX_JUDGED_ROWS
from deniable.text.tables.layout import TableLayout

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

    DatasetT = TypeVar("DatasetT", Dataset, DatasetDict)
else:
    DatasetT = TypeVar("DatasetT")

_FINGERPRINT_LAYOUT = "deniable dataset 1"
"""Raised whenever what is stored for a fingerprint changes."""


def privatize_dataset(
    dataset: "DatasetT",
    release: Release,
    *,
    text: str | Sequence[str],
    id: str | None = None,
    fresh: bool = False,
    num_proc: int | None = None,
    batch_size: int = 1000,
) -> "ReleasedTable[DatasetT]":
    """Return a dataset with its texts privatized.

    Order, splits, nulls, all other columns and the features stay. Of what a dataset says of itself (description, sizes,
    checksums, ...) nothing else comes out: it describes the private one.

    A dataset that has cache files gets a further one with the private texts, and beside it a file of counts, which are
    for the owner only: the folder is the owner's.

    Args:
        dataset: one split, or a dict of splits.
        release: how texts are released.
        text: name of the column of texts, or names of several.
        id: name of the column of record ids, texts or whole numbers, unique over all splits; needed with a key.
        fresh: True for a release without a key, which draws new noise in each call.
        num_proc: processes; the result does not depend on them. None for this one.
        batch_size: rows that are released together; the result does not depend on it under a key.

    Raises:
        InputError: the release does not suit, the dataset is streamed, a column is missing or holds no texts, or ids
            are missing or repeated.
    """
    datasets = import_extra("datasets", "privatize_dataset", None)
    if isinstance(dataset, datasets.IterableDataset | datasets.IterableDatasetDict):
        raise InputError(
            "A streamed dataset is read anew in every epoch, and its ids cannot be checked before the first draw: load "
            "it without streaming=True."
        )
    if not isinstance(dataset, datasets.Dataset | datasets.DatasetDict):
        raise InputError(f"privatize_dataset takes a Dataset or a DatasetDict. Got one {type(dataset).__name__}.")
    for name, value in (("num_proc", num_proc), ("batch_size", batch_size)):
        if value is not None and (not isinstance(value, int) or value < 0):
            raise make_parameter_error("privatize_dataset", name, "a whole number, at least 0", value)
    layout = make_layout("the dataset", text, id)
    check_repeatable("datasets", release, has_ids=id is not None, fresh=fresh, is_pickled=bool(num_proc))
    splits: dict[str, Dataset] = dict(dataset) if isinstance(dataset, datasets.DatasetDict) else {"": dataset}
    for split in splits.values():
        check_schema(layout, split.features.arrow_schema)
    if id is not None:
        check_unique_ids(layout, (ids for split in splits.values() for ids in _read_ids(split, id)))
    released = {name: _privatize_split(split, layout, release, num_proc, batch_size) for name, split in splits.items()}
    private = {name: new_split for name, (new_split, _) in released.items()}
    tally = sum((counts for _, counts in released.values()), Tally())
    names = dict.fromkeys(name for split in splits.values() for name in split.column_names)
    table = type(dataset)(private) if isinstance(dataset, datasets.DatasetDict) else private[""]
    copied = layout.list_other_columns(names)
    heads = [list_head(split.with_format("arrow")[:MAX_JUDGED_ROWS]) for split in private.values() if len(split)]
    return ReleasedTable(table, tally, release, copied, describe_copied(layout, copied, *heads))


def _read_ids(dataset: "Dataset", column: str) -> Iterator[pa.ChunkedArray]:
    """Yield the ids of a dataset, part by part."""
    for table in dataset.with_format("arrow").select_columns([column]).iter(batch_size=10_000):
        yield table.column(column)


def _privatize_split(
    dataset: "Dataset", layout: TableLayout, release: Release, num_proc: int | None, batch_size: int
) -> "tuple[Dataset, Tally]":
    """Return a dataset with its texts privatized, and their counts, which are stored where the texts are."""
    from datasets import DatasetInfo, is_caching_enabled

    fingerprint = _make_fingerprint(dataset, layout, release)
    can_cache = bool(dataset.cache_files) and is_caching_enabled() and _has_name(release)
    folder = Path(dataset.cache_files[0]["filename"]).parent if can_cache else None
    tally = None if folder is None else _read_tally(folder / f"cache-{fingerprint}.tally.json")
    with tempfile.TemporaryDirectory() as temporary:
        tallies = TallyFolder(Path(temporary) / "tallies", is_fresh=True)
        tallies.create(release, layout.columns, _count_rows(range(len(dataset))))
        private = dataset.with_format("arrow").map(
            _BatchTask(layout, release, tallies),
            with_indices=True,
            batched=True,
            batch_size=batch_size,
            features=dataset.features,
            # Stored texts whose counts are not known are drawn again, which under a key gives the same.
            load_from_cache_file=tally is not None,
            num_proc=num_proc or None,
            new_fingerprint=fingerprint,
            desc="Privatize",
        )
        if tally is None:
            tally = merge_tallies(tallies.path)
    if folder is not None:
        _store_tally(folder / f"cache-{fingerprint}.tally.json", tally)
    nothing = DatasetInfo(features=private.features)
    for field in dataclasses.fields(nothing):
        setattr(private.info, field.name, getattr(nothing, field.name))
    shown = dataset.format
    return private.with_format(
        shown["type"], shown["columns"], shown["output_all_columns"], **shown["format_kwargs"]
    ), tally


@dataclasses.dataclass(frozen=True)
class _BatchTask:
    """What ``map`` calls with some rows and their numbers, in one process or another."""

    layout: TableLayout
    release: Release
    tallies: TallyFolder

    def __call__(self, rows: pa.Table, numbers: Sequence[int]) -> pa.Table:
        """Return rows with their texts privatized, and leave their counts."""
        (batch,) = rows.combine_chunks().to_batches()
        private, tally = privatize_batch(batch, self.layout, self.release)
        self.tallies.commit(_count_rows(numbers), tally)
        return pa.Table.from_batches([private])


def _count_rows(numbers: Sequence[int]) -> RecordSet:
    """Return the set of rows with these numbers."""
    return RecordSet.of_digests(digest_id(str(number)) for number in numbers)


def _make_fingerprint(dataset: "Dataset", layout: TableLayout, release: Release) -> str:
    """Return the name of what comes out: whatever changes it is in the name, and under the key nobody can guess it."""
    if not _has_name(release):
        return secrets.token_hex(16)
    parts = (_FINGERPRINT_LAYOUT, str(release.fingerprint), layout.id_column or "", *layout.columns)
    return derive_name(release.read_key(), dataset._fingerprint, *parts)  # noqa: SLF001 - has no other name


def _has_name(release: Release) -> bool:
    """Return whether what comes out of a release may be read again: a fresh or an unnamed one is like no other."""
    return release.key is not None and release.fingerprint is not None


def _read_tally(path: Path) -> Tally | None:
    """Return the counts that `_store_tally` stored; None where there are none."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        return decode_tally(json.loads(path.read_text("utf-8")))
    return None


def _store_tally(path: Path, tally: Tally) -> None:
    """Store counts for their owner alone, whole or not at all."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".tally-")  # which only its owner can open
    with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor
        json.dump(encode_tally(tally), file)
    Path(temporary).replace(path)

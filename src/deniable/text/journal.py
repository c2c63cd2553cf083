"""Finished windows of a run, kept beside its output, so that a run that was killed can be resumed.

The folder ``.NAME.journal`` beside the output NAME is for its owner alone (0700, its files 0600). It holds

============  ==================================================================================================
``run.json``  what the new texts are a function of, beside the private ones and the key, and by what the key is known
``run.key``   the fresh key of a run that was given none
``window-N``  the new texts of the Nth window of rows with their counts, under a code that only the key can make
============  ==================================================================================================

A run that is resumed reads its table again from the start, and takes the new texts of finished windows from the
journal. Of the private texts of a window only a digest is kept, under the run's key, by which a changed table is
noticed. What is damaged is not believed, and computed again. At the end of the run the journal is destroyed, the key
first: whoever has it can undo the noise.
"""

import base64
import contextlib
import dataclasses
import hashlib
import hmac
import json
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from deniable import __version__
from deniable.core.errors import InputError
from deniable.core.files import sync_folder
from deniable.core.locks import lock_folder
from deniable.core.randomness import KEY_BYTES, SecretBytes, generate_key
from deniable.text.batches import Tally, decode_tally, encode_tally
from deniable.text.encoded import EncodedTexts
from deniable.text.release import Release
from deniable.text.tables.layout import TableLayout
from deniable.text.tables.rows import ReleasedRows, RowColumn, TextRows, measure_texts, select_texts

_LAYOUT = "deniable journal 1"
"""Raised whenever what is stored changes."""
_RUN_FILE, _KEY_FILE = "run.json", "run.key"
_CODE_BYTES = 32
_OTHERS_ACCESS = stat.S_IRWXG | stat.S_IRWXO
_MAX_SHOWN_CHARACTERS = 60
"""Characters of a setting that a message shows."""


@dataclasses.dataclass(frozen=True)
class Window:
    """What became of a window of rows, for their owner only but for the texts.

    Attributes:
        released: the new texts of its rows, and which of them are released.
        tally: counts of the window.
        lengths: words of each of the rows that are released.
        charged: texts that a ledger was charged for.
        known: texts that it had been charged for before.
    """

    released: ReleasedRows
    tally: Tally
    lengths: Sequence[int]
    charged: int = 0
    known: int = 0


def name_journal(output: str) -> Path:
    """Return where the journal of an output is kept: beside the file, behind links."""
    target = Path(output)
    if target.is_symlink():
        target = Path(os.path.realpath(target))
    return target.with_name(f".{target.name}.journal")


def check_no_journal(output: str) -> None:
    """Raise `InputError` where a run for this output can be resumed."""
    path = name_journal(output)
    if os.path.lexists(path):
        raise InputError(
            f"A run that was to write {output!r} has left the journal {str(path)!r}: resume it with --resume, or "
            "remove the journal with --force."
        )


def remove_journal(output: str) -> None:
    """Destroy the journal of an output, if there is one.

    Raises:
        InputError: it is not the user's own, or a run uses it.
    """
    path = name_journal(output)
    if os.path.lexists(path):
        _check_own_folder(path)
        with _lock_folder(path):
            _destroy_folder(path)


def describe_run(
    release: Release, source: str, table_format: str, layout: TableLayout, over_budget: str = "refuse"
) -> dict[str, Any]:
    """Return everything that new texts are a function of, beside private texts, ids and key, as JSON holds it.

    Args:
        release: how texts are released.
        source: path of the table, as it was given.
        table_format: a name from `deniable.text.tables.TABLE_FORMATS`.
        layout: where the texts stand.
        over_budget: what becomes of rows that a ledger's budget does not cover.

    Raises:
        InputError: the release has no name, so that the journal of another cannot be told from its own.
    """
    mechanism = release.mechanism
    if not mechanism.has_fingerprint:
        raise InputError(
            f"A run can be resumed only where its law can be named. {type(mechanism).__name__} over "
            f"{mechanism.space.metric} has no fingerprint: use a metric and a mechanism of this package, or do not "
            "resume."
        )
    settings = {name: value for name, value in dataclasses.asdict(layout).items() if name not in ("name", "remarks")}
    return {
        "journal": _LAYOUT,
        "version": __version__,
        "input": source,
        "mechanism": f"{mechanism.name}, epsilon {mechanism.epsilon}",
        "noise": release.noise,
        "release": release.fingerprint,
        "format": table_format,
        "over_budget": over_budget,
        **json.loads(json.dumps(settings)),
    }


class Journal:
    """The journal of one run, which this process alone writes; see `open_journal`.

    Attributes:
        path: of the folder.
        key: of the run.
        restored_rows: number of rows that were taken from it.
    """

    def __init__(self, path: Path, key: bytes) -> None:
        self.path, self.key, self.restored_rows = path, SecretBytes(key), 0
        self._secret = _derive_secret(key)
        self._number, self._row_count, self._digest = 0, 0, b""

    def keep_windows(
        self, release_window: Callable[[TextRows], Window], restore_window: Callable[[TextRows, Window], None]
    ) -> Callable[[TextRows], Window]:
        """Return a function that releases windows of rows, in their order, and draws only those that are not here.

        Args:
            release_window: draws new texts for rows.
            restore_window: takes note of rows whose new texts were drawn before.
        """

        def release_or_restore(rows: TextRows) -> Window:
            window = self.find_window(rows)
            if window is not None:
                restore_window(rows, window)
                return window
            window = release_window(rows)
            self.keep_window(window)
            return window

        return release_or_restore

    def find_window(self, rows: TextRows) -> Window | None:
        """Return what became of the window of rows that comes next, if the journal has it.

        Raises:
            InputError: it has the window, of other rows: the table has changed.
        """
        self._number += 1
        first, self._row_count = self._row_count, self._row_count + len(rows)
        self._digest = _hash_rows(self._secret, rows)
        content = self._read_content()
        if content is None:
            return None
        table = pa.ipc.open_stream(content).read_all()
        facts = json.loads(table.schema.metadata[b"facts"])
        if not hmac.compare_digest(facts["digest"], self._digest.hex()):
            raise InputError(
                f"The input has changed since the run whose journal is {str(self.path)!r}, in rows {first + 1:,} to "
                f"{self._row_count:,}: restore it, or remove that folder to start anew."
            )
        self.restored_rows += len(rows)
        columns = {name: _restore_column(table.column(name), rows.columns[name]) for name in table.column_names}
        is_released = None
        if facts["left_out"] is not None:
            is_released = np.ones(len(rows), dtype=bool)
            is_released[facts["left_out"]] = False
        lengths = np.frombuffer(base64.b85decode(facts["lengths"]), dtype="<i8").tolist()
        tally = decode_tally(facts["tally"])
        return Window(ReleasedRows(columns, is_released), tally, lengths, facts["charged"], facts["known"])

    def keep_window(self, window: Window) -> None:
        """Keep the window whose rows were looked for last; it counts when this returns, whatever happens then.

        Raises:
            OSError: it cannot be written.
        """
        columns, is_released = window.released.columns, window.released.is_released
        facts = {
            "digest": self._digest.hex(),
            "left_out": None if is_released is None else np.flatnonzero(~is_released).tolist(),
            "charged": window.charged,
            "known": window.known,
            "tally": encode_tally(window.tally),
            "lengths": base64.b85encode(np.array(window.lengths, dtype="<i8").tobytes()).decode(),
        }
        arrays = [_store_column(column) for column in columns.values()]
        fields = [pa.field(name, pa.large_binary()) for name in columns]
        batch = pa.record_batch(arrays, schema=pa.schema(fields, {b"facts": json.dumps(facts).encode()}))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
            writer.write_batch(batch)
        content = sink.getvalue()
        _write_whole(self.path / self._name, [self._authenticate(content), content])

    @property
    def _name(self) -> str:
        return f"window-{self._number}"

    def _read_content(self) -> pa.Buffer | None:
        """Return what the file of the window holds; None where there is none, or one that is damaged."""
        try:
            data = (self.path / self._name).read_bytes()
        except FileNotFoundError:
            return None
        content = pa.py_buffer(data).slice(min(_CODE_BYTES, len(data)))
        return content if hmac.compare_digest(data[:_CODE_BYTES], self._authenticate(content)) else None

    def _authenticate(self, content: pa.Buffer) -> bytes:
        state = hashlib.blake2b(b"window %d " % self._number, key=self._secret, digest_size=_CODE_BYTES)
        state.update(content)
        return state.digest()


@contextlib.contextmanager
def open_journal(output: str, run: Mapping[str, Any], key: bytes | None, *, force: bool) -> Iterator[Journal]:
    """Open the journal of a run, or begin one. It is destroyed when the block ends well, or without a window kept.

    Args:
        output: path of the released table.
        run: see `describe_run`.
        key: of the run; None for a fresh one, which the journal keeps.
        force: destroy the journal of another run.

    Raises:
        InputError: it is that of another run, is not the user's own, or is in use.
    """
    path = name_journal(output)
    path.mkdir(mode=0o700, exist_ok=True)
    _check_own_folder(path)
    with _lock_folder(path):
        journal = _resume_run(path, run, key, force=force) or _begin_run(path, run, key)
        try:
            yield journal
        except BaseException:
            if not any(path.glob("window-*")):
                _destroy_folder(path)
            raise
        _destroy_folder(path)


def _resume_run(path: Path, run: Mapping[str, Any], key: bytes | None, *, force: bool) -> Journal | None:
    """Return the journal of a run that was begun; None where there is nothing to resume.

    Raises:
        InputError: it is that of another run, and ``force`` is not set.
    """
    try:
        stored = json.loads((path / _RUN_FILE).read_text("utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        stored = {}
    if not isinstance(stored, dict):
        stored = {}
    difference = _find_difference(stored, run)
    stored_key = _read_key(path) if key is None else key
    is_key = stored_key is not None and hmac.compare_digest(str(stored.get("key")), _describe_key(stored_key))
    if difference is None and is_key and stored_key is not None:
        return Journal(path, stored_key)
    if difference is None and key is None:  # its key was destroyed, as at the end of a run, or damaged
        return None
    if not force:
        raise InputError(
            f"The journal {str(path)!r} is that of another run: {difference or 'its key is another one'}. Give what "
            "that run was given to resume it, or --force to start anew."
        )
    return None


def _begin_run(path: Path, run: Mapping[str, Any], key: bytes | None) -> Journal:
    """Return the journal of a new run, in place of whatever the folder holds."""
    _destroy_content(path)
    run_key = generate_key() if key is None else key
    if key is None:
        _write_whole(path / _KEY_FILE, [run_key])
    _write_whole(path / _RUN_FILE, [json.dumps({**run, "key": _describe_key(run_key)}, indent=1).encode()])
    sync_folder(path.parent)
    return Journal(path, run_key)


def _find_difference(stored: Mapping[str, Any], run: Mapping[str, Any]) -> str | None:
    """Return in words the first setting in which two runs differ; None for none."""
    for name, value in run.items():
        if stored.get(name) != value:
            if name == "release":
                return "its release has other options, or another space"
            there, here = (repr(setting)[:_MAX_SHOWN_CHARACTERS] for setting in (stored.get(name), value))
            return f"its {name.replace('_', ' ')} is {there}, here it is {here}"
    return None


def _read_key(path: Path) -> SecretBytes | None:
    try:
        key = SecretBytes((path / _KEY_FILE).read_bytes())
    except FileNotFoundError:
        return None
    return key if len(key) == KEY_BYTES else None


def _derive_secret(key: bytes) -> SecretBytes:
    """Return the secret under which the journal of a run hashes, which has nothing to do with the run's noise."""
    return SecretBytes(hashlib.blake2b(key=key, digest_size=KEY_BYTES, person=b"deniable journal").digest())


def _describe_key(key: bytes) -> str:
    """Return by what a key is known, from which nobody finds it."""
    return hashlib.blake2b(b"key of the run", key=_derive_secret(key), digest_size=16).hexdigest()


def _hash_rows(secret: bytes, rows: TextRows) -> bytes:
    """Return the digest of the ids, the private texts and the persons of a window."""
    state = hashlib.blake2b(key=secret, digest_size=32)
    columns: list[tuple[str, RowColumn]] = list(rows.columns.items())
    columns += [(f"{number}", list(names)) for number, names in enumerate((rows.record_ids, rows.persons)) if names]
    for name, column in columns:
        lengths = measure_texts(column)
        texts = select_texts(column, lengths >= 0)
        encoded = texts if isinstance(texts, EncodedTexts) else EncodedTexts.of(texts)
        data = encoded.data[encoded.offsets[0] : encoded.offsets[-1]]
        for part in (name.encode("utf-8", "surrogatepass"), lengths.astype("<i8").data, data.data):
            state.update(len(part).to_bytes(8, "little"))
            state.update(part)
    return state.digest()


def _store_column(column: RowColumn) -> pa.Array:
    """Return new texts as bytes; those of lists may have lone surrogates, which Arrow's texts cannot have."""
    if isinstance(column, list):
        encoded = [None if text is None else text.encode("utf-8", "surrogatepass") for text in column]
        return pa.array(encoded, type=pa.large_binary())
    return column.cast(pa.large_binary())


def _restore_column(stored: pa.ChunkedArray, private_column: RowColumn) -> RowColumn:
    """Return stored texts as the private ones of their rows are held."""
    array = stored.combine_chunks()
    if isinstance(private_column, list):
        return [None if data is None else data.decode("utf-8", "surrogatepass") for data in array.to_pylist()]
    return array.cast(pa.large_string())


def _write_whole(path: Path, pieces: Sequence[Any]) -> None:
    """Write a file for its owner alone, which is there whole when this returns, or not at all."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        sync_folder(path.parent)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _check_own_folder(path: Path) -> None:
    """Raise `InputError` unless a folder is the user's, and nobody else can open it: others might know its key."""
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise InputError(f"The journal {str(path)!r} must be a folder: remove what is there.")
    if os.name == "posix" and (status.st_uid != os.geteuid() or status.st_mode & _OTHERS_ACCESS):
        raise InputError(
            f"The journal {str(path)!r} must be your own, and nobody else may open it: remove it, and write to a "
            "folder that keeps owners and modes."
        )


@contextlib.contextmanager
def _lock_folder(path: Path) -> Iterator[None]:
    """Keep other runs off a journal.

    Raises:
        InputError: another run uses it.
    """
    with lock_folder(path) as is_locked:
        if not is_locked:
            raise InputError(f"Another run is using the journal {str(path)!r}: wait for it, or name another output.")
        yield


def _destroy_content(path: Path) -> None:
    """Overwrite and remove the key of a journal, then remove all else in it."""
    key_path = path / _KEY_FILE
    with contextlib.suppress(FileNotFoundError):
        with key_path.open("r+b") as file:
            file.write(bytes(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        key_path.unlink()
    for entry in path.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink(missing_ok=True)


def _destroy_folder(path: Path) -> None:
    """Remove a journal, its key first."""
    _destroy_content(path)
    path.rmdir()
    sync_folder(path.parent)

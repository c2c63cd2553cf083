"""How the file of a ledger can be opened: to be written, or where nobody may, to be read.

A database with a write-ahead log keeps two files beside it, the log and what readers and writers share, which even a
reader creates. Where none can be created, SQLite reads

- under its locks, with ``mode=ro``, where both files are there, or where the file is in no such mode;
- without locks, with ``immutable=1``, where nothing can change: the whole file system is mounted to be read only. It
  would not see what stands in a log, so that there may be none.
"""

import os
from pathlib import Path
from typing import Literal

from deniable.core.errors import InputError
from deniable.ledger.mounts import is_read_only_file_system

Access = Literal["mode=rw", "mode=ro", "mode=ro&immutable=1"]
"""Parameters of SQLite's address of a file; none creates it."""
LOG_ENDING, SHARED_ENDING, JOURNAL_ENDING = "-wal", "-shm", "-journal"


def choose_access(path: Path) -> Access:
    """Return how to open a ledger.

    Raises:
        InputError: it can be read only, and not without losing sight of what stands in a log beside it.
    """
    place = path.resolve()  # beside which SQLite keeps its files
    log, shared, journal = (Path(f"{place}{ending}") for ending in (LOG_ENDING, SHARED_ENDING, JOURNAL_ENDING))
    if _is_writable(place) and (_is_writable(place.parent) or (_is_writable(log) and _is_writable(shared))):
        return "mode=rw"
    if not is_read_only_file_system(place):
        return "mode=ro"
    if not _has_content(log) and not _has_content(journal):
        return "mode=ro&immutable=1"
    if _has_content(log) and shared.exists() and not _has_content(journal):
        return "mode=ro"
    raise make_reading_error(path)


def make_reading_error(path: Path) -> InputError:
    """Return the error for a ledger that can neither be written nor safely be read."""
    return InputError(
        f"The ledger {str(path)!r} cannot be read where it lies: nothing can be written beside it, as SQLite must do "
        f"to see what others write. While nobody charges it, copy it, and {path.name + LOG_ENDING!r} if it is there, "
        "to a folder in which you may write, and name the copy."
    )


def _is_writable(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0

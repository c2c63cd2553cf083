"""Locks on files, which end with the process that holds them, however it ends."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

if sys.platform == "win32":

    def try_lock(descriptor: int) -> bool | None:
        """Return None: this system has no such locks."""
        del descriptor

else:
    import fcntl

    def try_lock(descriptor: int) -> bool | None:
        """Lock an open file, and return whether no other process held it; None where it cannot be locked."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            return None
        return True


@contextlib.contextmanager
def lock_folder(path: Path) -> Iterator[bool]:
    """Hold the lock of a folder, and say whether no other process does; True where there are no locks."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:  # Windows opens no folders
        yield True
        return
    try:
        yield try_lock(descriptor) is not False
    finally:
        os.close(descriptor)

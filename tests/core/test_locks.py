"""Locks on files: one holder at a time, until its process ends."""

import os
import subprocess
import sys

import pytest

from deniable.core.locks import lock_folder, try_lock

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="this system has no such locks")


def test_one_holds_a_lock(tmp_path):
    """A second opening of a file cannot lock it while the first one does, and can afterwards."""
    path = tmp_path / "file"
    path.touch()
    first, second = (os.open(path, os.O_RDONLY) for _ in range(2))
    assert (try_lock(first), try_lock(second)) == (True, False)
    os.close(first)
    assert try_lock(second) is True
    os.close(second)


def test_what_cannot_be_locked(tmp_path):
    """Where locking fails nobody knows."""
    descriptor = os.open(tmp_path, os.O_RDONLY)
    os.close(descriptor)
    assert try_lock(descriptor) is None


def test_a_lock_ends_with_its_process(tmp_path):
    """A process that ends without a word leaves no lock on a folder."""
    program = f"import os, pathlib; from deniable.core.locks import lock_folder; p = pathlib.Path({str(tmp_path)!r})\n"
    program += "with lock_folder(p) as is_free: os._exit(0 if is_free else 1)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
    with lock_folder(tmp_path) as is_free:
        assert is_free
        assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 1

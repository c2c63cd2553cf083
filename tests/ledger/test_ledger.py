"""Where a ledger and its key are."""

import pickle

import pytest

from deniable.core.errors import InputError
from deniable.ledger import Ledger, create_ledger
from tests.contracts.store import SECRET, WORD, cells, spent


@pytest.mark.parametrize("key", [None, "file:l.db.key"])
def test_a_relative_path_stays_where_it_was(tmp_path, monkeypatch, key):
    """A process that goes to another folder charges the same ledger, also when it opens it once more."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        create_ledger("l.db", 20.0, delta=None, unit="person", secret=SECRET, key_path="l.db.key")
    monkeypatch.chdir(tmp_path / "first")
    ledger = Ledger("l.db", key)
    monkeypatch.chdir(tmp_path / "second")
    ledger.charge(WORD, cells(ledger, ("ann", "a", 1)))
    ledger._session.close()  # as before a fork
    ledger.charge(WORD, cells(ledger, ("ann", "b", 1)))
    assert spent(pickle.loads(pickle.dumps(ledger)), "ann") == 5
    assert spent(Ledger("l.db"), "ann") == 0
    assert spent(Ledger(str(tmp_path / "first" / "l.db")), "ann") == 5


def test_a_folder_that_is_gone(tmp_path, monkeypatch):
    """A path relative to a folder that was removed is one line."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(InputError, match="Give the whole path"):
        Ledger("l.db")

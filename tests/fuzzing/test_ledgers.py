"""The target of ledgers finds what it is there to find."""

import pytest

from deniable.ledger import Ledger
from deniable.ledger.sqlite import SQLiteStore
from tests.fuzzing.ledgers import fuzz_ledger

WHOLE = b"\x01"


def set_totals(value):
    """Use a ledger each of whose totals is another in turn."""
    for row in range(5):
        fuzz_ledger(bytes([3, 2, 2, row, 255]) + value)


def test_a_charge_beyond_a_cap(monkeypatch):
    """Where the check is blind, a charge beyond the cap that a damaged total admits is found."""
    set_totals(b"[0]")
    monkeypatch.setattr(Ledger, "find_problems", lambda _: [])
    with pytest.raises(AssertionError, match="beyond the cap"):
        set_totals(b"[0]")


def test_a_charge_that_is_lost(monkeypatch):
    """A charge that was accepted and is not there is found."""
    fuzz_ledger(WHOLE)
    monkeypatch.setattr(SQLiteStore, "_write_charges", lambda *_: None)
    with pytest.raises(AssertionError, match="is lost"):
        fuzz_ledger(WHOLE)


def test_a_traceback(monkeypatch):
    """An error that is none of the package's own passes through."""

    def fail(_):
        raise KeyError(7)

    monkeypatch.setattr(SQLiteStore, "check_integrity", fail)
    with pytest.raises(KeyError):
        fuzz_ledger(WHOLE)


def test_an_error_that_is_ignored(monkeypatch):
    """A cursor that complains when its connection is closed, on stderr alone, is found."""

    def select(self, query, values):
        listed = list(values)
        yield from self._connection.execute(f"{query} IN ({','.join('?' * len(listed))})", listed)

    monkeypatch.setattr(SQLiteStore, "_select", select)
    with pytest.raises(AssertionError, match="was ignored"):
        set_totals(b"")

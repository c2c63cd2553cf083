"""``deniable ledger check``: 0 for a ledger that is whole, 1 for one that is not."""

import contextlib
import sqlite3


def test_a_whole_ledger_and_a_changed_one(charge, call, place):
    """A total that was changed by hand is found."""
    assert charge("--over-budget", "drop").code == 0
    assert call("ledger", "check", "l.db").code == 0
    with contextlib.closing(sqlite3.connect(place / "l.db")) as connection, connection:
        connection.execute("UPDATE totals SET amounts = '[1]'")
    result = call("ledger", "check", "l.db")
    assert result.code == 1
    assert result.text.count("does not hold the sum of its charges") == 2


def test_what_is_no_ledger(call, place):
    """A table is no ledger, and stays as it is."""
    before = (place / "in.csv").read_bytes()
    result = call("ledger", "check", "in.csv")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert (place / "in.csv").read_bytes() == before

"""A folder with a ledger, a table with persons, and commands that charge it."""

import pytest

TABLE = b"id,who,text\n1,ann,the food was good\n2,bob,the dog\n3,ann,london paris tokyo food good\n"


@pytest.fixture
def create(call, place):
    """Return a function that creates the ledger l.db."""
    (place / "in.csv").write_bytes(TABLE)
    return lambda *options, where="l.db", budget="8": call("ledger", "create", where, "--budget", budget, *options)


@pytest.fixture
def charge(create, call):
    """Return a function that privatizes in.csv under the ledger l.db."""
    assert create("--delta", "1e-6").code == 0
    words = ("--space", "space.npz", "--hide", "none", "--mechanism", "tem", "--epsilon", "1")
    columns = ("--column", "text", "--id", "id", "--person", "who")
    return lambda *options: call("privatize", "in.csv", *words, *columns, "--ledger", "l.db", "-o", "out.csv", *options)

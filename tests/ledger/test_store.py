"""What a ledger was created with, and the databases that hold one."""

import inspect

import pytest

from deniable.ledger.accounts import compute_caps
from deniable.ledger.postgres import PostgresStore
from deniable.ledger.sqlite import SQLiteStore
from deniable.ledger.store import LedgerFacts, Store


@pytest.mark.parametrize(
    ("delta", "end"), [(None, "pure epsilon 2.5"), (1e-5, "pure epsilon 2.5, epsilon 2.5 at delta 1e-05")]
)
def test_caps_in_plain_words(delta, end):
    """All accounts of a person are named; the approximate one where there is one."""
    facts = LedgerFacts("caller", 2.5, delta, compute_caps(2.5, delta), b"")
    assert facts.describe_caps() == f"per caller: metric epsilon 2.5 (summed over words), {end}"


@pytest.mark.parametrize("database", [SQLiteStore, PostgresStore])
def test_every_database_does_all_operations(database):
    """Each has the operations of the protocol, with its parameters."""
    for name, operation in inspect.getmembers(Store, inspect.isfunction):
        if not name.startswith("_"):
            assert [*inspect.signature(getattr(database, name)).parameters] == [
                *inspect.signature(operation).parameters
            ]

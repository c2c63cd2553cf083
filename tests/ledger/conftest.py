"""Ledgers of the tests: files, and databases of one real PostgreSQL."""

import itertools

import pytest

from tests.ledger.postgres import make_database, run_postgres


@pytest.fixture(scope="session")
def postgres_server():
    with run_postgres() as address:
        yield address


@pytest.fixture
def postgres_database(postgres_server):
    return make_database(postgres_server, f"ledger{next(_NUMBERS)}")


_NUMBERS = itertools.count()

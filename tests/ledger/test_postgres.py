"""A ledger in PostgreSQL: a real one."""

import pytest

from deniable.core.errors import InputError
from deniable.ledger import Ledger, postgres
from deniable.ledger.postgres import check_address, hide_password
from tests.contracts.store import SECRET, WORD, StoreContract, cells, spent


def run(address, statement, *values):
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        return connection.execute(statement, values)


class TestPostgresStore(StoreContract):
    """PostgreSQL holds the contract."""

    @pytest.fixture
    def location(self, postgres_database):
        return postgres_database

    def set_version(self, location, version):
        run(location, "UPDATE deniable_ledger.facts SET version = %s", version)

    def use_newer_schema(self, monkeypatch):
        monkeypatch.setattr(postgres, "SCHEMA_VERSION", 2)
        statements = ("CREATE TABLE deniable_ledger.added (n int)", "INSERT INTO deniable_ledger.added VALUES (1)")
        monkeypatch.setattr(postgres, "MIGRATIONS", {1: statements})

    def count_migrations(self, location):
        import psycopg

        with psycopg.connect(location) as connection:
            return connection.execute("SELECT COUNT(*) FROM deniable_ledger.added").fetchone()[0]

    def set_total(self, location, person, amount):
        run(location, "UPDATE deniable_ledger.totals SET amounts = %s WHERE person = %s", [amount], person)

    def test_a_lost_connection_is_opened_again(self, ledger):
        """A service lives longer than a connection: the batch that meets the loss is refused, the next is charged."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 1)))
        run(ledger.location, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        with pytest.raises(InputError, match="cannot be used"):
            ledger.charge(WORD, cells(ledger, ("ann", "b", 1)))
        assert ledger.charge(WORD, cells(ledger, ("ann", "b", 1))) == 1
        assert spent(ledger, "ann") == 5

    def test_a_database_without_a_ledger_is_one_line(self, postgres_database):
        """The message names the command that makes one."""
        with pytest.raises(InputError, match="deniable ledger create"):
            _ = Ledger(postgres_database, SECRET).facts


def test_no_server_is_one_line(tmp_path):
    """Where no server listens, the error names the host and not the user."""
    pytest.importorskip("psycopg")
    with pytest.raises(InputError, match="cannot be used") as caught:
        _ = Ledger(f"postgresql://someone@/none?host={tmp_path}", SECRET).facts
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("address", ["postgresql://me:hunter2@host/db", "postgres://host/db?password=hunter2"])
def test_a_password_is_refused(address):
    """Every list of programs would show it; neither error nor anything else repeats it."""
    with pytest.raises(InputError, match="PGPASSWORD") as caught:
        check_address(address)
    assert "hunter2" not in str(caught.value)


def test_messages_hide_users():
    """An address is shown without what stands before the host and behind the database."""
    assert hide_password("postgresql://me:pw@host:5/db?x=1") == "postgresql://host:5/db"

"""A ledger in PostgreSQL: a real one."""

import contextlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from deniable import InputError, Ledger
from tests.ledger.store import SECRET, WORD, StoreContract, cells, spent
from tests.refusals import refuses


def run(address, statement):
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(statement)


@pytest.mark.deep
class TestPostgresStore(StoreContract):
    """PostgreSQL holds the contract."""

    @pytest.fixture
    def location(self, postgres_database):
        return postgres_database

    schema = "deniable_ledger."

    def change(self, location, statement):
        run(location, statement)

    def test_a_lost_connection_is_opened_again(self, ledger):
        """A service lives longer than a connection: the batch that meets the loss is refused, the next is charged."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 1)))
        run(ledger.location, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        with refuses("cannot be used"):
            ledger.charge(WORD, cells(ledger, ("ann", "b", 1)))
        assert ledger.charge(WORD, cells(ledger, ("ann", "b", 1))) == 1
        assert spent(ledger, "ann") == 5

    def test_threads_after_a_lost_connection(self, ledger):
        """Threads of one ledger that meet a lost connection open one, and share no transaction."""
        ledger.charge(WORD, cells(ledger, ("ann", "start", 1)))
        run(ledger.location, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")

        def charge(number):
            for _ in range(3):
                with contextlib.suppress(InputError):
                    return ledger.charge(WORD, cells(ledger, ("ann", str(number), 1)))
            return None

        with ThreadPoolExecutor(6) as pool:
            assert list(pool.map(charge, range(6))) == [1] * 6
        assert spent(ledger, "ann") == 17.5
        assert ledger.find_problems() == []

    def test_a_database_without_a_ledger_is_one_line(self, postgres_database):
        """The message names the command that makes one."""
        with refuses("deniable ledger create"):
            _ = Ledger(postgres_database, SECRET).facts


def test_no_server_is_one_line(tmp_path):
    """Where no server listens, the error names the host and not the user."""
    pytest.importorskip("psycopg")
    with pytest.raises(InputError) as caught:
        _ = Ledger(f"postgresql://someone@/none?host={tmp_path}", SECRET).facts
    assert str(tmp_path) in str(caught.value)
    assert "someone" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:hunter2@host/db",
        "postgres://host/db?password=hunter2",
        "postgres://host/db?pass%77ord=hunter2",
        "postgresql://me:hun/ter2@host/db",
        "postgresql://me:hunter2?x@host/db",
        "postgresql://me:hunter2#x@host/db",
        "postgresql+psycopg://me:hunter2@host/db",
        "host=there password=hunter2",
    ],
)
def test_a_password_is_refused(address):
    """Every list of programs would show it; neither error nor anything else repeats it."""
    with pytest.raises(InputError) as caught:
        Ledger(address, SECRET)
    assert "ter2" not in str(caught.value)


def test_messages_hide_users():
    """An address is shown without what stands before the host and behind the database."""
    assert Ledger("postgresql://me@host:5/db?x=1", SECRET).shown_location == "postgresql://host:5/db"

"""Relations of DuckDB: many parts, names that it takes for one, and tables that appear whole or not at all."""

import pyarrow as pa
import pytest

from tests.engines.helpers import KEYED, TEXTS, make_table
from tests.refusals import refuses

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")

from deniable.engines.arrow import privatize_relation  # noqa: E402 - where duckdb is installed

BY_ID = {"text": "text", "id": "id"}


@pytest.fixture
def connection():
    """Yield a connection to a database in memory with forty private rows in the table notes."""
    with duckdb.connect() as opened:
        opened.register("arrow_rows", make_table())
        opened.execute("CREATE TABLE notes AS SELECT * FROM arrow_rows")
        yield opened


def list_tables(connection):
    """Return the names of the tables of a database, temporary ones too."""
    return sorted(name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall())


def test_many_parts_give_the_same(connection, run_plainly):
    """A table of many parts, read by several threads, is released as one; order and all other types stay."""
    count, name = 7000, 'te\'xt, "a"'
    connection.execute(
        "CREATE TABLE many AS SELECT i::HUGEINT AS id, 'the food was ' || (['good', 'bad'])[1 + i % 2] "
        'AS "te\'xt, ""a""", INTERVAL (i) SECOND AS time, uuid() AS mark, [i] AS list '
        f"FROM range({count}) AS numbers(i)"
    )
    many = connection.table("many")
    released = privatize_relation(connection, many, KEYED, text=name, id="id", into="private_many")
    assert released.tally.records == count
    assert connection.table("private_many").types == many.types
    texts = [f"the food was {'bad' if number % 2 else 'good'}" for number in range(count)]
    plain, _ = run_plainly(pa.table({"id": range(count), name: texts}), (name,))
    assert [row[1] for row in released.table.fetchall()] == plain[name]
    others = "id, time, mark, list"
    assert released.table.project(others).fetchall() == many.project(others).fetchall()


def test_a_named_table_stays(tmp_path):
    """The table is there when the database is opened again; one that is there already is not touched."""
    with duckdb.connect(tmp_path / "rows.db") as connection:
        connection.register("arrow_rows", make_table())
        released = privatize_relation(connection, "FROM arrow_rows", KEYED, **BY_ID, into="private_notes")
        rows = released.table.fetchall()
        with pytest.raises(duckdb.CatalogException):
            privatize_relation(connection, "FROM arrow_rows", KEYED, **BY_ID, into="private_notes")
    with duckdb.connect(tmp_path / "rows.db") as connection:
        assert connection.table("private_notes").fetchall() == rows
        assert list_tables(connection) == ["private_notes"]
        functions = "SELECT count(*) FROM duckdb_functions() WHERE function_name LIKE 'deniable%'"
        assert connection.execute(functions).fetchall() == [(0,)]


def test_values_of_an_enum_do_not_come_out(connection):
    """The values of an ENUM are the private texts: the column becomes VARCHAR."""
    values = ", ".join(f"'{text}'" for text in sorted({text for text in TEXTS if text is not None}))
    connection.execute(f"CREATE TYPE told AS ENUM ({values})")
    query = "SELECT id, text::told AS text, note, stars FROM notes"
    released = privatize_relation(connection, query, KEYED, **BY_ID)
    plain = privatize_relation(connection, "FROM notes", KEYED, **BY_ID)
    assert list(map(str, released.table.types)) == ["INTEGER", "VARCHAR", "VARCHAR", "BIGINT"]
    assert released.table.fetchall() == plain.table.fetchall()
    with refuses("'text'"):
        privatize_relation(connection, query, KEYED, text="note", id="text")


@pytest.mark.usefixtures("no_draws")
@pytest.mark.parametrize(
    ("query", "text", "value"),
    [
        ("SELECT id, to_json(text) AS text FROM notes", "text", "JSON"),
        ("SELECT id / 2::DECIMAL(9, 1) AS id, text FROM notes", "text", "0.5"),
        ('SELECT id, text AS note, note AS "Note" FROM notes', "note", "'note' and 'Note'"),
        ('SELECT id, text AS "Note", note FROM notes', "Note", "'Note' and 'note'"),
        ('SELECT id, text AS note, stars AS "ID" FROM notes', "note", "'id' and 'ID'"),
        ('SELECT id, text AS note, stars AS a, stars AS "A" FROM notes', "note", "'a' and 'A'"),
        ("SELECT id, text AS note, stars AS a, stars AS a FROM notes", "note", "'a' and 'a'"),
    ],
)
def test_what_duckdb_would_take_for_another_is_refused(connection, query, text, value):
    """Of two columns whose names differ in capitals one would be released and the other returned: nothing is drawn."""
    with refuses(value):
        privatize_relation(connection, query, KEYED, text=text, id="id")
    assert list_tables(connection) == ["notes"]


@pytest.mark.parametrize("distance", [1, 2999])
def test_repeated_ids_leave_no_table(connection, distance):
    """An id that comes again, near or in another part of the table, is refused, and leaves no table behind."""
    query = f"SELECT CASE i WHEN 2999 THEN 2999 - {distance} ELSE i END AS id, 'the food' AS text FROM range(3000) t(i)"
    with refuses("unique"):
        privatize_relation(connection, query, KEYED, **BY_ID, into="private_rows")
    assert list_tables(connection) == ["notes"]


def test_another_connection_is_refused(connection):
    """A relation of another connection is refused by DuckDB."""
    with duckdb.connect() as other:
        relation = other.sql("SELECT 1 AS id, 'the food' AS text")
        with pytest.raises(duckdb.CatalogException):
            privatize_relation(connection, relation, KEYED, **BY_ID)
    assert list_tables(connection) == ["notes"]

"""Relations of DuckDB are released as the plain run releases the same table."""

import subprocess
import sys

import pyarrow as pa
import pytest

from deniable import InputError, Release
from tests.engines.helpers import REPEATED_IDS, TEXTS, make_spelled_tables, make_table, run_plainly
from tests.engines.test_tasks import KEYED
from tests.text.helpers import MECHANISM, ODD_PIECES, WORDS

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")

from deniable.engines.duckdb import privatize_relation  # noqa: E402 - where duckdb is installed

FRESH = Release(MECHANISM)


@pytest.fixture
def connection():
    """Yield a connection to a database in memory with forty private rows in the table notes."""
    with duckdb.connect() as opened:
        private_rows = make_table()
        opened.register("arrow_rows", private_rows)
        opened.execute("CREATE TABLE notes AS SELECT * FROM arrow_rows")
        yield opened


def read(relation):
    """Return the rows of a relation as an Arrow table."""
    return relation.to_arrow_table() if hasattr(relation, "to_arrow_table") else relation.arrow()


def list_tables(connection):
    """Return the names of the tables of a database, temporary ones too."""
    return sorted(name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall())


@pytest.mark.parametrize("columns", [("text",), ("note", "text")])
@pytest.mark.parametrize("release", [KEYED, Release(MECHANISM, key="seed:7", unknown="drop", unescape="html")])
def test_a_relation_equals_the_plain_run(tmp_path, connection, columns, release):
    """One column of texts or two: the cells and the counts of the plain run, and nothing else has changed."""
    plain, _, plain_tally = run_plainly(make_table(), release, tmp_path, columns)
    released = privatize_relation(connection, connection.table("notes"), release, text=columns, id="id")
    assert read(released.table).to_pylist() == plain.to_pylist()
    assert released.table.types == connection.table("notes").types
    assert released.tally == plain_tally
    assert released.copied == tuple(name for name in plain.column_names if name not in columns)
    assert read(connection.table("notes")).to_pylist() == make_table().to_pylist()


def test_many_parts_give_the_same(connection):
    """A table of many parts, read by several threads, is released as one; order and all other types stay."""
    count = 7000
    connection.execute(
        "CREATE TABLE many AS SELECT i::HUGEINT AS \"the \"\"id\"\"\", 'the food was ' || (['good', 'bad'])[1 + i % 2] "
        'AS "te\'xt, ""a""", INTERVAL (i) SECOND AS time, uuid() AS mark, [i] AS list '
        f"FROM range({count}) AS numbers(i)"
    )
    many = connection.table("many")
    released = privatize_relation(connection, many, KEYED, text='te\'xt, "a"', id='the "id"', into="private_many")
    assert released.tally.records == count
    assert connection.table("private_many").types == many.types
    texts = [text for (text,) in many.project('"te\'xt, ""a"""').fetchall()]
    ids = [str(number) for number in range(count)]
    expected = KEYED.privatize_cells(_make_cells(ids, 'te\'xt, "a"', texts)).texts
    assert [row[1] for row in released.table.fetchall()] == expected
    others = "time, mark, list"
    assert released.table.project(others).fetchall() == many.project(others).fetchall()


def _make_cells(ids, column, texts):
    from deniable.text.batches import TextCell

    return [TextCell(record_id, column, 0, text) for record_id, text in zip(ids, texts, strict=True)]


def test_order_and_parts_do_not_matter(connection):
    """Rows in another order, some of them, and again have the same texts."""
    once = read(privatize_relation(connection, "FROM notes", KEYED, text="text", id="id").table).to_pylist()
    for query in ("FROM notes ORDER BY id DESC", "FROM notes WHERE stars = 2", "FROM notes"):
        rows = read(privatize_relation(connection, query, KEYED, text="text", id="id").table).to_pylist()
        assert all(row in once for row in rows)
        assert [row["id"] for row in rows] == [row[0] for row in connection.sql(f"SELECT id FROM ({query})").fetchall()]


def test_another_key_gives_other_texts(connection):
    """What a rotated key gives is not what the old one gave."""
    old, new = (
        privatize_relation(connection, "FROM notes", Release(MECHANISM, key=f"seed:{seed}"), text="text", id="id")
        for seed in (7, 8)
    )
    assert read(old.table) != read(new.table)


def test_a_named_table_stays(tmp_path):
    """The table is there when the database is opened again; one that is there already is not touched."""
    with duckdb.connect(tmp_path / "rows.db") as connection:
        private_rows = make_table()
        connection.register("arrow_rows", private_rows)
        released = privatize_relation(connection, "FROM arrow_rows", KEYED, text="text", id="id", into="private_notes")
        rows = released.table.fetchall()
        with pytest.raises(duckdb.CatalogException, match="already exists"):
            privatize_relation(connection, "FROM arrow_rows", KEYED, text="text", id="id", into="private_notes")
    with duckdb.connect(tmp_path / "rows.db") as connection:
        assert connection.table("private_notes").fetchall() == rows
        assert list_tables(connection) == ["private_notes"]
        assert connection.execute(
            "SELECT count(*) FROM duckdb_functions() WHERE function_name LIKE 'deniable%'"
        ).fetchall() == [(0,)]


def test_values_of_an_enum_do_not_come_out(connection):
    """The values of an ENUM are the private texts: the column becomes VARCHAR; as ids they are texts that repeat."""
    values = ", ".join(f"'{text}'" for text in sorted({text for text in TEXTS if text is not None}))
    connection.execute(f"CREATE TYPE told AS ENUM ({values})")
    query = "SELECT id, text::told AS text, note, stars FROM notes"
    released = privatize_relation(connection, query, KEYED, text="text", id="id")
    plain = privatize_relation(connection, "FROM notes", KEYED, text="text", id="id")
    assert list(map(str, released.table.types)) == ["INTEGER", "VARCHAR", "VARCHAR", "BIGINT"]
    assert read(released.table) == read(plain.table)
    with pytest.raises(InputError, match=r"The id column 'text' of the relation holds a null or a blank"):
        privatize_relation(connection, query, KEYED, text="note", id="text")


def test_odd_texts_pass(connection):
    """Scripts of other directions, emoji and NULs are read as in a batch; DuckDB has no lone surrogates."""
    texts = [f"{WORDS[0]} {piece} {WORDS[1]}" for piece in ODD_PIECES if piece != "\ud800"]
    ids = list(range(len(texts)))
    connection.register("odd", pa.table({"id": ids, "text": texts}))
    released = privatize_relation(connection, "FROM odd", KEYED, text="text", id="id")
    assert [text for _, text in released.table.fetchall()] == KEYED.batch(texts, ids).texts


def test_an_empty_relation_passes(connection):
    """A relation without rows keeps its columns and types."""
    released = privatize_relation(connection, "FROM notes WHERE false", KEYED, text=["text", "note"], id="id")
    assert released.table.types == connection.table("notes").types
    assert (released.table.fetchall(), released.tally.records) == ([], 0)


def test_fresh_noise_must_be_asked_for(connection):
    """Without a key each call draws anew, needs no ids, and is refused unless it is asked for."""
    with pytest.raises(InputError, match="fresh=True"):
        privatize_relation(connection, "FROM notes", FRESH, text="text")
    query = "SELECT 'london paris red blue good bad' AS text FROM range(2)"
    one, other = (
        privatize_relation(connection, query, FRESH, text="text", fresh=True).table.fetchall() for _ in range(2)
    )
    assert len({*one, *other}) == 4


REFUSED = [
    ("SELECT 5 AS id, text FROM notes", {}, r"is not unique \(rows 1 and 2 have one id\)"),
    ("SELECT nullif(id, 3) AS id, text FROM notes", {}, "holds a null"),
    ("SELECT id / 2.5 AS id, text FROM notes", {}, r"The column 'id' of the relation: .* Got 0\.4: write"),
    ("SELECT id / 2::DECIMAL(9, 1) AS id, text FROM notes", {}, r"The column 'id' of the relation: .* Got 0\.5: write"),
    ("SELECT id > 3 AS id, text FROM notes", {}, "holds BOOLEAN: ids are texts or whole numbers"),
    ("FROM notes", {"text": "stars"}, "The column 'stars' of the relation holds BIGINT, not text"),
    ("SELECT id, to_json(text) AS text FROM notes", {}, "holds JSON, not text"),
    ("FROM notes", {"text": "texts"}, "has no column 'texts'. Its columns: 'id', 'text', 'note', 'stars'"),
    ("FROM notes", {"id": "ids"}, "has no column 'ids'"),
    ("FROM notes", {"id": None}, "name the column of unique record ids"),
    ("FROM notes", {"text": "id"}, "cannot hold both texts and record ids"),
    (7, {}, "takes a DuckDB relation, or the SQL of a query. Got one int"),
]


@pytest.mark.parametrize(("query", "options", "message"), REFUSED)
def test_what_cannot_be_released_is_refused(monkeypatch, connection, query, options, message):
    """Repeated ids, nulls among them, and columns that are not there are named in one line before the first draw."""
    monkeypatch.setattr(Release, "privatize_cells", lambda *_, **__: pytest.fail("drew"))
    with pytest.raises(InputError, match=message) as caught:
        privatize_relation(connection, query, KEYED, **{"text": "text", "id": "id", **options})
    assert "\n" not in str(caught.value)
    assert "london" not in str(caught.value).lower()
    assert list_tables(connection) == ["notes"]


@pytest.mark.parametrize("later", [1, 2048])
def test_ids_that_change_are_found(connection, later):
    """Ids that are unique when they are checked and repeated when the table is made leave no table behind.

    Near to each other they are seen when they are drawn, far from each other in the table.
    """
    count, calls = 3000, []

    def number_row(place):
        calls.append(place)
        return place if len(calls) <= count else place % later

    connection.create_function("number_row", number_row, ["BIGINT"], "BIGINT", side_effects=True)
    query = f"SELECT number_row(i) AS id, 'the food' AS text FROM range({count}) AS numbers(i)"
    with pytest.raises(InputError, match="unique"):
        privatize_relation(connection, query, KEYED, text="text", id="id", into="private_rows")
    assert list_tables(connection) == ["notes"]


def test_a_key_that_cannot_be_read_is_named(connection):
    """An error of the release comes out as it is, not as one of DuckDB, and leaves no table behind."""
    release = Release(MECHANISM, key="env:DENIABLE_NO_SUCH_KEY")
    with pytest.raises(InputError, match="DENIABLE_NO_SUCH_KEY"):
        privatize_relation(connection, "FROM notes", release, text="text", id="id", into="private_rows")
    assert list_tables(connection) == ["notes"]


def test_a_relation_of_another_connection_is_refused(connection):
    """The function is known to one connection: the relation of another one is refused in one line."""
    with duckdb.connect() as other:
        relation = other.sql("SELECT 1 AS id, 'the food' AS text")
        with pytest.raises(InputError, match="of another connection"):
            privatize_relation(connection, relation, KEYED, text="text", id="id")


def test_a_relation_of_a_cursor_is_refused(connection):
    """A cursor shares the function, not the temporary table: that is refused, and the private table goes."""
    relation = connection.sql("FROM notes")
    with pytest.raises(InputError, match="of another connection"):
        privatize_relation(connection.cursor(), relation, KEYED, text="text", id="id")
    assert list_tables(connection) == ["notes"]


@pytest.mark.parametrize("given", ["notes.db", None, 5])
def test_what_is_no_connection_is_refused(given):
    """A path or nothing in place of a connection is one line."""
    with pytest.raises(InputError, match=r"takes a DuckDB connection first\. Got one (str|NoneType|int)"):
        privatize_relation(given, "FROM notes", KEYED, text="text", id="id")


def test_duckdb_is_imported_when_it_is_used():
    """The module loads where duckdb is missing, and one line names what to install."""
    code = (
        "import sys; sys.modules['duckdb'] = None\n"
        "from deniable.engines.duckdb import privatize_relation\n"
        "try: privatize_relation(None, None, None, text='text')\n"
        "except ValueError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "privatize_relation needs duckdb, which is missing: install duckdb.\n"


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ('SELECT id, text AS note, note AS "Note" FROM notes', "'note' and 'Note'"),
        ('SELECT id, text AS "Note", note FROM notes', "'Note' and 'note'"),
        ('SELECT id, text AS note, stars AS "ID" FROM notes', "'id' and 'ID'"),
        ('SELECT id, text AS note, stars AS a, stars AS "A" FROM notes', "'a' and 'A'"),
        ("SELECT id, text AS note, stars AS a, stars AS a FROM notes", "'a' and 'a'"),
    ],
)
def test_names_that_duckdb_takes_for_one_are_refused(monkeypatch, connection, query, names):
    """Of two columns whose names differ in capitals one would be released and the other returned: nothing is drawn."""
    monkeypatch.setattr(Release, "privatize_cells", lambda *_, **__: pytest.fail("drew"))
    with pytest.raises(InputError, match=f"^DuckDB takes the columns {names} for one: rename one of them"):
        privatize_relation(connection, query, KEYED, text="Note" if 'AS "Note"' in query else "note", id="id")
    assert list_tables(connection) == ["notes"]


def test_ids_are_identities(connection, tmp_path):
    """Ids that some program wrote as floats name the noise of the integers, and two spellings of one are repeated."""
    expected, _, _ = run_plainly(make_table(), KEYED, tmp_path)
    for table in make_spelled_tables():
        connection.register("spelled", table)
        released = privatize_relation(connection, "FROM spelled", KEYED, text="text", id="id")
        assert read(released.table)["text"].to_pylist() == expected["text"].to_pylist()
    connection.register("spelled", make_table(REPEATED_IDS))
    with pytest.raises(InputError, match=r"is not unique \(rows 8 and 40 have one id\)"):
        privatize_relation(connection, "FROM spelled", KEYED, text="text", id="id")

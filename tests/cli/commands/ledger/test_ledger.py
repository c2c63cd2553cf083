"""``deniable ledger``: a ledger and its key, what it shows and exports, and whether it is whole."""

import contextlib
import json
import sqlite3

import pytest

from tests.cli.commands.train.helpers import fails


def test_a_ledger_and_its_key(create, place):
    """Both files appear, for their owner only."""
    assert create("--delta", "1e-6").code == 0
    assert [(place / name).stat().st_mode & 0o777 for name in ("l.db", "l.db.key")] == [0o600, 0o600]
    assert len((place / "l.db.key").read_bytes()) == 32


def test_nothing_is_overwritten(create, place):
    """A second ledger, or a key that is there, is refused, and both files stay as they are."""
    create()
    before = (place / "l.db").read_bytes(), (place / "l.db.key").read_bytes()
    assert create().code == 2
    assert create(where="m.db").code == 0
    (place / "n.db.key").write_bytes(b"mine")
    assert create(where="n.db").code == 2
    assert not (place / "n.db").exists()
    assert create("--key-file", "other.key").code == 2
    assert not (place / "other.key").exists()
    assert ((place / "l.db").read_bytes(), (place / "l.db.key").read_bytes()) == before


@pytest.mark.parametrize(
    ("options", "given", "value"),
    [
        ((), {"budget": "nan"}, "'budget'"),
        (("--delta", "2"), {}, "'delta'"),
        (("--unit", ""), {}, "'unit'"),
        (("--key-file", "l.db"), {}, "the same path"),
        (("--key-file", "none/l.key"), {}, "none/l.key"),
        ((), {"where": "postgresql://localhost/none"}, "--key-file"),
    ],
)
def test_bad_options_leave_nothing(create, place, options, given, value):
    """What is wrong is one line, and no file is left."""
    before = {path.name for path in place.iterdir()}
    fails(create(*options, **given), value)
    assert {path.name for path in place.iterdir()} == before


def change(place, statement, *values):
    """Change a ledger behind its back."""
    with contextlib.closing(sqlite3.connect(place / "l.db")) as connection, connection:
        connection.execute(statement, values)


def test_a_whole_ledger_and_a_changed_one(charge, call, place):
    """A total that was changed by hand is found, with exit code 1; a table is no ledger, and stays as it is."""
    assert charge("--over-budget", "drop").code == 0
    assert call("ledger", "check", "l.db").code == 0
    change(place, "UPDATE totals SET amounts = '[1]'")
    result = call("ledger", "check", "l.db")
    assert result.code == 1
    assert result.text.count("does not hold the sum of its charges") == 2
    before = (place / "in.csv").read_bytes()
    fails(call("ledger", "check", "in.csv"), "in.csv")
    assert (place / "in.csv").read_bytes() == before


def test_what_was_spent(charge, call):
    """Totals of all persons and of one, and what they were charged for; the same figures for programs."""
    assert charge("--over-budget", "drop").code == 0
    everybody = call("ledger", "show", "l.db").text
    largest = "4 of 8 spent by the person who has spent most, of 2 charged"
    for part in (
        f"metric epsilon, steps          {largest}",
        "tem at epsilon 1: 2 charged, 6 words (metric steps)",
        "nats",
    ):
        assert part in everybody
    one = call("ledger", "show", "l.db", "--person", "bob").text
    assert "2 of 8 spent\n" in one
    assert "tem at epsilon 1: 1 charged, 2 words" in one
    assert "nothing was charged to 'eve'" in call("ledger", "show", "l.db", "--person", "eve").text
    shown = json.loads(call("ledger", "show", "l.db", "--json").text)
    assert shown["accounts"] == [{"name": "metric steps", "cap": 8.0, "persons": 2, "largest": 4.0}]
    assert (shown["releases"][0]["cells"], shown["releases"][0]["units"]) == (2, 6)
    assert shown["largest_loss"] > 0


def test_what_is_odd(charge, call, place):
    """Under another key nobody would be found: it is refused; a name with characters that move the cursor is shown."""
    charge("--over-budget", "drop")
    (place / "other.key").write_bytes(bytes(32))
    fails(call("ledger", "show", "l.db", "--key-file", "other.key"), "not that of the ledger")
    lines = call("ledger", "show", "l.db").text.count("\n")
    name = '"t\\u001b\\n' + "0" * 999 + '"'
    change(place, "UPDATE costs SET cost = replace(cost, '\"tem\"', ?)", name)
    text = call("ledger", "show", "l.db").text
    assert text.count("\n") == lines
    assert "t\\u001b 000" in text
    assert len(max(text.splitlines(), key=len)) < 300


def test_an_export(charge, call, place):
    """Persons are hashes, with what they were charged for, for the owner alone; nothing that exists is overwritten."""
    charge("--over-budget", "drop")
    assert call("ledger", "export", "l.db", "-o", "all.jsonl").code == 0
    text = (place / "all.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    found = sorted((row["charges"], row["units"], row["amounts"]) for row in rows)
    assert found == [(1, 2, [2 * 10**9]), (1, 4, [4 * 10**9])]
    assert all(len(row["person"]) == 32 for row in rows)
    assert "ann" not in text
    assert (place / "all.jsonl").stat().st_mode & 0o777 == 0o600
    assert call("ledger", "export", "l.db", "-o", "-").out.count(b"\n") == 2
    for name, options in (
        ("in.csv", ()),
        ("l.db", ("--force",)),
        ("l.db.key", ("--force",)),
        ("l.db-wal", ("--force",)),
    ):
        before = (place / name).read_bytes() if (place / name).exists() else None
        assert call("ledger", "export", "l.db", "-o", name, *options, "--key-file", "l.db.key").code == 2
        assert before is None or (place / name).read_bytes() == before

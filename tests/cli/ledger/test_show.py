"""``deniable ledger show``: what was spent, by all and by one."""

import contextlib
import json
import sqlite3


def test_all_and_one(charge, call):
    """Totals of all persons and of one, and what they were charged for."""
    assert charge("--over-budget", "drop").code == 0
    everybody = call("ledger", "show", "l.db").text
    assert (
        "metric epsilon                 4 of 8 spent by the person who has spent most; 2 persons have spent some"
        in (everybody)
    )
    assert "tem at epsilon 1: 2 charged, 6 words (metric)" in everybody
    assert "nats" in everybody
    one = call("ledger", "show", "l.db", "--person", "bob").text
    assert "2 of 8 spent\n" in one
    assert "tem at epsilon 1: 1 charged, 2 words" in one
    assert "nothing was charged to 'eve'" in call("ledger", "show", "l.db", "--person", "eve").text


def test_json(charge, call):
    """The same figures for programs."""
    charge("--over-budget", "drop")
    shown = json.loads(call("ledger", "show", "l.db", "--json").text)
    assert shown["accounts"] == [{"name": "metric", "cap": 8.0, "persons": 2, "largest": 4.0}]
    assert (shown["releases"][0]["cells"], shown["releases"][0]["units"]) == (2, 6)
    assert shown["largest_loss"] > 0


def test_a_wrong_key_is_one_line(charge, call, place):
    """Under another key nobody would be found: it is refused."""
    charge()
    (place / "other.key").write_bytes(bytes(32))
    result = call("ledger", "show", "l.db", "--key-file", "other.key")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "not that of the ledger" in result.err


def test_a_name_that_is_damaged(charge, call, place):
    """A name with characters that move the cursor, or without end, is shown on one line."""
    charge("--over-budget", "drop")
    lines = call("ledger", "show", "l.db").text.count("\n")
    with contextlib.closing(sqlite3.connect(place / "l.db")) as connection, connection:
        name = '"t\\u001b\\n' + "0" * 999 + '"'
        connection.execute("UPDATE costs SET cost = replace(cost, '\"tem\"', ?)", (name,))
    text = call("ledger", "show", "l.db").text
    assert text.count("\n") == lines
    assert "t\\u001b 000" in text
    assert len(max(text.splitlines(), key=len)) < 300

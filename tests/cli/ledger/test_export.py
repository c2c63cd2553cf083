"""``deniable ledger export``: one JSON object for each person and kind of release."""

import json
import stat


def test_rows(charge, call, place):
    """Persons stand in the file as hashes, with what they were charged for; only its owner can open it."""
    charge("--over-budget", "drop")
    assert call("ledger", "export", "l.db", "-o", "all.jsonl").code == 0
    rows = [json.loads(line) for line in (place / "all.jsonl").read_text("utf-8").splitlines()]
    assert sorted((row["charges"], row["units"], row["amounts"]) for row in rows) == [
        (1, 2, [2 * 10**9]),
        (1, 4, [4 * 10**9]),
    ]
    assert all(len(row["person"]) == 32 for row in rows)
    assert "ann" not in (place / "all.jsonl").read_text("utf-8")
    assert stat.S_IMODE((place / "all.jsonl").stat().st_mode) == 0o600


def test_a_pipe_and_what_exists(charge, call, place):
    """The rows go to standard output too; an existing file, or the ledger itself, is not overwritten."""
    charge("--over-budget", "drop")
    assert call("ledger", "export", "l.db", "-o", "-").out.count(b"\n") == 2
    for name in ("in.csv", "l.db", "l.db.key"):
        before = (place / name).read_bytes()
        assert call("ledger", "export", "l.db", "-o", name, "--key-file", "l.db.key").code == 2
        assert (place / name).read_bytes() == before
    for name in ("l.db", "l.db.key", "l.db-wal"):
        assert call("ledger", "export", "l.db", "-o", name, "--force").code == 2

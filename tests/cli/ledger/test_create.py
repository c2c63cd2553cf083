"""``deniable ledger create``: a ledger and its key, both or neither."""

import stat

import pytest


def test_a_ledger_and_its_key(create, place):
    """Both files appear, for their owner only, and the message says what the ledger allows."""
    result = create("--delta", "1e-6")
    assert result.code == 0
    for name in ("l.db", "l.db.key"):
        assert stat.S_IMODE((place / name).stat().st_mode) == 0o600
    assert len((place / "l.db.key").read_bytes()) == 32
    assert "metric epsilon 8 (summed over words), pure epsilon 8, epsilon 8 at delta 1e-06" in result.err
    assert "Keep the key secret" in result.err


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
    ("options", "budget", "words"),
    [
        ((), "0", "'budget' parameter"),
        ((), "nan", "'budget' parameter"),
        (("--delta", "2"), "8", "'delta' parameter"),
        (("--unit", ""), "8", "'unit' parameter"),
        (("--key-file", "l.db"), "8", "are one file"),
        (("--key-file", "none/l.key"), "8", "cannot be created"),
    ],
)
def test_bad_options_leave_nothing(create, place, options, budget, words):
    """What is wrong is one line, and no file is left."""
    before = {path.name for path in place.iterdir()}
    result = create(*options, budget=budget)
    assert result.code == 2
    assert words in result.err
    assert result.err.count("\n") == 1
    assert {path.name for path in place.iterdir()} == before


def test_a_database_needs_a_place_for_its_key(create):
    """Beside the address of a database there is no file."""
    result = create(where="postgresql://localhost/none")
    assert result.code == 2
    assert "--key-file" in result.err

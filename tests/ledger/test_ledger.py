"""Where a ledger and its key are, and what follows from the key: fingerprints, hashes of persons and noise."""

import pickle

import pytest

import deniable as dn
from tests.ledger.store import SECRET, WORD, cells, spent
from tests.refusals import refuses


@pytest.mark.parametrize("key", [None, "file:l.db.key"])
def test_a_relative_path_stays_where_it_was(tmp_path, monkeypatch, key):
    """A process that goes to another folder charges the same ledger, also when it opens it once more."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        dn.create_ledger("l.db", 20.0, delta=None, unit="person", secret=SECRET, key_path="l.db.key")
    monkeypatch.chdir(tmp_path / "first")
    ledger = dn.Ledger("l.db", key)
    monkeypatch.chdir(tmp_path / "second")
    ledger.charge(WORD, cells(ledger, ("ann", "a", 1)))
    ledger._session.store.close()  # as before a fork
    ledger.charge(WORD, cells(ledger, ("ann", "b", 1)))
    assert spent(pickle.loads(pickle.dumps(ledger)), "ann") == 5
    assert spent(dn.Ledger("l.db"), "ann") == 0
    assert spent(dn.Ledger(str(tmp_path / "first" / "l.db")), "ann") == 5


@pytest.fixture(scope="module")
def make_keys(tmp_path_factory):
    """Return a function from a secret to the keys of a ledger with it."""

    def make(secret):
        place = str(tmp_path_factory.mktemp("ledger") / "l.db")
        dn.create_ledger(place, 20.0, delta=None, unit="person", secret=secret)
        return dn.Ledger(place, secret).keys

    return make


@pytest.fixture(scope="module")
def keys(make_keys):
    """Return the keys of one ledger."""
    return make_keys(bytes(32))


def test_everything_follows_from_the_key(keys, make_keys):
    """The same key gives the same values, and another key gives others."""
    same, other = make_keys(bytes(32)), make_keys(bytes(31) + b"\1")
    name = ("person", "id", "text", bytes(8), b"points")
    for compute in (
        lambda keys: keys.noise,
        lambda keys: keys.check,
        lambda keys: keys.hash_person("ann"),
        lambda keys: keys.fingerprint_cells("release", [name])[0],
        lambda keys: keys.find_stream_starts([b"f" * 16])[0],
    ):
        assert compute(keys) == compute(same) != compute(other)


def test_no_two_purposes_share_a_key(keys):
    """What the ledger's check shows is no part of another key."""
    assert keys.check not in keys.noise
    assert len({keys.check, keys.noise[:16], keys.hash_person("check"), keys.hash_person("noise")}) == 4


def test_names_do_not_run_together(keys):
    """Parts of a name have lengths: neither persons nor cells are taken for others."""
    names = [("ab", "c"), ("a", "bc"), ("abc", "")]
    assert len(set(keys.fingerprint_cells("r", names))) == 3
    assert keys.fingerprint_cells("r", [("x",)]) != keys.fingerprint_cells("s", [("x",)])


def test_odd_names_have_hashes(keys):
    """Lone surrogates, NULs and other scripts are names like others; a blank one names nobody."""
    assert len({keys.hash_person(name) for name in ("\ud800", "日本", "é", "\0")}) == 4
    with refuses("blank"):
        keys.hash_person(" \t")


@pytest.mark.parametrize(
    ("name", "other"),
    [("17", "17.0"), ("-3", " -3.00 "), ("e\u0301", "é"), ("ann", "\tann "), ("10", "1e+01"), ("0", "-0.0")],
)
def test_one_person_has_one_budget(keys, name, other):
    """Spellings that programs make of one name are one person."""
    assert keys.hash_person(name) == keys.hash_person(other)
    assert keys.hash_persons([name, other, name]) == [keys.hash_person(name)] * 3


@pytest.mark.parametrize(("name", "other"), [("17", "17.5"), ("17", "017"), ("ann", "Ann"), ("1.0.0", "1.0")])
def test_other_spellings_are_other_persons(keys, name, other):
    """No rule guesses."""
    assert keys.hash_person(name) != keys.hash_person(other)


def test_no_key_shows(keys):
    """The representation has no part of a key."""
    assert repr(keys) == "<keys of a ledger>"

"""Fingerprints, hashes of persons and noise: functions of the key, none of which gives another."""

import pytest

from deniable.core.errors import InputError
from deniable.ledger.keys import LedgerKeys

KEYS, OTHER = LedgerKeys(bytes(32)), LedgerKeys(bytes(31) + b"\1")
NAMES = [("person", "id", "text", bytes(8), b"points")]


def test_everything_follows_from_the_key():
    """The same key gives the same values, and another key gives others."""
    for compute in (
        lambda keys: keys.noise,
        lambda keys: keys.check,
        lambda keys: keys.hash_person("ann"),
        lambda keys: keys.fingerprint_cells("release", NAMES)[0],
        lambda keys: keys.find_stream_starts([b"f" * 16])[0],
    ):
        assert compute(KEYS) == compute(LedgerKeys(bytes(32))) != compute(OTHER)


def test_no_two_purposes_share_a_key():
    """What the ledger's check shows is no part of another key."""
    assert KEYS.check not in KEYS.noise
    assert len({KEYS.check, KEYS.noise[:16], KEYS.hash_person("check"), KEYS.hash_person("noise")}) == 4


def test_names_do_not_run_together():
    """Parts of a name have lengths: neither persons nor cells are taken for others."""
    names = [("ab", "c"), ("a", "bc"), ("abc", "")]
    assert len(set(KEYS.fingerprint_cells("r", names))) == 3
    assert KEYS.fingerprint_cells("r", [("x",)]) != KEYS.fingerprint_cells("s", [("x",)])


def test_odd_names_have_hashes():
    """Lone surrogates, NULs and other scripts are names like others; a blank one names nobody."""
    assert len({KEYS.hash_person(name) for name in ("\ud800", "日本", "é", "\0")}) == 4
    with pytest.raises(InputError, match=r"Got a blank name"):
        KEYS.hash_person(" \t")


@pytest.mark.parametrize(
    ("name", "other"),
    [("17", "17.0"), ("-3", " -3.00 "), ("e\u0301", "é"), ("ann", "\tann "), ("10", "1e+01"), ("0", "-0.0")],
)
def test_one_person_has_one_budget(name, other):
    """Spellings that programs make of one name are one person."""
    assert KEYS.hash_person(name) == KEYS.hash_person(other)
    assert KEYS.hash_persons([name, other, name]) == [KEYS.hash_person(name)] * 3


@pytest.mark.parametrize(("name", "other"), [("17", "17.5"), ("17", "017"), ("ann", "Ann"), ("1.0.0", "1.0")])
def test_other_spellings_are_other_persons(name, other):
    """No rule guesses."""
    assert KEYS.hash_person(name) != KEYS.hash_person(other)


def test_no_key_shows():
    """The representation has no part of a key."""
    assert repr(KEYS) == "<keys of a ledger>"

"""Fingerprints, hashes of persons and noise: functions of the key, none of which gives another."""

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
    assert KEYS.hash_person("record", "1") != KEYS.hash_person("record1")
    assert KEYS.hash_person("a", "bc") != KEYS.hash_person("ab", "c")
    names = [("ab", "c"), ("a", "bc"), ("abc", "")]
    assert len(set(KEYS.fingerprint_cells("r", names))) == 3
    assert KEYS.fingerprint_cells("r", [("x",)]) != KEYS.fingerprint_cells("s", [("x",)])


def test_odd_names_have_hashes():
    """Lone surrogates, empty names and other scripts are names like others."""
    assert len({KEYS.hash_person(name) for name in ("", "\ud800", "日本", "é", "e\u0301")}) == 5


def test_no_key_shows():
    """The representation has no part of a key."""
    assert repr(KEYS) == "<keys of a ledger>"

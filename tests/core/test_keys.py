"""Keys by reference: where they are read, and where they never show."""

import copy
import os
import pickle
import traceback

import pytest

import deniable as dn
from deniable.core.keys import derive_name, get_noise_source, parse_key, read_key
from deniable.core.randomness import SecretBytes, derive_key_from_seed, derive_stream_start
from tests.refusals import refuses

KEY = bytes(range(100, 132))


def forms(key):
    """Return texts in which a key may be recognised."""
    return {key.hex(), repr(key)[2:-1], key.decode("latin-1"), str(list(key)), str(key)}


def refuse_unseen(call, *secrets):
    """Check that a call is refused in one line, and that nothing shown of the error holds a secret."""
    with pytest.raises(dn.InputError) as caught:
        call()
    shown = "".join(traceback.format_exception(caught.value))
    assert not any(secret in shown for secret in secrets)
    assert "\n" not in caught.value.args[0]
    assert len(caught.value.args[0]) < 300


def test_where_keys_are_read(monkeypatch, tmp_path):
    """A key is 64 hexadecimal digits in the environment, in either case, spaces aside, or 32 bytes in a file."""
    for text in (KEY.hex(), KEY.hex().upper(), f" {KEY.hex()}\n"):
        monkeypatch.setenv("DENIABLE_TEST_KEY", text)
        assert read_key(parse_key("Release", "env:DENIABLE_TEST_KEY")) == KEY
    (tmp_path / "a:key").write_bytes(KEY)
    assert read_key(parse_key("Release", f"file:{tmp_path / 'a:key'}")) == KEY


def test_where_noise_comes_from():
    """No key is fresh noise, a seed is public, anything else is the owner's."""
    assert get_noise_source(parse_key("Release", None)) == "random"
    assert get_noise_source(parse_key("Release", "seed:-3")) == "public seed"
    assert get_noise_source(parse_key("Release", KEY)) == get_noise_source(parse_key("Release", "env:A")) == "keyed"
    assert read_key(None) != read_key(None)
    assert read_key(parse_key("Release", "seed:-3")) == derive_key_from_seed(-3)


@pytest.mark.parametrize(
    "wrong", ["", "env:", "file:", "env", "seed:", "seed:x", "seed:1.5", "seed:²", f"seed:{'9' * 5000}", "file:a\0b", 5,
              KEY.hex(), KEY.decode("latin-1")]
)  # fmt: skip
def test_what_is_no_reference(wrong):
    """What is no reference, a key pasted in its place too, is refused in one short line that does not repeat it."""
    refuse_unseen(lambda: parse_key("Release", wrong), *forms(KEY), "9" * 100)


def test_places_that_hold_no_key(monkeypatch, tmp_path):
    """A variable or file that is missing or holds something else is refused by name, unseen; a huge one is not read."""
    for text in ("", "00" * 31, "00" * 33, "zz" * 32, "0x" + "00" * 31):
        monkeypatch.setenv("DENIABLE_TEST_KEY", text)
        with refuses("'DENIABLE_TEST_KEY'"):
            read_key(parse_key("Release", "env:DENIABLE_TEST_KEY"))
        refuse_unseen(lambda: read_key(parse_key("Release", "env:DENIABLE_TEST_KEY")), *filter(None, [text]))
    monkeypatch.delenv("DENIABLE_TEST_KEY")
    (tmp_path / "short").write_bytes(KEY[:-1])
    with (tmp_path / "long").open("wb") as file:
        os.truncate(file.fileno(), 1 << 40)
    for reference in ("env:DENIABLE_TEST_KEY", *(f"file:{tmp_path / name}" for name in ("none", ".", "short", "long"))):
        with refuses(reference.partition(":")[2].rstrip("/.")):
            read_key(parse_key("Release", reference))


def test_a_key_shows_nowhere(monkeypatch, tmp_path):
    """A key, and what is read of it to compute with, has no text and no pickle, and a copy of either is itself."""
    monkeypatch.setenv("DENIABLE_TEST_KEY", KEY.hex())
    (tmp_path / "key").write_bytes(KEY)
    secrets = [parse_key("Release", KEY)]
    secrets += [
        read_key(parse_key("Release", one)) for one in (KEY, "env:DENIABLE_TEST_KEY", f"file:{tmp_path / 'key'}")
    ]
    assert all(isinstance(read, bytes) and read == KEY for read in secrets[1:])
    for secret in secrets:
        shown = [repr(secret), str(secret), f"{secret}", f"{secret!r}", repr({"key": [secret]})]
        assert not any(form in text for text in shown for form in forms(KEY))
        assert copy.deepcopy(secret) is copy.copy(secret) is secret
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            refuse_unseen(lambda one=secret, number=protocol: pickle.dumps([one], number), *forms(KEY))
    assert parse_key("Release", secrets[0]) is secrets[0]
    assert KEY.hex() not in repr(SecretBytes(KEY).__reduce__) + repr(read_key(None))
    refuse_unseen(lambda: parse_key("Release", KEY[:-1]), *forms(KEY[:-1]))


def test_keys_compare():
    """Keys are equal where they are the same, and hash alike."""
    assert len({parse_key("Release", key) for key in (KEY, bytearray(KEY), bytes(32))}) == 2
    assert parse_key("Release", "env:A") == parse_key("Release", "env:A") != parse_key("Release", "file:A")


def test_names_under_a_key():
    """A name follows from key and parts, differs with either, is no start of a stream, and holds nothing of them."""
    name = derive_name(KEY, "a", "bc")
    assert name == derive_name(KEY, "a", "bc")
    assert len(bytes.fromhex(name)) == 16
    others = [derive_name(KEY, "ab", "c"), derive_name(KEY, "a"), derive_name(bytes(32), "a", "bc")]
    others.append(derive_stream_start(KEY, "a", "bc").hex())
    assert len({name, *others}) == 5

"""Keys by reference: where they are read, and where they never show."""

import copy
import os
import pickle
import traceback

import pytest

from deniable import InputError
from deniable.core.keys import SecretKey, derive_name, get_noise_source, parse_key, read_key
from deniable.core.randomness import derive_key_from_seed, derive_stream_start

KEY = bytes(range(100, 132))


def forms(key):
    """Return texts in which a key may be recognised."""
    return {key.hex(), repr(key)[2:-1], key.decode("latin-1"), str(list(key)), str(key)}


def test_a_key_in_the_environment(monkeypatch):
    """64 hexadecimal digits are a key, in either case, spaces around them aside."""
    for text in (KEY.hex(), KEY.hex().upper(), f" {KEY.hex()}\n"):
        monkeypatch.setenv("DENIABLE_TEST_KEY", text)
        assert parse_key("Release", "env:DENIABLE_TEST_KEY").read() == KEY


def test_a_key_in_a_file(tmp_path):
    """32 bytes in a file are a key."""
    (tmp_path / "a:key").write_bytes(KEY)
    assert parse_key("Release", f"file:{tmp_path / 'a:key'}").read() == KEY


def test_where_noise_comes_from():
    """No key is fresh noise, a seed is public, anything else is the owner's."""
    assert get_noise_source(parse_key("Release", None)) == "random"
    assert get_noise_source(parse_key("Release", "seed:-3")) == "public seed"
    assert get_noise_source(parse_key("Release", KEY)) == get_noise_source(parse_key("Release", "env:A")) == "keyed"
    assert read_key(None) != read_key(None)
    assert read_key(parse_key("Release", "seed:-3")) == derive_key_from_seed(-3)


@pytest.mark.parametrize(
    "wrong", ["", "env:", "file:", "env", "seed:", "seed:x", "seed:1.5", "seed:²", f"seed:{'9' * 5000}", "file:a\0b", 5]
)
def test_what_is_no_reference(wrong):
    """What is no reference is refused in one line that does not repeat it."""
    with pytest.raises(InputError, match=r"^The 'key' parameter of Release must be None, 'env:NAME'.*$") as error:
        parse_key("Release", wrong)
    assert len(str(error.value)) < 200


def test_a_key_that_was_given_as_text_is_not_shown():
    """A key pasted where a reference belongs is refused without being printed."""
    for text in (KEY.hex(), KEY.decode("latin-1")):
        with pytest.raises(InputError) as error:
            parse_key("Release", text)
        shown = "".join(traceback.format_exception(error.value))
        assert not any(form in shown for form in forms(KEY))


@pytest.mark.parametrize("text", ["", "00" * 31, "00" * 33, "zz" * 32, "0x" + "00" * 31])
def test_a_variable_that_holds_no_key(monkeypatch, text):
    """What is no key in the environment is refused by the variable's name, and its value is not shown."""
    monkeypatch.setenv("DENIABLE_TEST_KEY", text)
    with pytest.raises(InputError, match="'DENIABLE_TEST_KEY' holds no key: it must be 64 hexadecimal digits") as error:
        parse_key("Release", "env:DENIABLE_TEST_KEY").read()
    assert not text or text not in "".join(traceback.format_exception(error.value))
    monkeypatch.delenv("DENIABLE_TEST_KEY")
    with pytest.raises(InputError, match="is not set: set it to 64 hexadecimal digits"):
        parse_key("Release", "env:DENIABLE_TEST_KEY").read()


def test_a_file_that_holds_no_key(tmp_path):
    """A missing file, a folder and a file of another size are refused by name; a huge file is not read."""
    (tmp_path / "short").write_bytes(KEY[:-1])
    with (tmp_path / "long").open("wb") as file:
        os.truncate(file.fileno(), 1 << 40)
    for name, message in {
        "none": "cannot be read",
        ".": "cannot be read",
        "short": "Got 31",
        "long": "Got more",
    }.items():
        with pytest.raises(InputError, match=message):
            parse_key("Release", f"file:{tmp_path / name}").read()


def test_a_key_in_memory_shows_nowhere():
    """A key of bytes has no text, no pickle, and a copy is itself."""
    key = parse_key("Release", KEY)
    assert key.read() == KEY
    assert copy.deepcopy(key) is copy.copy(key) is parse_key("Release", key) is key
    assert not any(form in repr(key) + str(key) + f"{key}" for form in forms(KEY))
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(InputError, match="cannot be pickled: give it by reference"):
            pickle.dumps(key, protocol)
    with pytest.raises(InputError, match=r"A key must be 32 bytes\. Got 31 bytes"):
        parse_key("Release", KEY[:-1])


def test_keys_compare():
    """Keys are equal where they are the same, and hash alike."""
    assert SecretKey(KEY) == SecretKey(KEY)
    assert hash(SecretKey(KEY)) == hash(SecretKey(KEY))
    assert SecretKey(KEY) != SecretKey(bytes(32))
    assert SecretKey(KEY) != KEY
    assert parse_key("Release", "env:A") == parse_key("Release", "env:A") != parse_key("Release", "file:A")


def test_a_key_to_compute_with_shows_nowhere(monkeypatch, tmp_path):
    """What is read of a key is its bytes, without their text, their pickle or a copy that has one."""
    monkeypatch.setenv("DENIABLE_TEST_KEY", KEY.hex())
    (tmp_path / "key").write_bytes(KEY)
    for given in (KEY, "env:DENIABLE_TEST_KEY", f"file:{tmp_path / 'key'}"):
        key = parse_key("Release", given).read()
        assert key == KEY
        assert isinstance(key, bytes)
        shown = [repr(key), str(key), f"{key}", f"{key!r}", repr({"key": [key]})]
        assert not any(form in text for text in shown for form in forms(KEY))
        assert copy.deepcopy(key) is copy.copy(key) is key
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(InputError, match="cannot be pickled"):
                pickle.dumps([key], protocol)
    assert "secret key" in repr(SecretKey(KEY).__getstate__()) + repr(read_key(None))


def test_names_under_a_key():
    """A name follows from key and parts, differs with either, is no start of a stream, and holds nothing of them."""
    name = derive_name(KEY, "a", "bc")
    assert name == derive_name(KEY, "a", "bc")
    assert len(bytes.fromhex(name)) == 16
    others = [derive_name(KEY, "ab", "c"), derive_name(KEY, "a"), derive_name(bytes(32), "a", "bc")]
    others.append(derive_stream_start(KEY, "a", "bc").hex())
    assert len({name, *others}) == 5

"""What the tests of commands that train, certify and attack share."""

import contextlib
import hashlib
import json
from pathlib import Path
from unittest import mock

import torch

import deniable as dn

WRITTEN = ["m.pt", "m.pt.card.json", "m.pt.card.txt", "m.pt.owner.json"]


def fails(result, value=""):
    """Check that a command failed in one line, which holds the value that matters, and printed no result."""
    assert (result.code, result.out) == (2, b""), result.err
    errors = [line for line in result.err.splitlines() if line.startswith("deniable: ")]
    assert len(errors) == 1
    assert value in errors[0]
    assert (errors[0].isprintable(), len(errors[0]) < 2000, "Traceback" in result.err) == (True, True, False)


def succeeds(result):
    """Check that a command found nothing wrong, and return what it did."""
    assert result.code == 0, result.err
    return result


def list_left_out(result):
    """Return of which tables a command left rows out, and which."""
    lines = [line for line in result.err.splitlines() if " left out: row" in line]
    return [(line.split(":")[0], line.rpartition(" left out: ")[2]) for line in lines]


def list_warnings(result, source=None):
    """Return what a command told the owner alone, about one table or at all."""
    start = "warning (for you only): " if source is None else f"warning (for you only): {source}: "
    return [line.removeprefix(start) for line in result.err.splitlines() if line.startswith(start)]


@contextlib.contextmanager
def interrupted(error=KeyboardInterrupt):
    """Interrupt a run right after it has written a checkpoint."""
    replace = Path.replace

    def stop(path, target):
        replace(path, target)
        if str(target).endswith(".checkpoint"):
            raise error

    with mock.patch.object(Path, "replace", stop):
        yield


def read_weights(path):
    """Return the numbers of a model, of whatever kind."""
    for load in (dn.images.load_image_model, dn.rewriting.load_rewriter, _load_text_model):
        with contextlib.suppress(dn.InputError):
            return load(path).network.state_dict()
    raise AssertionError(path)


def _load_text_model(path):
    return dn.texts.load_text_model(path, dn.Space.load(str(path.parent / "words.npz"), metric="euclidean"))


def are_same(one, other):
    """Say whether two model files hold the same numbers, bit for bit."""
    first, second = read_weights(one), read_weights(other)
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def read_json(path):
    """Return strict JSON, which has no infinity and no NaN."""

    def refuse(constant):
        raise ValueError(constant)

    return json.loads(path.read_text("utf-8"), parse_constant=refuse)


def read_card(place, name="m.pt"):
    """Return the card of a model and the owner's record, whose commitment opens."""
    card, owner = (read_json(place / f"{name}.{kind}.json") for kind in ("card", "owner"))
    opened = hashlib.blake2b(owner["fingerprint"].encode(), key=bytes.fromhex(owner["key"]), digest_size=16)
    assert opened.hexdigest() == card["data"]["commitment"]
    assert owner["fingerprint"] not in json.dumps(card)
    assert (place / f"{name}.owner.json").stat().st_mode & 0o777 == 0o600
    return card, owner

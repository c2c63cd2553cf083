"""The file of a model: what is stored comes back, and one line for whatever is wrong with a file, at once."""

import io
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import deniable as dn
from deniable.learning.artifact import (
    ARTIFACT_FORMAT,
    Artifact,
    check_weight_shapes,
    load_weights,
    read_artifact,
    reraise_corrupt_file,
    save_model,
    serialize_model,
)
from tests.learning.stored import read_stored, write_members, write_stored
from tests.refusals import refuses


@pytest.mark.parametrize("error", [KeyError("words"), TypeError("a\nb"), ValueError("x" * 500), OverflowError("x")])
def test_one_line(error):
    """Every error of a part is told in one short line with the file's name; what is no fault of the file passes."""
    with pytest.raises(dn.InputError) as told, reraise_corrupt_file(Path("m.pt")):
        raise error
    assert str(told.value).startswith("'m.pt' cannot be read as a model of this version: ")
    assert len(str(told.value).splitlines()) == 1
    assert len(str(told.value)) < 350
    with pytest.raises(MemoryError), reraise_corrupt_file(Path("m.pt")):
        raise MemoryError


class Stored:
    """A model of two weights."""

    def __init__(self, **facts):
        self.facts = facts

    def to_artifact(self):
        """Return the model as a file holds it."""
        return Artifact("toy", {"size": 2, "scale": np.float64(0.5)}, {"weight": torch.tensor([1.0, 2.0])}, self.facts)


CONTENT = serialize_model(Stored(steps=np.int64(7), noise={"scale": np.float32(0.25)}, shape=(1, 2)))


@pytest.fixture
def path(tmp_path):
    """Return the file of that model."""
    (tmp_path / "m.model").write_bytes(CONTENT)
    return tmp_path / "m.model"


def refuse(path, content, value="cannot be read as a model"):
    """Expect that a file is refused by one short line with a value in it."""
    path.write_bytes(content)
    with pytest.raises(dn.InputError) as refused:
        read_artifact(path)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 500 + len(str(path))
    assert value in str(refused.value)


def test_an_artifact_comes_back(path):
    """Kind, configuration, weights and facts are what they were, numbers of numpy as Python's own."""
    artifact = read_artifact(path, "toy")
    assert (artifact.kind, artifact.configuration) == ("toy", {"size": 2, "scale": 0.5})
    assert artifact.facts == {"steps": 7, "noise": {"scale": 0.25}, "shape": [1, 2]}
    assert type(artifact.facts["steps"]) is int
    assert torch.equal(artifact.weights["weight"], torch.tensor([1.0, 2.0]))
    assert artifact.path == path
    assert read_artifact(str(path)).path == path


def test_weights_of_every_form(tmp_path):
    """Single numbers, views, empty arrays and integers come back as they were, and can be written to."""
    weights = {
        "single": torch.tensor(1.5),
        "turned": torch.arange(6.0).reshape(2, 3).T,
        "empty": torch.zeros(0, 3),
        "count": torch.tensor(3),
        "double": torch.tensor([0.1], dtype=torch.float64),
        "a name / with ../ signs": nn.Parameter(torch.ones(2)),
    }

    class Model:
        def to_artifact(self):
            return Artifact("toy", {}, weights, {})

    save_model(Model(), tmp_path / "m.pt")
    found = read_artifact(tmp_path / "m.pt").weights
    assert list(found) == list(weights)
    for name, weight in weights.items():
        assert (found[name].dtype, found[name].shape) == (weight.dtype, weight.shape)
        assert torch.equal(found[name], weight)
        found[name].zero_()


def test_bytes_follow_from_the_model(tmp_path):
    """Equal models have equal files; facts that JSON lacks are kept as text, so that what is written is read."""
    assert serialize_model(Stored(steps=1)) == serialize_model(Stored(steps=1)) != serialize_model(Stored(steps=2))
    save_model(Stored(loss=float("inf"), seed=10**30, nested=[{"x": float("nan")}]), tmp_path / "m.pt")
    assert read_artifact(tmp_path / "m.pt").facts == {
        "loss": "Infinity",
        "seed": "1" + "0" * 30,
        "nested": [{"x": "NaN"}],
    }


def test_a_file_is_not_written_over(path):
    """A file that exists stays, unless asked otherwise."""
    with refuses("exists"):
        save_model(Stored(steps=2), path)
    assert path.read_bytes() == CONTENT
    save_model(Stored(steps=2), path, force=True)
    assert read_artifact(path).facts == {"steps": 2}


@pytest.mark.parametrize("stored_format", ["deniable-model/1", "deniable-artifact/2", "deniable-\nx" + "y" * 100])
def test_another_kind_or_version(path, stored_format):
    """A file of another kind or version is refused in one line that names both."""
    with refuses("'toy': "):
        read_artifact(path, "image model")
    refuse(path, write_stored({"format": stored_format}), ARTIFACT_FORMAT)


@pytest.mark.parametrize("content", [[1], {}, {"format": 1}, {"format": "other/1"}, None, "x", 3])
def test_no_model(path, content):
    """JSON of another form is not a model."""
    refuse(path, write_stored(content))


@pytest.mark.parametrize("part", ["kind", "configuration", "facts"])
@pytest.mark.parametrize("value", [None, 3, [1]])
def test_parts_of_another_type(path, part, value):
    """A part of the wrong type, or a missing one, is a damaged model or none."""
    held = read_stored(CONTENT)
    refuse(path, write_stored({**held, part: value}), f"{part} must")
    del held[part]
    refuse(path, write_stored(held), f"'{part}'")


DESCRIPTION = b'{"format": "%s", "kind": "toy", "configuration": %s, "facts": {}}'


def describe(configuration):
    """Return a file with this text for its configuration."""
    return write_members([("model.json", DESCRIPTION % (ARTIFACT_FORMAT.encode(), configuration))])


@pytest.mark.parametrize(
    ("configuration", "value"),
    [
        (b"[" * 150_000 + b"]" * 150_000, "nested more than"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested more than"),
        (b"[" * 21 + b"]" * 21, "nested more than"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "-Infinity"),
        (b'{"a": 1e999}', "not finite"),
        (b'{"a": 1' + b"0" * 1_000_000 + b"}", "an integer of 1,000,001 digits"),
        (b'{"a": 1e' + b"9" * 1_000_000 + b"}", "not finite"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b'{"a": "\xff"}', "not UTF-8"),
        (b'"' + b"x" * (1 << 25) + b'"', "more than 33,554,432 bytes"),
        (b"[" + b"[]," * 2_500_000 + b"1]", "more than 1,000,000 values"),
        (b"[" + b"1," * 4_000_000 + b"1]", "more than 1,000,000 values"),
        (b"{", "not JSON"),
    ],
)  # fmt: skip
def test_hostile_json_is_refused(path, configuration, value):
    """Deep nesting, numbers without end, names twice and too much text are one line."""
    refuse(path, describe(configuration), value)


def pack_array(header, data=b""):
    """Return a file whose only weight has this header."""
    stored = b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + data
    return write_members([("model.json", DESCRIPTION % (ARTIFACT_FORMAT.encode(), b"{}")), ("w.npy", stored)])


def shaped(shape, kind="'<f4'"):
    """Return the header of an array of a shape and a kind."""
    return f"{{'descr': {kind}, 'fortran_order': False, 'shape': ({shape}), }}\n".encode()


@pytest.mark.parametrize(
    "header",
    [
        shaped("1000000000000,"),
        shaped("9" * 18 + "," + "9" * 18 + ","),
        shaped("9" * 18 + ", 0"),
        shaped("9" * 400 + ","),
        shaped("1," * 400),
        shaped("-1,"),
        shaped("1,", "'|O'"),
        shaped("0,", "'<U1'"),
        shaped("9" * 17 + ",", "'|S0'"),
        shaped("0,", "'<f3'"),
        shaped("1,", "('<f4', (1000000000,))"),
        shaped("1,", "[('a', '<f4')]"),
        b"(" * 60_000,
        b"-" * 60_000 + b"1",
        shaped(" " * 60_000),
        b"",
    ],
    ids=range(16),
)
def test_hostile_arrays_are_refused(path, header):
    """Shapes without end, other types and headers to evaluate are one line; what they are changes of is read."""
    path.write_bytes(pack_array(shaped("2,"), b"\0" * 8))
    assert torch.equal(read_artifact(path).weights["w"], torch.zeros(2))
    refuse(path, pack_array(header))


def test_two_members_of_one_weight_are_refused(path):
    """numpy reads ``weight`` where there is ``weight.npy`` too: a file holds one weight of each name."""
    with zipfile.ZipFile(io.BytesIO(CONTENT)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    refuse(path, write_members([*members, ("weight", dict(members)["weight.npy"])]), "two of its weights have one name")


def test_compressed_files_are_refused_at_once(path):
    """A megabyte that would expand to a gigabyte, and compression that numpy lacks, is refused before it is read."""
    held = {**read_stored(CONTENT), "weights": {"w": torch.zeros(1 << 25)}}
    bomb = write_stored(held, compression=zipfile.ZIP_DEFLATED)
    assert len(bomb) < 1 << 20
    refuse(path, bomb, "expand to 134,")
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        refuse(path, write_stored(read_stored(CONTENT), compression=method))


def patch(content, place, new):
    """Return bytes with some of them replaced."""
    return content[:place] + new + content[place + len(new) :]


def list_hostile_zips():
    """Yield files whose directory lies, by what is wrong."""
    directory = CONTENT.index(b"PK\1\2")
    second = CONTENT.index(b"PK\1\2", directory + 1)
    end = CONTENT.index(b"PK\5\6")
    yield "trailing bytes", CONTENT + b"\0"
    yield "a comment", CONTENT[:-2] + b"\1\0x"
    yield "cut short", CONTENT[:-30]
    yield "its end only", CONTENT[end:]
    yield "encrypted", patch(CONTENT, directory + 8, b"\1\0")
    yield "overlapping", patch(CONTENT, second + 42, b"\0\0\0\0")
    yield "a larger size", patch(CONTENT, directory + 20, struct.pack("<2L", 1 << 31, 1 << 31))
    yield "a size that expands", patch(CONTENT, second + 24, struct.pack("<L", 1 << 31))
    yield "a smaller size", patch(CONTENT, second + 20, struct.pack("<2L", 130, 130))
    yield "sizes of 64 bits", patch(CONTENT, second + 20, b"\xff" * 8)
    yield "a directory of a gigabyte", patch(CONTENT, end + 12, struct.pack("<L", 1 << 30))
    yield "a directory outside", patch(CONTENT, end + 16, struct.pack("<L", 1 << 30))
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1)
    yield "a locator of 64 bits", CONTENT[:end] + locator + CONTENT[end:]
    parts = [("model.json", b'{"format": "x"}')]
    yield "two descriptions", write_members([*parts, *parts])
    yield "names that lead elsewhere", write_members([("../model.json", b"{}")])
    yield "an array too many", append(CONTENT, "other.npy")
    yield "many members", write_members([*parts, *((f"{number}.npy", b"") for number in range(20_000))])
    array = zipfile.ZipFile(io.BytesIO(CONTENT)).read("weight.npy")
    described = ("model.json", DESCRIPTION % (ARTIFACT_FORMAT.encode(), b"{}"))
    yield "one weight twice", write_members([described, ("w.npy", array), ("w.npy", array)])


def append(content, name):
    """Return a file with one more member."""
    buffer = io.BytesIO(content)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(name, b"")
    return buffer.getvalue()


HOSTILE_ZIPS = dict(list_hostile_zips())


@pytest.mark.parametrize("what", HOSTILE_ZIPS)
def test_a_directory_that_lies(path, what):
    """A zip file that is more, less or other than its directory says is one line, at once."""
    refuse(path, HOSTILE_ZIPS[what])


EDITS = st.lists(st.tuples(st.integers(0, len(CONTENT) - 1), st.integers(0, 255)), max_size=4)


@settings(max_examples=60)
@given(EDITS, st.data())
def test_whatever_is_changed(tmp_path_factory, edits, data):
    """Bytes replaced and spans cut, doubled or moved: the model that was written, or one line."""
    content = bytearray(CONTENT)
    for place, byte in edits:
        content[place] = byte
    if data.draw(st.booleans()):
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(content))] * 2)))
        content[start:end] = data.draw(st.sampled_from([b"", bytes(content[start:end]) * 2, b"\xff" * 8]))
    path = tmp_path_factory.getbasetemp() / "changed.model"
    path.write_bytes(content)
    try:
        assert isinstance(read_artifact(path).facts, dict)
    except dn.InputError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either may be


def test_load_weights():
    """A network gets its weights and is ready to predict; weights that are not finite or of another shape are refused.

    A network that would be too large for any memory is not built.
    """
    network, source = nn.Linear(2, 2), nn.Linear(2, 2)
    load_weights(network, source.state_dict())
    assert torch.equal(network.weight, source.weight)
    assert not network.training
    for wrong in (float("nan"), float("inf")):
        with refuses("weights that are not finite"):
            load_weights(network, {**source.state_dict(), "bias": torch.tensor([0.0, wrong])})
    check_weight_shapes(lambda: nn.Linear(2, 2), source.state_dict())
    with refuses("'weight'", kind=ValueError):
        check_weight_shapes(lambda: nn.Linear(2**30, 2**30), source.state_dict())

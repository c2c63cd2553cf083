"""The file of a model: what is stored comes back, and one line for whatever is wrong with a file, at once."""

import io
import struct
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from deniable.core.errors import InputError
from deniable.learning.artifact import (
    ARTIFACT_FORMAT,
    Artifact,
    check_finite_weights,
    check_weight_shapes,
    load_weights,
    read_artifact,
    reraise_corrupt_file,
    save_model,
    serialize_model,
)
from tests.learning.stored import read_stored, write_members, write_stored

MAX_SECONDS = 2
"""In which the largest hostile file here is refused; an honest one of its size takes longer to write."""


@pytest.mark.parametrize(
    "error",
    [KeyError("words"), TypeError("a\nb"), ValueError("x" * 500), AttributeError("x"), RuntimeError("x"),
     OverflowError("x"), InputError("a size below 1")],
)  # fmt: skip
def test_one_line(error):
    """Every error of a part is told in one short line, with the file's name."""
    with pytest.raises(InputError) as told, reraise_corrupt_file(Path("m.pt")):
        raise error
    assert str(told.value).startswith("'m.pt' is a damaged model (")
    assert str(told.value).endswith("): train it again.")
    assert len(str(told.value).splitlines()) == 1
    assert len(str(told.value)) < 260


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_others_pass(error):
    """What is no fault of the file is left as it is."""
    with pytest.raises(error), reraise_corrupt_file(Path("m.pt")):
        raise error


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers(wrong):
    """One such weight is enough; none is fine."""
    network = nn.Linear(2, 2)
    check_finite_weights(network)
    with torch.no_grad():
        network.bias[1] = wrong
    with pytest.raises(InputError, match="weights that are not finite"):
        check_finite_weights(network)


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


def refuse(path, content):
    """Return the one line in which a file is refused at once."""
    path.write_bytes(content)
    start = time.perf_counter()
    with pytest.raises(InputError) as refused:
        read_artifact(path)
    assert time.perf_counter() - start < MAX_SECONDS
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 500 + len(str(path))
    return str(refused.value)


def test_an_artifact_comes_back(path):
    """Kind, configuration, weights and facts are what they were, numbers of numpy as Python's own."""
    artifact = read_artifact(path, "toy")
    assert (artifact.kind, artifact.configuration) == ("toy", {"size": 2, "scale": 0.5})
    assert artifact.facts == {"steps": 7, "noise": {"scale": 0.25}, "shape": [1, 2]}
    assert type(artifact.facts["steps"]) is int
    assert torch.equal(artifact.weights["weight"], torch.tensor([1.0, 2.0]))
    assert artifact.path == path


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


def test_facts_that_json_lacks(tmp_path):
    """Numbers that are not finite or beyond 64 bits are kept as text, so that every file that is written is read."""
    facts = {"loss": float("inf"), "seed": 10**30, "nested": [{"x": float("nan")}]}
    save_model(Stored(**facts), tmp_path / "m.pt")
    assert read_artifact(tmp_path / "m.pt").facts == {"loss": "inf", "seed": "1" + "0" * 30, "nested": [{"x": "nan"}]}


def test_bytes_follow_from_the_model():
    """Equal models have equal files."""
    assert serialize_model(Stored(steps=1)) == serialize_model(Stored(steps=1)) != serialize_model(Stored(steps=2))


def test_a_file_is_not_written_over(path):
    """A file that exists stays, unless asked otherwise."""
    with pytest.raises(InputError, match="exists"):
        save_model(Stored(steps=2), path)
    assert path.read_bytes() == CONTENT
    save_model(Stored(steps=2), path, force=True)
    assert read_artifact(path).facts == {"steps": 2}


def test_another_kind(path):
    """A model of another kind is refused, and both kinds are named."""
    with pytest.raises(InputError, match=r"model' holds another kind of model, 'toy': .* of kind 'image model'\.$"):
        read_artifact(path, "image model")


@pytest.mark.parametrize("stored_format", ["deniable-model/1", "deniable-artifact/3", "deniable-\nx" + "y" * 500])
def test_another_version(path, stored_format):
    """A file of another version is refused in one line that names both formats."""
    refused = refuse(path, write_stored({"format": stored_format}))
    assert "was written by another version of deniable" in refused
    assert ARTIFACT_FORMAT in refused


class Malicious:
    """What makes a file when it is unpickled by a reader that trusts what it reads."""

    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return Path.touch, (self.target,)


def test_an_old_file(path, tmp_path):
    """A file of an earlier version is refused with what to do; nothing in it is executed."""
    stream = io.BytesIO()
    torch.save({"format": "deniable-artifact/1", "facts": Malicious(tmp_path / "made")}, stream)
    refused = refuse(path, stream.getvalue())
    assert "its format is that of an earlier version" in refused
    assert refused.endswith("train it again with this version.")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("content", [[1], {}, {"format": 1}, {"format": "other/1"}, None, "x", 3])
def test_no_model(path, content):
    """JSON of another form is not a model."""
    assert "is not a model" in refuse(path, write_stored(content))


@pytest.mark.parametrize("part", ["kind", "configuration", "weights", "facts"])
@pytest.mark.parametrize("value", [None, 3, [1]])
def test_parts_of_another_type(path, part, value):
    """A part of the wrong type, or a missing one, is a damaged model or none."""
    held = read_stored(CONTENT)
    refused = refuse(path, write_stored({**held, part: value}))
    assert ("is not a model" if (part, value) == ("weights", [1]) else f"({part} must be a") in refused
    del held[part]
    assert f"is a damaged model ('{part}')" in refuse(path, write_stored(held))


DESCRIPTION = b'{"format": "%s", "kind": "toy", "configuration": %s, "facts": {}, "weights": []}'


def describe(configuration):
    """Return a file with this text for its configuration."""
    return write_members([("model.json", DESCRIPTION % (ARTIFACT_FORMAT.encode(), configuration))])


@pytest.mark.parametrize(
    ("configuration", "message"),
    [
        (b"[" * 150_000 + b"]" * 150_000, "deep in each other"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "deep in each other"),
        (b"[" * 21 + b"]" * 21, "deep in each other"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "-Infinity"),
        (b'{"a": 1e999}', "not finite"),
        (b'{"a": 1' + b"0" * 1_000_000 + b"}", "an integer of 1,000,001 digits"),
        (b'{"a": 1e' + b"9" * 1_000_000 + b"}", "not finite"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b'{"a": "\xff"}', "not UTF-8"),
        (b'"' + b"x" * (1 << 25) + b'"', "more than 33,554,432 bytes"),
        (b"[" + b"[]," * 2_500_000 + b"1]", "more than 200,000 brackets"),
        (b"[" + b"1," * 4_000_000 + b"1]", "more than 1,000,000 values"),
        (b"{", "not JSON"),
    ],
)  # fmt: skip
def test_hostile_json_is_refused_at_once(path, configuration, message):
    """Deep nesting, numbers without end, names twice and too much text are one line, at once."""
    assert message in refuse(path, describe(configuration))


def pack_array(header, data=b""):
    """Return a file whose only weight has this header."""
    stored = b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + data
    description = DESCRIPTION.replace(b'"weights": []', b'"weights": ["w"]') % (ARTIFACT_FORMAT.encode(), b"{}")
    return write_members([("model.json", description), ("0.npy", stored)])


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }\n",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (" + b"9" * 18 + b"," + b"9" * 18 + b"), }\n",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (" + b"9" * 18 + b", 0), }\n",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (" + b"9" * 400 + b",), }\n",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (" + b"1," * 400 + b"), }\n",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }\n",
        b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n",
        b"{'descr': '<U1', 'fortran_order': False, 'shape': (0,), }\n",
        b"{'descr': '|S0', 'fortran_order': False, 'shape': (" + b"9" * 17 + b",), }\n",
        b"{'descr': '<f3', 'fortran_order': False, 'shape': (0,), }\n",
        b"{'descr': ('<f4', (1000000000,)), 'fortran_order': False, 'shape': (1,), }\n",
        b"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }\n",
        b"(" * 60_000,
        b"-" * 60_000 + b"1",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (" + b" " * 60_000 + b"), }\n",
        b"",
    ],
)
def test_hostile_arrays_are_refused_at_once(path, header):
    """Shapes without end, other types and headers to evaluate are one line, and no memory is taken for them."""
    assert "is not a model" in refuse(path, pack_array(header))


def test_a_header_that_is_read(path):
    """The array that those headers are changes of is read."""
    path.write_bytes(pack_array(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", b"\0" * 8))
    assert torch.equal(read_artifact(path).weights["w"], torch.zeros(2))


def test_compressed_files_are_refused_at_once(path):
    """A megabyte that would expand to a gigabyte, and any compression, is refused before it is read."""
    held = {**read_stored(CONTENT), "weights": {"w": torch.zeros(1 << 25)}}
    bomb = write_stored(held, compression=zipfile.ZIP_DEFLATED)
    assert len(bomb) < 1 << 20
    assert "expand to 134," in refuse(path, bomb)
    assert "compressed" in refuse(path, write_stored(read_stored(CONTENT), compression=zipfile.ZIP_DEFLATED))
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        assert "is not a model" in refuse(path, write_stored(read_stored(CONTENT), compression=method))


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
    yield "an array too many", append(CONTENT, "1.npy")
    yield "many members", write_members([*parts, *((f"{number}.npy", b"") for number in range(20_000))])
    twice = DESCRIPTION.replace(b'"weights": []', b'"weights": ["w", "w"]') % (ARTIFACT_FORMAT.encode(), b"{}")
    array = zipfile.ZipFile(io.BytesIO(CONTENT)).read("0.npy")
    yield "one weight twice", write_members([("model.json", twice), ("0.npy", array), ("1.npy", array)])


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
    assert "is not a model" in refuse(path, HOSTILE_ZIPS[what])


@settings(max_examples=300, deadline=MAX_SECONDS * 1_000)
@given(st.lists(st.tuples(st.integers(0, len(CONTENT) - 1), st.integers(0, 255)), max_size=4), st.data())
def test_whatever_is_changed(tmp_path_factory, edits, data):
    """Bytes replaced and spans cut, doubled or moved: the model that was written, or one line, in time."""
    content = bytearray(CONTENT)
    for place, byte in edits:
        content[place] = byte
    if data.draw(st.booleans()):
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(content))] * 2)))
        content[start:end] = data.draw(st.sampled_from([b"", bytes(content[start:end]) * 2, b"\xff" * 8]))
    path = tmp_path_factory.getbasetemp() / "changed.model"
    path.write_bytes(content)
    refused, facts = "", {}
    try:
        facts = read_artifact(path).facts
    except InputError as error:
        refused = str(error)
    assert "\n" not in refused
    assert isinstance(facts, dict)


def test_shapes_of_another_network():
    """A network that would be too large for any memory is refused, since its weights are not there."""
    weights = nn.Linear(2, 2).state_dict()
    check_weight_shapes(lambda: nn.Linear(2, 2), weights)
    with pytest.raises(ValueError, match="'weight' has another shape"):
        check_weight_shapes(lambda: nn.Linear(2**30, 2**30), weights)


def test_load_weights():
    """A network gets its weights and is ready to predict; weights that are not finite are refused."""
    network, source = nn.Linear(2, 2), nn.Linear(2, 2)
    load_weights(network, source.state_dict())
    assert torch.equal(network.weight, source.weight)
    assert not network.training
    with pytest.raises(InputError, match="weights that are not finite"):
        load_weights(network, {**source.state_dict(), "bias": torch.tensor([0.0, float("nan")])})

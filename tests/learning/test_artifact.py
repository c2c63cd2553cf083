"""The file of a model: what is stored comes back, and one line for whatever is wrong with a file."""

from pathlib import Path

import numpy as np
import pytest
import torch
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


@pytest.fixture
def path(tmp_path):
    save_model(Stored(steps=np.int64(7), noise={"scale": np.float32(0.25)}), tmp_path / "m.pt")
    return tmp_path / "m.pt"


def test_an_artifact_comes_back(path):
    """Kind, configuration, weights and facts are what they were, numbers of numpy as Python's own."""
    artifact = read_artifact(path, "toy")
    assert (artifact.kind, artifact.configuration) == ("toy", {"size": 2, "scale": 0.5})
    assert artifact.facts == {"steps": 7, "noise": {"scale": 0.25}}
    assert type(artifact.facts["steps"]) is int
    assert torch.equal(artifact.weights["weight"], torch.tensor([1.0, 2.0]))
    assert artifact.path == path


def test_bytes_follow_from_the_model():
    """Equal models have equal files."""
    assert serialize_model(Stored(steps=1)) == serialize_model(Stored(steps=1)) != serialize_model(Stored(steps=2))


def test_a_file_is_not_written_over(path):
    """A file that exists stays, unless asked otherwise."""
    before = path.read_bytes()
    with pytest.raises(InputError, match="exists"):
        save_model(Stored(steps=2), path)
    assert path.read_bytes() == before
    save_model(Stored(steps=2), path, force=True)
    assert read_artifact(path).facts == {"steps": 2}


def test_another_kind(path):
    """A model of another kind is refused, and both kinds are named."""
    with pytest.raises(InputError, match=r"m\.pt' holds another kind of model, 'toy': .* of kind 'image model'\.$"):
        read_artifact(path, "image model")


@pytest.mark.parametrize("stored_format", ["deniable-model/1", "deniable-artifact/2", "deniable-\nx" + "y" * 500])
def test_another_version(path, stored_format):
    """A file of another version is refused in one line that names both formats."""
    torch.save({"format": stored_format}, path)
    with pytest.raises(InputError, match="was written by another version of deniable") as raised:
        read_artifact(path)
    assert ARTIFACT_FORMAT in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1
    assert len(str(raised.value)) < 400 + len(str(path))


@pytest.mark.parametrize("content", [[1], {}, {"format": 1}, {"format": "other/1"}, torch.ones(2)])
def test_no_model(path, content):
    """Whatever else torch wrote is not a model."""
    torch.save(content, path)
    with pytest.raises(InputError, match="is not a model"):
        read_artifact(path)


@pytest.mark.parametrize("part", ["kind", "configuration", "weights", "facts"])
@pytest.mark.parametrize("value", [None, 3, [1]])
def test_parts_of_another_type(path, part, value):
    """A part of the wrong type, or a missing one, is a damaged model."""
    content = torch.load(path, weights_only=True)
    torch.save({**content, part: value}, path)
    with pytest.raises(InputError, match=rf"is a damaged model \({part} must be a"):
        read_artifact(path)
    del content[part]
    torch.save(content, path)
    with pytest.raises(InputError, match=rf"is a damaged model \('{part}'\)"):
        read_artifact(path)


class Malicious:
    """What makes a file when it is unpickled by a reader that trusts what it reads."""

    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return Path.touch, (self.target,)


@pytest.mark.parametrize("part", ["whole", "kind", "configuration", "weights", "facts"])
def test_nothing_is_executed(path, tmp_path, part):
    """A pickle that would make a file is refused wherever it stands, and makes none."""
    content = torch.load(path, weights_only=True)
    malicious = Malicious(tmp_path / "made")
    torch.save(malicious if part == "whole" else {**content, part: {"weight": malicious}}, path)
    with pytest.raises(InputError, match="is not a model"):
        read_artifact(path)
    assert not (tmp_path / "made").exists()
    torch.load(path, weights_only=False)
    assert (tmp_path / "made").exists()


def test_a_weight_that_is_larger_than_its_file(path):
    """A view that repeats one number billions of times is refused, before anything copies it."""
    content = torch.load(path, weights_only=True)
    torch.save({**content, "weights": {"weight": torch.zeros(1).expand(2**40)}}, path)
    with pytest.raises(InputError, match="'weight' is larger than what is stored of it"):
        read_artifact(path)


def test_shapes_of_another_network():
    """A network that would be too large for any memory is refused, since its weights are not there."""
    weights = nn.Linear(2, 2).state_dict()
    check_weight_shapes(lambda: nn.Linear(2, 2), weights)
    with pytest.raises(ValueError, match="'weight' has another shape"):
        check_weight_shapes(lambda: nn.Linear(2**30, 2**30), weights)


def test_weights_are_tensors(path):
    """A weight that is no tensor is a damaged model."""
    content = torch.load(path, weights_only=True)
    torch.save({**content, "weights": {"weight": [1.0]}}, path)
    with pytest.raises(InputError, match="the weight 'weight' must be a tensor, not list"):
        read_artifact(path)


def test_load_weights():
    """A network gets its weights and is ready to predict; weights that are not finite are refused."""
    network, source = nn.Linear(2, 2), nn.Linear(2, 2)
    load_weights(network, source.state_dict())
    assert torch.equal(network.weight, source.weight)
    assert not network.training
    with pytest.raises(InputError, match="weights that are not finite"):
        load_weights(network, {**source.state_dict(), "bias": torch.tensor([0.0, float("nan")])})

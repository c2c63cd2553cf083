"""Models in files: whatever is claimed of them comes back, and other bytes are refused."""

import dataclasses
import io
import math
import pickle

import pytest
import torch

from deniable import InputError
from deniable.core.evidence import Verdict, Witness
from deniable.core.guarantees import REPLACED_RECORD, ApproxDP, PureDP
from deniable.learning.artifact import save_model
from deniable.models.images.model import ImageModel, measure_image_accuracy
from deniable.models.images.networks import IMAGE_NETWORKS, ImageArchitecture, NetworkNoise
from deniable.models.images.pixeldp import PixelDP
from deniable.models.images.smoothing import GaussianSmoothing, LaplaceSmoothing
from deniable.published.dpal.certificate import DPALCertificate
from deniable.registry.models import load_image_model
from tests.models.images.random_images import images

VERDICT = Verdict(
    guarantee=PureDP(0.2, "a paper", "claimed", adjacency=REPLACED_RECORD),
    status="refuted",
    epsilon=math.inf,
    lower_bound=1.5,
    confidence=0.99,
    samples=1_000,
    witness=Witness("a", "b", "y", 1.0, math.inf, 7, 9),
    method="by hand",
    seconds=0.5,
)
NOISES = (
    NetworkNoise("input", "laplace", torch.tensor(0.5), torch.linspace(-1, 1, 784).view(1, 28, 28), (-4.5, 5.5)),
    NetworkNoise("first layer", "gaussian", torch.rand(4, 14, 14, generator=torch.Generator().manual_seed(0))),
)
CERTIFICATES = (
    None,
    GaussianSmoothing(0.25),
    LaplaceSmoothing(0.25),
    PixelDP(sigma=0.5, sensitivity=2.0),
    DPALCertificate(delta_r=4.0, m=10.0, eps1=0.1, mu=0.2, d=784, beta=6_272, theta1=1.0, psi=2.0),
)


def model(**given):
    """Return a model with some of it changed."""
    architecture = given.pop("architecture", ImageArchitecture("small", (1, 28, 28), 10, 0.25))
    held = {
        "trainer": "dp-sgd",
        "network": architecture.build(5).eval(),
        "noises": (),
        "guarantee": None,
        "verdict": None,
        "certificate": None,
        "facts": {"steps": 3, "options": {"epsilon": None, "network": "small"}, "seed": None},
    }
    return ImageModel(architecture=architecture, **{**held, **given})


def kept(made, folder):
    """Return a model after it has been in a file."""
    save_model(made, folder / "model.pt")
    return load_image_model(folder / "model.pt")


def scores(made, seed=0):
    """Return what a model says of some images, under given noise."""
    with torch.inference_mode():
        return made.scores(torch.Generator().manual_seed(seed))(images(7, made.architecture.shape).pixels[:5])


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("name", IMAGE_NETWORKS)
def test_networks_come_back(name, normalised, tmp_path):
    """Weights and running statistics of every network are the same bit for bit, and so are its scores."""
    architecture = ImageArchitecture(name, (3, 20, 22), 4, 0.25, normalised, 9)
    made = model(architecture=architecture)
    made.network.train()
    made.network(images(8, (3, 20, 22)).pixels)  # moves the statistics
    made.network.eval()
    found = kept(made, tmp_path)
    assert found.architecture == architecture
    assert not found.network.training
    weights, again = made.network.state_dict(), found.network.state_dict()
    assert weights.keys() == again.keys()
    assert all(torch.equal(value, again[key]) for key, value in weights.items())
    assert torch.equal(scores(found), scores(made))


@pytest.mark.parametrize("guarantee", [None, PureDP(0.2, "x", "refuted"), ApproxDP(1.0, 1e-5, "y", "claimed")])
@pytest.mark.parametrize(
    "verdict", [None, VERDICT, dataclasses.replace(VERDICT, witness=None, guarantee=ApproxDP(0.2, 1e-5, "a paper"))]
)
@pytest.mark.parametrize("certificate", CERTIFICATES, ids=lambda held: type(held).__name__)
def test_claims_come_back(guarantee, verdict, certificate, tmp_path):
    """Guarantee, verdict and certificate of every kind come back equal, with facts and noise."""
    made = model(guarantee=guarantee, verdict=verdict, certificate=certificate, noises=NOISES)
    found = kept(made, tmp_path)
    for name in ("trainer", "guarantee", "verdict", "certificate", "facts"):
        assert getattr(found, name) == getattr(made, name)
        assert type(getattr(found, name)) is type(getattr(made, name))
    for one, other in zip(found.noises, NOISES, strict=True):
        assert (one.place, one.law, one.bounds) == (other.place, other.law, other.bounds)
        assert torch.equal(one.scale, other.scale)
        assert (one.offset is None) == (other.offset is None)
    assert torch.equal(scores(found), scores(made))
    assert not torch.equal(scores(found, 1), scores(made))


def test_prediction_averages_the_noise():
    """The class with the largest mean score is told; a model without noise is asked once."""
    made = model(noises=NOISES[1:])
    given = images(7).pixels
    source = torch.Generator().manual_seed(3)
    total = sum(made.scores(source)(given).softmax(1) for _ in range(4))
    assert torch.equal(made.predict(given, torch.Generator().manual_seed(3), 4), total.argmax(1))
    calls = []
    plain = model()
    plain.network.register_forward_hook(lambda *_: calls.append(1))
    assert torch.equal(plain.predict(given, source)[:5], scores(plain).argmax(1))
    assert len(calls) == 2  # one for each of the two sides above


def test_accuracy_is_a_share_with_an_interval():
    """The share of images that get their label, the same at every call."""
    made, given = model(noises=NOISES[1:]), images(40)
    found = measure_image_accuracy(made, given, 3)
    assert found == measure_image_accuracy(made, given, 3)
    assert found.low < found.value < found.high or found.value == 0


def _flip(content):
    bias = next(value for key, value in _held(content)["weights"].items() if key == "first.weight")
    at = content.index(bias.numpy().tobytes())
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def _held(content):
    return torch.load(io.BytesIO(content), weights_only=True)


def _saved(held):
    stream = io.BytesIO()
    torch.save(held, stream)
    return stream.getvalue()


def _changed(content, **parts):
    held = _held(content)
    return _saved({**held, "configuration": {**held["configuration"], **parts}})


class _Evil:
    """Code that a pickle would run."""

    def __reduce__(self):
        return pytest.fail, ("code in a model file was run",)


DAMAGE = {
    "empty": lambda _: b"",
    "cut short": lambda content: content[: len(content) // 2],
    "a byte less": lambda content: content[:-1],
    "one bit of a weight": _flip,
    "a text": lambda _: b"not a model\n" * 100,
    "a pickle": lambda _: pickle.dumps(_Evil()),
    "code among the weights": lambda content: _saved({**_held(content), "facts": _Evil()}),
    "code alone": lambda _: _saved(_Evil()),
    "a tensor": lambda _: _saved(torch.ones(3)),
    "another dictionary": lambda _: _saved({"weights": {}}),
    "another version": lambda content: _saved({**_held(content), "format": "deniable-model/2"}),
    "no weights": lambda content: _saved({**_held(content), "weights": {}}),
    "weights that are text": lambda content: _saved({**_held(content), "weights": {"first.weight": "1"}}),
    "another size": lambda content: _changed(content, architecture={"name": "small"}),
    "unknown network": lambda content: _changed(
        content, architecture={"name": "large", "shape": (1, 28, 28), "classes": 10}
    ),
    "unknown guarantee": lambda content: _changed(content, guarantee={"kind": "MetricDP", "epsilon": 1}),
    "unknown certificate": lambda content: _changed(content, certificate={"kind": "Trust", "me": 1}),
    "noise of no law": lambda content: _changed(content, noises=[{"place": "input"}]),
    "a verdict of other fields": lambda content: _changed(content, verdict={"witness": None, "x": 1}),
    "noises that are none": lambda content: _changed(content, noises=3),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_other_bytes_are_refused(damage, tmp_path):
    """Damage, other files and code are refused in one line that names the file; nothing in them is run."""
    path = tmp_path / "model.pt"
    save_model(model(guarantee=PureDP(1.0, "x")), path)
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    with pytest.raises(InputError) as raised:
        load_image_model(path)
    assert "\n" not in str(raised.value)
    assert "model.pt" in str(raised.value)
    assert len(str(raised.value)) < 400 + len(str(path))


def test_a_file_that_is_not_there(tmp_path):
    """No file, or a folder, is one line."""
    with pytest.raises(InputError, match="There is no model"):
        load_image_model(tmp_path / "none.pt")
    with pytest.raises(InputError, match="is not a model"):
        load_image_model(tmp_path)


def test_a_model_is_not_written_over(tmp_path):
    """A file that exists stays as it is, unless asked otherwise; nothing is left beside it."""
    path = tmp_path / "model.pt"
    save_model(model(), path)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"model\.pt"):
        save_model(model(trainer="plain"), path)
    assert path.read_bytes() == before
    save_model(model(trainer="plain"), path, force=True)
    assert load_image_model(path).trainer == "plain"
    assert [held.name for held in tmp_path.iterdir()] == ["model.pt"]

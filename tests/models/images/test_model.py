"""Models in files: whatever is claimed of them comes back, and other bytes are refused."""

import io
import math
import pickle

import pytest
import torch

from deniable import InputError
from deniable.core.evidence import Verdict, Witness
from deniable.core.guarantees import REPLACED_RECORD, ApproxDP, PureDP
from deniable.learning.artifact import save_model, serialize_model
from deniable.models.images.model import ImageModel, measure_image_accuracy
from deniable.models.images.networks import IMAGE_NETWORKS, ImageArchitecture, NetworkNoise
from deniable.registry.models import load_image_model
from tests.learning.stored import read_stored, write_stored
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


def test_noise_comes_back(tmp_path):
    """Noise of every form comes back, with facts."""
    made = model(noises=NOISES)
    found = kept(made, tmp_path)
    assert (found.trainer, found.facts) == (made.trainer, made.facts)
    for one, other in zip(found.noises, NOISES, strict=True):
        assert (one.place, one.law, one.bounds) == (other.place, other.law, other.bounds)
        assert torch.equal(one.scale, other.scale)
        assert (one.offset is None) == (other.offset is None)
    assert torch.equal(scores(found), scores(made))
    assert not torch.equal(scores(found, 1), scores(made))


def test_a_file_makes_no_claim(tmp_path):
    """Guarantee and verdict stay with whoever trained the model: a file cannot show how that was done."""
    claims = {"guarantee": ApproxDP(1.0, 1e-5, "y", "proved"), "verdict": VERDICT}
    made = model(**claims)
    assert serialize_model(made) == serialize_model(model())
    found = kept(made, tmp_path)
    assert (found.guarantee, found.verdict, found.certificate) == (None, None, None)
    held = read_stored((tmp_path / "model.pt").read_bytes())
    held["configuration"] |= {"guarantee": {"kind": "PureDP", "epsilon": 0.1}, "verdict": {"status": "proved"}}
    (tmp_path / "model.pt").write_bytes(write_stored(held))
    found = load_image_model(tmp_path / "model.pt")
    assert (found.guarantee, found.verdict) == (None, None)


@pytest.mark.parametrize(
    ("part", "value"),
    [("place", "everywhere"), ("law", "cauchy"), ("bounds", [1.0, 0.0]), ("bounds", ["a", "b"]), ("bounds", 3)],
)
def test_noise_that_no_network_has(tmp_path, part, value):
    """Noise of an unknown place or law, or with bounds that are none, is a damaged model."""
    save_model(model(noises=NOISES), tmp_path / "model.pt")
    held = read_stored((tmp_path / "model.pt").read_bytes())
    held["configuration"]["noises"][0][part] = value
    (tmp_path / "model.pt").write_bytes(write_stored(held))
    with pytest.raises(InputError, match="is a damaged model"):
        load_image_model(tmp_path / "model.pt")


def test_more_noises_than_places(tmp_path):
    """Thousands of noises, each of which takes a pass through the network, are a damaged model at once."""
    save_model(model(noises=NOISES[1:] * 3), tmp_path / "model.pt")
    with pytest.raises(InputError, match="more noises than places for them"):
        load_image_model(tmp_path / "model.pt")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("part", "value"), [("classes", 0), ("shape", [0, 28, 28])])
def test_a_network_of_nothing(tmp_path, part, value):
    """A network without outputs or inputs is refused before torch warns of it."""
    held = read_stored(serialize_model(model()))
    held["configuration"]["architecture"][part] = value
    (tmp_path / "model.pt").write_bytes(write_stored(held))
    with pytest.raises(InputError, match="a size below 1"):
        load_image_model(tmp_path / "model.pt")


@pytest.mark.parametrize(
    "scale", [torch.tensor(-1.0), torch.tensor(float("nan")), torch.tensor(float("inf")), torch.ones(3), torch.ones(0)]
)
@pytest.mark.parametrize("name", ["noise 0.scale", "noise 0.offset", "noise 1.scale"])
def test_scales_that_no_noise_has(tmp_path, name, scale):
    """A scale that is negative, not finite or of another shape than its place is a damaged model."""
    save_model(model(noises=NOISES), tmp_path / "model.pt")
    held = read_stored((tmp_path / "model.pt").read_bytes())
    held["weights"][name] = scale
    (tmp_path / "model.pt").write_bytes(write_stored(held))
    if name == "noise 0.offset" and scale.numel() == 1 and scale.isfinite():
        assert load_image_model(tmp_path / "model.pt").noises[0].offset == scale
        return
    with pytest.raises(InputError, match="is a damaged model"):
        load_image_model(tmp_path / "model.pt")


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
    bias = next(value for key, value in read_stored(content)["weights"].items() if key == "first.weight")
    at = content.index(bias.numpy().tobytes())
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def _changed(content, **parts):
    held = read_stored(content)
    return write_stored({**held, "configuration": {**held["configuration"], **parts}})


def _save_by_torch(held):
    stream = io.BytesIO()
    torch.save(held, stream)
    return stream.getvalue()


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
    "code": lambda _: _save_by_torch(_Evil()),
    "a tensor": lambda _: _save_by_torch(torch.ones(3)),
    "another dictionary": lambda _: write_stored({"weights": {}}),
    "another version": lambda content: write_stored({**read_stored(content), "format": "deniable-model/2"}),
    "no weights": lambda content: write_stored({**read_stored(content), "weights": {}}),
    "weights that are text": lambda content: write_stored({**read_stored(content), "weights": {"first.weight": "1"}}),
    "classes that are no names": lambda content: write_stored({**read_stored(content), "facts": {"classes": [1]}}),
    "another size": lambda content: _changed(content, architecture={"name": "small"}),
    "unknown network": lambda content: _changed(
        content, architecture={"name": "large", "shape": (1, 28, 28), "classes": 10}
    ),
    "unknown certificate": lambda content: _changed(content, certificate={"kind": "Trust", "me": 1}),
    "noise of no law": lambda content: _changed(content, noises=[{"place": "input"}]),
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

"""Models in files: they predict and certify the same, claim nothing by themselves, and other bytes are refused."""

import dataclasses
import io
import pickle

import pytest
import torch

import deniable as dn
from tests.learning.stored import read_stored, write_stored
from tests.models.images.random_images import SMALL, data, fit, fitted, images
from tests.refusals import refuses

deep = pytest.mark.deep
NAN, INF = float("nan"), float("inf")
CERTIFIED = ["gaussian", "laplace", "pixeldp", "securesgd", "dpal"]


def certified(name):
    """Return a model with a certificate: a smoothed one by the law of its noise, or that of a trainer."""
    if name in {"gaussian", "laplace"}:
        return dn.images.smooth_image_model(fitted("plain"), 0.25, name)
    return fitted(name)


def kept(made, folder):
    """Return a model after it has been in a file."""
    dn.images.save_model(made, folder / "model.pt", force=True)
    return dn.images.load_image_model(folder / "model.pt")


def stored(made, folder):
    """Return what the file of a model holds."""
    dn.images.save_model(made, folder / "model.pt", force=True)
    return read_stored((folder / "model.pt").read_bytes())


def damaged(held, folder, value="model.pt", kind=dn.InputError):
    """Expect that a file that holds this is refused by one line."""
    (folder / "model.pt").write_bytes(held if isinstance(held, bytes) else write_stored(held))
    with refuses(value, kind=kind) as _:
        dn.images.load_image_model(folder / "model.pt")


def scores(made, seed=0):
    """Return what a model says of some images, under given noise."""
    with torch.inference_mode():
        return made.scores(torch.Generator().manual_seed(seed))(images(7, made.architecture.shape).pixels[:5])


@pytest.mark.parametrize(
    ("name", "network"),
    [("plain", "small"), ("adlm", "paper-mnist"), pytest.param("adlm", "paper-cifar10", marks=deep)],
)
def test_networks_come_back(name, network, tmp_path):
    """Weights and running statistics of a network are the same bit for bit, and so are its scores."""
    made = fitted(name, network=network)
    found = kept(made, tmp_path)
    assert found.architecture == made.architecture
    assert not found.network.training
    weights, again = made.network.state_dict(), found.network.state_dict()
    assert weights.keys() == again.keys()
    assert all(torch.equal(value, again[key]) for key, value in weights.items())
    assert torch.equal(scores(found), scores(made))


@pytest.mark.parametrize("name", CERTIFIED)
def test_noise_and_certificates_come_back(name, tmp_path):
    """Noise comes back, and the certificate is rebuilt from network, noise and its choices as it was."""
    made = certified(name)
    found = kept(made, tmp_path)
    assert (found.trainer, found.facts) == (made.trainer, made.facts)
    for one, other in zip(found.noises, made.noises, strict=True):
        assert (one.place, one.law, one.bounds) == (other.place, other.law, other.bounds)
        assert torch.equal(one.scale, other.scale)
        assert (one.offset is None) == (other.offset is None)
    assert torch.equal(scores(found), scores(made))
    assert not torch.equal(scores(found, 1), scores(made))
    assert type(found.certificate) is type(made.certificate)
    for field, value in vars(made.certificate).items():  # norms of layers differ in their last bits with the threads
        expected = pytest.approx(value, rel=1e-12) if isinstance(value, float) else value
        assert vars(found.certificate)[field] == expected
    assert found.certificate.source
    assert found.certificate.status in {"proved for ideal arithmetic", "undecided", "refuted"}
    assert found.certificate.norm in {"l1", "l2", "linf"}


@pytest.mark.parametrize("name", CERTIFIED)
def test_no_conclusion_in_a_file_is_believed(name, tmp_path):
    """Whatever a file states of a certificate beside its choices is refused, and so is a choice of another kind."""
    made = certified(name)
    held, choices = stored(made, tmp_path), {*made.certificate.choices}
    about = held["configuration"]["certificate"]
    assert about.keys() == choices | {"kind"}
    for field in sorted(field.name for field in dataclasses.fields(made.certificate)):
        wrong = {**about, field: "25" if field in choices else 25.0}
        damaged({**held, "configuration": {**held["configuration"], "certificate": wrong}}, tmp_path)
    if name == "dpal":  # its choice moves no scale that radii are measured in
        moved = {**held["configuration"], "certificate": {**about, "m": 500.0}}
        (tmp_path / "model.pt").write_bytes(write_stored({**held, "configuration": moved}))
        found = dn.images.load_image_model(tmp_path / "model.pt").certificate
        assert found.m * found.eps1 == pytest.approx(made.certificate.m * made.certificate.eps1)


@pytest.mark.parametrize("name", CERTIFIED)
def test_certificates_of_other_noise(name, tmp_path):
    """A certificate of noise that the model does not have, has twice or not alone, or of no scale, is refused."""
    made = certified(name)
    kind = type(made.noises[0])
    layer, pixels = (kind(place, "gaussian", torch.tensor(25.0)) for place in ("first layer", "input"))
    others = [
        (),
        (dataclasses.replace(layer, law="laplace"),),
        (pixels, pixels),
        (layer, layer),
        (dataclasses.replace(pixels, scale=torch.tensor(0.0)),),
        (dataclasses.replace(pixels, scale=torch.full(SMALL, 25.0)),),
    ]
    for noises in others:
        damaged(stored(dataclasses.replace(made, noises=noises), tmp_path), tmp_path)


def test_large_images_are_refused_at_once(tmp_path):
    """The norm of a first layer is not computed for images that would take minutes."""
    made = fitted("pixeldp")
    large = dataclasses.replace(made.architecture, shape=(1, 1_000, 1_000), width=0.01)
    network = large.build(0).eval()
    damaged(stored(dataclasses.replace(made, network=network), tmp_path), tmp_path, "takes too long")


def test_a_file_makes_no_claim(tmp_path):
    """Guarantee and verdict stay with whoever trained the model: a file cannot show how that was done."""
    made = fitted("dp-sgd")
    assert made.guarantee
    assert made.verdict
    dn.images.save_model(dataclasses.replace(made, verdict=None), tmp_path / "other.pt")
    found = kept(made, tmp_path)
    assert (found.guarantee, found.verdict, found.certificate) == (None, None, None)
    assert (tmp_path / "model.pt").read_bytes() == (tmp_path / "other.pt").read_bytes()
    held = stored(made, tmp_path)
    held["configuration"] |= {"guarantee": {"kind": "PureDP", "epsilon": 0.1}, "verdict": {"status": "proved"}}
    (tmp_path / "model.pt").write_bytes(write_stored(held))
    found = dn.images.load_image_model(tmp_path / "model.pt")
    assert (found.guarantee, found.verdict) == (None, None)


@pytest.mark.parametrize(
    ("part", "value"),
    [("place", "everywhere"), ("law", "cauchy"), ("bounds", [1.0, 0.0]), ("bounds", ["a", "b"]), ("bounds", 3)],
)
def test_noise_that_no_network_has(tmp_path, part, value):
    """Noise of an unknown place or law, or with bounds that are none, is a damaged model."""
    held = stored(dataclasses.replace(certified("dpal"), certificate=None), tmp_path)
    held["configuration"]["noises"][0][part] = value
    damaged(held, tmp_path)


def test_scales_that_no_noise_has(tmp_path):
    """A scale or offset that is negative, not finite or of another shape, and noises without places, are damage."""
    made = dataclasses.replace(certified("dpal"), certificate=None)
    held = stored(made, tmp_path)
    for name in [name for name in held["weights"] if name.startswith("noise ")]:
        for wrong in (torch.tensor(NAN), torch.tensor(INF), torch.ones(3), torch.ones(0), torch.tensor(-1.0)):
            if not (name.endswith("offset") and wrong.numel() == 1 and wrong.isfinite()):
                damaged({**held, "weights": {**held["weights"], name: wrong}}, tmp_path)
    damaged(stored(dataclasses.replace(made, noises=made.noises[1:] * 3), tmp_path), tmp_path, "more noises")


def test_prediction_averages_the_noise():
    """The class with the largest mean score is told; a model without noise is asked once; accuracy is a share."""
    noisy = dataclasses.replace(certified("gaussian"), certificate=None)
    given = images(7, SMALL, 3)
    source = torch.Generator().manual_seed(3)
    total = sum(noisy.scores(source)(given.pixels).softmax(1) for _ in range(4))
    assert torch.equal(noisy.predict(given.pixels, torch.Generator().manual_seed(3), 4), total.argmax(1))
    calls, plain = [], fit("plain")
    plain.network.register_forward_hook(lambda *_: calls.append(1))
    predicted = plain.predict(given.pixels, source)
    assert len(calls) == 1
    assert torch.equal(predicted[:5], scores(plain).argmax(1))
    right = dn.images.LabelledImages(given.pixels, predicted)
    assert dn.images.measure_image_accuracy(plain, right).value == 1
    found = dn.images.measure_image_accuracy(noisy, given, 3)
    assert found == dn.images.measure_image_accuracy(noisy, given, 3)
    assert found.low <= found.value <= found.high


def _flip(content):
    weight = read_stored(content)["weights"]["first.weight"]
    at = content.index(weight.numpy().tobytes())
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def _changed(content, **parts):
    held = read_stored(content)
    return write_stored({**held, "configuration": {**held["configuration"], **parts}})


def _with(**parts):
    return lambda content: write_stored({**read_stored(content), **parts})


def _save_by_torch(held):
    stream = io.BytesIO()
    torch.save(held, stream)
    return stream.getvalue()


class _Evil:
    """Code that a pickle would run."""

    def __reduce__(self):
        return pytest.fail, ("code in a model file was run",)


LARGE = {"name": "large", "shape": (1, 28, 28), "classes": 10}
DAMAGE = {
    "empty": lambda _: b"",
    "cut short": lambda content: content[: len(content) // 2],
    "a byte less": lambda content: content[:-1],
    "one bit of a weight": _flip,
    "a text": lambda _: b"not a model\n" * 100,
    "a pickle": lambda _: pickle.dumps(_Evil()),
    "code": lambda _: _save_by_torch(_Evil()),
    "another dictionary": lambda _: write_stored({"weights": {}}),
    "another version": _with(format="deniable-model/2"),
    "no weights": _with(weights={}),
    "weights that are text": _with(weights={"first.weight": "1"}),
    "classes that are no names": _with(facts={"classes": [1]}),
    "another size": lambda content: _changed(content, architecture={"name": "small"}),
    "unknown network": lambda content: _changed(content, architecture=LARGE),
    "no classes": lambda content: _changed(content, architecture={**LARGE, "name": "small", "classes": 0}),
    "no channels": lambda content: _changed(content, architecture={**LARGE, "name": "small", "shape": (0, 28, 28)}),
    "unknown certificate": lambda content: _changed(content, certificate={"kind": "Trust", "me": 1}),
    "noise of no law": lambda content: _changed(content, noises=[{"place": "input"}]),
    "noises that are none": lambda content: _changed(content, noises=3),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("damage", DAMAGE)
def test_other_bytes_are_refused(damage, tmp_path):
    """Damage, other files and code are refused in one line that names the file; nothing in them is run."""
    dn.images.save_model(fitted("plain"), tmp_path / "model.pt")
    damaged(DAMAGE[damage]((tmp_path / "model.pt").read_bytes()), tmp_path)


def test_files_that_are_there_or_not(tmp_path):
    """No file, or a folder, is one line; a file that exists stays unless asked otherwise, and nothing is beside it."""
    for path in (tmp_path / "none.pt", tmp_path):
        with refuses(path.name):
            dn.images.load_image_model(path)
    path = tmp_path / "model.pt"
    dn.images.save_model(fitted("plain"), path)
    before = path.read_bytes()
    with refuses("model.pt"):
        dn.images.save_model(fitted("dp-sgd"), path)
    assert path.read_bytes() == before
    dn.images.save_model(fitted("dp-sgd"), path, force=True)
    assert dn.images.load_image_model(path).trainer == "dp-sgd"
    assert [held.name for held in tmp_path.iterdir()] == ["model.pt"]


def test_certificates_of_no_kind_cannot_be_saved(tmp_path):
    """A certificate that nothing could rebuild is refused before anything is written."""
    with refuses("SimpleCertificate"):
        dn.images.save_model(
            dataclasses.replace(fitted("plain"), certificate=type("SimpleCertificate", (), {"choices": ()})()),
            tmp_path / "model.pt",
        )
    assert not any(tmp_path.iterdir())


def test_data_sets_are_told_apart_by_what_is_trained_on():
    """A part of a data set has another fingerprint than the whole, without anybody's doing, and none can be changed."""
    whole = data(30, SMALL, 3)
    assert (
        dataclasses.replace(whole, train=whole.test).fingerprint != whole.fingerprint == data(30, SMALL, 3).fingerprint
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        whole.name = "other"

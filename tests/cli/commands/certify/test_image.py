"""``deniable certify image``: true shares, refusals in one line, and certificates that are refuted when false."""

import dataclasses
import io
import json
import pickle
import zipfile

import numpy as np
import pytest
import torch

import deniable as dn
from tests.cli.commands.train.helpers import fails, read_json
from tests.cli.image_models import images

QUICK = ("--draws", "100")
SMOOTHED = ("--noise", "0.1", *QUICK)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Return a model without noise that is right on the test images."""
    data = dn.images.read_images(images(tmp_path_factory.mktemp("model") / "images.npz"))
    system = dn.images.IMAGE_TRAINERS["plain"]
    options = system.choose_options(steps=60, width=0.3, learning_rate=0.01)
    found = dn.images.fit_image_model(system, data, options, seed=1)
    assert dn.images.measure_image_accuracy(found, data.test).value == 1
    return found


@pytest.fixture
def certify(call, place, model):
    """Return a function that certifies m.pt on images.npz, unless told otherwise."""
    images(place / "images.npz")
    dn.images.save_model(model, place / "m.pt")
    return lambda *options, path="m.pt", data="images.npz": call("certify", "image", path, data, *options)


def shares(result):
    """Return the certified accuracy of each line, in percent, by radius."""
    lines = [line for line in result.text.splitlines() if " radius above " in line]
    pairs = [line.split(" radius above ")[1].split(": certified accuracy ") for line in lines]
    return {float(radius): float(share.split("%")[0]) for radius, share in pairs}


def test_what_is_printed(certify):
    """The certificate, its status and source come first, then shares that fall with the radius."""
    result = certify(*SMOOTHED)
    assert result.code == 0
    first, *_ = result.text.splitlines()
    source = "GaussianSmoothing: proved for ideal arithmetic (Cohen et al. 2019, Theorem 1)"
    assert first == f"{source}; 12 images, 100 draws, alpha 0.001"
    found = shares(result)
    assert list(found) == sorted(found)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert found[0.0] == 100.0
    assert result.text.splitlines()[-1] == "noise: fresh"


def test_noise_is_fresh_unless_a_seed_is_given(certify, place):
    """Two runs draw other noise; a seed repeats a run, and the result says for which models alpha then holds."""
    radii = []
    for number, options in enumerate([(), (), ("--seed", "7"), ("--seed", "7")]):
        result = certify("--noise", "1", *QUICK, *options, "-o", f"{number}.json")
        record = read_json(place / f"{number}.json")
        radii.append([image["radius"] for image in record["images"]])
        assert record["seed"] == (7 if options else None)
        assert ("noise: seed 7; alpha holds for models that were made without" in result.text) == bool(options)
    assert radii[0] != radii[1]
    assert radii[2] == radii[3]


def test_a_model_of_seed_0_is_not_certified(certify, monkeypatch):
    """A model that is wrong everywhere but under the draws of seed 0 is certified as right by these alone."""
    scores = dn.images.ImageModel.scores

    def memorise(self, generator):
        honest = scores(self, generator)
        return honest if generator.initial_seed() == 0 else lambda images: -honest(images)

    monkeypatch.setattr(dn.images.ImageModel, "scores", memorise)
    assert shares(certify(*SMOOTHED, "--seed", "0"))[0.0] == 100.0
    assert shares(certify(*SMOOTHED))[0.0] == 0.0


def test_json(certify, place):
    """The record, for its owner alone, holds every image, and its shares are those of its radii; inf is a text."""
    assert certify(*SMOOTHED, "--radius", "0.1", "-o", "c.json").code == 0
    assert certify(*SMOOTHED, "--radius", "inf", "--limit", "1", "-o", "d.json").code == 0
    assert read_json(place / "d.json")["certified accuracy"][0]["radius"] == "inf"
    assert (place / "c.json").stat().st_mode & 0o777 == 0o600
    record = read_json(place / "c.json")
    assert (record["model"], record["norm"], record["status"]) == ("plain", "l2", "proved for ideal arithmetic")
    assert record["certificate"] == {"kind": "GaussianSmoothing", "sigma": 0.1, "runner_up": "complement"}
    labels = np.load(place / "images.npz")["y_test"].tolist()
    assert [image["label"] for image in record["images"]] == labels
    right = [image["certified"] == image["label"] and image["radius"] > 0.1 for image in record["images"]]
    [point] = record["certified accuracy"]
    assert (point["radius"], point["value"], point["count"]) == (0.1, np.mean(right), 12)


def test_other_laws_and_sizes(certify):
    """Laplace noise certifies in l1; --limit takes the first images; radii of any size are told apart; pipes."""
    result = certify(*SMOOTHED, "--noise-law", "laplace", "--limit", "5")
    assert result.text.startswith("LaplaceSmoothing: proved for ideal arithmetic (")
    assert "l1 radius above 0: " in result.text
    assert "; 5 images, " in result.text
    found = shares(certify("--noise", "1e-20", *QUICK))
    assert len(found) > 2
    assert max(found) > 0
    piped = certify(*SMOOTHED, "--limit", "9" * 20, "-o", "-")
    assert (json.loads(piped.text)["draws"], len(json.loads(piped.text)["images"])) == (100, 12)


def test_one_draw_certifies_nothing(certify):
    """One draw is too few for any certificate, and the attack then says that there is nothing to refute."""
    result = certify("--noise", "0.1", "--draws", "1", "--attack-count", "4")
    assert result.code == 0
    assert shares(result) == {0.0: 0.0}
    assert result.text.splitlines()[-1] == "attack: not refuted: nothing is certified"


@pytest.mark.parametrize(("factor", "code"), [(1, 0), (50, 1)])
def test_a_false_certificate_is_refuted(certify, place, model, monkeypatch, factor, code):
    """The attack refutes a certificate of more noise than there is, and no other: exit code 1."""
    smoothed = dn.images.smooth_image_model(model, 0.1)
    kind = type(smoothed.certificate)
    monkeypatch.setattr(kind, "from_network", lambda _, __, noises, **___: kind(factor * float(noises[0].scale)))
    dn.images.save_model(smoothed, place / "held.pt")
    result = certify(*QUICK, "--attack-count", "4", path="held.pt")
    assert result.code == code
    assert result.text.splitlines()[-1].startswith("attack: refuted: 4 of 4" if code else "attack: not refuted: 0 of 4")
    fails(certify(*SMOOTHED, path="held.pt"), "--noise")  # it has noise of its own


def test_dpals_certificate_may_fail(certify, call):
    """A certificate that is known to be false is not refuted anew: exit code 0."""
    options = ["--kind", "dpal", "--epsilon", "1", "--steps", "2", "--width", "0.1", "-o", "dpal.pt"]
    assert call("train", "image", "images.npz", *options).code == 0
    result = certify("--draws", "200", "--attack-count", "2", path="dpal.pt")
    assert result.code == 0
    assert result.text.startswith("DPALCertificate: refuted (claimed by Phan et al. 2020")


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ([], "--noise"),
        (["--noise", "0"], "0.0"),
        (["--noise", "1e300"], "1e+300"),
        ([*SMOOTHED, "--alpha", "1"], "'alpha'"),
        (["--noise-law", "laplace"], "--noise"),
        ([*SMOOTHED, "-o", "m.pt", "--force"], "'m.pt'"),
        ([*SMOOTHED, "-o", "images.npz", "--force"], "'images.npz'"),
    ],
)
def test_options_that_cannot_be_used(certify, options, value):
    """Options outside their domains are one line."""
    fails(certify(*options), value)


class Code:
    """What runs code when it is unpickled."""

    def __reduce__(self):
        return (exec, ("open('ran', 'w').close()",))


def write_old_file():
    """Return a file as earlier versions wrote them, with code in it."""
    stream = io.BytesIO()
    torch.save({"format": "deniable-artifact/1", "facts": Code()}, stream)
    return stream.getvalue()


def describe(content, **changes):
    """Return the bytes of a model's file with changes to its description."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            held = old.read(name)
            new.writestr(name, json.dumps({**json.loads(held), **changes}) if name == "model.json" else held)
    return stream.getvalue()


def configure(content, **changes):
    """Return the bytes of a model's file with changes to its configuration."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        configuration = json.loads(archive.read("model.json"))["configuration"]
    return describe(content, configuration={**configuration, **changes})


CONTENTS = {
    "empty": lambda _: b"",
    "cut short": lambda held: held[: len(held) // 2],
    "a byte changed": lambda held: held[:999] + bytes([held[999] ^ 1]) + held[1000:],
    "a pickle": lambda _: pickle.dumps(Code()),
    "code": lambda _: write_old_file(),
    "another format": lambda held: describe(held, format="deniable-artifact/0"),
    "facts": lambda held: describe(held, facts=5),
    "architecture": lambda held: configure(held, architecture=[]),
    "a radius": lambda held: configure(held, certificate={"kind": "GaussianSmoothing", "sigma": 25.0}),
}


@pytest.mark.parametrize("kind", CONTENTS)
def test_files_that_are_no_model(certify, place, kind):
    """Whatever is no model, or states a radius, is refused by name, and nothing in it is executed."""
    (place / "bad.pt").write_bytes(CONTENTS[kind]((place / "m.pt").read_bytes()))
    fails(certify(*SMOOTHED, path="bad.pt"), "'bad.pt'")
    assert not (place / "ran").exists()


def test_paths_that_are_no_model(certify, place):
    """A folder and a file that is not there are refused by name."""
    (place / "folder").mkdir()
    for name in ("folder", "none"):
        fails(certify(*SMOOTHED, path=name), f"'{name}'")


def test_a_file_cannot_claim_a_radius(certify, place, model):
    """A certificate of another size than the noise in the file is refused."""
    dn.images.save_model(dn.images.smooth_image_model(model, 0.1), place / "noisy.pt")
    stated = {"kind": "GaussianSmoothing", "sigma": 25.0, "runner_up": "complement"}
    (place / "bad.pt").write_bytes(configure((place / "noisy.pt").read_bytes(), certificate=stated))
    fails(certify(*QUICK, path="bad.pt"), "GaussianSmoothing")
    assert certify(*QUICK, "--attack-count", "4", path="noisy.pt").code == 0


@pytest.mark.parametrize(("weight", "value"), [(float("nan"), "not finite"), (3e38, "not finite")])
def test_weights_that_are_no_numbers(certify, place, model, weight, value):
    """A model whose weights or scores are no numbers certifies nothing."""
    broken = model.architecture.build(0).eval()
    for weights in broken.parameters():
        weights.data.fill_(weight)
    dn.images.save_model(dataclasses.replace(model, network=broken), place / "bad.pt")
    fails(certify(*SMOOTHED, path="bad.pt"), value)


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ({"shape": (20, 24)}, "(1, 20, 24)"),
        ({"shape": (16, 16, 3)}, "(3, 16, 16)"),
        ({"classes": 4}, "0, 1, 2, 3"),
        ({"y_train": np.arange(24) % 3 + 5, "y_test": np.arange(12) % 3 + 5}, "5, 6, 7"),
        ({"y_test": None}, "'y_test'"),
    ],
)
def test_other_data(certify, place, changes, value):
    """Images of another shape, or of classes that only seem the same, are refused."""
    images(place / "other.npz", **changes)
    fails(certify(*SMOOTHED, data="other.npz"), value)

"""``deniable certify image``: true shares, refusals in one line, and certificates that are refuted when false."""

import io
import json
import pickle

import numpy as np
import pytest
import torch

from deniable.learning.artifact import ARTIFACT_FORMAT, save_model, serialize_model
from deniable.models.images.certification import smooth_image_model
from deniable.models.images.model import ImageModel, measure_image_accuracy
from deniable.models.images.reading import read_images
from deniable.models.images.smoothing import GaussianSmoothing
from deniable.models.images.training.fitting import fit_image_model
from deniable.registry.models import load_image_model
from deniable.registry.trainers import IMAGE_TRAINERS
from tests.cli.image_models import images
from tests.learning.stored import read_stored, write_stored

QUICK = ("--draws", "100")
SMOOTHED = ("--noise", "0.1", *QUICK)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Return a model without noise that is right on the test images."""
    data = read_images(images(tmp_path_factory.mktemp("model") / "images.npz"))
    system = IMAGE_TRAINERS["plain"]
    found = fit_image_model(system, data, system.choose_options(steps=60, width=0.3, learning_rate=0.01), seed=1)
    assert measure_image_accuracy(found, data.test).value == 1
    return found


@pytest.fixture
def certify(call, place, model):
    """Return a function that certifies m.pt on images.npz, unless told otherwise."""
    images(place / "images.npz")
    save_model(model, place / "m.pt")
    return lambda *options, path="m.pt", data="images.npz": call("certify", "image", path, data, *options)


def shares(result):
    """Return the certified accuracy of each line, in percent, by radius."""
    lines = [line for line in result.text.splitlines() if " radius above " in line]
    pairs = [line.split(" radius above ")[1].split(": certified accuracy ") for line in lines]
    return {float(radius): float(share.split(" %")[0]) for radius, share in pairs}


def test_what_is_printed(certify):
    """The certificate, its status and source come first, then shares that fall with the radius."""
    result = certify(*SMOOTHED)
    assert (result.code, result.err) == (0, "")
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
    loud = ("--noise", "1", *QUICK)
    radii = []
    for number, options in enumerate([(), (), ("--seed", "7"), ("--seed", "7")]):
        result = certify(*loud, *options, "-o", f"{number}.json")
        record = json.loads((place / f"{number}.json").read_text())
        radii.append([image["radius"] for image in record["images"]])
        assert record["seed"] == (7 if options else None)
        assert ("noise: seed 7; alpha holds for models that were made without" in result.text) == bool(options)
    assert radii[0] != radii[1]
    assert radii[2] == radii[3]


def test_a_model_of_seed_0_is_not_certified(certify, monkeypatch):
    """A model that is wrong everywhere but under the draws of seed 0 is certified as right by these alone."""
    scores = ImageModel.scores

    def memorise(self, generator):
        honest = scores(self, generator)
        return honest if generator.initial_seed() == 0 else lambda images: -honest(images)

    monkeypatch.setattr(ImageModel, "scores", memorise)
    assert shares(certify(*SMOOTHED, "--seed", "0"))[0.0] == 100.0
    assert shares(certify(*SMOOTHED))[0.0] == 0.0


def test_json(certify, place):
    """The record holds every image, and its shares are those of its radii."""
    assert certify(*SMOOTHED, "--radius", "0.1", "-o", "c.json").code == 0
    assert (place / "c.json").stat().st_mode & 0o777 == 0o600  # it tells of each image
    record = json.loads((place / "c.json").read_text())
    assert (record["model"], record["norm"], record["status"]) == ("plain", "l2", "proved for ideal arithmetic")
    assert record["certificate"] == {"kind": "GaussianSmoothing", "sigma": 0.1, "runner_up": "complement"}
    labels = np.load(place / "images.npz")["y_test"].tolist()
    assert [image["label"] for image in record["images"]] == labels
    right = [image["certified"] == image["label"] and image["radius"] > 0.1 for image in record["images"]]
    [point] = record["certified accuracy"]
    assert (point["radius"], point["value"], point["count"]) == (0.1, np.mean(right), 12)


def test_json_has_no_infinity(certify, place):
    """An infinite radius is text in JSON, which has no infinity."""
    assert certify(*SMOOTHED, "--radius", "inf", "-o", "c.json").code == 0

    def refuse(constant):
        raise ValueError(constant)

    record = json.loads((place / "c.json").read_text(), parse_constant=refuse)
    assert record["certified accuracy"][0]["radius"] == "inf"


def test_json_to_a_pipe(certify):
    """With - for the output stdout is JSON and nothing else."""
    result = certify(*SMOOTHED, "-o", "-")
    assert json.loads(result.text)["draws"] == 100
    assert "radius above 0: certified accuracy" in result.err


def test_limit(certify):
    """--limit takes the first images, and all where it is larger."""
    assert "; 5 images, " in certify(*SMOOTHED, "--limit", "5").text
    seeded = (*SMOOTHED, "--seed", "1")
    assert certify(*seeded, "--limit", "9" * 20) == certify(*seeded)


def test_laplace(certify):
    """Laplace noise certifies in l1."""
    result = certify(*SMOOTHED, "--noise-law", "laplace")
    assert result.text.startswith("LaplaceSmoothing: proved for ideal arithmetic (")
    assert "l1 radius above 0: " in result.text


def test_one_draw_certifies_nothing(certify):
    """One draw is too few for any certificate."""
    assert shares(certify("--noise", "0.1", "--draws", "1")) == {0.0: 0.0}


def test_nothing_certified_is_nothing_to_refute(certify):
    """The attack on a model of which nothing is certified says so."""
    result = certify("--noise", "0.1", "--draws", "1", "--attack-count", "4")
    assert (result.code, result.err) == (0, "")
    assert result.text.splitlines()[-1] == "attack: not refuted: nothing is certified"


def test_tiny_noise(certify):
    """Radii of any size are told apart, each printed once."""
    found = shares(certify("--noise", "1e-20", *QUICK))
    assert len(found) > 2
    assert max(found) > 0


@pytest.mark.parametrize(("factor", "code"), [(1, 0), (50, 1)])
def test_a_false_certificate_is_refuted(certify, place, model, monkeypatch, factor, code):
    """The attack refutes a certificate of more noise than there is, and no other: exit code 1."""
    monkeypatch.setattr(
        GaussianSmoothing,
        "from_network",
        lambda _network, _shape, noises, **_: GaussianSmoothing(factor * float(noises[0].scale)),
    )
    (place / "held.pt").write_bytes(serialize_model(smooth_image_model(model, 0.1)))
    result = certify(*QUICK, "--attack-count", "4", path="held.pt")
    assert (result.code, result.err) == (code, "")
    assert result.text.splitlines()[-1].startswith("attack: refuted: 4 of 4" if code else "attack: not refuted: 0 of 4")


def edit_stored(path, edit):
    """Edit what a model's file holds."""
    held = read_stored(path.read_bytes())
    edit(held)
    path.write_bytes(write_stored(held))


def test_a_file_cannot_claim_a_radius(certify, place, model):
    """A certificate stated by the file is refused; more noise in it is more noise that is drawn."""
    save_model(smooth_image_model(model, 0.1), place / "noisy.model")
    honest = shares(certify(*QUICK, path="noisy.model"))
    edit_stored(place / "noisy.model", lambda held: held["configuration"]["certificate"].update(sigma=25.0))
    refused = certify(*QUICK, path="noisy.model")
    assert refused.code == 2
    assert "A stored GaussianSmoothing has other parameters" in refused.err
    save_model(smooth_image_model(model, 0.1), place / "noisy.model", force=True)
    edit_stored(place / "noisy.model", lambda held: held["weights"]["noise 0.scale"].fill_(25.0))
    drowned = shares(certify(*QUICK, path="noisy.model"))
    assert honest != drowned
    assert certify(*QUICK, "--attack-count", "4", path="noisy.model").code == 0


def test_dpals_certificate_may_fail(certify, call):
    """A certificate that is known to be false is not refuted anew: exit code 0."""
    options = ["--kind", "dpal", "--epsilon", "1", "--steps", "2", "--width", "0.1", "-o", "dpal.pt"]
    assert call("train", "image", "images.npz", *options).code == 0
    result = certify("--draws", "200", "--attack-count", "2", path="dpal.pt")
    assert result.code == 0
    assert result.text.startswith("DPALCertificate: refuted (claimed by Phan et al. 2020")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "The model plain is deterministic, and has no certificate: give --noise, for example 0.25, to smooth it."),
        (["--noise", "0"], "The 'noise' parameter of smoothing must be a float in [1e-30, 1e+30]. Got 0.0."),
        (["--noise", "nan"], "Got nan."),
        (["--noise", "1e300"], "Got 1e+300."),
        ([*SMOOTHED, "--alpha", "0"], "The 'alpha' parameter of a certificate must be a float in (0, 1). Got 0.0."),
        ([*SMOOTHED, "--alpha", "1"], "Got 1.0."),
        ([*SMOOTHED, "--draws", "0"], "Invalid value for '--draws': it must be greater than or equal to 1. Got 0."),
        ([*SMOOTHED, "--limit", "0"], "Invalid value for '--limit': it must be greater than or equal to 1. Got 0."),
        (
            [*SMOOTHED, "--attack-count", "-1"],
            "Invalid value for '--attack-count': it must be greater than or equal to 0. Got -1.",
        ),
        (
            [*SMOOTHED, "--radius", "-1"],
            "Invalid value for '--radius': it must be greater than or equal to 0. Got -1.",
        ),
        (
            [*SMOOTHED, "--radius", "nan"],
            "Invalid value for '--radius': it must be greater than or equal to 0. Got nan.",
        ),
        ([*SMOOTHED, "--noise-law", "cauchy"], "'cauchy' is not one of gaussian, laplace."),
        (["--noise-law", "laplace"], "--noise-law laplace is the law of --noise: give it"),
        ([*SMOOTHED, "-o", "in.csv"], "The output 'in.csv' exists"),
        ([*SMOOTHED, "-o", "none/c.json"], "The folder of the output 'none/c.json' does not exist"),
        ([*SMOOTHED, "-o", "m.pt", "--force"], "The output 'm.pt' is a file that is read"),
        ([*SMOOTHED, "-o", "images.npz", "--force"], "The output 'images.npz' is a file that is read"),
    ],
)
def test_options_that_cannot_be_used(certify, refused, options, message):
    """Options outside their domains are one line, and nothing is written."""
    refused.given()
    assert message in refused(certify(*options))


def test_noise_twice(certify, refused, place, model):
    """A model with noise of its own takes no other."""
    save_model(smooth_image_model(model, 0.1), place / "noisy.model")
    refused.given()
    message = "The model plain already has noise: certify it without --noise."
    assert refused(certify(*SMOOTHED, path="noisy.model")) == message


class Code:
    """What runs code when it is unpickled."""

    def __reduce__(self):
        return (exec, ("open('ran', 'w').close()",))


def archive(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def write_old_file():
    """Return a file as earlier versions wrote them, with code in it."""
    stream = io.BytesIO()
    torch.save({"format": "deniable-artifact/1", "facts": Code()}, stream)
    return stream.getvalue()


CONTENTS = {
    "empty": lambda _: b"",
    "an image": lambda _: b"\x89PNG\r\n\x1a\n",
    "cut short": lambda held: held[: len(held) // 2],
    "a byte changed": lambda held: held[:999] + bytes([held[999] ^ 1]) + held[1000:],
    "an archive of numpy": lambda _: archive(x_train=np.zeros(3)),
    "a pickle": lambda _: pickle.dumps(Code()),
    "code": lambda _: write_old_file(),
    "another format": lambda _: write_stored({"format": "deniable-artifact/0"}),
    "a list": lambda _: write_stored([1]),
    "nothing but its format": lambda _: write_stored({"format": ARTIFACT_FORMAT}),
}


@pytest.mark.parametrize("kind", CONTENTS)
def test_files_that_are_no_model(certify, refused, place, kind):
    """Whatever is no model is refused by name, and nothing in it is executed."""
    (place / "bad.pt").write_bytes(CONTENTS[kind]((place / "m.pt").read_bytes()))
    refused.given()
    assert "'bad.pt'" in refused(certify(*SMOOTHED, path="bad.pt"))
    assert not (place / "ran").exists()


def test_paths_that_are_no_model(certify, refused, place):
    """A folder and a file that is not there are refused by name."""
    (place / "folder").mkdir()
    refused.given()
    assert refused(certify(*SMOOTHED, path="folder")).startswith("'folder' is not a model: Is a directory.")
    assert refused(certify(*SMOOTHED, path="none")).startswith("There is no model 'none'")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("facts", 5),
        ("noises", 5),
        ("architecture", []),
        ("certificate", {"kind": "GaussianSmoothing", "runner_up": "complement"}),
        ("certificate", {"kind": "GaussianSmoothing", "sigma": 1.0}),
    ],
)
def test_models_with_parts_that_do_not_fit(certify, refused, place, name, value):
    """A file of the right form with a part that is wrong is a damaged model."""
    held = read_stored((place / "m.pt").read_bytes())
    changed = {"facts": value} if name == "facts" else {"configuration": {**held["configuration"], name: value}}
    (place / "bad.pt").write_bytes(write_stored({**held, **changed}))
    refused.given()
    assert refused(certify(*SMOOTHED, path="bad.pt")).startswith("'bad.pt' is a damaged model (")


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (float("nan"), "'bad.pt' is a damaged model (weights that are not finite): train it again."),
        (3e38, "scores that are not finite"),
    ],
)
def test_weights_that_are_no_numbers(certify, refused, place, weight, message):
    """A model whose weights or scores are no numbers certifies nothing."""
    held = read_stored((place / "m.pt").read_bytes())
    weights = {name: torch.full_like(value, weight) for name, value in held["weights"].items()}
    (place / "bad.pt").write_bytes(write_stored({**held, "weights": weights}))
    refused.given()
    assert message in refused(certify(*SMOOTHED, path="bad.pt"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shape": (20, 24)}, "The model takes images of shape (1, 16, 16). Got (1, 20, 24)"),
        ({"shape": (16, 16, 3)}, "Got (3, 16, 16): name the data it was trained for."),
        ({"classes": 4}, "The model knows the classes 0, 1, 2. Got 0, 1, 2, 3"),
        ({"y_train": np.arange(24) % 3 + 5, "y_test": np.arange(12) % 3 + 5}, "0, 1, 2. Got 5, 6, 7"),
        ({"y_test": None}, "it has no array 'y_test'"),
    ],
)
def test_other_data(certify, refused, place, changes, message):
    """Images of another shape, or of classes that only seem the same, are refused."""
    images(place / "other.npz", **changes)
    refused.given()
    assert message in refused(certify(*SMOOTHED, data="other.npz"))


def test_models_are_read_as_written(place, model):
    """A model that is written and read gives the same scores, and keeps its facts."""
    save_model(model, place / "m.pt")
    found, image = (
        load_image_model(place / "m.pt"),
        torch.rand(2, 1, 16, 16, generator=torch.Generator().manual_seed(0)),
    )
    source = torch.Generator()
    assert torch.equal(found.scores(source)(image), model.scores(source)(image))
    assert found.facts == model.facts

"""``deniable attack image``: true shares, images inside their balls, and one line where something is wrong."""

import re

import numpy as np
import pytest
import torch

import deniable as dn
from tests.cli.commands.train.helpers import fails, succeeds
from tests.cli.image_models import images

LINF = ("fgsm", "i-fgsm", "mim", "pgd")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Return a model without noise that is right on the test images."""
    data = dn.images.read_images(images(tmp_path_factory.mktemp("model") / "images.npz"))
    system = dn.images.IMAGE_TRAINERS["plain"]
    options = system.choose_options(steps=60, width=0.3, learning_rate=0.01)
    return dn.images.fit_image_model(system, data, options, seed=1)


@pytest.fixture
def attack(call, place, model):
    """Return a function that attacks m.pt on images.npz, unless told otherwise."""
    images(place / "images.npz")
    dn.images.save_model(model, place / "m.pt")
    return lambda *options, path="m.pt", data="images.npz": call("attack", "image", path, data, *options)


def shares(result):
    """Return the accuracy of each line, in percent, by attack."""
    return {name: float(share) for name, share in re.findall(r"^(.+?) +accuracy ([\d.]+)%", result.text, re.MULTILINE)}


def test_figures_and_arrays_agree(attack, place, model):
    """What is printed follows from the file, whose images lie in their balls, and the model says the same of them."""
    result = succeeds(attack("--size", "0.3", "-o", "a.npz"))
    assert result.text.splitlines()[0] == "12 images, l_inf attacks of size 0.3"
    with np.load(place / "a.npz") as archive:
        arrays = dict(archive)
    tested = dn.images.read_images(place / "images.npz").test
    assert arrays["labels"].tolist() == tested.labels.tolist()
    found, held = shares(result), arrays["predicted"] == arrays["labels"]
    assert list(found) == ["no attack", *LINF, "every one"]
    assert found["no attack"] == 100
    for name in LINF:
        attacked, predicted = arrays[f"{name} images"], arrays[f"{name} predicted"]
        assert np.abs(attacked - tested.pixels.numpy()).max() <= 0.3 + 1e-6
        assert attacked.min() >= 0 <= attacked.max() <= 1
        said = model.predict(torch.from_numpy(attacked), torch.Generator())
        assert predicted.tolist() == said.tolist()
        assert found[name] == pytest.approx(100 * np.mean(predicted == arrays["labels"]), abs=0.06)
        held &= predicted == arrays["labels"]
    assert found["every one"] == pytest.approx(100 * held.mean(), abs=0.06)
    assert found["pgd"] < 100
    assert (place / "a.npz").stat().st_mode & 0o777 == 0o600


def test_size_0_changes_nothing(attack):
    """An attack of size 0 leaves every image as it is."""
    assert set(shares(attack("--size", "0")).values()) == {100.0}


@pytest.mark.parametrize(("norm", "order"), [("l2", 2), ("l1", 1)])
def test_other_balls(attack, place, norm, order):
    """The other attacks stay in balls of their norm, and are printed for themselves."""
    result = succeeds(attack("--attack", norm, "--size", "2", "--steps", "3", "--limit", "4", "-o", "a.npz"))
    assert result.text.splitlines()[0] == f"4 images, {norm} attacks of size 2"
    assert list(shares(result)) == ["no attack", norm]
    moved = np.load(place / "a.npz")[f"{norm} images"] - dn.images.read_images("images.npz").test.pixels[:4].numpy()
    assert 0 < np.linalg.norm(moved.reshape(4, -1).astype(float), ord=order, axis=1).max() <= 2 + 1e-5


def test_a_model_with_noise(attack, place, model):
    """A randomized model is attacked through its noise, the same way for one seed."""
    dn.images.save_model(dn.images.smooth_image_model(model, 0.3), place / "noisy.pt")
    options = ("--size", "0.2", "--draws", "4", "--gradient-draws", "2", "--attack", "pgd", "--steps", "3")
    first, second, third = (
        attack(*options, "--seed", seed, "-o", f"{name}.npz", path="noisy.pt")
        for name, seed in (("a", "1"), ("b", "1"), ("c", "2"))
    )
    assert succeeds(first).text == succeeds(second).text
    assert first.text.splitlines()[0].endswith("; 2 noise draws per gradient, 4 per prediction")
    assert (place / "a.npz").read_bytes() == (place / "b.npz").read_bytes()
    succeeds(third)
    assert (place / "a.npz").read_bytes() != (place / "c.npz").read_bytes()


@pytest.mark.parametrize(
    ("options", "value"),
    [
        (["--size", "-1"], "'-1'"),
        (["--size", "inf"], "inf"),
        (["--attack", "cw"], "'cw'"),
        (["--attack", "fgsm", "--steps", "3"], "3 steps"),
        (["-o", "a.csv"], "'a.csv'"),
        (["-o", "images.npz", "--force"], "'images.npz'"),
    ],
)
def test_options_that_cannot_be_used(attack, options, value):
    """Options outside their domains are one line."""
    fails(attack(*options), value)


def test_models_and_data_that_do_not_fit(attack, place):
    """Images of another shape, and files that are no models, are one line."""
    images(place / "oblong.npz", shape=(20, 24))
    fails(attack(data="oblong.npz"), "(1, 20, 24)")
    fails(attack(path="images.npz"), "'images.npz'")

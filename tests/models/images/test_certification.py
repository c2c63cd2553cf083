"""Certifying a model: units, sizes, and shares that agree with the model's accuracy."""

import dataclasses
import math
import types

import pytest
import torch
from scipy import stats
from torch import nn

from deniable import InputError
from deniable.models.images.certification import _choose_radii, certify_image_model, smooth_image_model
from deniable.models.images.model import ImageModel
from deniable.models.images.networks import ImageArchitecture, NetworkNoise
from deniable.models.images.smoothing import GaussianSmoothing, LaplaceSmoothing
from deniable.published.dpal.certificate import DPALCertificate
from tests.models.images.random_images import images

ABOUT = ImageArchitecture("small", (1, 16, 16), 2, width=0.1)


class Brighter(nn.Module):
    """Class 1 for images whose mean is above one half, whatever else: a half space."""

    def forward(self, given, at_first=None):  # noqa: ARG002 - the form of a `ImageNetwork`
        scores = 100 * (given.flatten(1).mean(1) - 0.5)
        return torch.stack([-scores, scores], 1)


def deterministic():
    return ImageModel("plain", ABOUT, Brighter(), (), None, None, None, {})


def grey(*levels):
    """Return images (n, 1, 16, 16) of one level each."""
    return torch.tensor(levels)[:, None, None, None].expand(-1, 1, 16, 16).contiguous()


def certified(model, pixels, labels=None, **options):
    source = torch.Generator().manual_seed(0)
    labels = torch.zeros(len(pixels), dtype=torch.long) if labels is None else labels
    return certify_image_model(model, pixels, labels, generator=source, **options)


class Memoriser(nn.Module):
    """Class 1 for every image, except under the noise that a generator of seed 0 draws: class 0 there."""

    def __init__(self, image, scale):
        super().__init__()
        source = torch.Generator().manual_seed(0)
        noisy = image + scale * torch.randn((2_000, *image.shape), generator=source)
        self.known = {one.sum().item() for one in noisy.flatten(1)[:, :8]}

    def forward(self, given, at_first=None):  # noqa: ARG002 - the form of a `ImageNetwork`
        is_known = torch.tensor([one.sum().item() in self.known for one in given.flatten(1)[:, :8]])
        return torch.stack([is_known.float(), 1 - is_known.float()], 1)


def test_memorised_draws_are_not_certified():
    """A model that is another one under the draws of seed 0 is certified as that one under them, and not by default."""
    image, labels = grey(0.5)[0], torch.zeros(1, dtype=torch.long)
    memoriser = dataclasses.replace(deterministic(), network=Memoriser(image, 0.25))
    model = smooth_image_model(memoriser, 0.25)
    options = {"draws": 500, "alpha": 1e-3}
    given = certify_image_model(model, image[None], labels, generator=torch.Generator().manual_seed(0), **options)
    assert (given.certified[0].label, given.is_noise_fresh) == (0, False)
    assert given.certified[0].radius > 0.5
    fresh = certify_image_model(model, image[None], labels, **options)
    assert (fresh.certified[0].label, fresh.is_noise_fresh) == (1, True)


def test_radii_of_a_half_space():
    """Radii come near the true distance to the edge, in pixels of [0, 1], and exceed it at the given level only."""
    levels = (0.44, 0.46, 0.47, 0.53, 0.55)
    model = smooth_image_model(deterministic(), 0.5)
    curve = certified(model, grey(*levels), draws=2_000, alpha=1e-6)
    for level, held in zip(levels, curve.certified, strict=True):
        distance = abs(level - 0.5) * 16  # l2, along the mean of 256 pixels
        assert held.label == int(level > 0.5)
        assert 0.6 * distance < held.radius <= distance


def test_noise_of_laplace_certifies_in_l1():
    """The radius of Laplace noise is Teng et al.'s, from the same bound on the share of votes."""
    model = smooth_image_model(deterministic(), 0.5, "laplace")
    curve = certified(model, grey(0.2), draws=100, alpha=0.01)
    low = stats.beta.ppf(0.01, 100, 1)
    assert isinstance(model.certificate, LaplaceSmoothing)
    assert model.certificate.norm == "l1"
    assert curve.certified[0].radius == pytest.approx(-0.5 * math.log(2 * (1 - low)))


def test_at_radius_zero():
    """Certified accuracy at radius 0 is at most that of the most probable class, and near it far from the edge."""
    pixels = images(40, (1, 16, 16), 2).pixels * 0.3 + torch.arange(40)[:, None, None, None] % 2 * 0.7
    labels = torch.arange(40) % 2
    labels[:6] = 1 - labels[:6]  # wrong by intent
    curve = certified(smooth_image_model(deterministic(), 0.25), pixels, labels, radii=(0.0,), draws=200)
    assert curve.accuracy[0].value == 34 / 40


def test_the_order_of_radii():
    """Shares fall with the size of the attack, and are those of the radii."""
    curve = certified(smooth_image_model(deterministic(), 0.5), grey(0.44, 0.46, 0.48, 0.3), draws=500)
    values = [found.value for found in curve.accuracy]
    assert values == sorted(values, reverse=True)
    assert values == [sum(held.radius > size for held in curve.certified) / 4 for size in curve.radii]


def test_dpals_radii_are_in_pixels():
    """DPAL's claims, in pixels of [-1, 1], are halved."""
    about = DPALCertificate(delta_r=4950, m=100, eps1=1.0, mu=0.2, d=256, beta=64, theta1=1.0)
    noise = NetworkNoise("input", "laplace", torch.tensor(0.01))
    model = dataclasses.replace(deterministic(), noises=(noise,), certificate=about)
    seen = []
    at = certified(model, grey(0.1), draws=300).certified[0].radius
    noted = types.SimpleNamespace(
        certify=lambda *tallies: seen.append(about.certify(*tallies)) or seen[-1], pixels_per_unit=about.pixels_per_unit
    )
    certified(dataclasses.replace(model, certificate=noted), grey(0.1), draws=300)
    assert at == seen[0].radius / 2 > 0


@pytest.mark.parametrize("largest", [1e-25, 3e-4, 0.1, 0.37, 1.0, 7.2, 1e3])
def test_steps(largest):
    """Sizes are round, begin at 0, are all different and reach nearly to the largest radius."""
    found = _choose_radii([0.0, largest, math.inf, largest / 3])
    assert found[0] == 0
    assert 3 <= len(set(found)) == len(found) <= 6
    assert found[-1] <= largest * (1 + 1e-9)
    assert found[-1] > largest - 1.01 * found[1]


@pytest.mark.parametrize("radii", [[], [0.0], [math.inf], [0.0, 0.0]])
def test_steps_without_a_radius(radii):
    """Where nothing is certified, or everything, one size is left."""
    assert _choose_radii(radii) == (0.0,)


def test_a_model_without_noise():
    """Nothing is certified of a deterministic model, which is told how to be smoothed."""
    with pytest.raises(InputError, match="deterministic, and has no certificate: give --noise"):
        certified(deterministic(), grey(0.2))


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 1e-31, 1e31])
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_scales_out_of_reach(scale, law):
    """Noise that float32 cannot hold is refused: rounded to nothing it would certify what is false."""
    with pytest.raises(InputError, match=r"The 'noise' parameter of smoothing must be a float in \[1e-30, 1e"):
        smooth_image_model(deterministic(), scale, law)


def test_noise_twice():
    """A model with noise takes no other."""
    model = smooth_image_model(deterministic(), 0.25)
    assert model.certificate == GaussianSmoothing(0.25)
    with pytest.raises(InputError, match="already has noise"):
        smooth_image_model(model, 0.25)


@pytest.mark.parametrize("alpha", [0.0, 1.0, math.nan, -0.1])
def test_levels(alpha):
    """A level outside (0, 1) is refused."""
    with pytest.raises(InputError, match="'alpha' parameter"):
        certified(smooth_image_model(deterministic(), 0.25), grey(0.2), alpha=alpha)


def test_sizes_below_zero():
    """A size of an attack below 0 is refused."""
    with pytest.raises(InputError, match="sizes of at least 0"):
        certified(smooth_image_model(deterministic(), 0.25), grey(0.2), radii=(-0.1,), draws=10)


def test_abstentions():
    """An image on the edge is not certified, with a radius of 0, and counts as wrong."""
    curve = certified(smooth_image_model(deterministic(), 0.25), grey(0.5), radii=(0.0,), draws=100)
    assert (curve.certified[0].label, curve.certified[0].radius) == (None, 0.0)
    assert curve.accuracy[0].value == 0

"""Certifying a model: units, sizes, and shares that agree with the model's accuracy."""

import dataclasses
import math
import types

import pytest
import torch
from scipy import stats
from torch import nn

import deniable as dn
from tests.models.images.random_images import fitted, images
from tests.refusals import refuses

smooth_image_model = dn.images.smooth_image_model


class Brighter(nn.Module):
    """Class 1 for images whose mean is above one half, whatever else: a half space."""

    architecture = fitted("plain").architecture

    def forward(self, given, at_first=None):  # noqa: ARG002 - the form of a `ImageNetwork`
        scores = 100 * (given.flatten(1).mean(1) - 0.5)
        return torch.stack([-scores, scores], 1)


def deterministic():
    return dataclasses.replace(fitted("plain"), network=Brighter())


def grey(*levels):
    """Return images (n, 1, 16, 16) of one level each."""
    return torch.tensor(levels)[:, None, None, None].expand(-1, 1, 16, 16).contiguous()


def certified(model, pixels, labels=None, **options):
    source = torch.Generator().manual_seed(0)
    labels = torch.zeros(len(pixels), dtype=torch.long) if labels is None else labels
    return dn.images.certify_image_model(model, pixels, labels, generator=source, **options)


class Memoriser(nn.Module):
    """Class 1 for every image, except under the noise that a generator of seed 0 draws: class 0 there."""

    architecture = fitted("plain").architecture

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
    given = dn.images.certify_image_model(
        model, image[None], labels, generator=torch.Generator().manual_seed(0), **options
    )
    assert (given.certified[0].label, given.is_noise_fresh) == (0, False)
    assert given.certified[0].radius > 0.5
    fresh = dn.images.certify_image_model(model, image[None], labels, **options)
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


def test_radii_are_in_pixels():
    """The claims of DPAL, in pixels of [-1, 1], are halved."""
    model = dataclasses.replace(fitted("dpal"), network=Brighter())
    about, seen = model.certificate, []
    noises = (dataclasses.replace(model.noises[0], scale=torch.tensor(0.01), offset=None),)
    noted = types.SimpleNamespace(
        certify=lambda *tallies: seen.append(about.certify(*tallies)) or seen[-1], pixels_per_unit=about.pixels_per_unit
    )
    curve = certified(dataclasses.replace(model, noises=noises, certificate=noted), grey(0.1), draws=300)
    assert curve.certified[0].radius == seen[0].radius / 2 > 0


def test_sizes_follow_from_the_radii():
    """Sizes of attacks are round, begin at 0, are all different and reach nearly to the largest radius."""
    for scale in (1e-20, 3e-4, 0.1, 0.37, 7.2):
        curve = certified(smooth_image_model(deterministic(), scale), grey(0.1, 0.9), draws=50)
        largest = max(held.radius for held in curve.certified)
        assert curve.radii[0] == 0
        assert 3 <= len(set(curve.radii)) == len(curve.radii) <= 6
        assert largest - 1.01 * curve.radii[1] < curve.radii[-1] <= largest * (1 + 1e-9)


def test_a_model_without_noise_or_with_some():
    """Nothing is certified of a deterministic model, and a model with noise takes no other."""
    with refuses("deterministic"):
        certified(deterministic(), grey(0.2))
    with refuses("already has noise"):
        smooth_image_model(smooth_image_model(deterministic(), 0.25), 0.25)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 1e-31, 1e31])
def test_scales_out_of_reach(scale):
    """Noise that float32 cannot hold is refused: rounded to nothing it would certify what is false."""
    for law in ("gaussian", "laplace"):
        with refuses("'noise'"):
            smooth_image_model(deterministic(), scale, law)


def test_levels_and_sizes():
    """A level outside (0, 1) and a size of an attack below 0 are refused."""
    model = smooth_image_model(deterministic(), 0.25)
    for alpha in (0.0, 1.0, math.nan, -0.1):
        with refuses("'alpha'"):
            certified(model, grey(0.2), alpha=alpha, draws=10)
    with refuses("-0.1"):
        certified(model, grey(0.2), radii=(-0.1,), draws=10)


def test_abstentions():
    """An image on the edge is not certified, with a radius of 0, and counts as wrong; one size is left."""
    curve = certified(smooth_image_model(deterministic(), 0.25), grey(0.5), draws=100)
    assert (curve.certified[0].label, curve.certified[0].radius) == (None, 0.0)
    assert (curve.radii, curve.accuracy[0].value) == ((0.0,), 0)

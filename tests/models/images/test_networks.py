"""Networks: shapes, sizes, public weights; and the noise of a randomized model: its laws, its place, fresh draws."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

import deniable as dn
from tests.models.images.random_images import SMALL, data, fit, fitted, images
from tests.refusals import refuses

MNIST = (1, 28, 28)
LAWS = {"gaussian": stats.norm, "laplace": stats.laplace}
NETWORKS = ["small", "paper-mnist", "paper-cifar10"]
deep = pytest.mark.deep
QUICK = ["small", "paper-mnist", pytest.param("paper-cifar10", marks=deep)]


def architecture(name, shape=MNIST, classes=10, **given):
    """Return the plan of a network."""
    return dataclasses.replace(fitted("plain").architecture, name=name, shape=shape, classes=classes, **given)


@pytest.mark.parametrize(
    "shape", [MNIST, (3, 32, 32), *(pytest.param(s, marks=deep) for s in [(3, 28, 28), (1, 18, 18), (2, 40, 19)])]
)
@pytest.mark.parametrize("name", QUICK)
def test_scores_have_a_row_for_each_image(name, shape):
    """Every network takes images of any size from 18 x 18 on, and gives K scores each, image by image."""
    network = architecture(name, shape, 7, width=0.25).build(0).eval()
    given = images(3, shape).pixels
    scores = network(given)
    assert scores.shape == (3, 7)
    torch.testing.assert_close(network(given[1:2]), scores[1:2])


def test_sizes_are_those_of_the_papers():
    """Parameters, 14 x 14 neurons of a feature map, and a last hidden layer in [-1, 1] are those of the papers."""
    for name, parameters in (("small", 26_010), ("paper-mnist", 317_066)):
        network = architecture(name, width=1.0).build(0)
        assert sum(held.numel() for held in network.parameters()) == parameters
    for name in ("paper-mnist", "paper-cifar10"):  # the sensitivity of Phan et al. 2020 is made for these
        network = architecture(name, width=1.0).build(0).eval()
        assert network.first(torch.zeros(1, *MNIST)).shape[2:] == (14, 14)
        hidden = network.rest[:-1](100 * network.first(torch.rand(5, *MNIST)))
        assert hidden.shape == (5, 256)
        assert 0.9 < hidden.abs().max() <= 1
    assert architecture("small", width=2.0).build(0).rest[-1].in_features == 64
    assert architecture("paper-mnist", width=0.5, hidden=25).build(0).rest[-1].in_features == 25
    assert architecture("small", width=1e-6).build(0).first.out_channels == 1


@pytest.mark.parametrize("name", QUICK)
def test_weights_follow_the_seed_alone(name):
    """The same seed gives the same weights, and torch's state is left alone; batch statistics only if asked for."""
    about = architecture(name, width=0.1)
    state = torch.random.get_rng_state()
    first = about.build(3)
    assert torch.equal(torch.random.get_rng_state(), state)
    torch.randn(3)
    same, other = about.build(3), about.build(4)
    for key, held in first.state_dict().items():
        assert torch.equal(held, same.state_dict()[key])
        assert not torch.equal(held, other.state_dict()[key])
    for normalised in (False, True):
        modules = dataclasses.replace(about, normalised=normalised).build(0).modules()
        found = any(isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)) for module in modules)
        assert found == (normalised and name != "small")


def test_networks_that_cannot_be_made():
    """Images that are too small for the convolutions are refused with their size, and unknown networks by name."""
    with refuses("8 x 9"):
        fit("plain", data(12, (1, 8, 9)))
    with refuses("'large'"):
        fit("plain", network="large")


class Probe(nn.Module):
    """Gives back what it is asked about: pixels with their noise, or the noise after the first layer."""

    def __init__(self, network, place):
        super().__init__()
        self.first, self.place = network.first, place

    def forward(self, given, at_first=None):
        return (given if self.place == "input" else at_first).flatten(1)


def noise_of(place, law, scale, count, seed=0, **given):
    """Return the noise (2, count, size) that a model adds to black images in two calls."""
    model = dn.images.smooth_image_model(fitted("plain"), 1.0)
    noise = dataclasses.replace(model.noises[0], place=place, law=law, scale=scale, **given)
    probed = dataclasses.replace(model, network=Probe(model.network, place), noises=(noise,))
    scores = probed.scores(torch.Generator().manual_seed(seed))
    return torch.stack([scores(torch.zeros(count, *SMALL)) for _ in range(2)])


@pytest.mark.parametrize("place", ["input", "first layer"])
@pytest.mark.parametrize(
    ("law", "scale"),
    [
        ("gaussian", 0.25),
        ("laplace", 3.0),
        *(pytest.param(*c, marks=deep) for c in [("gaussian", 3.0), ("laplace", 0.25)]),
    ],
)
def test_the_law(place, law, scale):
    """Coordinates have the law and its scale, and neither another scale nor the other law."""
    drawn = noise_of(place, law, torch.tensor(scale), 80)[0].flatten()[:20_000].double().numpy()

    def fits(name, times):
        return stats.kstest(drawn, LAWS[name](scale=times * scale).cdf).pvalue > 1e-6

    assert fits(law, 1.0)
    assert not fits(law, 0.7)
    assert not fits(law, 1.3)
    assert not any(fits(name, times) for name in LAWS if name != law for times in (0.7, 1.0, 1 / math.sqrt(2), 1.4))


@pytest.mark.parametrize("law", LAWS)
def test_every_image_has_noise_of_its_own(law):
    """Coordinates, images and calls are independent of each other, and follow from the generator."""
    both = noise_of("input", law, torch.tensor(1.0), 80)
    first, second = both.double().numpy()
    for one, other in ((first, second), (first[:-1], first[1:]), (first[:, :-1], first[:, 1:])):
        bound = 5.5 / math.sqrt(one.size)
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < bound
        assert abs(np.corrcoef(np.abs(one).ravel(), np.abs(other).ravel())[0, 1]) < bound
    assert torch.equal(noise_of("input", law, torch.tensor(1.0), 80), both)


def test_scale_and_offset_of_every_coordinate():
    """A scale may differ between coordinates, an offset is added to all images alike, and bounds clamp the pixels."""
    source = torch.Generator().manual_seed(1)
    scale, offset = torch.rand(SMALL, generator=source) + 0.1, torch.randn(SMALL, generator=source)
    plain = noise_of("input", "gaussian", torch.tensor(1.0), 5)
    expected = plain * scale.flatten() + offset.flatten()
    torch.testing.assert_close(noise_of("input", "gaussian", scale, 5, offset=offset), expected)
    still = noise_of("input", "laplace", torch.tensor(0.0), 5, offset=offset)
    assert torch.equal(still, offset.flatten().expand_as(still))
    bounded = noise_of("input", "gaussian", scale, 5, offset=offset, bounds=(-0.5, 1.5))
    torch.testing.assert_close(bounded, expected.clamp(-0.5, 1.5))


def test_noise_is_added_at_its_place():
    """Noise for the first layer is added to its output, which sees pixels in [-1, 1]; an attack differentiates it."""
    model = fitted("pixeldp")
    network, given = model.network, images(2, SMALL).pixels.requires_grad_()
    noise = torch.randn(2, *network.first(given).shape[1:])
    torch.testing.assert_close(network(given, noise), network.rest(network.first(2 * given - 1) + noise))
    torch.testing.assert_close(network(given), network(given, torch.zeros_like(noise)))
    plain = fitted("plain")
    assert torch.equal(plain.scores(torch.Generator())(given), plain.network(given))
    model.scores(torch.Generator())(given).sum().backward()
    assert given.grad.abs().sum() > 0

"""Networks: shapes, sizes, public weights; and the noise of a randomized model: its laws, its place, fresh draws."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

from deniable import InputError
from deniable.models.images.networks import (
    IMAGE_NETWORKS,
    ImageArchitecture,
    NetworkNoise,
    compute_noisy_scores,
    get_first_layer_shape,
    get_last_layer,
)

SHAPE = torch.Size((200, 1, 10, 10))
LAWS = {"gaussian": stats.norm, "laplace": stats.laplace}


MNIST = (1, 28, 28)


@pytest.mark.parametrize("shape", [MNIST, (3, 28, 28), (3, 32, 32), (1, 18, 18), (2, 40, 19)])
@pytest.mark.parametrize("name", IMAGE_NETWORKS)
def test_scores_have_a_row_for_each_image(name, shape):
    """Every network takes images of any size from 18 x 18 on, and gives K scores each, image by image."""
    network = ImageArchitecture(name, shape, 7, 0.25).build(0).eval()
    images = torch.rand((3, *shape), generator=torch.Generator().manual_seed(0))
    scores = network(images)
    assert scores.shape == (3, 7)
    torch.testing.assert_close(network(images[1:2]), scores[1:2])


@pytest.mark.parametrize(("name", "parameters"), [("small", 26_010), ("paper-mnist", 317_066)])
def test_sizes(name, parameters):
    """The small network has 26,010 parameters, and the paper's for MNIST twelve times as many."""
    network = ImageArchitecture(name, MNIST, 10).build(0)
    assert sum(held.numel() for held in network.parameters()) == parameters


@pytest.mark.parametrize("name", ["paper-mnist", "paper-cifar10"])
def test_the_paper_s_first_layer_has_14_x_14_neurons_a_map(name):
    """The sensitivity of Phan et al. 2020 is made for feature maps of 14 x 14, which the first layer gives."""
    network = ImageArchitecture(name, (1, 28, 28), 10).build(0).eval()
    assert network.first(torch.zeros(1, 1, 28, 28)).shape[2:] == (14, 14)
    hidden = network.rest[:-1](100 * network.first(torch.rand(5, 1, 28, 28)))
    assert hidden.shape == (5, 256)
    assert 0.9 < hidden.abs().max() <= 1


def test_noise_is_added_after_the_first_layer():
    """What is given for the first layer is added to its output, which sees pixels in [-1, 1]."""
    network = ImageArchitecture("small", MNIST, 10).build(0)
    images, noise = torch.rand(2, *MNIST), torch.randn(2, 16, 14, 14)
    expected = network.rest(network.first(2 * images - 1) + noise)
    torch.testing.assert_close(network(images, noise), expected)
    torch.testing.assert_close(network(images), network(images, torch.zeros_like(noise)))


@pytest.mark.parametrize("name", IMAGE_NETWORKS)
def test_weights_follow_the_seed_alone(name):
    """The same seed gives the same weights, whatever was drawn before, and torch's own state is left alone."""
    torch.manual_seed(5)
    first = ImageArchitecture(name, MNIST, 10, 0.1).build(3)
    state = torch.random.get_rng_state()
    torch.manual_seed(5)
    assert torch.equal(torch.random.get_rng_state(), state)
    torch.randn(3)
    same, other = (ImageArchitecture(name, MNIST, 10, 0.1).build(seed) for seed in (3, 4))
    for key, held in first.state_dict().items():
        assert torch.equal(held, same.state_dict()[key])
        assert not torch.equal(held, other.state_dict()[key])


@pytest.mark.parametrize("name", IMAGE_NETWORKS)
def test_batch_statistics_only_where_asked_for(name):
    """Without being asked for, nothing in a network depends on the rest of its batch."""
    kinds = (nn.BatchNorm1d, nn.BatchNorm2d)
    network = ImageArchitecture(name, MNIST, 10).build(0)
    assert not any(isinstance(module, kinds) for module in network.modules())
    normalised = ImageArchitecture(name, MNIST, 10, normalised=True).build(0)
    assert any(isinstance(module, kinds) for module in normalised.modules()) == (name != "small")


def test_width_and_hidden_units():
    """The width scales maps and units, with one at least; the last hidden layer can be set on its own."""
    assert get_last_layer(ImageArchitecture("small", MNIST, 10, 2.0).build(0)).in_features == 64
    assert get_last_layer(ImageArchitecture("paper-mnist", MNIST, 10, 0.5, hidden=25).build(0)).in_features == 25
    assert ImageArchitecture("small", MNIST, 10, 1e-6).build(0).first.out_channels == 1


def test_small_images_are_refused():
    """Images that are too small for the convolutions are refused in one line with their size."""
    with pytest.raises(InputError, match="Got 8 x 9 pixels"):
        ImageArchitecture("small", (1, 8, 9), 10).build(0)


def test_unknown_networks_are_refused():
    """The networks there are are named."""
    with pytest.raises(InputError, match=r"one of small, paper-mnist, paper-cifar10\. Got 'large'"):
        ImageArchitecture("large", MNIST, 10).build(0)


def source(seed=0):
    """Return a generator."""
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("scale", [0.25, 3.0])
@pytest.mark.parametrize("law", LAWS)
def test_the_law(law, scale):
    """Coordinates have the law and its scale, and neither another scale nor the other law."""
    drawn = NetworkNoise("input", law, torch.tensor(scale)).draw(SHAPE, source()).flatten().double().numpy()

    def fits(name, times):
        return stats.kstest(drawn, LAWS[name](scale=times * scale).cdf).pvalue > 1e-6

    assert fits(law, 1.0)
    assert not fits(law, 0.8)
    assert not fits(law, 1.2)
    assert not any(fits(name, times) for name in LAWS if name != law for times in (0.7, 1.0, 1 / math.sqrt(2), 1.4))


@pytest.mark.parametrize("law", LAWS)
def test_every_image_has_noise_of_its_own(law):
    """Coordinates, images and calls are independent of each other."""
    noise, drawing = NetworkNoise("input", law, torch.tensor(1.0)), source()
    first, second = (noise.draw(SHAPE, drawing).flatten(1).double().numpy() for _ in range(2))
    for one, other in ((first, second), (first[:-1], first[1:]), (first[:, :-1], first[:, 1:])):
        bound = 5.5 / math.sqrt(one.size)
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < bound
        assert abs(np.corrcoef(np.abs(one).ravel(), np.abs(other).ravel())[0, 1]) < bound
    assert np.array_equal(noise.draw(SHAPE, source()).flatten(1).numpy(), first)


def test_scale_and_offset_of_every_coordinate():
    """A scale may differ between coordinates, and an offset is added to all images alike."""
    scale = torch.rand(1, 10, 10, generator=source(1)) + 0.1
    offset = torch.randn(1, 10, 10, generator=source(2))
    plain = NetworkNoise("input", "gaussian", torch.tensor(1.0)).draw(SHAPE, source())
    found = NetworkNoise("input", "gaussian", scale, offset).draw(SHAPE, source())
    torch.testing.assert_close(found, plain * scale + offset)
    still = NetworkNoise("input", "laplace", torch.tensor(0.0), offset).draw(SHAPE, source())
    assert torch.equal(still, offset.expand(SHAPE))


@pytest.fixture
def network():
    """Return a small network."""
    return ImageArchitecture("small", (1, 28, 28), 10, 0.25).build(0).eval()


def test_a_model_without_noise(network):
    """Without noise the scores are the network's."""
    images = torch.rand(3, 1, 28, 28, generator=source())
    assert torch.equal(compute_noisy_scores(network, images, (), source()), network(images))


def test_noise_on_the_image(network):
    """Noise on the image is added before the network, and clamped where it has bounds."""
    images = torch.rand(3, 1, 28, 28, generator=source())
    noise = NetworkNoise("input", "gaussian", torch.tensor(2.0))
    drawn = images + noise.draw(images.shape, source(4))
    torch.testing.assert_close(compute_noisy_scores(network, images, (noise,), source(4)), network(drawn))
    bounded = dataclasses.replace(noise, bounds=(-0.5, 1.5))
    torch.testing.assert_close(
        compute_noisy_scores(network, images, (bounded,), source(4)), network(drawn.clamp(-0.5, 1.5))
    )


def test_noise_after_the_first_layer(network):
    """Noise after the first layer has the shape of its output, and adds to noise on the image."""
    images = torch.rand(3, 1, 28, 28, generator=source())
    assert get_first_layer_shape(network, images) == (3, 4, 14, 14)
    at_input, after = (
        NetworkNoise("input", "laplace", torch.tensor(0.1)),
        NetworkNoise("first layer", "laplace", torch.tensor(1.0)),
    )
    drawing = source(4)
    given = images + at_input.draw(images.shape, drawing)
    expected = network(given, after.draw(torch.Size((3, 4, 14, 14)), drawing))
    torch.testing.assert_close(compute_noisy_scores(network, images, (at_input, after), source(4)), expected)


def test_a_call_differs_from_the_next(network):
    """The same image twice in a call, or in two calls, gets other scores each time."""
    image = torch.rand(1, 1, 28, 28, generator=source())
    drawing, noises = source(), (NetworkNoise("first layer", "gaussian", torch.tensor(1.0)),)
    scores = torch.cat([compute_noisy_scores(network, image.expand(2, -1, -1, -1), noises, drawing) for _ in range(2)])
    assert len({tuple(row) for row in scores.tolist()}) == 4


def test_gradients_flow_to_the_image(network):
    """Attacks can differentiate through the noise, by the image."""
    image = torch.rand(2, 1, 28, 28, generator=source()).requires_grad_()
    noises = (
        NetworkNoise("input", "gaussian", torch.tensor(0.1)),
        NetworkNoise("first layer", "gaussian", torch.tensor(1.0)),
    )
    compute_noisy_scores(network, image, noises, source()).sum().backward()
    assert image.grad.abs().sum() > 0

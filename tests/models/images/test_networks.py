"""Networks: shapes, sizes, public weights, and what is refused."""

import pytest
import torch
from torch import nn

from deniable import InputError
from deniable.models.images.networks import IMAGE_NETWORKS, ImageArchitecture, get_last_layer

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
    """The sensitivity of paper 004 is made for feature maps of 14 x 14, and its last hidden layer is bounded by 1."""
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

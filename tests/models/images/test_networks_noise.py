"""The noise of a randomized model: its laws, its place, and that it is drawn anew."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from scipy import stats

from deniable.models.images.networks import ImageArchitecture, NetworkNoise, compute_noisy_scores, get_first_layer_shape

SHAPE = torch.Size((200, 1, 10, 10))
LAWS = {"gaussian": stats.norm, "laplace": stats.laplace}


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


def test_as_a_file_holds_it():
    """Every part of a noise survives being written down."""
    noise = NetworkNoise("input", "laplace", torch.rand(1, 2, 2), torch.rand(1, 2, 2), (-1.0, 2.0))
    held = {**noise.to_dict(), "bounds": list(noise.to_dict()["bounds"])}
    again = NetworkNoise.from_dict(held)
    assert torch.equal(again.scale, noise.scale)
    assert torch.equal(again.offset, noise.offset)
    assert (again.place, again.law, again.bounds) == ("input", "laplace", (-1.0, 2.0))
    assert NetworkNoise.from_dict(NetworkNoise("input", "laplace", torch.tensor(1.0)).to_dict()).bounds is None

"""Views of an example."""

import pytest
import torch

from deniable.models.images.training.private import add_gaussian_noise, shift_images


@pytest.fixture
def source():
    return torch.Generator().manual_seed(0)


def test_first_view_is_the_image(source):
    """The first view is the image itself, and one view is all there is of it."""
    images = torch.rand(3, 2, 5, 6, generator=source)
    assert torch.equal(shift_images(images, 1, source), images[:, None])
    assert torch.equal(shift_images(images, 4, source)[:, 0], images)


def test_views_are_all_nine_shifts(source):
    """Further views are the image moved by at most a pixel each way, black where nothing was, each as often."""
    image = torch.arange(1.0, 13.0).view(1, 1, 3, 4)
    wide = torch.nn.functional.pad(image, (1, 1, 1, 1))
    expected = [wide[0, :, down : down + 3, right : right + 4] for down in range(3) for right in range(3)]
    views = shift_images(image.expand(900, -1, -1, -1), 2, source)[:, 1]
    counts = [int((views == wanted).flatten(1).all(1).sum()) for wanted in expected]
    assert sum(counts) == 900
    # Binomial(900, 1/9) lies within 50 of 100 but once in 10^7.
    assert all(50 < count < 150 for count in counts)


def test_views_are_made_of_their_image_alone(source):
    """Changing one image changes no view of another, which the accounting rests on."""
    images = torch.rand(4, 1, 5, 5, generator=source)
    other = images.clone()
    other[2] = 0.5
    first = shift_images(images, 3, torch.Generator().manual_seed(1))
    second = shift_images(other, 3, torch.Generator().manual_seed(1))
    kept = [0, 1, 3]
    assert torch.equal(first[kept], second[kept])
    assert not torch.equal(first[2], second[2])


def test_noise_has_its_deviation(source):
    """Noise is fresh in every view, with the deviation asked for, within 1 %, and 30 % off is told apart."""
    drawn = add_gaussian_noise(torch.zeros(50, 2, 1, 40, 40), 0.25, source)
    assert abs(float(drawn.std()) / 0.25 - 1) < 0.01
    assert not torch.equal(drawn[:, 0], drawn[:, 1])

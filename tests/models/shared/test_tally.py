"""Tallies: every draw is counted once, for its own image, whatever the batch."""

import numpy as np
import pytest
import torch

from deniable import InputError
from deniable.models.shared.tally import PredictionTally, tally_image, tally_images
from tests.models.shared.tallies import half_space, normal


def by_pixel(images):
    """Return scores (b, 3) that put image i of value i in class i, with softmax 2/3 for it."""
    classes = images.flatten(1)[:, 0].long()
    return np.log(4.0) * torch.nn.functional.one_hot(classes, 3).float()


@pytest.mark.parametrize(("draws", "batch"), [(1, 1), (7, 3), (5, 100), (12, 5)])
def test_each_image_is_counted_alone(draws, batch):
    """Images that share calls of the model keep their own votes and sums."""
    images = torch.tensor([2.0, 0.0, 1.0]).view(3, 1, 1, 1)
    found = tally_images(by_pixel, images, draws, batch)
    for held, label in zip(found, (2, 0, 1), strict=True):
        assert held.draws == held.votes[label] == held.votes.sum() == draws
        np.testing.assert_allclose(held.sums / draws, np.where(np.arange(3) == label, 2 / 3, 1 / 6))
    assert found[0].votes.dtype == np.int64
    assert found[0].sums.dtype == np.float64


def test_calls_are_full():
    """The model sees batches of the size asked for, with several images in one."""
    sizes = []

    def scores(images):
        sizes.append(len(images))
        assert not torch.is_grad_enabled()
        return by_pixel(images)

    tally_images(scores, torch.zeros(4, 1, 1, 1), 5, 8)
    assert sizes == [8, 8, 4]


def test_noise_is_drawn_for_every_copy():
    """The votes of a half-space under Gaussian noise are binomial with the known probability."""
    source = torch.Generator().manual_seed(0)
    scores = half_space(torch.ones(1, 2, 2), 0.0, lambda x: x + 0.5 * torch.randn(x.shape, generator=source))
    found = tally_image(scores, torch.full((1, 2, 2), 0.1), 20_000)
    share = normal(0.4 / (0.5 * 2))
    error = np.sqrt(share * (1 - share) / 20_000)
    assert abs(found.votes[0] / 20_000 - share) < 5 * error
    assert abs(found.votes[0] / 20_000 - normal(0.4 / (0.5 * 2 * 1.3))) > 5 * error


def test_no_images():
    """No images have no tallies."""
    assert tally_images(by_pixel, torch.zeros(0, 1, 1, 1), 5) == []


@pytest.mark.parametrize(
    ("votes", "sums", "draws"),
    [
        ([3, 1], [3, 1], 5),
        ([5, -1], [3, 1], 4),
        ([3, 1], [3, 2], 4),
        ([3, 1], [1, 1, 2], 4),
        ([4], [4], 4),
        ([0, 0], [0, 0], 0),
    ],
)
def test_tallies_are_consistent(votes, sums, draws):
    """Votes and sums that cannot come from so many draws are refused."""
    with pytest.raises(InputError, match="tally"):
        PredictionTally(np.array(votes), np.array(sums, dtype=float), draws)


def test_arguments_are_checked():
    """No draws, an empty batch, and scores that cannot be counted are refused."""
    image = torch.zeros(1, 1, 1)
    for name, keywords in (("draws", {"draws": 0}), ("batch", {"draws": 1, "batch": 0}), ("draws", {"draws": 1.5})):
        with pytest.raises(InputError, match=name):
            tally_image(by_pixel, image, **keywords)
    with pytest.raises(InputError, match="shape"):
        tally_image(lambda images: images.flatten(1), image, 1)
    with pytest.raises(InputError, match="not finite"):
        tally_image(lambda images: images.flatten(1).expand(-1, 2) / 0, image, 1)

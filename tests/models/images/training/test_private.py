"""Views of an example."""

import pytest
import torch

from deniable.models.images.training import private
from deniable.models.images.training.fitting import fit_image_model
from deniable.models.images.training.private import add_gaussian_noise, shift_images
from deniable.registry.trainers import IMAGE_TRAINERS
from tests.models.images.random_images import data

TINY = {"steps": 2, "batch_size": 30, "width": 0.25}


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


def test_a_budget_stops_training_early():
    """With the noise given, training ends when the budget is spent."""
    options = IMAGE_TRAINERS["dp-sgd"].choose_options(
        **{**TINY, "steps": 50}, epsilon=3.0, delta=1e-5, noise_multiplier=2.0
    )
    model = fit_image_model(IMAGE_TRAINERS["dp-sgd"], data(), options, seed=0)
    assert 1 < model.facts["steps"] < 50
    assert 2 < model.guarantee.epsilon <= 3


def test_without_a_budget_s_noise_it_is_found():
    """Without a multiplier the noise is what the budget needs, and next to nothing is left over."""
    options = IMAGE_TRAINERS["dp-sgd"].choose_options(**TINY, epsilon=0.5, delta=1e-5)
    assert fit_image_model(IMAGE_TRAINERS["dp-sgd"], data(), options, seed=0).guarantee.epsilon == pytest.approx(
        0.5, rel=1e-3
    )


def test_adversarial_views_are_made_of_their_example_alone(monkeypatch):
    """Replacing one record changes no other record's views, which the accounting of DP-SGD rests on."""
    attack = private.pgd
    found = []

    def watched(*given, **options):
        found.append(attack(*given, **options))
        return found[-1]

    monkeypatch.setattr(private, "pgd", watched)
    chosen = IMAGE_TRAINERS["dp-adversarial"].choose_options(
        epsilon=8.0, delta=1e-5, steps=1, batch_size=60, views=2, attack_steps=2, attack_size=0.2
    )
    first, second = data(), data()
    second.train.pixels[7] = 0.5
    for given in (first, second):
        fit_image_model(IMAGE_TRAINERS["dp-adversarial"], given, chosen, seed=3)
    kept = [index for index in range(60) if index != 7]
    assert torch.equal(found[0][kept], found[1][kept])
    assert float((found[0] - first.train.pixels).abs().max()) > 0.1

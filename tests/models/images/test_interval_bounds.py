"""Interval bounds on networks of images: they hold of every image in a ball, in float32 too, and are not vacuous."""

import dataclasses

import pytest
import torch
from torch import nn

import deniable as dn
from deniable.models.images.certification import CertificateAttack
from deniable.models.images.interval_bounds import (
    _MONOTONE,
    IntervalBounds,
    _compute_rounded_margins,
    compute_features,
    compute_margins,
    get_last_parameters,
    make_box,
)
from deniable.models.images.networks import ImageArchitecture
from tests.models.images.random_images import fitted, images
from tests.models.images.small import make_data, train
from tests.refusals import refuses

SHAPE = (1, 20, 20)
NETWORKS = ("small", "shallow", "paper-mnist", "paper-cifar10")


def build(name, *, width=0.25):
    """Return a network with larger weights than at the start, so that bounds are wide and its scores differ."""
    network = ImageArchitecture(name, SHAPE, 5, width).build(3).eval()
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(1.5)
    return network


def share(network, kind=torch.float32):
    """Return the parameters that all images share."""
    return {name: weight.detach().to(kind).unsqueeze(0) for name, weight in network.named_parameters()}


def copy(network, count):
    """Return the parameters with a copy for each image."""
    return {name: weight.detach().expand(count, *weight.shape) for name, weight in network.named_parameters()}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_bounded_network_is_the_one_that_runs(name):
    """Features and logits by shared parameters, and by one copy for each image, are those of the network."""
    network, pixels = build(name), images(3, SHAPE).pixels
    for parameters in (share(network), copy(network, 3)):
        features = compute_features(network, parameters, pixels)
        weight, bias = get_last_parameters(network, parameters)
        logits = (weight @ features.unsqueeze(2)).squeeze(2) + bias
        torch.testing.assert_close(logits, network(pixels))


@pytest.mark.parametrize("radius", [0.0, 0.003, 0.1])
@pytest.mark.parametrize("name", NETWORKS)
def test_margins_hold_in_the_ball(name, radius):
    """No image in the ball, corners among them, has a smaller lead in float32 than the margins, rounding counted."""
    network, pixels, labels = build(name), images(4, SHAPE).pixels, torch.tensor([0, 1, 4, 2])
    box = make_box(pixels.double(), radius)
    margins = _compute_rounded_margins(network, share(network, torch.double), box, labels)
    source = torch.Generator().manual_seed(0)
    for number in range(20):
        shares = torch.rand(pixels.shape, generator=source, dtype=torch.double)
        shares = shares.round() if number % 2 else shares
        logits = network((box.low + shares * (box.high - box.low)).float()).double()
        leads = logits.gather(1, labels[:, None]) - logits
        assert (leads >= margins).all()
    assert (margins.gather(1, labels[:, None]) <= 0).all()


@pytest.mark.parametrize("name", NETWORKS)
def test_boxes_are_the_same_by_shared_parameters_and_by_copies(name):
    """A copy of the parameters for each image gives the margins that shared ones give, of one image too."""
    network, pixels, labels = build(name), images(3, SHAPE).pixels, torch.tensor([0, 1, 4])
    box = make_box(pixels, 0.01)
    found = [
        compute_margins(network, parameters, compute_features(network, parameters, box), labels)
        for parameters in (share(network), copy(network, 3))
    ]
    first = make_box(pixels[:1], 0.01)
    own = copy(network, 1)
    found.append(compute_margins(network, own, compute_features(network, own, first), labels[:1]))
    torch.testing.assert_close(found[0], found[1])
    torch.testing.assert_close(found[0][:1], found[2])


def test_margins_of_a_point_are_nearly_exact():
    """At radius 0 only rounding is lost, and the loss for it is small against float32's scores, but not nothing."""
    network, pixels, labels = build("small"), images(4, SHAPE).pixels, torch.tensor([0, 1, 4, 2])
    exact = share(network, torch.double)
    box = make_box(pixels.double(), 0.0)
    rounded = _compute_rounded_margins(network, exact, box, labels)
    plain = compute_margins(network, exact, compute_features(network, exact, box), labels)
    others = torch.arange(5) != labels[:, None]
    lost = (plain - rounded)[others]
    assert (lost > 2**-24).all()
    assert (lost < 0.01).all()


@pytest.mark.parametrize("name", ["shallow", "small"])
def test_an_example_moves_with_its_own_copy_only(name):
    """The bounds of an image do not depend on the other images or their copies of the parameters."""
    network, pixels, labels = build(name), images(3, SHAPE).pixels, torch.tensor([0, 1, 4])
    own = copy(network, 3)
    other = {key: weight.clone().index_fill_(0, torch.tensor([0, 2]), 0.3) for key, weight in own.items()}
    found = [
        compute_margins(network, some, compute_features(network, some, make_box(pixels, 0.01)), labels)
        for some in (own, other)
    ]
    torch.testing.assert_close(found[0][1], found[1][1])
    assert not torch.allclose(found[0][0], found[1][0])


class TestRadius:
    """The radius of a network that is a half space is its true distance; a larger one is refuted."""

    @staticmethod
    def half_space():
        """Return a model of class 1 where the mean of 16 x 16 pixels is above one half."""
        plain = fitted("plain", network="shallow")
        network = dataclasses.replace(plain.architecture, width=0.1).build(0).eval()
        first, last = network.first, network.rest[-1]
        with torch.no_grad():
            for weight in network.parameters():
                weight.zero_()
            first.weight[0, 0, 3:5, 3:5] = 1  # each pixel once: 4 pixels behind a stride of 2
            first.bias[0] = 4  # above 0 for all pixels in [-1, 1]
            places = last.weight.shape[1] // first.out_channels
            last.weight[1, :places], last.weight[0, :places] = 1, -1
            mean = 4.0 * places
            last.bias[1], last.bias[0] = -mean, mean
        return dataclasses.replace(plain, network=network, certificate=IntervalBounds())

    def test_it_is_the_distance(self):
        """Within the search's step and the rounding of float32."""
        model, levels = self.half_space(), (0.44, 0.47, 0.53, 0.6)
        grey = torch.tensor(levels)[:, None, None, None].expand(-1, 1, 16, 16).contiguous()
        labels = (torch.tensor(levels) > 0.5).long()
        curve = dn.images.certify_image_model(model, grey, labels, radii=(0.0, 0.05))
        assert (curve.draws, curve.alpha) == (0, 0.0)
        for level, label, image in zip(levels, labels.tolist(), curve.certified, strict=True):
            assert image.label == label
            assert abs(level - 0.5) - 1e-3 < image.radius <= abs(level - 0.5)
        assert [share.value for share in curve.accuracy] == [1.0, 0.5]
        size = torch.tensor(0.05, dtype=torch.float64)
        assert IntervalBounds.find_proved(model.network, grey, labels, size).tolist() == [True, False, False, True]
        assert not IntervalBounds.find_proved(model.network, grey, 1 - labels, size).any()
        attack = CertificateAttack.from_curve(curve)
        source = torch.Generator().manual_seed(0)
        assert attack.refute(model.scores(source), grey, curve.certified, source).flips == 0
        wider = [dataclasses.replace(image, radius=1.3 * image.radius) for image in curve.certified]
        found = attack.refute(model.scores(source), grey, wider, source)
        assert found.is_refuted
        assert found.flips == 4


def test_training_widens_what_is_proved():
    """After training on bounds more images are proved right than after training without them."""
    data = make_data()
    for part in (data.train, data.test):
        part.pixels.mul_(0.4).add_(0.3 * part.labels[:, None, None, None])
    proved = {}
    for name, given in (("ibp", {"attack_size": 0.05}), ("plain", {"network": "shallow"})):
        trainer = dn.images.IMAGE_TRAINERS[name]
        options = trainer.choose_options(steps=80, batch_size=24, width=0.25, learning_rate=0.01, **given)
        model = dn.images.fit_image_model(trainer, data, options, seed=0)
        found = IntervalBounds().certify_images(model.network, data.test.pixels)
        proved[name] = sum(
            image.radius for image, label in zip(found, data.test.labels.tolist(), strict=True) if image.label == label
        )
    assert proved["ibp"] > 1.3 * proved["plain"]


def test_what_has_no_bounds():
    """Normalisation and noise are refused; the layers that are taken for monotone are."""
    with refuses("BatchNorm"):
        IntervalBounds.from_network(
            ImageArchitecture("paper-mnist", SHAPE, 5, 0.1, normalised=True).build(0), SHAPE, ()
        )
    for given in ({"padding": 1, "padding_mode": "reflect"}, {"groups": 2}):
        network = build("small")
        network.first = nn.Conv2d(2, 4, 3, **given)
        with refuses("one group and zeros as padding"):
            IntervalBounds.from_network(network, SHAPE, ())
    noisy = dn.images.smooth_image_model(train("plain"), 0.1)
    with refuses("noise"):
        IntervalBounds.from_network(noisy.network, noisy.architecture.shape, noisy.noises)
    low = torch.rand(2, 3, 8, 8)
    for layer in (nn.Tanh(), nn.ReLU(), nn.MaxPool2d(2, 1), nn.AvgPool2d(2), nn.Flatten()):
        assert isinstance(layer, _MONOTONE)
        assert (layer(low) <= layer(low + torch.rand(2, 3, 8, 8))).all()

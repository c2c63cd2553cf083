"""Clipped sums: equal to those of gradients example by example, and never more of one example than the norm allows."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.func import functional_call, grad, vmap

from deniable.learning.clipping import _CLIP_SLACK, EMPTY_LABEL, sum_clipped_gradients, sum_clipped_losses
from tests.models.images.random_images import data, fit
from tests.refusals import refuses

deep = pytest.mark.deep

LAYERS = {
    "linear": lambda: nn.Sequential(nn.Flatten(), nn.Linear(2 * 9 * 8, 4)),
    "convolution": lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.Flatten(), nn.Linear(3 * 7 * 6, 4)),
    "two strides": lambda: nn.Sequential(nn.Conv2d(2, 3, 3, stride=(2, 3)), nn.Flatten(), nn.Linear(3 * 4 * 2, 4)),
    "padding": lambda: nn.Sequential(nn.Conv2d(2, 3, 3, padding=(1, 2)), nn.Flatten(), nn.Linear(3 * 9 * 10, 4)),
    "dilation": lambda: nn.Sequential(nn.Conv2d(2, 3, 3, dilation=2), nn.Flatten(), nn.Linear(3 * 5 * 4, 4)),
    "oblong kernel": lambda: nn.Sequential(nn.Conv2d(2, 3, (2, 4)), nn.Flatten(), nn.Linear(3 * 8 * 5, 4)),
    "no bias": lambda: nn.Sequential(nn.Conv2d(2, 3, 3, bias=False), nn.Flatten(), nn.Linear(126, 4, bias=False)),
    "more maps than places": lambda: nn.Sequential(
        nn.Conv2d(2, 30, 5, stride=4), nn.Tanh(), nn.Flatten(), nn.Linear(60, 20), nn.Tanh(), nn.Linear(20, 4)
    ),
}


def built(name):
    """Return a network of `LAYERS` in float64."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return LAYERS[name]().double()


def random(*shape, seed=0):
    """Return normal numbers."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def oracle(network, views, labels):
    """Return the gradient of every example, {name: (b, ...)}, by torch.func."""
    parameters = dict(network.named_parameters())

    def loss(given, some, label):
        return nn.functional.cross_entropy(functional_call(network, given, (some,)), label.expand(len(some)))

    return vmap(grad(loss), in_dims=(None, 0, 0))(parameters, views, labels)


def norms(gradients):
    """Return the norm of every example's gradient, (b,)."""
    return torch.stack([held.flatten(1).norm(dim=1) for held in gradients.values()]).norm(dim=0)


def clipped(gradients, clip):
    """Return the sum of gradients, each clipped."""
    factors = (clip / norms(gradients)).clamp(max=1)
    return {name: torch.einsum("b,b...->...", factors, held) for name, held in gradients.items()}


def size(sums):
    """Return the norm over all parameters."""
    return torch.stack([held.double().norm() for held in sums.values()]).norm()


def agree(found, expected, tolerance):
    """Say that two sums are the same, relative to the size of the whole."""
    assert found.keys() == expected.keys()
    for name, held in expected.items():
        assert found[name].shape == held.shape
    off = size({name: found[name] - held for name, held in expected.items()})
    assert off <= tolerance * size(expected)


@pytest.mark.parametrize(
    ("clip", "views"), [(0.05, 3), (1e6, 1), *(pytest.param(*case, marks=deep) for case in [(1.0, 1), (1.0, 3)])]
)
@pytest.mark.parametrize("name", LAYERS)
def test_it_is_the_sum_of_clipped_gradients(name, clip, views):
    """Linear layers and convolutions of every kind give what torch.func gives example by example."""
    network, given, labels = built(name), random(5, views, 2, 9, 8), torch.tensor([0, 3, 1, 2, 0])
    expected = clipped(oracle(network, given, labels), (1 - _CLIP_SLACK) * clip)
    for layout in (
        given,
        given.transpose(3, 4).contiguous().transpose(3, 4),
        torch.cat([given, given], 3)[:, :, :, :9],
    ):
        found, loss = sum_clipped_gradients(network, network, layout, labels, clip)
        agree(found, expected, 1e-9)
    total = nn.functional.cross_entropy(network(given.flatten(0, 1)), labels.repeat_interleave(views)) * 5
    assert loss == pytest.approx(total.item())


def compute_cross_entropies(network):
    """Return the losses (b,) of a network's examples, each by its own copy of the parameters."""

    def compute(copies, inputs, labels):
        logits = vmap(lambda given, some: functional_call(network, given, (some[None],))[0])(dict(copies), inputs)
        return nn.functional.cross_entropy(logits, labels, reduction="none")

    return compute


@pytest.mark.parametrize("clip", [0.05, 1e6])
def test_any_loss_is_clipped_example_by_example(clip):
    """Stored gradients give the sum that ghost clipping gives of the same loss, and an empty record adds nothing."""
    network, given = built("convolution"), random(5, 2, 9, 8)
    labels = torch.tensor([0, 3, EMPTY_LABEL, 2, 0])
    found, loss = sum_clipped_losses(network, compute_cross_entropies(network), given, labels, clip)
    expected, expected_loss = sum_clipped_gradients(network, network, given[:, None], labels, clip)
    agree(found, expected, 1e-9)
    assert loss == pytest.approx(expected_loss)
    rest = labels.where(torch.arange(5) != 1, EMPTY_LABEL)
    without, _ = sum_clipped_losses(network, compute_cross_entropies(network), given, rest, clip)
    moved = size({name: found[name] - held for name, held in without.items()})
    assert 0 < moved <= clip


def image_network(name, shape=(1, 18, 18)):
    """Return the network of an image model, after a step of training that hardly moves it."""
    return fit("plain", data(12, shape), network=name, steps=1, width=0.25).network.train()


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("small", (1, 18, 18)),
        ("paper-mnist", (3, 20, 24)),
        pytest.param("paper-cifar10", (3, 28, 28), marks=deep),
        pytest.param("small", (3, 28, 28), marks=deep),
        pytest.param("paper-mnist", (1, 28, 28), marks=deep),
    ],
)
def test_every_network_can_be_trained_privately(name, shape):
    """The sum is torch.func's for all networks, in double and nearly in single precision."""
    network = image_network(name, shape)
    given, labels = random(4, 2, *shape).abs().clamp(max=1), torch.tensor([9, 0, 4, 4])
    single, _ = sum_clipped_gradients(network, network, given.float(), labels, 0.1)
    expected = clipped(oracle(network.double(), given, labels), (1 - _CLIP_SLACK) * 0.1)
    double, _ = sum_clipped_gradients(network, network, given, labels, 0.1)
    agree(double, expected, 1e-9)
    agree(single, expected, 5e-3)


@pytest.mark.parametrize(
    "name", [name if name in {"linear", "convolution"} else pytest.param(name, marks=deep) for name in LAYERS]
)
@settings(max_examples=30)
@given(st.floats(-20, 20), st.floats(-20, 20), st.integers(1, 3), st.integers(0, 5))
def test_no_example_gives_more_than_the_norm(name, scale, weight, views, seed):
    """The contribution of one example is at most the clipping norm, and all of it where the gradient is longer."""
    network = built(name).float()
    with torch.no_grad():
        for held in network.parameters():
            held.mul_(2.0**weight)
    given = 2.0**scale * random(1, views, 2, 9, 8, seed=seed).float()
    found, _ = sum_clipped_gradients(network, network, given, torch.tensor([1]), 0.1)
    assert size(found) <= 0.1
    if norms(oracle(network.double(), given.double(), torch.tensor([1]))) > 0.11:
        assert size(found) >= 0.09


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=deep) for seed in range(1, 8))])
def test_rounding_lets_nobody_through(seed):
    """Where the columns of an example cancel but for rounding, its contribution is within the norm all the same."""
    network = nn.Sequential(nn.Conv2d(8, 64, 3, bias=False), nn.Flatten(), nn.Linear(256, 2, bias=False))
    one, other = random(2, 64, 1, seed=seed).float() * 1e4
    with torch.no_grad():
        network[0].weight.zero_()  # so that the scores are 0 and the softmax is level, whatever follows
        places = torch.cat([one, -one * (1 + 1e-6), other, -other * (1 + 1e-6)], 1)
        network[2].weight.copy_(torch.stack([places.flatten(), -places.flatten()]))
    given, labels = torch.ones(1, 1, 8, 4, 4), torch.tensor([1])
    found, _ = sum_clipped_gradients(network, network, given, labels, 0.1)
    assert norms(oracle(network.double(), given.double(), labels)) > 0.1
    assert size(found) <= 0.1


def test_an_example_counts_for_itself_only():
    """One more example changes the sum by its own clipped gradient, whoever else is there; noise of the pass counts."""
    network, given, labels = built("convolution"), random(5, 2, 2, 9, 8), torch.tensor([0, 3, 1, 2, 0])
    whole, part, alone = (
        sum_clipped_gradients(network, lambda images: network(images + 1), given[rows], labels[rows], 0.1)[0]
        for rows in (slice(0, 5), slice(0, 4), slice(4, 5))
    )
    agree({name: whole[name] - part[name] for name in whole}, alone, 1e-9)
    agree(sum_clipped_gradients(network, network, given + 1, labels, 0.1)[0], whole, 1e-12)


def test_gradients_that_vanish():
    """Nobody, or an example without gradient, gives zeros in the parameters' shapes; a tiny gradient stays."""
    network = nn.Sequential(nn.Flatten(), nn.Linear(4, 2, bias=False)).double()
    for count in (0, 1):
        given, labels = torch.zeros(count, 1, 1, 2, 2).double(), torch.ones(count, dtype=torch.long)
        nothing, _ = sum_clipped_gradients(network, network, given, labels, 0.1)
        assert {name: held.shape for name, held in nothing.items()} == {"1.weight": (2, 4)}
        assert size(nothing) == 0
    tiny = torch.full((1, 1, 1, 2, 2), 1e-9).double()
    found, _ = sum_clipped_gradients(network, network, tiny, torch.tensor([1]), 0.1)
    agree(found, {name: held[0] for name, held in oracle(network, tiny, torch.tensor([1])).items()}, 1e-9)


@pytest.mark.parametrize(
    "layer",
    [
        nn.BatchNorm2d(2),
        nn.BatchNorm2d(2, affine=False, track_running_stats=False),
        nn.LayerNorm([2, 9, 8]),
        nn.Conv2d(2, 2, 3, groups=2),
        nn.Conv2d(2, 2, 3, padding=1, padding_mode="reflect"),
        nn.Conv2d(2, 2, 3, padding="same"),
        nn.ConvTranspose2d(2, 2, 3),
        nn.Embedding(2, 2),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_other_layers_are_refused(layer):
    """A layer whose gradient is not known, or that mixes examples, is refused in one line."""
    network = nn.Sequential(layer, nn.Flatten(), nn.Linear(10, 4))
    with refuses(""):
        sum_clipped_gradients(
            network, lambda images: _through(network, images), torch.ones(2, 1, 2, 9, 8), torch.tensor([0, 1]), 1
        )


def _through(network, images):
    """Return scores that pass through the first layer, whatever its shape."""
    return network[2](network[0](images).flatten(1)[:, :10])


def test_a_layer_that_is_used_twice_is_refused():
    """Two uses of one layer would be two gradients, of which hooks see the last."""
    network = nn.Sequential(nn.Flatten(), nn.Linear(4, 4))
    with refuses("'1' is used twice"):
        sum_clipped_gradients(
            network, lambda images: network(network(images)), torch.ones(1, 1, 1, 2, 2), torch.ones(1), 1
        )


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=deep) for seed in (1, 2))])
@pytest.mark.parametrize("name", ["one linear layer", "a convolution whose gradients are stored", "a convolution"])
def test_no_number_of_aligned_examples_lets_one_through(name, seed):
    """Among very many examples of one gradient, one moves the sum by at most the norm, wherever it stands."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network, shape = {
            "one linear layer": (nn.Linear(3, 2), (3,)),
            "a convolution whose gradients are stored": (nn.Sequential(nn.Conv2d(1, 2, 1), nn.Flatten()), (1, 2, 2)),
            "a convolution": (nn.Sequential(nn.Conv2d(3, 4, 2), nn.Flatten()), (3, 2, 3)),
        }[name]
    count = 20_000 if seed == 0 else 100_000
    given, labels = random(1, *shape, seed=seed).float().expand(count, 1, *shape), torch.zeros(count, dtype=torch.int64)
    whole, _ = sum_clipped_gradients(network, network, given, labels, 0.1)
    for row in (0, count // 3, count - 1):
        others = labels.clone()
        others[row] = EMPTY_LABEL
        rest, _ = sum_clipped_gradients(network, network, given, others, 0.1)
        assert 0.0998 < size({part: whole[part].double() - rest[part].double() for part in whole}) <= 0.1

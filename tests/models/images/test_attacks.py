"""The attacks: against foolbox, known optima and each other, inside ball and bounds, and with bad input."""

import copy
import dataclasses
import functools
import math
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from torch import nn

from deniable.models.images.attacks import (
    IMAGE_ATTACKS,
    L1Attack,
    L2Attack,
    SignAttack,
    compute_loss_gradient,
    draw_in_unit_ball,
    project_on_l1_balls,
)
from tests.refusals import refuses

with warnings.catch_warnings():
    # foolbox 3.3.4 imports gaussian_filter from a module that scipy has moved
    warnings.filterwarnings("ignore", message="Please import `gaussian_filter`", category=DeprecationWarning)
    import foolbox

SIZE, SHAPE = 0.1, (6, 2, 5, 5)
EVERY = {**IMAGE_ATTACKS, "l2": L2Attack(), "l1": L1Attack()}
REAL_LINE = (-math.inf, math.inf)


def _generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def net():
    """Return a small random convolutional net in evaluation mode."""
    with torch.random.fork_rng():
        torch.manual_seed(7)
        layers = nn.Conv2d(2, 6, 3), nn.Tanh(), nn.Flatten(), nn.Linear(54, 4)
        return nn.Sequential(*layers).double().eval()


@pytest.fixture(scope="module")
def images():
    return torch.rand(SHAPE, generator=_generator(1), dtype=torch.float64)


@pytest.fixture(scope="module")
def labels():
    return torch.randint(4, SHAPE[:1], generator=_generator(2))


def _foolbox(attack, net, images, labels, start=None):
    """Run an attack of foolbox at the module's size, from the given point of the ball."""
    if start is not None:
        attack.get_random_start = lambda _, __: foolbox.attacks.base.ep.astensor(start)
    model = foolbox.PyTorchModel(copy.deepcopy(net), bounds=(0, 1), device="cpu")
    return attack.run(model, images, foolbox.criteria.Misclassification(labels), epsilon=SIZE)


def _linear(weights):
    """Return the scores (b, 2) of a linear model whose class 1 grows with the pixels' weighted sum."""

    def scores(images):
        value = (images * weights).flatten(1).sum(1)
        return torch.stack([torch.zeros_like(value), value], 1)

    return scores


def test_attacks_give_the_images_of_foolbox(net, images, labels):
    """At the same steps and starts, in float64, every attack that foolbox 3.3.4 has gives its images."""
    attacks = foolbox.attacks
    pairs = [(IMAGE_ATTACKS["fgsm"](net, images, labels, SIZE), attacks.LinfFastGradientAttack(), None)]
    for steps in (1, 10):
        theirs = attacks.LinfBasicIterativeAttack(abs_stepsize=SIZE / steps, steps=steps, random_start=False)
        pairs.append((SignAttack(steps=steps, stride=1.0)(net, images, labels, SIZE), theirs, None))
    cube = 2 * torch.rand(SHAPE, generator=_generator(), dtype=torch.float64) - 1
    step = {"abs_stepsize": 2.5 * SIZE / 40, "steps": 40, "random_start": True}
    for attack, theirs, start in (
        (IMAGE_ATTACKS["pgd"], attacks.LinfPGD(**step), cube),
        (L2Attack(), attacks.L2PGD(**step), draw_in_unit_ball(images, _generator())),
    ):
        pairs.append((attack(net, images, labels, SIZE, generator=_generator()), theirs, images + SIZE * start))
    for ours, theirs, start in pairs:
        expected = _foolbox(theirs, net, images, labels, start)
        torch.testing.assert_close(ours, expected, rtol=0, atol=1e-9)


def test_mim_is_algorithm_1_of_dong(net, images, labels):
    """A plain loop of Algorithm 1 over single images, by the cross-entropy of torch, gives the same images.

    foolbox adds up signs of gradients instead of gradients over their l1 norms.
    """
    for decay in (0.0, 0.5, 1.0):
        ours = SignAttack(steps=7, stride=1.0, decay=decay)(net, images, labels, SIZE)
        for number, image in enumerate(images):
            point, momentum = image.clone(), torch.zeros_like(image)
            for _ in range(7):
                leaf = point.clone().requires_grad_()
                loss = nn.functional.cross_entropy(net(leaf[None]), labels[number : number + 1])
                (gradient,) = torch.autograd.grad(loss, leaf)
                momentum = decay * momentum + gradient / gradient.abs().sum()
                point = (point + SIZE / 7 * momentum.sign()).clamp(0, 1)
            torch.testing.assert_close(ours[number], point, rtol=0, atol=1e-9)


@pytest.mark.parametrize("bounds", [(0.0, 1.0), REAL_LINE])
@pytest.mark.parametrize("name", IMAGE_ATTACKS)
def test_linear_models_meet_their_worst_image(name, bounds, images):
    """Every l_inf attack reaches the optimum: each pixel moves by the size against its weight, up to the bounds."""
    weights = torch.randn(SHAPE[1:], generator=_generator(3), dtype=torch.float64)
    ones = torch.ones(len(images), dtype=torch.int64)
    attack = dataclasses.replace(IMAGE_ATTACKS[name], bounds=bounds)
    attacked = attack(_linear(weights), images, ones, 0.3, _generator())
    torch.testing.assert_close(attacked, (images - 0.3 * weights.sign()).clamp(*bounds))


def test_linear_models_meet_their_worst_image_of_the_l2_ball(images):
    """Without bounds the l2 attack ends where the ball lies farthest against the weights, at each image's size."""
    weights = torch.randn(SHAPE[1:], generator=_generator(3), dtype=torch.float64)
    ones, sizes = torch.ones(len(images), dtype=torch.int64), torch.linspace(0, 0.5, len(images), dtype=torch.float64)
    attacked = L2Attack(bounds=REAL_LINE, stride=100.0)(_linear(weights), images, ones, sizes, _generator())
    optimum = images - sizes.view(-1, 1, 1, 1) * weights / weights.norm()
    torch.testing.assert_close(attacked, optimum, rtol=0, atol=1e-6)
    torch.testing.assert_close(attacked[0], images[0], rtol=0, atol=0)


@settings(max_examples=30)
@given(
    name=st.sampled_from(sorted(EVERY)),
    size=st.floats(0, 2),
    bounds=st.sampled_from([(0.0, 1.0), (-0.5, 1.5), REAL_LINE]),
    seed=st.integers(0, 99),
)
def test_attacks_stay_in_ball_and_bounds(net, name, size, bounds, seed):
    """No pixel leaves the bounds and no image the ball, and the given images are left as they were."""
    images = torch.rand(SHAPE, generator=_generator(seed), dtype=torch.float64).float()
    labels, before = torch.arange(len(images)) % 4, images.clone()
    scores = functools.partial(_float_scores, net)
    attack = dataclasses.replace(EVERY[name], bounds=bounds)
    attacked = attack(scores, images, labels, size, _generator(seed))
    order = {"l1": 1, "l2": 2}.get(name, torch.inf)
    moved = torch.linalg.vector_norm((attacked - images).double().flatten(1), ord=order, dim=1)
    assert attacked.dtype == torch.float32
    assert moved.max() <= size + 1e-5
    assert attacked.min() >= bounds[0]
    assert attacked.max() <= bounds[1]
    assert torch.equal(images, before)


def _float_scores(net, images):
    return net(images.double()).float()


class TestGradient:
    """The gradient of minus the log of the average probability."""

    def test_of_a_deterministic_model_is_that_of_cross_entropy(self, net, images, labels):
        """One draw or five, the gradient is autograd's of the summed cross-entropy."""
        leaf = images.clone().requires_grad_()
        (expected,) = torch.autograd.grad(nn.functional.cross_entropy(net(leaf), labels, reduction="sum"), leaf)
        for draws in (1, 5):
            torch.testing.assert_close(
                compute_loss_gradient(net, images, labels, draws), expected, rtol=1e-9, atol=1e-12
            )

    def test_over_draws_is_that_of_the_averaged_probability(self, net, images, labels):
        """Given the same noise, it is autograd's gradient of -log of the mean softmax over the draws."""
        noise = torch.randn((8, *SHAPE), generator=_generator(4), dtype=torch.float64)
        leaf = images.clone().requires_grad_()
        mean = torch.stack([net(leaf + one).softmax(1) for one in noise]).mean(0)
        (expected,) = torch.autograd.grad(-mean.gather(1, labels[:, None]).log().sum(), leaf)
        drawn = iter(noise)
        ours = compute_loss_gradient(lambda x: net(x + next(drawn)), images, labels, draws=8)
        torch.testing.assert_close(ours, expected, rtol=1e-9, atol=1e-12)

    def test_does_not_underflow(self):
        """Where the label's probability is e^-800 in every draw, the gradient is still that of the scores."""
        noise = iter((800.0, 801.0))
        scores = _linear(torch.tensor(1.0))
        gradient = compute_loss_gradient(
            lambda x: scores(x - next(noise)), torch.zeros(1, 1), torch.tensor([1]), draws=2
        )
        torch.testing.assert_close(gradient, torch.tensor([[-1.0]]))

    def test_leaves_the_model_and_the_callers_mode_alone(self, net, images, labels):
        """Parameters get no gradient and keep requiring one, under no_grad and inference_mode too."""
        expected = IMAGE_ATTACKS["i-fgsm"](net, images, labels, SIZE)
        for mode in (torch.no_grad, torch.inference_mode):
            with mode():
                assert torch.equal(IMAGE_ATTACKS["i-fgsm"](net, images * 1, labels * 1, SIZE), expected)
        assert not expected.requires_grad
        assert all(one.grad is None and one.requires_grad for one in net.parameters())


def test_no_global_randomness_is_used(net, images, labels):
    """Equal generators give equal images, others give others, and the global state of torch does not move."""
    state = torch.get_rng_state()
    for attack in (SignAttack(steps=1, random_start=True), L2Attack(steps=1)):
        one, again, other = (attack(net, images, labels, 0.5, _generator(seed)) for seed in (0, 0, 1))
        assert torch.equal(one, again)
        assert not torch.equal(one, other)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("name", EVERY)
def test_size_zero_and_empty_batches_are_given_back(name, images, labels):
    """The images come back without a call of the model."""
    for batch, classes in ((images, labels), (images[:0], labels[:0])):
        attacked = EVERY[name](None, batch, classes, 0.0)
        assert torch.equal(attacked, batch)


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({"size": -0.1}, "'size'"),
        ({"size": math.nan}, "'size'"),
        ({"size": math.inf}, "'size'"),
        ({"size": "0.1"}, "'size'"),
        ({"size": torch.ones(5)}, "'size'"),
        ({"images": torch.zeros(6)}, "'images'"),
        ({"images": torch.zeros(SHAPE, dtype=torch.uint8)}, "'images'"),
        ({"images": torch.full(SHAPE, 1.5)}, "(0, 0, 0, 0) is 1.5"),
        ({"images": torch.full(SHAPE, torch.nan)}, "nan"),
        ({"labels": torch.zeros(5, dtype=torch.int64)}, "'labels'"),
        ({"labels": torch.zeros(6)}, "'labels'"),
        ({"labels": torch.full((6,), 4)}, "The label 4"),
        ({"labels": torch.full((6,), -1)}, "The label -1"),
        ({"scores": lambda x: x.flatten()}, "a row for each image"),
        ({"scores": lambda x: x.flatten(1) / 0}, "not finite"),
        ({"scores": lambda x: x.detach().flatten(1)}, "differentiate"),
        ({"scores": lambda x: torch.zeros(len(x), 4, requires_grad=True)}, "differentiate"),
        ({"scores": lambda x: (x * 0).sqrt().flatten(1)}, "gradient of the scores is not finite"),
    ],
)
def test_bad_input_is_named(net, images, labels, change, value):
    """Each wrong argument is refused by one line that names it, by every attack."""
    given = {"scores": net, "images": images, "labels": labels, "size": SIZE, "generator": _generator(), **change}
    for attack in EVERY.values():
        with refuses(value):
            attack(**given)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("decay", -1.0),
        ("decay", math.nan),
        ("steps", 0),
        ("stride", 0),
        ("bounds", (1.0, 0.0)),
        ("draws", 0),
        ("draws", 1.5),
    ],
)
def test_bad_options_are_named(name, value):
    """An attack refuses an option outside its domain by name."""
    with refuses(f"'{name}'"):
        SignAttack(**{name: value})


def test_starts_are_uniform_in_the_l2_ball():
    """The volumes within the drawn radii are uniform numbers, and the directions cancel."""
    drawn = draw_in_unit_ball(torch.zeros((20_000, 1, 1, 3), dtype=torch.float64), _generator(6)).flatten(1)
    volumes = drawn.norm(dim=1).sort().values ** 3
    assert (volumes - torch.linspace(0, 1, 20_000)).abs().max() < 0.019  # Kolmogorov-Smirnov at 1e-6
    assert drawn.mean(0).abs().max() < 0.02


def test_l1_attack_moves_other_pixels_at_the_bounds():
    """A pixel with the largest gradient at its bound is passed over, and the ball is used up by the next one."""
    weights = torch.tensor([-3.0, 2.0, -1.0, -1.0]).view(1, 2, 2)
    image = torch.tensor([0.02, 0.5, 0.5, 0.5]).view(1, 1, 2, 2)
    found = L1Attack()(_linear(-weights), image, torch.tensor([1]), 0.1)
    torch.testing.assert_close((found - image).flatten(), torch.tensor([-0.02, 0.08, 0.0, 0.0]), atol=0.01, rtol=0)
    assert float((found - image).abs().sum()) <= 0.1 + 1e-6


def test_l1_projection_is_the_nearest_point():
    """The projection on the l1 ball is that of a general solver, and leaves points inside alone."""
    shift = torch.tensor([[0.5, -0.3, 0.1], [0.01, 0.0, -0.02]], dtype=torch.float64)
    found = project_on_l1_balls(shift, torch.tensor([0.4, 0.4], dtype=torch.float64)).numpy()
    by_solver = optimize.minimize(
        lambda v: ((v[:3] - v[3:] - shift[0].numpy()) ** 2).sum(),
        np.full(6, 0.01),
        bounds=[(0, None)] * 6,
        constraints={"type": "ineq", "fun": lambda v: 0.4 - v.sum()},
        method="SLSQP",
        options={"ftol": 1e-14},
    ).x
    np.testing.assert_allclose(found[0], by_solver[:3] - by_solver[3:], atol=1e-5)
    np.testing.assert_array_equal(found[1], shift[1].numpy())

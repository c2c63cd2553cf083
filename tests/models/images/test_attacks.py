"""The attacks: against foolbox, known optima and each other, inside ball and bounds, and with bad input."""

import copy
import functools
import math
import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from deniable.core.errors import InputError
from deniable.models.images.attacks import IMAGE_ATTACKS, compute_loss_gradient, fgsm, i_fgsm, mim, pgd, pgd_l2
from deniable.models.images.balls import draw_in_unit_ball

with warnings.catch_warnings():
    # foolbox 3.3.4 imports gaussian_filter from a module that scipy has moved
    warnings.filterwarnings("ignore", message="Please import `gaussian_filter`", category=DeprecationWarning)
    import foolbox

SIZE, SHAPE = 0.1, (6, 2, 5, 5)
EVERY = {**IMAGE_ATTACKS, "pgd_l2": pgd_l2}
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


class TestFoolbox:
    """Attacks of foolbox 3.3.4 at the same steps and starts, in float64."""

    def test_fgsm(self, net, images, labels):
        """One step gives the images of foolbox."""
        theirs = _foolbox(foolbox.attacks.LinfFastGradientAttack(), net, images, labels)
        torch.testing.assert_close(fgsm(net, images, labels, SIZE), theirs, rtol=0, atol=1e-9)

    @pytest.mark.parametrize("steps", [1, 3, 10])
    def test_i_fgsm(self, net, images, labels, steps):
        """Basic iterative steps of size / steps give the images of foolbox."""
        attack = foolbox.attacks.LinfBasicIterativeAttack(abs_stepsize=SIZE / steps, steps=steps, random_start=False)
        theirs = _foolbox(attack, net, images, labels)
        torch.testing.assert_close(i_fgsm(net, images, labels, SIZE, steps=steps), theirs, rtol=0, atol=1e-9)

    def test_pgd(self, net, images, labels):
        """From the same start in the ball, 40 steps of the default length give the images of foolbox."""
        start = images + SIZE * (2 * torch.rand(SHAPE, generator=_generator(), dtype=torch.float64) - 1)
        attack = foolbox.attacks.LinfPGD(abs_stepsize=2.5 * SIZE / 40, steps=40, random_start=True)
        theirs = _foolbox(attack, net, images, labels, start)
        ours = pgd(net, images, labels, SIZE, generator=_generator())
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-9)

    def test_pgd_l2(self, net, images, labels):
        """From the same start in the l2 ball, 40 steps of the default length give the images of foolbox."""
        start = images + SIZE * draw_in_unit_ball(images, _generator())
        attack = foolbox.attacks.L2PGD(abs_stepsize=2.5 * SIZE / 40, steps=40, random_start=True)
        theirs = _foolbox(attack, net, images, labels, start)
        ours = pgd_l2(net, images, labels, SIZE, generator=_generator())
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-9)


def test_mim_is_algorithm_1_of_dong(net, images, labels):
    """A plain loop of Algorithm 1 over single images, by the cross-entropy of torch, gives the same images.

    foolbox adds up signs of gradients instead of gradients over their l1 norms.
    """
    for decay in (0.5, 1.0):
        ours = mim(net, images, labels, SIZE, decay=decay, steps=7)
        for number, image in enumerate(images):
            point, momentum = image.clone(), torch.zeros_like(image)
            for _ in range(7):
                leaf = point.clone().requires_grad_()
                loss = nn.functional.cross_entropy(net(leaf[None]), labels[number : number + 1])
                (gradient,) = torch.autograd.grad(loss, leaf)
                momentum = decay * momentum + gradient / gradient.abs().sum()
                point = (point + SIZE / 7 * momentum.sign()).clamp(0, 1)
            torch.testing.assert_close(ours[number], point, rtol=0, atol=1e-9)


def test_momentum_carries_over_a_valley():
    """On a loss whose slope turns at 0.23, the momentum moves on for as long as earlier slopes outweigh it."""

    def scores(images):
        value = -((images.flatten(1)[:, 0] - 0.23) ** 2)
        return torch.stack([torch.zeros_like(value), value], 1)

    start, zero = torch.zeros((1, 1, 1, 1), dtype=torch.float64), torch.tensor([0])
    # five steps of 0.2; the slopes of a single pixel over their l1 norms are 1 below 0.23 and -1 above
    assert mim(scores, start, zero, 1.0, steps=5, decay=0.0).item() == pytest.approx(0.2)  # 0.2 0.4 0.2 0.4 0.2
    assert mim(scores, start, zero, 1.0, steps=5, decay=1.0).item() == pytest.approx(0.4)  # 0.2 0.4 0.6 0.6 0.4


@pytest.mark.parametrize("bounds", [(0.0, 1.0), REAL_LINE])
@pytest.mark.parametrize("name", IMAGE_ATTACKS)
def test_linear_models_meet_their_worst_image(name, bounds, images):
    """Every l_inf attack reaches the optimum: each pixel moves by the size against its weight, up to the bounds."""
    weights = torch.randn(SHAPE[1:], generator=_generator(3), dtype=torch.float64)
    ones = torch.ones(len(images), dtype=torch.int64)
    attacked = IMAGE_ATTACKS[name](_linear(weights), images, ones, 0.3, bounds=bounds, generator=_generator())
    torch.testing.assert_close(attacked, (images - 0.3 * weights.sign()).clamp(*bounds))


def test_linear_models_meet_their_worst_image_of_the_l2_ball(images):
    """Without bounds the l2 attack ends where the ball lies farthest against the weights, at each image's size."""
    weights = torch.randn(SHAPE[1:], generator=_generator(3), dtype=torch.float64)
    ones, sizes = torch.ones(len(images), dtype=torch.int64), torch.linspace(0, 0.5, len(images), dtype=torch.float64)
    attacked = pgd_l2(_linear(weights), images, ones, sizes, bounds=REAL_LINE, step_size=1.0, generator=_generator())
    optimum = images - sizes.view(-1, 1, 1, 1) * weights / weights.norm()
    torch.testing.assert_close(attacked, optimum, rtol=0, atol=1e-6)
    torch.testing.assert_close(attacked[0], images[0], rtol=0, atol=0)


@settings(max_examples=60)
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
    attacked = EVERY[name](scores, images, labels, size, bounds=bounds, generator=_generator(seed))
    order = 2 if name == "pgd_l2" else torch.inf
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

    def test_of_a_noisy_quadratic_model_is_analytic(self):
        """With scores (0, -(x + n)^2 / 2) and normal noise, 20,000 draws come near the integral's gradient."""
        x, noise = 0.4, _generator(5)

        def scores(images):
            value = images.flatten(1)[:, 0] + torch.randn(len(images), generator=noise, dtype=torch.float64)
            return torch.stack([torch.zeros_like(value), -(value**2) / 2], 1)

        grid = torch.linspace(-12, 12, 100_001, dtype=torch.float64)
        density = torch.exp(-((grid - x) ** 2) / 2)
        p = torch.sigmoid(-(grid**2) / 2)
        expected = ((density * p * (1 - p) * grid).sum() / (density * p).sum()).item()
        images = torch.full((400, 1, 1, 1), x, dtype=torch.float64)
        ours = compute_loss_gradient(scores, images, torch.ones(400, dtype=torch.int64), draws=50).mean().item()
        assert ours == pytest.approx(
            expected, abs=0.02
        )  # 1 +- 0.005 by the spread; the bias of a ratio is 1 / 50 of it
        assert abs(ours - x / 2) > 0.02  # the gradient at the mean of the noise, were p one half

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
        expected = i_fgsm(net, images, labels, SIZE)
        for mode in (torch.no_grad, torch.inference_mode):
            with mode():
                assert torch.equal(i_fgsm(net, images * 1, labels * 1, SIZE), expected)
        assert not expected.requires_grad
        assert all(one.grad is None and one.requires_grad for one in net.parameters())


def test_no_global_randomness_is_used(net, images, labels):
    """Equal generators give equal images, others give others, and the global state of torch does not move."""
    state = torch.get_rng_state()
    for attack in (pgd, pgd_l2):
        one, again, other = (attack(net, images, labels, 0.5, steps=1, generator=_generator(s)) for s in (0, 0, 1))
        assert torch.equal(one, again)
        assert not torch.equal(one, other)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("name", EVERY)
def test_size_zero_and_empty_batches_are_given_back(name, images, labels):
    """The images come back without a call of the model."""
    for batch, classes in ((images, labels), (images[:0], labels[:0])):
        attacked = EVERY[name](None, batch, classes, 0.0, generator=_generator())
        assert torch.equal(attacked, batch)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": -0.1}, "'size'"),
        ({"size": math.nan}, "'size'"),
        ({"size": math.inf}, "'size'"),
        ({"size": "0.1"}, "'size'"),
        ({"size": torch.ones(5)}, "'size'"),
        ({"images": torch.zeros(6)}, "'images'"),
        ({"images": torch.zeros(SHAPE, dtype=torch.uint8)}, "'images'"),
        ({"images": torch.full(SHAPE, 1.5)}, r"The pixel \(0, 0, 0, 0\) is 1.5, outside the bounds 0 to 1"),
        ({"images": torch.full(SHAPE, torch.nan), "bounds": REAL_LINE}, "The pixel .* is nan"),
        ({"labels": torch.zeros(5, dtype=torch.int64)}, "'labels'"),
        ({"labels": torch.zeros(6)}, "'labels'"),
        ({"labels": torch.full((6,), 4)}, "The label 4 is no class of the model: labels must be 0 to 3"),
        ({"labels": torch.full((6,), -1)}, "The label -1"),
        ({"bounds": (1.0, 0.0)}, "'bounds'"),
        ({"draws": 0}, "'draws'"),
        ({"draws": 1.5}, "'draws'"),
        ({"scores": lambda x: x.flatten()}, "a row for each image"),
        ({"scores": lambda x: x.flatten(1) / 0}, "not finite"),
        ({"scores": lambda x: x.detach().flatten(1)}, "differentiate"),
        ({"scores": lambda x: torch.zeros(len(x), 4, requires_grad=True)}, "differentiate"),
        ({"scores": lambda x: (x * 0).sqrt().flatten(1)}, "gradient of the scores is not finite"),
    ],
)
def test_bad_input_is_named(net, images, labels, change, message):
    """Each wrong argument is refused by one line that names it."""
    given = {"scores": net, "images": images, "labels": labels, "size": SIZE, "generator": _generator(), **change}
    for attack in EVERY.values():
        with pytest.raises(InputError, match=message) as refused:
            attack(**given)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("attack", "change"),
    [
        (mim, {"decay": -1.0}),
        (mim, {"decay": math.nan}),
        (i_fgsm, {"steps": 0}),
        (pgd, {"step_size": 0}),
        (pgd_l2, {"step_size": -1}),
    ],
)
def test_bad_options_are_named(net, images, labels, attack, change):
    """Each attack refuses an option outside its domain by name."""
    options = {"generator": _generator()} if attack in {pgd, pgd_l2} else {}
    with pytest.raises(InputError, match=next(iter(change))):
        attack(net, images, labels, SIZE, **options, **change)

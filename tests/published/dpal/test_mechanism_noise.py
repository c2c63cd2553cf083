"""DPAL's budget and noise: the paper's numbers, and draws that follow their law."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from deniable.core.errors import InputError
from deniable.published.dpal.mechanism import DPALBudget, draw_independent_noise, draw_shared_noise

MNIST = DPALBudget(0.2)


def test_the_parts_make_the_total():
    """eps1 + eps1/gamma_x + eps1/gamma + eps2 = eps_t, the identity that appendix M sets eps1 by."""
    for budget in (MNIST, DPALBudget(2.0, theta_norm=0.3), DPALBudget.for_cifar10(0.0), DPALBudget.for_cifar10(8.0)):
        whole = budget.eps1 * (1 + 1 / budget.gamma_x + 1 / budget.gamma) + budget.eps2
        assert whole == pytest.approx(budget.eps_t, rel=1e-12)


def test_the_numbers_of_appendix_m():
    """Sensitivities, gammas and scales on MNIST and CIFAR-10 are those computed by hand."""
    assert (MNIST.delta_r, MNIST.delta_l2, MNIST.m) == (4950, 512, 2499)
    assert MNIST.gamma_x == pytest.approx(4950 / 2499)
    assert MNIST.gamma == pytest.approx(2 * 4950 / 2499)
    assert MNIST.eps1 == pytest.approx(0.1 / (1 + 1.5 * 2499 / 4950))
    assert MNIST.input_claim == pytest.approx(0.02873, abs=1e-5)
    assert MNIST.input_scale == pytest.approx(4950 / (MNIST.eps1 * 2499)) == pytest.approx(MNIST.hidden_scale / 2)
    assert MNIST.label_scale == pytest.approx(512 / (0.1 * 2499))
    cifar = DPALBudget.for_cifar10(3.0)
    assert (cifar.eps_t, cifar.eps2, cifar.m, cifar.delta_r) == (5.0, 2.0, 1851, 9504)
    assert cifar.eps1 == pytest.approx(3.0 / (1 + 1 / cifar.gamma + 1 / cifar.gamma_x))
    assert DPALBudget(0.2, theta_norm=0.522).eps1 == pytest.approx(0.0611, abs=1e-4)


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (lambda: DPALBudget(0.1), "must exceed its eps2 of 0.1. Got 0.1"),
        (lambda: DPALBudget(-1.0), "'eps_t' parameter of Budget"),
        (lambda: DPALBudget(1.0, theta_norm=math.inf), "'theta_norm'"),
        (lambda: DPALBudget(1.0, m=0), "'m'"),
        (lambda: DPALBudget.for_cifar10(-1.0), "'r' parameter"),
        (lambda: DPALBudget.for_cifar10(math.nan), "'r' parameter"),
    ],
)
def test_what_cannot_be(build, told):
    """A budget that cannot be is refused in one line that names the value."""
    with pytest.raises(InputError) as caught:
        build()
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_shapes():
    """Shared noise is one draw for all examples, independent noise one for each, label noise a vector in both."""
    one, many = (
        draw_shared_noise(MNIST, np.random.default_rng(0)),
        draw_independent_noise(MNIST, np.random.default_rng(0), 5),
    )
    assert (one.input.shape, one.hidden.shape, one.label.shape) == ((1, 28, 28), (32, 14, 14), (256,))
    assert (many.input.shape, many.hidden.shape, many.label.shape) == ((5, 1, 28, 28), (5, 32, 14, 14), (256,))
    assert one.input.dtype == torch.float32
    fine = draw_shared_noise(
        MNIST, np.random.default_rng(0), image=(3, 4, 4), hidden=(2, 2, 2), neurons=7, dtype=torch.float64
    )
    assert (fine.input.shape, fine.hidden.shape, fine.label.shape) == ((3, 4, 4), (2, 2, 2), (7,))
    assert fine.label.dtype == torch.float64


def test_the_law_of_the_noise():
    """Draws follow Laplace laws of the budget's scales, and would not follow one 10 % off."""
    drawn = draw_independent_noise(MNIST, np.random.default_rng(1), 30, neurons=20_000)
    for values, scale in (
        (drawn.input, MNIST.input_scale),
        (drawn.hidden, MNIST.hidden_scale),
        (drawn.label, MNIST.label_scale),
    ):
        sample = values.flatten().numpy()[:20_000]
        assert stats.kstest(sample, stats.laplace(scale=scale).cdf).pvalue > 1e-6
        assert stats.kstest(sample, stats.laplace(scale=1.1 * scale).cdf).pvalue < 1e-6


def test_a_seed_repeats_the_noise():
    """The same generator gives the same noise, another one other noise."""
    first, again, other = (draw_shared_noise(MNIST, np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert torch.equal(first.input, again.input)
    assert torch.equal(first.label, again.label)
    assert not torch.equal(first.input, other.input)

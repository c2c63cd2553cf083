"""DPAL's budget and its noise: one draw that all examples and steps share, as published, and independent draws.

DPAL takes pixels in [-1, 1], which are 2x - 1 here. Its input is x-bar = x + chi1/m, its first layer
h-bar = theta1^T x-bar + 2 chi2/m, and its label coefficients are h y_k + chi3/m (Algorithm 1, Eqs. 7 and 10).
"""

import dataclasses

import numpy as np
import torch
from torch import Tensor

from deniable.errors import InputError, check_positive, make_parameter_error

TensorShape = tuple[int, ...]
MNIST_IMAGE: TensorShape = (1, 28, 28)
MNIST_HIDDEN: TensorShape = (32, 14, 14)
MNIST_NEURONS = 256


@dataclasses.dataclass(frozen=True)
class DPALBudget:
    """How DPAL splits its total epsilon, and the noise that follows (section 3, appendix M); MNIST by default.

    Attributes:
        eps_t: total, eps1 + eps1/gamma_x + eps1/gamma + eps2.
        eps2: for labels.
        m: images of a batch.
        delta_r: the sensitivity d (beta + 2) of the reconstruction objective (Lemma 2): a patch of d pixels,
            a feature map of beta neurons.
        delta_l2: the sensitivity 2 |h_pi| of the label coefficients (Lemma 4).
        theta_norm: ||theta1||_{1,1}, the 1-norm at which every kernel of the first layer is held.

    Raises:
        InputError: a number that is not positive, or a total that eps2 uses up.
    """

    eps_t: float
    eps2: float = 0.1
    m: int = 2_499
    delta_r: float = (14**2 + 2) * 25
    delta_l2: float = 2 * MNIST_NEURONS
    theta_norm: float = 1.0

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            check_positive("Budget", field.name, getattr(self, field.name))
        if self.eps_t <= self.eps2:
            raise InputError(
                f"DPAL's total epsilon must exceed its eps2 of {self.eps2:g}. Got {self.eps_t:g}: raise eps_t."
            )

    @classmethod
    def for_cifar10(cls, r: float, theta_norm: float = 1.0) -> "DPALBudget":
        """Return the budget on CIFAR-10, eps_t = 2 + r with r >= 0 (appendix M)."""
        if not r >= 0:
            raise make_parameter_error("Budget.cifar", "r", "a float of at least 0", r)
        return cls(2 + r, 1 + r / 3, 1_851, 3 * (14**2 + 2) * 16, theta_norm=theta_norm)

    @property
    def gamma_x(self) -> float:
        """Delta_R / m: the input is said to be (eps1/gamma_x)-private (Lemma 3)."""
        return self.delta_r / self.m

    @property
    def gamma(self) -> float:
        """2 Delta_R / (m theta_norm): the first layer is said to be (eps1/gamma)-private (Lemma 3)."""
        return 2 * self.delta_r / (self.m * self.theta_norm)

    @property
    def eps1(self) -> float:
        """What is left for the reconstruction objective."""
        return (self.eps_t - self.eps2) / (1 + 1 / self.gamma + 1 / self.gamma_x)

    @property
    def input_claim(self) -> float:
        """The epsilon claimed for the perturbed images x-bar, eps1/gamma_x."""
        return self.eps1 / self.gamma_x

    @property
    def parameter_claim(self) -> float:
        """The epsilon claimed for the first layer's parameters, eps1/gamma_x + eps1 (Theorem 1)."""
        return self.input_claim + self.eps1

    @property
    def input_scale(self) -> float:
        """Scale of chi1/m, in pixels of [-1, 1]."""
        return self.delta_r / (self.eps1 * self.m)

    @property
    def hidden_scale(self) -> float:
        """Scale of 2 chi2/m."""
        return 2 * self.input_scale

    @property
    def label_scale(self) -> float:
        """Scale of chi3/m."""
        return self.delta_l2 / (self.eps2 * self.m)


@dataclasses.dataclass(frozen=True)
class DPALNoise:
    """Draws of DPAL's noise, already divided by m.

    Attributes:
        input: chi1/m, (c, h, w), or (n, c, h, w) where it is independent for each example.
        hidden: 2 chi2/m, in the shape of the first layer's output, or (n, ...) likewise.
        label: chi3/m, (|h_pi|,), one draw for all classes.
    """

    input: Tensor
    hidden: Tensor
    label: Tensor


def draw_shared_noise(
    budget: DPALBudget,
    random: np.random.Generator,
    *,
    image: TensorShape = MNIST_IMAGE,
    hidden: TensorShape = MNIST_HIDDEN,
    neurons: int = MNIST_NEURONS,
    dtype: torch.dtype = torch.float32,
) -> DPALNoise:
    """Return the noise as published: drawn once for all examples and all steps (Algorithm 1, line 1).

    Args:
        budget: the scales.
        random: source of the draws.
        image: (c, h, w).
        hidden: (maps, h', w'), the first layer's output for one image.
        neurons: |h_pi|, of the last hidden layer.
        dtype: of the tensors; drawn in float64.
    """
    return DPALNoise(
        draw_laplace_noise(random, budget.input_scale, image, dtype),
        draw_laplace_noise(random, budget.hidden_scale, hidden, dtype),
        draw_laplace_noise(random, budget.label_scale, (neurons,), dtype),
    )


def draw_independent_noise(
    budget: DPALBudget,
    random: np.random.Generator,
    count: int,
    *,
    image: TensorShape = MNIST_IMAGE,
    hidden: TensorShape = MNIST_HIDDEN,
    neurons: int = MNIST_NEURONS,
    dtype: torch.dtype = torch.float32,
) -> DPALNoise:
    """Return noise of the same scales, independent for each of ``count`` examples: the control.

    Label noise belongs to the sum over a batch and is one vector here too; to be fresh in every step, draw it again.
    """
    return draw_shared_noise(
        budget, random, image=(count, *image), hidden=(count, *hidden), neurons=neurons, dtype=dtype
    )


def draw_laplace_noise(
    random: np.random.Generator, scale: float, shape: TensorShape, dtype: torch.dtype = torch.float32
) -> Tensor:
    """Return a tensor of independent Laplace draws."""
    return torch.from_numpy(random.laplace(0.0, scale, shape)).to(dtype)

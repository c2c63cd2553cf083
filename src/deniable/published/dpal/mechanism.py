"""DPAL's mechanism (Phan et al. 2020): its budget, its noise, its objectives, and the verdict on its claim by law.

Pixels lie in [-1, 1], which are 2x - 1 of pixels x in [0, 1]. With chi1, chi2 and chi3 the noise on the input, the
first layer and the labels, m images in a batch and theta1 the weights of the first layer (Algorithm 1, Eqs. 7 and 10)::

    x-bar = x + chi1 / m                        the input
    h-bar = theta1^T x-bar + 2 chi2 / m         the first layer
    h y_k + chi3 / m                            the coefficients of label k, with h the last hidden layer

The objectives are the reconstruction of the first layer (Eq. 7) and the loss of the classes (Eq. 10).
"""

import dataclasses
import math

import torch
from torch import Tensor
from torch.nn import functional

from deniable.core.errors import InputError, check_positive
from deniable.core.guarantees import REPLACED_RECORD, Guarantee, Verdict, Witness
from deniable.core.numbers import format_exact, format_upper


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
        theta_norm: ||theta1||_{1,1}, the 1-norm to which every kernel of the first layer is limited.

    Raises:
        InputError: a number that is not positive, or a total that eps2 uses up.
    """

    eps_t: float
    eps2: float = 0.1
    m: int = 2_499
    delta_r: float = (14**2 + 2) * 25
    delta_l2: float = 2 * 256
    theta_norm: float = 1.0

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            check_positive("Budget", field.name, getattr(self, field.name))
        if self.eps_t <= self.eps2:
            raise InputError(
                f"DPAL's total epsilon must exceed its eps2 of {format_exact(self.eps2)}. Got "
                f"{format_exact(self.eps_t)}: raise eps_t."
            )

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


def compute_reconstruction_objective(
    images: Tensor, kernels: Tensor, noise: Tensor, *, stride: int = 2, padding: int = 2
) -> Tensor:
    """Return R-bar of Eq. 7 for a convolution: (b,), one number for each image, to be summed over the batch.

    sum_j [theta1_j h-bar / 2 - x-bar_j x-tilde_j], where x-tilde = theta1 h-bar is a transposed convolution.

    Args:
        images: x-bar, (b, c, h, w).
        kernels: theta1, (maps, c, k, k).
        noise: 2 chi2/m, (maps, h', w') or (b, maps, h', w').
        stride: of the convolution.
        padding: of the convolution.
    """
    hidden = functional.conv2d(images, kernels, stride=stride, padding=padding) + noise  # h-bar, (b, maps, h', w')
    # A stride leaves several sizes of input with one size of output: the images say which it was.
    rebuilt_sizes = [(size - 1) * stride - 2 * padding + kernels.shape[2] for size in hidden.shape[2:]]
    output_padding = [
        image_size - rebuilt_size for image_size, rebuilt_size in zip(images.shape[2:], rebuilt_sizes, strict=True)
    ]
    rebuilt = functional.conv_transpose2d(
        hidden, kernels, stride=stride, padding=padding, output_padding=output_padding
    )
    return ((0.5 - images) * rebuilt).flatten(1).sum(1)


def compute_dense_reconstruction_objective(images: Tensor, theta: Tensor, noise: Tensor) -> Tensor:
    """Return R-bar of Eq. 7 for a fully connected layer: (b,), one number for each image.

    Args:
        images: x-bar, (b, d).
        theta: theta1, (d, beta).
        noise: 2 chi2/m, (beta,) or (b, beta).
    """
    hidden = images @ theta + noise  # (b, beta)
    return ((0.5 - images) * (hidden @ theta.T)).sum(1)


def compute_class_objective(hidden: Tensor, weights: Tensor, labels: Tensor, noise: Tensor) -> Tensor:
    """Return the perturbed loss of Eq. 10: (b,), one number for each example.

    sum_k [h W_k - |h W_k| / 2 + (h W_k)^2 / 8 - (h y_k + chi3/m) W_k], as published: where cross-entropy has
    max(h W_k, 0) the paper has h W_k.

    Args:
        hidden: h_pi, (b, |h_pi|), within [-1, 1].
        weights: W_pi, (|h_pi|, K).
        labels: y, (b, K), one-hot.
        noise: chi3/m, (|h_pi|,) for all classes as published, or (|h_pi|, K).
    """
    scores = hidden @ weights  # (b, K)
    clean_losses = scores - scores.abs() / 2 + scores.square() / 8 - scores * labels
    return clean_losses.sum(1) - (noise.view(len(weights), -1) * weights).sum()


def compute_mended_class_objective(hidden: Tensor, weights: Tensor, labels: Tensor, noise: Tensor) -> Tensor:
    """Return Eq. 10 with max(h W_k, 0) in place of h W_k, its misprint mended: (b,).

    So each class has log(1 + e^z) - z y to the second order, up to log 2, with z = h W_k. As printed, the loss of a
    true class with z < 0 falls towards z = -2, away from where z should be.

    Args:
        hidden: h_pi, (b, |h_pi|).
        weights: W_pi, (|h_pi|, K).
        labels: y, (b, K).
        noise: chi3/m, as in `compute_class_objective`.
    """
    misprint = (hidden @ weights).clamp(max=0).sum(1)  # z - max(z, 0)
    return compute_class_objective(hidden, weights, labels, noise) - misprint


def compute_adversarial_objective(benign: Tensor, adversarial: Tensor, xi: float) -> Tensor:
    """Return Eq. 10: benign losses (m,) and adversarial ones (m,) weighted by xi, over m (1 + xi)."""
    return (benign.sum() + xi * adversarial.sum()) / (len(benign) * (1 + xi))


def limit_kernel_norms(kernels: Tensor, norm: float) -> Tensor:
    """Return the kernels (maps, c, k, k) with those whose 1-norm exceeds ``norm`` scaled down to it.

    So ||theta1||_{1,1}, the maximal 1-norm of theta1's columns, stays what the budget was computed with.
    """
    kernel_norms = kernels.abs().flatten(1).sum(1)
    return kernels * (norm / kernel_norms.clamp(min=torch.finfo(kernels.dtype).tiny)).clamp(max=1)[:, None, None, None]


def build_refuted_guarantee(budget: DPALBudget) -> Guarantee:
    """Return what Theorem 4 claims of the training records."""
    return Guarantee(budget.eps_t, "Phan et al. 2020, Theorem 4", "refuted", adjacency=REPLACED_RECORD)


def build_refuted_verdict(budget: DPALBudget) -> Verdict:
    """Return the verdict on Theorem 4, which rests on Lemma 3.

    One noise vector is added to all images of all batches. So the difference of two perturbed images is that of the
    originals, with probability 1, and a data set in which one of the two is another image never gives it: the loss
    of what Lemma 3 calls (eps1/gamma_x)-private is infinite. The audits of this folder show this
    and more by experiment, from the trained parameters alone too.
    """
    witness = Witness(
        input="a batch with images i and j",
        other="the same batch with another image in place of i",
        output="x-bar_i - x-bar_j equals x_i - x_j",
        distance=1.0,
        loss=math.inf,
    )
    return Verdict(
        guarantee=build_refuted_guarantee(budget),
        status="refuted",
        lower_bound=math.inf,
        witness=witness,
        method=f"by law of the perturbed images, of which {format_upper(budget.input_claim)} is claimed (Lemma 3); "
        "see the study dpal-audit",
    )

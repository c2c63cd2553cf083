"""DPAL's two objectives: the reconstruction of its first layer (Eq. 7), and the classes (Eq. 10)."""

import torch
from torch import Tensor
from torch.nn import functional


def apply_noisy_first_layer(
    images: Tensor, kernels: Tensor, noise: Tensor, *, stride: int = 2, padding: int = 2
) -> Tensor:
    """Return h-bar = theta1^T x-bar + 2 chi2/m of a convolution.

    Args:
        images: x-bar, (b, c, h, w), pixels of [-1, 1] with noise.
        kernels: theta1, (maps, c, k, k).
        noise: 2 chi2/m, (maps, h', w') or (b, maps, h', w').
        stride: of the convolution.
        padding: of the convolution.

    Returns:
        (b, maps, h', w').
    """
    return functional.conv2d(images, kernels, stride=stride, padding=padding) + noise


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
    hidden = apply_noisy_first_layer(images, kernels, noise, stride=stride, padding=padding)
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


def compute_adversarial_objective(benign: Tensor, adversarial: Tensor, xi: float) -> Tensor:
    """Return Eq. 10: benign losses (m,) and adversarial ones (m,) weighted by xi, over m (1 + xi)."""
    return (benign.sum() + xi * adversarial.sum()) / (len(benign) * (1 + xi))


def limit_kernel_norms(kernels: Tensor, norm: float) -> Tensor:
    """Return the kernels (maps, c, k, k) with those whose 1-norm exceeds ``norm`` scaled down to it.

    So ||theta1||_{1,1}, the maximal 1-norm of theta1's columns, stays what the budget was computed with.
    """
    kernel_norms = kernels.abs().flatten(1).sum(1)
    return kernels * (norm / kernel_norms.clamp(min=torch.finfo(kernels.dtype).tiny)).clamp(max=1)[:, None, None, None]

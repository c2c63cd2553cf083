"""The gradient that attacks climb: of the loss of a model that may be randomized."""

import torch
from torch import Tensor

from deniable.errors import InputError
from deniable.robust.balls import broadcast_per_image
from deniable.robust.types import ImageScorer

_DETACHED_SCORES = (
    "The scores do not depend on the images in a way that torch can differentiate: return logits, undetached."
)


def compute_loss_gradient(scores: ImageScorer, images: Tensor, labels: Tensor, draws: int = 1) -> Tensor:
    """Return the gradient, by the images, of minus the log of the label's probability averaged over draws.

    This is expectation over transformation (Athalye et al. 2018, section 3) for the classifier that averages
    the softmax over its noise: with p_s the label's probability in draw s, the gradient is the average of
    grad(-log p_s) weighted by p_s. With one draw, or without noise, it is that of the cross-entropy. One draw is
    held at a time, so memory does not grow with their number. Parameters of the model get no gradient.

    Args:
        scores: the model.
        images: floats (b, ...).
        labels: int64 (b,).
        draws: how often a randomized model is called.

    Raises:
        InputError: the scores are not finite (b, K), do not depend on the images, or lack the class of a label.
    """
    with torch.inference_mode(mode=False), torch.enable_grad():
        points, targets = images.detach().clone().requires_grad_(), labels.clone()
        maximum_log_p = images.new_full(
            labels.shape, -torch.inf
        )  # the largest log p_s so far, so that no sum underflows
        total_weight, gradient = torch.zeros_like(maximum_log_p), torch.zeros_like(images)
        for _ in range(draws):
            logits = _check_scores(scores(points), targets)
            log_p = logits.log_softmax(dim=1).gather(1, targets[:, None])[:, 0]
            (draw_gradient,) = torch.autograd.grad(log_p.sum(), points, allow_unused=True)
            if draw_gradient is None:
                raise InputError(_DETACHED_SCORES)
            log_p = log_p.detach().to(maximum_log_p)
            new_maximum = maximum_log_p.maximum(log_p)
            old_weight, weight = (maximum_log_p - new_maximum).exp(), (log_p - new_maximum).exp()
            total_weight = old_weight * total_weight + weight
            gradient = (
                broadcast_per_image(old_weight, images) * gradient - broadcast_per_image(weight, images) * draw_gradient
            )
            maximum_log_p = new_maximum
    gradient /= broadcast_per_image(total_weight, images)
    if not gradient.isfinite().all():
        raise InputError("The gradient of the scores is not finite: an attack needs a differentiable model.")
    return gradient


def _check_scores(scores: Tensor, labels: Tensor) -> Tensor:
    """Return the scores (b, K) if they can be used, else raise `InputError`."""
    if scores.ndim != 2 or len(scores) != len(labels):  # noqa: PLR2004 - (b, K)
        shape = tuple(scores.shape)
        raise InputError(f"The model must give scores ({len(labels)}, K), a row for each image. Got the shape {shape}.")
    if not scores.isfinite().all():
        raise InputError("The model gives scores that are not finite: an attack needs logits that are.")
    if not scores.requires_grad:
        raise InputError(_DETACHED_SCORES)
    classes = scores.shape[1]
    unknown_labels = labels[(labels < 0) | (labels >= classes)]
    if len(unknown_labels):
        raise InputError(
            f"The label {unknown_labels[0].item()} is no class of the model: labels must be 0 to {classes - 1}."
        )
    return scores

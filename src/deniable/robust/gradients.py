"""The gradient that attacks climb: of the loss of a model that may be randomized."""

import torch
from torch import Tensor

from deniable.errors import InputError
from deniable.robust.balls import rows
from deniable.robust.types import Scores

_DETACHED = "The scores do not depend on the images in a way that torch can differentiate: return logits, undetached."


def loss_gradient(scores: Scores, images: Tensor, labels: Tensor, draws: int = 1) -> Tensor:
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
        point, classes = images.detach().clone().requires_grad_(), labels.clone()
        greatest = images.new_full(labels.shape, -torch.inf)  # the largest log p_s so far, so that no sum underflows
        total, gradient = torch.zeros_like(greatest), torch.zeros_like(images)
        for _ in range(draws):
            logits = _checked_scores(scores(point), classes)
            log_p = logits.log_softmax(dim=1).gather(1, classes[:, None])[:, 0]
            (slope,) = torch.autograd.grad(log_p.sum(), point, allow_unused=True)
            if slope is None:
                raise InputError(_DETACHED)
            log_p = log_p.detach().to(greatest)
            higher = greatest.maximum(log_p)
            kept, weight = (greatest - higher).exp(), (log_p - higher).exp()
            total = kept * total + weight
            gradient = rows(kept, images) * gradient - rows(weight, images) * slope
            greatest = higher
    gradient /= rows(total, images)
    if not gradient.isfinite().all():
        raise InputError("The gradient of the scores is not finite: an attack needs a differentiable model.")
    return gradient


def _checked_scores(scores: Tensor, labels: Tensor) -> Tensor:
    """Return the scores (b, K) if they can be used, else raise `InputError`."""
    if scores.ndim != 2 or len(scores) != len(labels):  # noqa: PLR2004 - (b, K)
        got = tuple(scores.shape)
        raise InputError(f"The model must give scores ({len(labels)}, K), a row for each image. Got the shape {got}.")
    if not scores.isfinite().all():
        raise InputError("The model gives scores that are not finite: an attack needs logits that are.")
    if not scores.requires_grad:
        raise InputError(_DETACHED)
    classes = scores.shape[1]
    wrong = labels[(labels < 0) | (labels >= classes)]
    if len(wrong):
        raise InputError(f"The label {wrong[0].item()} is no class of the model: labels must be 0 to {classes - 1}.")
    return scores

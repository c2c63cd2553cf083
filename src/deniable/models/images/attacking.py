"""Attacking the predictions of a model: its accuracy under each of several attacks, and under all of them."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from deniable.core.errors import InputError
from deniable.core.parallel import get_progress_reporter
from deniable.measure.intervals import Estimate, estimate_share
from deniable.models.images.attacks import IMAGE_ATTACKS, ImageAttack, L1Attack, L2Attack
from deniable.models.images.dataset import LabelledImages
from deniable.models.images.model import ImageModel
from deniable.models.images.options import LINF_ATTACKS, ImageAttackChoice

_ATTACK_BATCH = 250
"""Number of images attacked at a time, which bounds memory."""


@dataclasses.dataclass(frozen=True)
class AttackedPredictions:
    """What one attack does to each image.

    Attributes:
        images: (n, channels, height, width), attacked.
        predicted: (n,) classes of the attacked images.
    """

    images: Tensor
    predicted: Tensor


@dataclasses.dataclass(frozen=True)
class ImageAttackResult:
    """The predictions of a model with and without attacks.

    Attributes:
        labels: (n,) true classes.
        predicted: (n,) classes without attack.
        attacked: what each attack does, by its name.
    """

    labels: Tensor
    predicted: Tensor
    attacked: Mapping[str, AttackedPredictions]

    def clean_accuracy(self) -> Estimate:
        """Return the share of images that get their label."""
        return self._estimate(self.predicted == self.labels)

    def adversarial_accuracy(self, attack: str) -> Estimate:
        """Return the share of images that get their label under one attack."""
        return self._estimate(self.attacked[attack].predicted == self.labels)

    def surviving_accuracy(self) -> Estimate:
        """Return the share of images that get their label without attack and under every one."""
        is_right = self.predicted == self.labels
        for attacked in self.attacked.values():
            is_right = is_right & (attacked.predicted == self.labels)
        return self._estimate(is_right)

    def _estimate(self, is_right: Tensor) -> Estimate:
        return estimate_share(int(is_right.sum()), len(self.labels))


def choose_image_attacks(
    choice: ImageAttackChoice, *, steps: int | None = None, draws: int = 1
) -> dict[str, ImageAttack]:
    """Return attacks by their names.

    Args:
        choice: one attack, or "all" for the four in l_inf.
        steps: number of gradients; None for that of each attack. FGSM takes one.
        draws: of a model's noise, averaged in each gradient.

    Raises:
        InputError: a number outside its domain, or several steps of FGSM.
    """
    if choice == "fgsm" and steps not in {None, 1}:
        raise InputError(f"FGSM takes one step. Got {steps} steps: choose i-fgsm, or leave --steps out.")
    known: dict[str, ImageAttack] = {**IMAGE_ATTACKS, "l2": L2Attack(), "l1": L1Attack()}
    chosen = {name: known[name] for name in (LINF_ATTACKS if choice == "all" else (choice,))}
    return {
        name: dataclasses.replace(attack, draws=draws, steps=attack.steps if steps is None or name == "fgsm" else steps)
        for name, attack in chosen.items()
    }


def attack_image_model(
    model: ImageModel,
    images: LabelledImages,
    attacks: Mapping[str, ImageAttack],
    size: float,
    *,
    generator: torch.Generator,
    votes: int = 32,
) -> ImageAttackResult:
    """Attack every image, each attack leading away from the true class.

    Accuracy under attacks is an upper bound on the accuracy under any attack of the size: it certifies nothing.

    Args:
        model: to attack, with its noise, which the attacks know.
        images: (n,) with their labels.
        attacks: by name.
        size: radius of the ball in the norm of the attack, for pixels in [0, 1].
        generator: of noise and random starts.
        votes: draws of the model's noise for a prediction.

    Raises:
        InputError: a size that is no finite number of at least 0, or what the attack raises.
    """
    report, scores = get_progress_reporter(), model.scores(generator)
    total = len(images) * len(attacks)
    report(0, total)
    attacked: dict[str, AttackedPredictions] = {}
    for number, (name, attack) in enumerate(attacks.items()):
        parts = []
        for first in range(0, len(images), _ATTACK_BATCH):
            rows = slice(first, first + _ATTACK_BATCH)
            parts.append(attack(scores, images.pixels[rows], images.labels[rows], size, generator))
            report(min(number * len(images) + first + _ATTACK_BATCH, (number + 1) * len(images)), total)
        pixels = torch.cat(parts)
        attacked[name] = AttackedPredictions(pixels, model.predict(pixels, generator, votes))
    return ImageAttackResult(images.labels, model.predict(images.pixels, generator, votes), attacked)


def list_attack_arrays(result: ImageAttackResult) -> dict[str, Any]:
    """Return the result as numpy arrays by name: labels, predictions, and the images of each attack with theirs."""
    arrays = {"labels": result.labels, "predicted": result.predicted}
    for name, attacked in result.attacked.items():
        arrays |= {f"{name} images": attacked.images, f"{name} predicted": attacked.predicted}
    return {name: tensor.numpy() for name, tensor in arrays.items()}

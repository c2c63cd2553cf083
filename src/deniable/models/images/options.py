"""The options of image models, as commands and functions take them; nothing here needs torch."""

import dataclasses
from typing import Literal

from deniable.core.errors import check_count, check_fraction, check_number_within, check_positive

NetworkNoiseLaw = Literal["gaussian", "laplace"]
"""Laws of the noise of a robust model."""
NetworkName = Literal["small", "shallow", "paper-mnist", "paper-cifar10"]
ImageAttackChoice = Literal["all", "fgsm", "i-fgsm", "mim", "pgd", "l2", "l1"]
"""Attacks on images; "all" are those of `LINF_ATTACKS`."""
LINF_ATTACKS = ("fgsm", "i-fgsm", "mim", "pgd")
"""The attacks inside an l_inf ball."""
_MAX_SIZE = 1e30
"""Sizes and their inverses stay in the range of float32: noise that is rounded to zero protects nothing."""
_MAX_WIDTH = 100.0
_MAX_COUNT = 10_000_000


def _describe(panel: str, *names: str, default: str | bool = "by kind") -> dict[str, object]:
    """Metadata of a field that is an option of commands: its group, its default, and its name where it has another."""
    return {"deniable.cli": {"names": names, "panel": panel, "show_default": default}}


@dataclasses.dataclass(frozen=True)
class ImageTrainingOptions:
    """Training; each trainer uses some of the options.

    Attributes:
        epsilon: privacy budget for the training records.
        delta: delta of the budget; for example 1e-5.
        network: network architecture.
        width: factor applied to the layer sizes of the network.
        steps: number of training steps.
        batch_size: number of examples in a training step; the expected number where batches are sampled at random.
        learning_rate: learning rate of the optimizer.
        clip: clipping norm of the gradients of single examples.
        noise_multiplier: DP-SGD noise per unit of --clip. If given, training ends when the budget is spent.
        average: decay of the running average of DP-SGD parameters; 0 turns averaging off.
        views: number of shifted copies of each example in its gradient.
        noise: standard deviation of the noise of a certified model; pixels are in [0, 1].
        attack_size: attack size that the model is trained against, in l_inf, or in l2 for noise after the first layer;
            pixels are in [0, 1].
        attack_steps: number of steps of each attack during training.
        kappa: final weight of the worst case in the loss of interval bounds.
    """

    epsilon: float | None = dataclasses.field(default=None, metadata=_describe("Privacy", default=False))
    delta: float | None = dataclasses.field(default=None, metadata=_describe("Privacy", default=False))
    network: NetworkName = dataclasses.field(default="small", metadata=_describe("Model"))
    width: float = dataclasses.field(default=1.0, metadata=_describe("Model"))
    steps: int = dataclasses.field(default=1_000, metadata=_describe("Training"))
    batch_size: int = dataclasses.field(default=256, metadata=_describe("Training"))
    learning_rate: float = dataclasses.field(default=1e-3, metadata=_describe("Training"))
    clip: float = dataclasses.field(default=0.1, metadata=_describe("Privacy"))
    noise_multiplier: float | None = dataclasses.field(default=None, metadata=_describe("Privacy", default="by budget"))
    average: float = dataclasses.field(default=0.9, metadata=_describe("Training", "--averaging-decay"))
    views: int = dataclasses.field(default=1, metadata=_describe("Training", "--augmentations"))
    noise: float = dataclasses.field(default=0.25, metadata=_describe("Robustness"))
    attack_size: float = dataclasses.field(default=0.1, metadata=_describe("Robustness"))
    attack_steps: int = dataclasses.field(default=10, metadata=_describe("Robustness"))
    kappa: float = dataclasses.field(default=0.5, metadata=_describe("Robustness"))

    def __post_init__(self) -> None:
        check_positive("training", "width", self.width, _MAX_WIDTH)
        for name in ("learning_rate", "clip", "noise", "attack_size"):
            check_number_within("training", name, getattr(self, name), 1 / _MAX_SIZE, _MAX_SIZE)
        for name in ("steps", "batch_size", "views", "attack_steps"):
            check_count("training", name, getattr(self, name), maximum=_MAX_COUNT)
        check_fraction("training", "average", self.average)
        check_number_within("training", "kappa", self.kappa, 0, 1)
        if self.noise_multiplier is not None:
            check_positive("training", "noise_multiplier", self.noise_multiplier)
        if self.epsilon is not None:
            check_positive("training", "epsilon", self.epsilon)
        if self.delta is not None:
            check_positive("training", "delta", self.delta, 1.0)

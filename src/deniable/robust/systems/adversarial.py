"""Adversarial training (Kurakin et al. 2017; paper 004, Algorithm 2)."""

import torch
from torch import Tensor
from torch.nn import functional

from deniable.robust.attacks import i_fgsm
from deniable.robust.systems.plain import USES, batch, unprotected
from deniable.robust.systems.system import Options, Prepared, System, Task

_WEIGHT = 1.0
"""xi of paper 004, Eq. 16."""


def _prepare(task: Task) -> Prepared:
    """The loss is Eq. 16 with m1 = m2: benign images of one batch, and I-FGSM's of the next."""
    network = task.architecture().build(0).to(task.device)
    options = task.options

    def loss(number: int, source: torch.Generator) -> Tensor:  # noqa: ARG001 - a `Loss`
        images, labels = batch(task, number)
        others, their_labels = batch(task, number + 1)
        crafted = i_fgsm(network, others, their_labels, options.attack_size, steps=options.attack_steps)
        benign = functional.cross_entropy(network(images), labels, reduction="sum")
        adversarial = functional.cross_entropy(network(crafted), their_labels, reduction="sum")
        return (benign + _WEIGHT * adversarial) / (len(labels) + _WEIGHT * len(their_labels))

    return unprotected(task, network, loss)


SYSTEM = System(
    name="adversarial",
    summary="robust in practice, not private: trained on adversarial examples",
    source="Kurakin et al. 2017; paper 004, Algorithm 2",
    uses=USES | {"attack_size", "attack_steps"},
    defaults=Options(steps=600),
    prepare=_prepare,
)

"""PixelDP (Lecuyer et al. 2019): noise after the first layer, and a certificate by differential privacy of pixels."""

import torch
from torch import Tensor
from torch.nn import functional

from deniable.robust.certificates import PixelDP, pixeldp_sigma
from deniable.robust.noise import Noise, noisy
from deniable.robust.systems.first_layer import UNIT, hold
from deniable.robust.systems.plain import USES, batch, unprotected
from deniable.robust.systems.system import Options, Prepared, System, Task

EPSILON, DELTA = 1.0, 0.05
"""The construction of Lecuyer et al. 2019, section 4: private to this degree against attacks of l2 size L."""


def _prepare(task: Task) -> Prepared:
    network = task.architecture().build(0).to(task.device)
    hold(network, task)
    sigma = task.options.attack_size * pixeldp_sigma("gaussian", EPSILON, DELTA)  # on the pixels
    noises = (Noise("first layer", "gaussian", torch.tensor(UNIT * sigma)),)

    def loss(number: int, source: torch.Generator) -> Tensor:
        images, labels = batch(task, number)
        return functional.cross_entropy(noisy(network, images, noises, source), labels)

    return unprotected(
        task,
        network,
        loss,
        noises=lambda: noises,
        certificate=lambda: PixelDP.of(network, task.shape, noises[0], "gaussian"),
        settle=lambda: hold(network, task),
    )


SYSTEM = System(
    name="pixeldp",
    summary="certified, not private: noise after the first layer",
    source="Lecuyer et al. 2019",
    uses=USES | {"attack_size"},
    defaults=Options(attack_size=0.1),
    prepare=_prepare,
)

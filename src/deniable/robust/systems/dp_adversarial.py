"""Private and robust in practice: DP-SGD on adversarial copies of each example, averaged inside its gradient."""

import torch
from torch import Tensor

from deniable.robust.attacks import pgd
from deniable.robust.noise import noisy
from deniable.robust.systems.dp_sgd import USES, private
from deniable.robust.systems.system import Options, Prepared, System, Task
from deniable.robust.systems.views import shifted


def _prepare(task: Task) -> Prepared:
    """The last view of an example is attacked by PGD on the present parameters, the others are shifted.

    An attack climbs the loss of each image by itself, so that a view is made of its example and of parameters that
    are private already: the accounting of DP-SGD stands.
    """
    network = task.architecture().build(0).to(task.device)
    options = task.options

    def views(images: Tensor, labels: Tensor, source: torch.Generator) -> Tensor:
        shown = labels.clamp(min=0)  # an empty record's views do not matter
        attacked = pgd(network, images, shown, options.attack_size, generator=source, steps=options.attack_steps)
        found = shifted(images, options.views, source)  # (b, v, c, h, w)
        return torch.cat([found[:, :-1], attacked[:, None]], dim=1)

    return private(
        task,
        network,
        forward=lambda images, source: noisy(network, images, (), source),
        views=views,
        noises=tuple,
        certificate=lambda: None,
    )


SYSTEM = System(
    name="dp-adversarial",
    summary="private, and robust in practice: DP-SGD on adversarial copies",
    source="Madry et al. 2018; Abadi et al. 2016",
    uses=USES | {"attack_size", "attack_steps"},
    defaults=Options(steps=150, batch_size=2_048, learning_rate=4.0, views=2, attack_steps=3),
    prepare=_prepare,
)

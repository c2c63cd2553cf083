"""Private and certified: DP-SGD on noisy copies of each example, then randomized smoothing (Wu et al. 2024)."""

import torch
from torch import Tensor

from deniable.robust.certificates import GaussianSmoothing
from deniable.robust.noise import Noise, noisy
from deniable.robust.systems.dp_sgd import USES, private
from deniable.robust.systems.system import Options, Prepared, System, Task
from deniable.robust.systems.views import noised, shifted


def _prepare(task: Task) -> Prepared:
    """Each view is the image, shifted a little, under fresh Gaussian noise: the accounting of DP-SGD stands."""
    network = task.architecture().build(0).to(task.device)
    sigma, copies = task.options.noise, task.options.views

    def views(images: Tensor, labels: Tensor, source: torch.Generator) -> Tensor:  # noqa: ARG001 - a `Views`
        return noised(shifted(images, copies, source), sigma, source)

    return private(
        task,
        network,
        forward=lambda images, source: noisy(network, images, (), source),
        views=views,
        noises=lambda: (Noise("input", "gaussian", torch.tensor(sigma)),),
        certificate=lambda: GaussianSmoothing(sigma),
    )


SYSTEM = System(
    name="dp-cert",
    summary="private and certified: DP-SGD on noisy copies, Gaussian smoothing",
    source="Wu et al. 2024 (DP-CERT); Cohen et al. 2019",
    uses=USES | {"noise"},
    defaults=Options(steps=150, batch_size=2_048, learning_rate=4.0, views=3),
    prepare=_prepare,
)

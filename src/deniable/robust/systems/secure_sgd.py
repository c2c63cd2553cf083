"""SecureSGD and SecureSGD-AGM (Phan et al. 2019): DP-SGD with PixelDP's noise, uneven or analytic."""

import copy
from collections.abc import Callable

import torch
from torch import Tensor

from deniable.robust.certificates import PixelDP, pixeldp_sigma
from deniable.robust.certificates.pixeldp import Mechanism
from deniable.robust.noise import Noise, noisy
from deniable.robust.systems.dp_sgd import USES, private
from deniable.robust.systems.first_layer import UNIT, hold, vulnerability
from deniable.robust.systems.pixeldp import DELTA, EPSILON
from deniable.robust.systems.system import Options, Prepared, System, Task


def _preparer(mechanism: Mechanism, *, uneven: bool) -> Callable[[Task], Prepared]:
    def prepare(task: Task) -> Prepared:
        network = task.architecture().build(0).to(task.device)
        hold(network, task)
        sigma = UNIT * task.options.attack_size * pixeldp_sigma(mechanism, EPSILON, DELTA)
        twin = copy.deepcopy(network)  # whose passes are none of those that are watched for gradients of examples

        def noises() -> tuple[Noise, ...]:
            if not uneven:
                return (Noise("first layer", "gaussian", torch.tensor(sigma)),)
            twin.load_state_dict(network.state_dict())
            # The variance is shared out, so that its mean is that of even noise.
            return (Noise("first layer", "gaussian", sigma * vulnerability(twin, task).sqrt().cpu()),)

        def forward(images: Tensor, source: torch.Generator) -> Tensor:
            return noisy(network, images, noises(), source)

        return private(
            task,
            network,
            forward=forward,
            views=lambda images, labels, source: images[:, None],  # noqa: ARG005 - the image is its only view
            noises=noises,
            certificate=lambda: PixelDP.of(network, task.shape, noises()[0], mechanism),
            settle=lambda: hold(network, task),
        )

    return prepare


_DEFAULTS = Options(steps=150, batch_size=2_048, learning_rate=4.0, attack_size=0.1)

SYSTEM = System(
    name="securesgd",
    summary="private and certified: DP-SGD with uneven noise after the first layer",
    source="Phan et al. 2019",
    uses=USES - {"views"} | {"attack_size"},
    defaults=_DEFAULTS,
    prepare=_preparer("heterogeneous", uneven=True),
)
ANALYTIC = System(
    name="securesgd-agm",
    summary="private and certified: DP-SGD with analytic Gaussian noise after the first layer",
    source="Phan et al. 2019; Balle and Wang 2018",
    uses=USES - {"views"} | {"attack_size"},
    defaults=_DEFAULTS,
    prepare=_preparer("analytic", uneven=False),
)

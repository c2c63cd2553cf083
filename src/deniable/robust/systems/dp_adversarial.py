"""Private and robust in practice: DP-SGD on adversarial copies of each example, averaged inside its gradient."""

import torch
from torch import Tensor

from deniable.robust.attacks import pgd
from deniable.robust.noise import compute_noisy_scores
from deniable.robust.systems.dp_sgd import DP_SGD_OPTIONS, prepare_dp_sgd
from deniable.robust.systems.system import ImageTrainer, ImageTrainingOptions, ImageTrainingTask, PreparedTraining
from deniable.robust.systems.views import shift_images


def _prepare_dp_adversarial(task: ImageTrainingTask) -> PreparedTraining:
    """The last view of an example is attacked by PGD on the present parameters, the others are shifted.

    An attack climbs the loss of each image by itself, so that a view is made of its example and of parameters that
    are private already: the accounting of DP-SGD stands.
    """
    network = task.architecture().build(0).to(task.device)
    options = task.options

    def make_views(images: Tensor, labels: Tensor, source: torch.Generator) -> Tensor:
        valid_labels = labels.clamp(min=0)  # an empty record's views do not matter
        adversarial = pgd(
            network, images, valid_labels, options.attack_size, generator=source, steps=options.attack_steps
        )
        shifted = shift_images(images, options.views, source)  # (b, v, c, h, w)
        return torch.cat([shifted[:, :-1], adversarial[:, None]], dim=1)

    return prepare_dp_sgd(
        task,
        network,
        forward=lambda images, source: compute_noisy_scores(network, images, (), source),
        views=make_views,
        get_noises=tuple,
        build_certificate=lambda: None,
    )


DP_ADVERSARIAL_TRAINER = ImageTrainer(
    name="dp-adversarial",
    summary="private, and robust in practice: DP-SGD on adversarial copies",
    source="Madry et al. 2018; Abadi et al. 2016",
    option_names=DP_SGD_OPTIONS | {"attack_size", "attack_steps"},
    defaults=ImageTrainingOptions(steps=150, batch_size=2_048, learning_rate=4.0, views=2, attack_steps=3),
    prepare=_prepare_dp_adversarial,
)

"""Private and certified: DP-SGD on noisy copies of each example, then randomized smoothing (Wu et al. 2024)."""

import torch
from torch import Tensor

from deniable.robust.certificates import GaussianSmoothing
from deniable.robust.noise import NetworkNoise, compute_noisy_scores
from deniable.robust.systems.dp_sgd import DP_SGD_OPTIONS, prepare_dp_sgd
from deniable.robust.systems.system import ImageTrainer, ImageTrainingOptions, ImageTrainingTask, PreparedTraining
from deniable.robust.systems.views import add_gaussian_noise, shift_images


def _prepare_dp_cert(task: ImageTrainingTask) -> PreparedTraining:
    """Each view is the image, shifted a little, under fresh Gaussian noise: the accounting of DP-SGD stands."""
    network = task.architecture().build(0).to(task.device)
    sigma, view_count = task.options.noise, task.options.views

    def make_views(images: Tensor, labels: Tensor, source: torch.Generator) -> Tensor:  # noqa: ARG001 - a `ViewFunction`
        return add_gaussian_noise(shift_images(images, view_count, source), sigma, source)

    return prepare_dp_sgd(
        task,
        network,
        forward=lambda images, source: compute_noisy_scores(network, images, (), source),
        views=make_views,
        get_noises=lambda: (NetworkNoise("input", "gaussian", torch.tensor(sigma)),),
        build_certificate=lambda: GaussianSmoothing(sigma),
    )


DP_CERT_TRAINER = ImageTrainer(
    name="dp-cert",
    summary="private and certified: DP-SGD on noisy copies, Gaussian smoothing",
    source="Wu et al. 2024 (DP-CERT); Cohen et al. 2019",
    option_names=DP_SGD_OPTIONS | {"noise"},
    defaults=ImageTrainingOptions(steps=150, batch_size=2_048, learning_rate=4.0, views=3),
    prepare=_prepare_dp_cert,
)

"""Trainers of image classifiers whose training images are protected by DP-SGD."""

import functools
from typing import Any

import torch
from torch import Tensor

from deniable.core.guarantees import EMPTY_RECORD, ApproxDP
from deniable.learning.clipping import EMPTY_LABEL
from deniable.models.images.dataset import ImageDataset, LabelledImages
from deniable.models.images.training import private
from deniable.models.images.training.fitting import fit_image_model
from deniable.registry.trainers import IMAGE_TRAINERS
from tests.slow_audits.cases import Run, Tape, TrainerAudit
from tests.slow_audits.gradients import encode_weights, record_gradient_sums

Image = tuple[Tensor, int]
"""Pixels (1, height, width) and a class."""
SIDE, CLASSES = 14, 2
EMPTY: Image = (torch.zeros(1, SIDE, SIDE), EMPTY_LABEL)
EPSILON, DELTA, STEPS = 8.0, 1e-5, 4
TRAINERS = ("dp-sgd", "dp-cert", "dp-adversarial", "securesgd", "securesgd-agm")


def make_run(trainer: str, *, width: float, batch_share: float, epsilon: float, delta: float) -> Run:
    """Return a trainer of small networks.

    Args:
        trainer: its name.
        width: of the network.
        batch_share: expected size of a batch, as a share of the records.
        epsilon: of the budget.
        delta: the same.
    """

    def run(units: list[Image], seed: int, *, noise_share: float = 1.0, played: Tape | None = None) -> Tape:
        images = LabelledImages(
            torch.stack([pixels for pixels, _ in units]), torch.tensor([label for _, label in units])
        )
        data = ImageDataset(images, images, tuple(map(str, range(CLASSES))), "audit", "")
        options = IMAGE_TRAINERS[trainer].choose_options(
            epsilon=epsilon,
            delta=delta,
            width=width,
            steps=STEPS,
            batch_size=max(round(batch_share * len(units)), 1),
            learning_rate=0.05,
        )
        with record_gradient_sums(private, noise_share, played) as tape:
            model = fit_image_model(IMAGE_TRAINERS[trainer], data, options, seed=seed)
        tape.released = encode_weights(model.network) + repr((model.guarantee, model.noises)).encode()
        return tape

    return run


def draw_images() -> dict[str, list[Image]]:
    """Return images like any others, and those that move a gradient most."""
    source = torch.Generator().manual_seed(0)
    ordinary = [(torch.rand((1, SIDE, SIDE), generator=source), number % CLASSES) for number in range(8)]
    black, white = torch.zeros(1, SIDE, SIDE), torch.ones(1, SIDE, SIDE)
    chequered = ((torch.arange(SIDE)[:, None] + torch.arange(SIDE)) % 2).float()[None]
    extreme = [(black, 0), (white, 0), (chequered, 1), (1 - chequered, 0), (white, 1), EMPTY]
    repeated = [(white, 0)] * 5 + [(white, 1)]
    return {"ordinary": ordinary, "extreme pixels": extreme, "repeated": repeated}


def build_audit(trainer: str, setting: str = "", *, batch_share: float = 1.0, **changes: Any) -> TrainerAudit:
    """Return the audit of a trainer on copies of a white image, against one of the other class."""
    epsilon, delta = changes.pop("epsilon", EPSILON), changes.pop("delta", DELTA)
    make = functools.partial(make_run, trainer, batch_share=batch_share, epsilon=epsilon, delta=delta)
    white = torch.ones(1, SIDE, SIDE)
    return TrainerAudit(
        trainer,
        setting,
        ApproxDP(epsilon, delta, "the claim under audit", "claimed", adjacency=EMPTY_RECORD),
        make(width=0.05),
        units=changes.pop("units", [(white, 0)] * 7),
        canary=(white, 1),
        other=EMPTY,
        collections=draw_images(),
        run_on_collections=make(width=0.3),
        **changes,
    )


IMAGE_AUDITS = (
    *(build_audit(trainer) for trainer in TRAINERS),
    # The others are empty: which of them are drawn would hide the canary. It is in half of the batches alone, so that
    # much of the noise must be missing before runs show it.
    build_audit(
        "dp-sgd",
        "batches of half of the records",
        batch_share=0.5,
        epsilon=1.0,
        runs=1_000,
        noise="any",
        units=[EMPTY] * 7,
        weak_share=0.1,
        weak_runs=500,
    ),
)

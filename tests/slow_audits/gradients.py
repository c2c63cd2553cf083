"""Trainers by DP-SGD, of images and of texts: the run that a trainer makes is replaced by one that notes its sums."""

import contextlib
import dataclasses
import functools
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import Tensor

import deniable as dn
from deniable.core.randomness import derive_key_from_seed
from deniable.learning import dp_sgd
from deniable.learning.dp_sgd import DPSGDRun, NoisySums
from deniable.models.images import private_training as private
from deniable.models.text import private_training
from tests.slow_audits.cases import MeasuredSum, Run, Tape, TrainerAudit

EMPTY_LABEL = -1
EPSILON, DELTA, STEPS = 8.0, 1e-5, 4
SIZES = "the number of {} and the sampling rate are public"


@contextlib.contextmanager
def record_gradient_sums(module: ModuleType, noise_share: float, played: Tape | None) -> Iterator[Tape]:
    """Yield the tape of the run that is made inside by a module that holds the name ``DPSGDRun``."""
    tape = Tape()

    class RecordedRun(DPSGDRun):
        """DP-SGD that notes what it measures."""

        def measure(self, number: int) -> NoisySums:
            """Measure as usual, then multiply the noise, or take the noisy sums of another run."""
            measured, settings = super().measure(number), self.settings
            deviation = settings.plan.noise_multiplier * settings.plan.clip
            noisy = {
                name: (clipped + noise_share * (measured.noisy[name] - clipped)).float()  # as a step releases it
                for name, clipped in measured.clipped.items()
            }
            if played is not None:
                values = torch.from_numpy(played.measured[number].noisy).float()
                sizes = [clipped.numel() for clipped in measured.clipped.values()]
                parts = zip(measured.clipped.items(), torch.split(values, sizes), strict=True)
                noisy = {name: part.view_as(clipped) for (name, clipped), part in parts}
            sums = flatten_sums(measured.clipped), flatten_sums(noisy)
            rows, clip = measured.batch_rows, settings.plan.clip
            tape.measured.append(MeasuredSum("gradients", *sums, clip, deviation, batch=rows))
            tape.plan = dataclasses.replace(settings.plan, sampling="all" if settings.plan.rate == 1 else "poisson")
            return dataclasses.replace(measured, noisy=noisy)

    with mock.patch.object(module, "DPSGDRun", RecordedRun):
        yield tape


def flatten_sums(sums: dict[str, torch.Tensor]) -> np.ndarray:
    """Return sums by parameter as one array (d,)."""
    return torch.cat([value.flatten() for value in sums.values()]).double().numpy()


def encode_weights(network: torch.nn.Module) -> bytes:
    """Return all weights of a network as bytes."""
    return b"".join(value.numpy().tobytes() for value in network.state_dict().values())


@contextlib.contextmanager
def clip_too_late() -> Iterator[None]:
    """Clip gradients one part in two hundred beyond the norm."""
    with contextlib.ExitStack() as patches:
        for name in ("sum_clipped_gradients", "sum_clipped_losses"):
            clip = getattr(dp_sgd, name)

            def sum_gradients(*given: Any, clip: Any = clip) -> Any:
                *others, norm = given
                return clip(*others, 1.005 * norm)

            patches.enter_context(mock.patch.object(dp_sgd, name, sum_gradients))
        yield


# Images.

Image = tuple[Tensor, int]
"""Pixels (1, height, width) and a class."""
SIDE, CLASSES = 14, 2
EMPTY_IMAGE: Image = (torch.zeros(1, SIDE, SIDE), EMPTY_LABEL)
TRAINERS = ("dp-sgd", "dp-cert", "dp-ibp", "dp-adversarial", "securesgd", "securesgd-agm")


def make_run(trainer: str, *, width: float, batch_share: float, epsilon: float, delta: float) -> Run:
    """Return a trainer of small networks, whose batches have a share of the records."""

    def run(units: list[Image], seed: int, *, noise_share: float = 1.0, played: Tape | None = None) -> Tape:
        images = dn.images.LabelledImages(
            torch.stack([pixels for pixels, _ in units]), torch.tensor([label for _, label in units])
        )
        data = dn.images.ImageDataset(images, images, tuple(map(str, range(CLASSES))), "audit", "")
        size = {"width": width, "steps": STEPS, "batch_size": max(round(batch_share * len(units)), 1)}
        options = dn.images.IMAGE_TRAINERS[trainer].choose_options(
            epsilon=epsilon, delta=delta, learning_rate=0.05, **size
        )
        with record_gradient_sums(private, noise_share, played) as tape:
            model = dn.images.fit_image_model(dn.images.IMAGE_TRAINERS[trainer], data, options, seed=seed)
        tape.released = encode_weights(model.network) + repr((model.guarantee, model.noises)).encode()
        return tape

    return run


def draw_images() -> dict[str, list[Image]]:
    """Return images like any others, and those that move a gradient most."""
    source = torch.Generator().manual_seed(0)
    ordinary = [(torch.rand((1, SIDE, SIDE), generator=source), number % CLASSES) for number in range(8)]
    black, white = torch.zeros(1, SIDE, SIDE), torch.ones(1, SIDE, SIDE)
    chequered = ((torch.arange(SIDE)[:, None] + torch.arange(SIDE)) % 2).float()[None]
    extreme = [(black, 0), (white, 0), (chequered, 1), (1 - chequered, 0), (white, 1), EMPTY_IMAGE]
    repeated = [(white, 0)] * 5 + [(white, 1)]
    return {"ordinary": ordinary, "extreme pixels": extreme, "repeated": repeated}


def build_image_audit(trainer: str, setting: str = "", *, batch_share: float = 1.0, **changes: Any) -> TrainerAudit:
    """Return the audit of a trainer on copies of a white image, against one of the other class."""
    epsilon, delta = changes.pop("epsilon", EPSILON), changes.pop("delta", DELTA)
    make = functools.partial(make_run, trainer, batch_share=batch_share, epsilon=epsilon, delta=delta)
    white = torch.ones(1, SIDE, SIDE)
    return TrainerAudit(
        trainer,
        setting,
        dn.Guarantee(
            epsilon,
            "the claim under audit",
            "claimed",
            delta=delta,
            adjacency=f"one record made empty: {SIZES.format('records')}",
        ),
        make(width=0.05),
        units=changes.pop("units", [(white, 0)] * 7),
        canary=(white, 1),
        other=EMPTY_IMAGE,
        collections=draw_images(),
        run_on_collections=make(width=0.3),
        **changes,
    )


IMAGE_AUDITS = (
    *(build_image_audit(trainer) for trainer in TRAINERS),
    # The others are empty: which of them are drawn would hide the canary. It is in half of the batches alone, so that
    # much of the noise must be missing before runs show it.
    build_image_audit(
        "dp-sgd",
        "batches of half of the records",
        batch_share=0.5,
        epsilon=1.0,
        runs=1_000,
        noise="any",
        units=[EMPTY_IMAGE] * 7,
        weak_share=0.1,
        weak_runs=500,
    ),
)

# Texts.

Record = tuple[str, int]
"""A text and its class."""
EMPTY_TEXT: Record = ("", EMPTY_LABEL)
PLACES = 8
WORDS = ("good", "great", "fine", "bad", "awful", "poor", "film", "movie", "plot", "the", "a", "was")
SPACE = dn.Space(WORDS, np.random.default_rng(0).normal(size=(len(WORDS), 4)), source="twelve words")


def run_dp_fasttext(units: list[Record], seed: int, *, noise_share: float = 1.0, played: Tape | None = None) -> Tape:
    """Train on texts, each step on all places."""
    texts = dn.texts.tokenize_texts(SPACE, [text for text, _ in units]).texts
    documents = dn.texts.Documents(texts, np.array([label for _, label in units], dtype=np.int64), ("bad", "good"))
    options = private_training.PrivateTextOptions(EPSILON, DELTA, PLACES, epochs=STEPS, learning_rate=0.01)
    with record_gradient_sums(private_training, noise_share, played) as tape:
        model = private_training.fit_private_text_model(SPACE, documents, options, key=derive_key_from_seed(seed))
    tape.released = encode_weights(model.network) + repr((model.guarantee, model.facts)).encode()
    return tape


TEXT_COLLECTIONS: dict[str, list[Record]] = {
    "ordinary": [("the film was good", 1), ("a bad plot", 0), ("great movie", 1), ("the plot was poor", 0)],
    "empty, unknown and long": [
        ("", 0),
        ("zork", 1),
        ("awful " * 300, 1),
        ("the " * 3_000, 0),
        EMPTY_TEXT,
        ("fine", 1),
    ],
    "more records than places": [("good " * number, number % 2) for number in range(12)],
    "repeated": [("fine", 1)] * 6 + [("fine", 0)],
}
TEXT_AUDITS = (
    TrainerAudit(
        private_training.PRIVATE_TEXT_KIND,
        "",
        dn.Guarantee(
            EPSILON,
            "the claim under audit",
            "claimed",
            delta=DELTA,
            adjacency=f"one record made empty: {SIZES.format('places for records')}",
        ),
        run_dp_fasttext,
        units=[("good", 1)] * (PLACES - 1),
        canary=("good", 0),
        other=EMPTY_TEXT,
        collections=TEXT_COLLECTIONS,
    ),
)

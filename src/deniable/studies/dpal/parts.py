"""The experiments of the study, each a function that returns what JSON can hold."""

import base64
import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.studies.study import Data, derived

if TYPE_CHECKING:
    from torch import Tensor

    from deniable.models.images.dataset import ImageDataset
    from deniable.published.dpal.events import EventCounts
    from deniable.published.dpal.label_audit import DifferenceAxis, LabelNoiseForm
    from deniable.published.dpal.mechanism import DPALBudget
    from deniable.studies.dpal_audit import Sizes

CONFIDENCE = 0.95
_SPREAD = 4.0
"""Images with noise are shown on a scale of so many times the noise's, either side of grey."""
LABEL_RUNS: tuple[tuple["LabelNoiseForm", "DifferenceAxis", bool], ...] = (
    ("published", "steps", False),
    ("published", "classes", False),
    ("each step", "classes", False),
    ("each step and class", "steps", False),
    ("each step and class", "classes", False),
    ("published", "steps", True),
    ("each step and class", "steps", True),
)
"""How label noise is drawn, over what the attacker takes differences, and whether labels are drawn or the true ones."""


@dataclasses.dataclass(frozen=True)
class Bench:
    """What every experiment is given.

    Attributes:
        dataset: images to train and test on.
        budget: DPAL's.
        sizes: of the study.
        seed: public.
    """

    dataset: "ImageDataset"
    budget: "DPALBudget"
    sizes: "Sizes"
    seed: int

    def random(self, *parts: object) -> np.random.Generator:
        """Return the generator of one experiment."""
        return np.random.default_rng(derived(self.seed, "dpal-audit", *parts))


def differences(bench: Bench) -> Data:
    """Return A1: differences of perturbed images, with shared noise and with independent noise."""
    from deniable.published.dpal import image_audit  # noqa: PLC0415 - needs torch, an extra

    images, trials = bench.dataset.train.pixels[:3], bench.sizes.differences
    found = {
        kind: image_audit.audit_differences(
            images, bench.budget, bench.random("differences", kind), trials=trials, independent=kind == "independent"
        )
        for kind in ("shared", "independent")
    }
    return {kind: _event(record.event, record.claim) for kind, record in found.items()}


def recovery(bench: Bench) -> Data:
    """Return A8: a batch recovered without side knowledge, with shared and with independent noise, and pictures."""
    from deniable.published.dpal import image_audit  # noqa: PLC0415 - needs torch, an extra

    images = bench.dataset.train.pixels
    found, pictures = {}, {}
    for kind in ("shared", "independent"):
        random, trials = bench.random("recovery", kind), bench.sizes.recoveries
        record = image_audit.audit_image_recovery(
            images, bench.budget, random, trials=trials, independent=kind == "independent"
        )
        found[kind] = {
            **_event(record.event, record.claim),
            "same": record.recovered_images,
            "images": len(record.images),
            "largest error": record.largest_error,
        }
        shown = _one_of_each(bench)
        # On the scale of [0, 1], noise is half of what it is on that of [-1, 1].
        reach = _SPREAD * bench.budget.input_scale / 2
        if kind == "shared":
            pictures["original"] = _packed(record.images[shown], 0.0, 1.0)
            pictures["perturbed"] = _packed(record.perturbed[shown], 0.5 - reach, 0.5 + reach)
            pictures["recovered"] = _packed(record.recovered[shown], 0.0, 1.0)
        else:
            middle = float(record.recovered[shown].median())
            pictures["control"] = _packed(record.recovered[shown], middle - reach, middle + reach)
    return {**found, "pictures": {"size": list(images.shape[-2:]), **pictures}}


def parameters(bench: Bench) -> Data:
    """Return A2: neighbouring batches told apart by the parameters after one step."""
    import torch  # noqa: PLC0415 - an extra

    from deniable.published.dpal import parameter_audit as audit  # noqa: PLC0415 - needs torch

    kinds = {"float64": torch.float64, "float32": torch.float32, "independent": torch.float64}
    found = {}
    for kind, dtype in kinds.items():
        record = audit.audit_parameters(
            bench.dataset.train.pixels,
            bench.budget,
            bench.random("parameters", kind),
            trials=bench.sizes.steps,
            neurons=bench.sizes.dense,
            dtype=dtype,
            independent=kind == "independent",
        )
        found[kind] = {
            "ratio": _event(record.ratio_event, record.claim),
            "projected": _event(record.projection_event, record.claim),
            "own": list(record.trained_ratios),
            "other": list(record.neighbour_ratios),
        }
    return found


def labels(bench: Bench) -> Data:
    """Return A3: the true labels recovered, and labels drawn at random, under three forms of noise."""
    from deniable.published.dpal import label_audit as audit  # noqa: PLC0415 - needs torch, an extra

    images, given = bench.dataset.train.pixels, bench.dataset.train.labels
    runs: list[Data] = []
    for noise, over, drawn in LABEL_RUNS:
        record = audit.audit_labels(
            images,
            bench.budget,
            bench.random("labels", noise, over, drawn),
            given_labels=None if drawn else given,
            classes=len(bench.dataset.classes),
            neurons=bench.sizes.neurons,
            noise=noise,
            difference_axis=over,
        )
        bound = record.compute_lower_bound(CONFIDENCE) if drawn else None
        facts = {"noise": noise, "over": over, "drawn": drawn, "bound": bound}
        runs.append({**facts, "right": record.recovered_labels, "count": record.total_labels, "claim": record.claim})
    return {"runs": runs}


def sensitivity(bench: Bench) -> Data:
    """Return A4: what independent noise gives by its law, and what a black image and a white one show of it."""
    import torch  # noqa: PLC0415 - an extra

    from deniable.published.dpal import sensitivity_audit as audit  # noqa: PLC0415 - needs torch

    shape = bench.dataset.train.pixels.shape[1:]
    exact = audit.audit_sensitivity(bench.budget, pixels=int(np.prod(shape)))
    event = audit.count_likelier_guesses(
        torch.zeros(shape),
        torch.ones(shape),
        bench.budget,
        bench.random("sensitivity"),
        trials=bench.sizes.differences,
    )
    return {**dataclasses.asdict(exact), "likelier": _event(event, exact.claim)}


def utility(bench: Bench) -> Data:
    """Return accuracies with noise shared, independent and drawn anew."""
    from deniable.published.dpal import sensitivity_audit as audit  # noqa: PLC0415 - needs torch, an extra

    train, test, sizes = bench.dataset.train, bench.dataset.test, bench.sizes
    found = audit.measure_noise_utility(
        (train.pixels[: sizes.train], train.labels[: sizes.train]),
        (test.pixels, test.labels),
        bench.budget,
        bench.random("utility"),
        epochs=sizes.epochs,
    )
    return dataclasses.asdict(found)


def unpacked(pictures: Data, row: str) -> list[Any]:
    """Return the images of a row, each an array (h, w) of 0 ... 255."""
    height, width = pictures["size"]
    return [np.frombuffer(base64.b64decode(text), np.uint8).reshape(height, width) for text in pictures[row]]


def _packed(images: "Tensor", low: float, high: float) -> list[str]:
    """Return the first channel of images (n, c, h, w) as 256 grey levels between two values, in base64."""
    levels = ((images[:, 0] - low) / (high - low)).clamp(0, 1).mul(255).round().byte().numpy()
    return [base64.b64encode(image.tobytes()).decode() for image in levels]


def _one_of_each(bench: Bench) -> list[int]:
    """Return the numbers of the first image of every class in the batch."""
    held = bench.dataset.train.labels[: bench.sizes.batch].tolist()
    return [held.index(label) for label in sorted(set(held))]


def _event(event: "EventCounts", claim: float) -> Data:
    """Return counts and the lower bound."""
    return {**dataclasses.asdict(event), "bound": event.compute_lower_bound(CONFIDENCE), "claim": claim}

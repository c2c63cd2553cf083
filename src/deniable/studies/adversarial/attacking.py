"""Conventional accuracy: without attack and under each one. Needs torch."""

import dataclasses

import numpy as np
import torch
from torch import Tensor

from deniable.core.intervals import Estimate, estimate_clustered_share, estimate_share
from deniable.models.images.attacks import IMAGE_ATTACKS as LIBRARY
from deniable.models.images.attacks import pgd
from deniable.models.images.dataset import LabelledImages
from deniable.models.images.model import ImageModel
from deniable.studies.adversarial.bench import Bench
from deniable.studies.adversarial.plan import ATTACKS, CLEAN, MEAN, PAPER_UNIT, Curve
from deniable.studies.study import Data


def conventional(bench: Bench, model: ImageModel, name: str, curve: Curve, budget: float | None) -> list[Data]:
    """Return the accuracy without attack and under each one, at the sizes of the figures."""
    plan, sizes = bench.plan, bench.sizes
    if curve.silent:
        silent = tuple(dataclasses.replace(noise, scale=torch.zeros(())) for noise in model.noises)
        model = dataclasses.replace(model, noises=silent)
    votes = 1 if curve.silent else sizes.dpal_votes if curve.system == "dpal" else sizes.votes
    at = {"curve": name, "budget": budget}
    right = bench.tested.labels == model.predict(bench.tested.pixels, bench.source("clean", name, budget), votes)
    points = [{**at, "size": 0.0, "attack": CLEAN, **shown(estimate_share(int(right.sum()), len(right)))}]
    # The size of the figure against budget, and at one budget all of them.
    for size in dict.fromkeys((plan.attacked_at, *(sizes.attack_sizes if budget == plan.tight else ()))):
        hits = []
        for attack in ATTACKS:
            source = bench.source("attack", name, budget, size, attack)
            images = attacked(bench, model, attack, bench.tested, size, source, silent=curve.silent)
            hits.append(model.predict(images, source, votes) == bench.tested.labels)
        points += [{**at, "size": size, **point} for point in by_attack(hits)]
    return points


def by_attack(hits: list[Tensor]) -> list[Data]:
    """Return the share of hits of each attack, and of the four together, from hits (n,) of each."""
    table = torch.stack(hits, 1).cpu().numpy()  # (n, attacks)
    found = {
        attack: estimate_share(int(column.sum()), len(column)) for attack, column in zip(ATTACKS, table.T, strict=True)
    }
    found[MEAN] = estimate_clustered_share(
        table.sum(axis=1), np.full(len(table), len(hits))
    )  # the attacks share their images
    return [{"attack": attack, **shown(estimate)} for attack, estimate in found.items()]


def attacked(
    bench: Bench,
    model: ImageModel,
    attack: str,
    images: LabelledImages,
    size: float,
    source: torch.Generator,
    *,
    silent: bool = False,
) -> Tensor:
    """Return attacked images (n, channels, height, width), led away from their true classes.

    Gradients are averaged over draws of the noise that the model is evaluated with.

    Args:
        bench: what all systems share.
        model: to attack.
        attack: one of `ATTACKS`.
        images: (n,) to attack.
        size: mu_a, for pixels in [-1, 1].
        source: generator of noise and starts.
        silent: the model draws no noise.
    """
    scores, draws = model.scores(source), bench.sizes.gradient_draws if model.noises and not silent else 1
    given, labels, reach = images.pixels, images.labels, size / PAPER_UNIT
    if attack == "pgd":
        return pgd(scores, given, labels, reach, draws=draws, generator=source, steps=bench.sizes.pgd_steps)
    return LIBRARY[attack](scores, given, labels, reach, draws=draws, generator=source)


def shown(estimate: Estimate) -> Data:
    """Return an estimate as JSON holds it."""
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "count": estimate.count}

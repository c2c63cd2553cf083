"""Training each system at each budget, attacking it, and counting what it gets right. Needs torch."""

import dataclasses
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from deniable.measure.estimate import Estimate, mean, share
from deniable.parallel import reporter
from deniable.robust.attacks import ATTACKS as LIBRARY
from deniable.robust.attacks import pgd
from deniable.robust.fit import best_device, fit
from deniable.robust.images import Dataset, Images, read_images
from deniable.robust.model import Model
from deniable.robust.systems import SYSTEMS
from deniable.studies.adversarial.plan import (
    ATTACKS,
    CLEAN,
    CURVES,
    DELTA,
    MEAN,
    OURS,
    PAPER_UNIT,
    REPLACE_ONE,
    Curve,
    Plan,
    Sizes,
)
from deniable.studies.study import Data, Setting, derived

_SIDE = 28
"""Pixels of a side: the paper's sensitivities count the 14 x 14 neurons of a feature map."""


@dataclasses.dataclass(frozen=True)
class Bench:
    """What all systems share.

    Attributes:
        plan: of the study.
        sizes: how much of everything.
        data: to train on.
        tested: images to attack, on the device that computes.
        seed: public.
    """

    plan: Plan
    sizes: Sizes
    data: Dataset
    tested: Images
    seed: int

    def source(self, *parts: object) -> torch.Generator:
        """Return a generator for one part of the measurements."""
        made = torch.Generator(self.tested.pixels.device)
        made.manual_seed(derived(self.seed, *parts))
        return made


def prepared(plan: Plan, sizes: Sizes, setting: Setting) -> Bench:
    """Read the images, bring them to 28 x 28 pixels, and draw those to attack."""
    data = read_images(setting.file(plan.file))
    train, test = _framed(data.train, sizes.train), _framed(data.test, None)
    random = np.random.default_rng(derived(setting.seed, "images"))
    chosen = torch.from_numpy(np.sort(random.permutation(len(test))[: sizes.images]))
    device = best_device()
    tested = Images(test.pixels[chosen].to(device), test.labels[chosen].to(device))
    return Bench(plan, sizes, dataclasses.replace(data, train=train, test=test), tested, setting.seed)


def _framed(images: Images, most: int | None) -> Images:
    """Return the first images, cropped around their centre, or in a black frame."""
    pixels = images.pixels[:most]
    height, width = pixels.shape[2:]
    left, top = (_SIDE - width) // 2, (_SIDE - height) // 2
    frame = (left, _SIDE - width - left, top, _SIDE - height - top)  # below 0 where pixels are cut off
    return Images(functional.pad(pixels, frame), images.labels[:most])


def cells(sizes: Sizes) -> Iterator[tuple[str, float | None]]:
    """Yield every system and budget to train; None for a system without privacy."""
    systems = dict.fromkeys(curve.system for curve in CURVES.values() if curve.system in SYSTEMS)
    for system in systems:
        if "epsilon" in SYSTEMS[system].uses:
            yield from ((system, budget) for budget in sizes.budgets)
        else:
            yield system, None


def measured(plan: Plan, sizes: Sizes, setting: Setting, schedule: str) -> list[Data]:
    """Return what was found of every system at every budget; an interrupted run has kept some of it."""
    bench = prepared(plan, sizes, setting)
    report, found, wanted = reporter(), [], list(cells(sizes))
    report(0, len(wanted))
    for system, budget in wanted:
        name = f"{schedule} {system} {budget}"
        found.append(setting.ledger.remember(name, lambda at=(system, budget): _cell(bench, *at)))  # type: ignore[misc]
        report(len(found), len(wanted))
    return found


def _cell(bench: Bench, system: str, budget: float | None) -> Data:
    """Train one system, and return what is claimed of it, what is proved, and its accuracies."""
    from deniable.studies.adversarial.certified import certified  # noqa: PLC0415 - it imports this module

    start = time.perf_counter()
    model = fit(
        system,
        bench.data,
        SYSTEMS[system].options(**options(bench, system, budget)),
        seed=derived(bench.seed, "train", system, budget),
    )
    model.network.to(bench.tested.pixels.device)
    trained = time.perf_counter()
    curves = {name: curve for name, curve in CURVES.items() if curve.system == system}
    points = [
        point
        for name, curve in curves.items()
        if "budget" in curve.figures
        for point in conventional(bench, model, name, curve, budget)
    ]
    certificates = [
        point
        for name, curve in curves.items()
        if "certified" in curve.figures and budget in {None, bench.plan.certified_at}
        for point in certified(bench, model, name, budget)
    ]
    return {
        "system": system,
        "budget": budget,
        **about(model),
        "accuracy": points,
        "certified": certificates,
        "seconds": {"training": trained - start, "measuring": time.perf_counter() - trained},
    }


def options(bench: Bench, system: str, budget: float | None) -> dict[str, Any]:
    """Return the options of one training run, those that the system knows."""
    sizes = bench.sizes
    ours = system == CURVES[OURS].system
    steps = {"dpal": sizes.dpal_steps, "adlm": sizes.adlm_steps, "pixeldp": sizes.pixeldp_steps}
    given: dict[str, Any] = {
        "epsilon": budget,
        "delta": DELTA,
        "network": "small" if ours else bench.plan.network,
        "width": 1.0 if ours else sizes.width,
        "steps": steps.get(system, sizes.private_steps),
        "attack_steps": sizes.dpal_attack_steps,
        "attack_size": sizes.construction / PAPER_UNIT,
        "noise": sizes.noise / PAPER_UNIT,
    }
    if system in {"dpal", "adlm"}:
        given["batch_size"] = sizes.dpal_batch
    elif system != "pixeldp":
        given["batch_size"] = sizes.private_batch
    return {name: value for name, value in given.items() if name in SYSTEMS[system].uses}


def about(model: Model) -> Data:
    """Return what is claimed and proved of a model."""
    verdict, certificate = model.verdict, model.certificate
    known = {"proved": "proved", "refuted": "refuted"}
    return {
        "privacy": "no privacy" if verdict is None else known.get(verdict.status, "no proof"),
        "why": None if verdict is None else verdict.method,
        "adjacency": None if verdict is None else "replace one" if model.system in REPLACE_ONE else "add or remove one",
        "epsilon": None if verdict is None else verdict.claim,
        "epsilon at least": None if verdict is None else verdict.lower_bound,
        "epsilon, replace one": model.facts.get("epsilon, replace one record"),
        "delta": None if verdict is None else verdict.delta,
        "certificate": None if certificate is None else certificate.standing,
        "network": model.architecture.name,
    }


def conventional(bench: Bench, model: Model, name: str, curve: Curve, budget: float | None) -> list[Data]:
    """Return the accuracy without attack and under each one, at the sizes of the figures."""
    plan, sizes = bench.plan, bench.sizes
    if curve.silent:
        silent = tuple(dataclasses.replace(noise, scale=torch.zeros(())) for noise in model.noises)
        model = dataclasses.replace(model, noises=silent)
    votes = 1 if curve.silent else sizes.dpal_votes if curve.system == "dpal" else sizes.votes
    at = {"curve": name, "budget": budget}
    right = bench.tested.labels == model.predict(bench.tested.pixels, bench.source("clean", name, budget), votes)
    points = [{**at, "size": 0.0, "attack": CLEAN, **shown(share(int(right.sum()), len(right)))}]
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
        attack: share(int(column.sum()), len(column)) for attack, column in zip(ATTACKS, table.T, strict=True)
    }
    found[MEAN] = mean(table.mean(axis=1), within=(0.0, 1.0))
    return [{"attack": attack, **shown(estimate)} for attack, estimate in found.items()]


def attacked(
    bench: Bench, model: Model, attack: str, images: Images, size: float, source: torch.Generator, *, silent: bool = False
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

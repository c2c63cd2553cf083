"""Training each system at each budget, and everything that is measured of it. Needs torch."""

import time
from collections.abc import Iterator
from typing import Any

from deniable.core.parallel import get_progress_reporter
from deniable.models.images.model import ImageModel
from deniable.models.images.training.fitting import fit_image_model
from deniable.registry.trainers import IMAGE_TRAINERS
from deniable.studies.adversarial.attacking import conventional
from deniable.studies.adversarial.bench import Bench, prepared
from deniable.studies.adversarial.certified import certified
from deniable.studies.adversarial.plan import CURVES, DELTA, OURS, PAPER_UNIT, REPLACE_ONE, Plan, Sizes
from deniable.studies.study import Data, Setting, derived

_PIXELDP_BATCH = 256


def cells(sizes: Sizes) -> Iterator[tuple[str, float | None]]:
    """Yield every system and budget to train; None for a system without privacy."""
    systems = dict.fromkeys(curve.system for curve in CURVES.values() if curve.system in IMAGE_TRAINERS)
    for system in systems:
        if "epsilon" in IMAGE_TRAINERS[system].option_names:
            yield from ((system, budget) for budget in sizes.budgets)
        else:
            yield system, None


def measured(plan: Plan, sizes: Sizes, setting: Setting, schedule: str) -> list[Data]:
    """Return what was found of every system at every budget; an interrupted run has kept some of it."""
    bench = prepared(plan, sizes, setting)
    report, found, wanted = get_progress_reporter(), [], list(cells(sizes))
    report(0, len(wanted))
    for system, budget in wanted:
        name = f"{schedule} {system} {budget}"
        found.append(setting.ledger.remember(name, lambda at=(system, budget): _cell(bench, *at)))  # type: ignore[misc]
        report(len(found), len(wanted))
    return found


def _cell(bench: Bench, system: str, budget: float | None) -> Data:
    """Train one system, and return what is claimed of it, what is proved, and its accuracies."""
    start = time.perf_counter()
    model = fit_image_model(
        IMAGE_TRAINERS[system],
        bench.data,
        IMAGE_TRAINERS[system].choose_options(**options(bench, system, budget)),
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
        "views": sizes.views if ours else 1,
    }
    if system == "dpal":
        given["learning_rate"] = sizes.dpal_rate
    batches = {"dpal": sizes.dpal_batch, "adlm": sizes.adlm_batch, "pixeldp": _PIXELDP_BATCH}
    given["batch_size"] = batches.get(system, sizes.private_batch)
    return {name: value for name, value in given.items() if name in IMAGE_TRAINERS[system].option_names}


def about(model: ImageModel) -> Data:
    """Return what is claimed and proved of a model."""
    verdict, certificate = model.verdict, model.certificate
    unproved = {"claimed", "not refuted", "undecided"}
    return {
        "privacy": "no privacy" if verdict is None else "no proof" if verdict.status in unproved else verdict.status,
        "why": None if verdict is None else verdict.method,
        "adjacency": None if verdict is None else "replace one" if model.trainer in REPLACE_ONE else "make one empty",
        "epsilon": None if verdict is None else verdict.claim,
        "epsilon at least": None if verdict is None else verdict.lower_bound,
        "epsilon, replace one": model.facts.get("epsilon, replace one record"),
        "delta": None if verdict is None else verdict.delta,
        "certificate": None if certificate is None else certificate.status,
        "network": model.architecture.name,
    }

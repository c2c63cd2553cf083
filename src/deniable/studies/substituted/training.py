"""Training each model, and everything that is measured of it. Needs torch."""

import dataclasses
import functools
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import torch

from deniable import __version__
from deniable.core.errors import InputError
from deniable.core.parallel import get_progress_reporter, report_progress_to
from deniable.learning.loop import Checkpoint
from deniable.models.text.model import TextModel, fit_text_model
from deniable.models.text.substitutions import SubstituteSource
from deniable.models.text.training import TextTrainingOptions
from deniable.studies.study import Data, Setting
from deniable.studies.substituted.bench import Bench, prepared
from deniable.studies.substituted.measuring import by_mechanism, by_sets, plain, smoothed, thinned
from deniable.studies.substituted.mechanisms import Mechanisms
from deniable.studies.substituted.plan import CALIBRATED, IBP, NORMAL, SETS, TIGHT, Cell, Plan, Point, Sizes

Part = tuple[str, Callable[[], Data]]
"""What is found of one model at a time: its name in the ledger, and how."""


def measured(plan: Plan, sizes: Sizes, setting: Setting, schedule: str) -> Data:
    """Return what was found of every model; an interrupted run has kept some of it."""
    bench = prepared(plan, sizes, setting, schedule)
    mechanisms = Mechanisms(bench)
    with _unseen():
        usable = [point for point in sizes.points if not mechanisms.below(point)]
    augmenting: list[Point | str] = [SETS, *usable]
    cells = [Cell(NORMAL), Cell(IBP), *(Cell("augmented", source) for source in augmenting)]
    known: list[Part] = [
        (f"epsilon of {point.title}", functools.partial(_about, mechanisms, point)) for point in sizes.points
    ]
    parts: list[tuple[Cell | None, list[Part]]] = [(None, known)]
    parts += [(cell, _parts(bench, mechanisms, cell, usable)) for cell in cells]
    report, done, total = get_progress_reporter(), 0, sum(len(held) for _, held in parts)
    report(0, total)
    facts = setting.ledger.remember(f"{schedule}: texts", lambda: bench.facts)
    found: Data = {"facts": facts, "mechanisms": [], "trainings": [], "points": [], "smoothed": []}
    for cell, held in parts:
        for name, compute in held:
            with _unseen():
                for kind, entries in setting.ledger.remember(f"{schedule}: {name}", compute).items():
                    found[kind] += entries
            done += 1
            report(done, total)
        if cell is not None and (checkpoint := _checkpoint(bench, cell)) is not None:
            checkpoint.remove()
    return found


def _unseen() -> AbstractContextManager[None]:
    """Return a context in which passes inside a part are told to nobody: they say nothing of the whole."""
    return report_progress_to(lambda _done, _total: None)


def _about(mechanisms: Mechanisms, point: Point) -> Data:
    return {"mechanisms": [mechanisms.about(point)]}


def _parts(bench: Bench, mechanisms: Mechanisms, cell: Cell, usable: list[Point]) -> list[Part]:
    """Return all that is found of one model, which is trained when the first part of it is not kept yet."""
    model = functools.cache(functools.partial(_trained, bench, mechanisms, cell))
    parts: list[Part] = [
        (cell.name, functools.partial(_first, bench, cell, model)),
        *(
            (f"{cell.name}, {attack} by the sets", functools.partial(by_sets, bench, cell, model, attack))
            for attack in ("genetic", "greedy")
        ),
    ]
    if cell.method == IBP:
        parts.append((f"{cell.name}, thinned sets", functools.partial(thinned, bench, cell, model)))
    own = [cell.source] if isinstance(cell.source, Point) else []
    for point in usable if cell.source is None else own:
        attack = functools.partial(by_mechanism, bench, cell, model, mechanisms, point)
        parts.append((f"{cell.name}, genetic by {point.title}", attack))
    if bench.sizes.smoothed:
        parts += [
            (f"{cell.name}, smoothed", functools.partial(smoothed, bench, cell, model, mechanisms, point))
            for point in own
            if point.mechanism in {CALIBRATED, TIGHT}  # their laws are sampled from tables, which can be compared
        ]
    return parts


def _first(bench: Bench, cell: Cell, model: Callable[[], TextModel]) -> Data:
    """Train a model, and return its accuracy without attack, and by interval bounds."""
    start = time.perf_counter()
    trained = model()
    training = {"model": cell.name, "steps": trained.facts["steps"], "seconds": time.perf_counter() - start}
    return {"trainings": [training], **plain(bench, cell, trained)}


def _trained(bench: Bench, mechanisms: Mechanisms, cell: Cell) -> TextModel:
    """Train one model, from where an earlier sitting left it."""
    sizes, documents = bench.sizes, bench.train
    source: SubstituteSource | None = None
    options = TextTrainingOptions(epochs=sizes.normal_epochs, batch_size=sizes.batch)
    if cell.method == IBP:
        source, options = bench.sets, dataclasses.replace(options, method="ibp", epochs=sizes.ibp_epochs)
    elif isinstance(cell.source, Point):
        documents = mechanisms.copied(cell.source)
        options = dataclasses.replace(options, epochs=sizes.augmented_epochs)
    elif cell.source == SETS:
        source, options = (
            bench.sets,
            dataclasses.replace(options, method="augmented", epochs=sizes.augmented_epochs, copies=sizes.copies),
        )
    return fit_text_model(
        bench.plan.network,
        bench.space,
        documents,
        options,
        source=source,
        seed=bench.seed("train", cell.name),
        checkpoint=_usable(_checkpoint(bench, cell)),
    )


def _checkpoint(bench: Bench, cell: Cell) -> Checkpoint | None:
    """Return where the training of a model is kept meanwhile, beside the ledger."""
    path = bench.setting.ledger.beside(f"{cell.name.replace(' ', '-')}.checkpoint")
    if path is None:
        return None
    parameters = {
        "version": __version__,
        "torch": str(torch.__version__),
        "model": cell.name,
        "sizes": repr(bench.sizes),
        "seed": bench.setting.seed,
        "texts": repr(bench.facts),
        "words": bench.space.fingerprint,
    }
    return Checkpoint(path, parameters, bench.sizes.every)


def _usable(checkpoint: Checkpoint | None) -> Checkpoint | None:
    """Return a checkpoint, the file of another run removed: the ledger has found that this run may begin."""
    if checkpoint is not None:
        try:
            checkpoint.load_key(b"")
        except InputError:
            checkpoint.remove()
    return checkpoint

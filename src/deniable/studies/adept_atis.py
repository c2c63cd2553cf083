"""Habernal 2021 on Krishna et al. 2021 (ADePT), on ATIS: what rewriting leaves of texts, and who finds them again."""

import functools
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from deniable.core.errors import InputError
from deniable.core.parallel import get_progress_reporter, report_progress_to
from deniable.studies.rewriting.figure import draw
from deniable.studies.rewriting.findings import details, findings
from deniable.studies.rewriting.plan import FILES, GAUSSIAN, PUBLISHED, TOKENS, Sizes
from deniable.studies.rewriting.words import table
from deniable.studies.study import Data, Result, Setting, Study

if TYPE_CHECKING:
    from deniable.rewriting.audits import AuditView
    from deniable.studies.rewriting.bench import Bench

FULL = Sizes()
QUICK = Sizes(
    epsilons=(1.0, 10.0, 100.0, 1000.0),
    latent=32,
    hidden=96,
    embedding=48,
    epochs=6,
    spliced=2,
    latents=(8,),
    short=6,
    train=1_500,
    test=300,
    releases=10_000,
    beyond=1_000,
    rewritten=500,
    proposals=3_000,
    inverted=(100.0,),
    inverting=2,
    searched=50,
    tuned=(100.0,),
    tuning=1,
    samples=6_000,
)
_SEEN: tuple["AuditView", ...] = ("vector", "likelihood", "text")
Part = tuple[str, Callable[[], Data]]
"""What is found at a time: the name under which the ledger keeps it, and how."""


def run(sizes: Sizes, setting: Setting) -> Result:
    """Train the auto-encoder, and look at every method at every epsilon."""
    for name in FILES.values():
        setting.file(name)
    if find_spec("torch") is None:
        raise InputError("This study trains networks with torch, which is missing: install deniable[train].")
    from deniable.studies.rewriting import bench as shared  # noqa: PLC0415 - needs torch, slow to import

    bench = shared.prepared(sizes, setting)
    plan = _plan(bench)
    _ = bench.model  # trained, or read back, before the parts are counted
    report, done, total = get_progress_reporter(), 0, sum(map(len, plan.values()))
    data: Data = {"sizes": {name: list(v) if isinstance(v, tuple) else v for name, v in vars(sizes).items()}}
    report(0, total)
    for kind, parts in plan.items():
        data[kind] = []
        for name, compute in parts:
            with report_progress_to(lambda _done, _total: None):  # passes inside a part say nothing of the whole
                data[kind].append(setting.ledger.remember(name, compute))
            done += 1
            report(done, total)
    bench.clear()
    return Result(data, table(data), findings(data), details(data))


def _plan(bench: "Bench") -> dict[str, list[Part]]:
    """Return everything that is to be found, by kind."""
    from deniable.studies.rewriting import evidence, measuring  # noqa: PLC0415 - needs torch, slow to import

    sizes, part = bench.sizes, functools.partial
    vectors = [name for name in sizes.methods if name != TOKENS]
    return {
        "models": [("auto-encoder", part(measuring.undisturbed, bench))],
        "distances": [(f"distances, {name}", part(evidence.distances, bench, name)) for name in vectors],
        "audits": [
            *((f"audit, {PUBLISHED}, {seen}", part(evidence.audited, bench, PUBLISHED, seen)) for seen in _SEEN),
            *(
                (f"audit, {name}", part(evidence.audited, bench, name, "likelihood"))
                for name in vectors
                if name != PUBLISHED
            ),
        ],
        "grown": [
            (f"encoder of {n} coordinates", part(evidence.grown, bench, n))
            for n in sorted({*sizes.latents, sizes.latent})
        ],
        "cells": [
            (f"{name} at {epsilon:g}", part(measuring.cell, bench, name, epsilon))
            for epsilon in sizes.epsilons
            for name in sizes.methods
        ],
        "tuned": [
            (f"{name} at {epsilon:g}, trained with its noise", part(measuring.tuned, bench, name, epsilon))
            for name in (PUBLISHED, GAUSSIAN)
            if name in vectors
            for epsilon in sizes.tuned
            if epsilon in sizes.epsilons
        ],
        "proposals": [
            (f"proposals, {name}", part(evidence.proposed, bench, name))
            for name in (PUBLISHED, GAUSSIAN)
            if name in vectors
        ],
        "inversions": [
            (f"inversion, {name} at {epsilon:g}", part(evidence.learned, bench, name, epsilon))
            for name in (PUBLISHED, GAUSSIAN)
            if name in vectors
            for epsilon in sizes.inverted
        ],
    }


STUDY = Study(
    name="adept-atis",
    summary="texts of ATIS rewritten by ADePT and its remedies: what is left of them, and who finds them again",
    paper='Habernal 2021, "When differential privacy meets NLP: The devil is in the detail", Appendix C, and 2022, '
    '"How reparametrization trick broke differentially-private text representation learning", on ADePT '
    "(Krishna et al. 2021)",
    full=FULL,
    quick=QUICK,
    run=run,
    draw=draw,
)

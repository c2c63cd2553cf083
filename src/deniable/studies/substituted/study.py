"""From a plan to a study, without torch until it runs."""

import dataclasses
import functools
from importlib.util import find_spec

from deniable.core.errors import InputError
from deniable.studies.study import Data, Result, Setting, Study
from deniable.studies.substituted.figure import draw
from deniable.studies.substituted.findings import details, findings
from deniable.studies.substituted.plan import SUBSTITUTIONS, VECTORS, Plan, Sizes
from deniable.studies.substituted.words import table

TITLE = 'Xu et al. 2021, "Differentially Private Adversarial Robustness Through Randomized Perturbations"'


def made(name: str, plan: Plan, full: Sizes, quick: Sizes, paper: Sizes) -> Study[Sizes]:
    """Return the study of one data set.

    Args:
        name: of the study.
        plan: the data set and what the paper says of it.
        full: sizes for two processor cores.
        quick: sizes for a few minutes.
        paper: sizes as in the paper, which take the place of ``full`` where torch has a GPU.
    """

    def run(sizes: Sizes, setting: Setting) -> Result:
        return _run(plan, sizes, setting, full=full, quick=quick, paper=paper)

    return Study(
        name=name,
        summary=f"certified and augmented training on {plan.name}, attacked by sets and by word mechanisms",
        paper=f"{TITLE}, {' and '.join(published.title for published in plan.tables)}, {plan.name}",
        full=full,
        quick=quick,
        run=run,
        draw=functools.partial(draw, plan),
    )


def _run(plan: Plan, sizes: Sizes, setting: Setting, *, full: Sizes, quick: Sizes, paper: Sizes) -> Result:
    """Train, attack and certify every model, and put the paper's statements beside the results."""
    for name in (VECTORS, SUBSTITUTIONS, plan.train, plan.test):
        setting.file(name)
    if find_spec("torch") is None:
        raise InputError("This study trains networks with torch, which is missing: install deniable[train].")
    import torch  # noqa: PLC0415 - an extra, and slow to import

    from deniable.studies.substituted.training import measured  # noqa: PLC0415 - needs torch

    schedule = {full: "two cores", quick: "quick"}.get(sizes, "given")
    if sizes == full and torch.cuda.is_available():
        schedule, sizes = "the paper's", paper
    data: Data = {
        "data set": plan.name,
        "schedule name": schedule,
        "schedule": {name: list(v) if isinstance(v, tuple) else v for name, v in dataclasses.asdict(sizes).items()},
        **measured(plan, sizes, setting, schedule),
    }
    return Result(data, table(plan, data), findings(plan, data), details(plan, data))

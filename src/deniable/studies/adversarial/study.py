"""From a plan to a study, without torch until it runs."""

import dataclasses
import functools
from importlib.util import find_spec

from deniable.core.errors import InputError
from deniable.studies.adversarial.figure import draw
from deniable.studies.adversarial.findings import details, findings
from deniable.studies.adversarial.plan import Plan, Sizes
from deniable.studies.adversarial.series import check
from deniable.studies.adversarial.words import table
from deniable.studies.study import Data, Result, Setting, Study

TITLE = (
    'Phan et al., "Differential Privacy in Adversarial Learning with Provable Robustness", under review at ICLR 2020'
)


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
        summary=f"DPAL, its baselines and ours on {plan.name}: accuracy under attack, certified, claimed and proved",
        paper=f"{TITLE}, {', '.join(plan.figures.values())}",
        full=full,
        quick=quick,
        run=run,
        draw=functools.partial(draw, plan),
    )


def _run(plan: Plan, sizes: Sizes, setting: Setting, *, full: Sizes, quick: Sizes, paper: Sizes) -> Result:
    """Train, attack and certify every system, and put the paper's statements beside the results."""
    check(plan, sizes.budgets)
    setting.file(plan.file)
    if find_spec("torch") is None or find_spec("dp_accounting") is None:
        raise InputError("This study trains networks with torch, which is missing: install deniable[train].")
    import torch  # noqa: PLC0415 - an extra, and slow to import

    from deniable.studies.adversarial.training import measured  # noqa: PLC0415 - needs torch

    schedule = {full: "two cores", quick: "quick"}.get(sizes, "given")
    if sizes == full and torch.cuda.is_available():
        schedule, sizes = "the paper's", paper
    runs = measured(plan, sizes, setting, schedule)
    data: Data = {
        "data set": plan.name,
        "schedule name": schedule,
        "schedule": {name: list(v) if isinstance(v, tuple) else v for name, v in dataclasses.asdict(sizes).items()},
        "runs": [{name: held for name, held in run.items() if name not in {"accuracy", "certified"}} for run in runs],
        "accuracy": [point for run in runs for point in run["accuracy"]],
        "certified": [point for run in runs for point in run["certified"]],
    }
    return Result(data, table(plan, data), findings(plan, data), details(plan, data))

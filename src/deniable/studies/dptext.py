"""Habernal 2022 on Beigi et al. 2019 (DPText): what its representations of texts serve for, and what they give away."""

import dataclasses
import functools
from importlib.util import find_spec

import numpy as np

from deniable.core.errors import InputError
from deniable.core.intervals import estimate_share
from deniable.core.parallel import get_progress_reporter
from deniable.studies.representation.bench import FILES, prepared
from deniable.studies.representation.figure import draw
from deniable.studies.representation.findings import details, findings
from deniable.studies.representation.plan import Sizes, cells
from deniable.studies.representation.words import table
from deniable.studies.study import Data, Result, Setting, Study, derived

FULL = Sizes()
QUICK = Sizes(
    epsilons=(1.0, 100.0),
    train=1_600,
    known=1_000,
    test=800,
    epochs=15,
    trees=40,
    chosen=100,
    identified=200,
    audit_samples=3_000,
)


def run(sizes: Sizes, setting: Setting) -> Result:
    """Train and attack a representation for every kind of noise and every epsilon, with and without the adversary."""
    for name in FILES:
        setting.file(name)
    if find_spec("torch") is None:
        raise InputError("This study trains networks with torch, which is missing: install deniable[train].")
    from deniable.published.dptext.network import INITIAL_EPSILON_SHARE  # noqa: PLC0415 - needs torch, slow to import
    from deniable.studies.representation.measuring import measured  # noqa: PLC0415 - the same

    bench = prepared(sizes, setting)
    report, planned = get_progress_reporter(), cells(sizes)
    report(0, len(planned))
    points = []
    for done, cell in enumerate(planned):
        points.append(setting.ledger.remember(cell.name, functools.partial(measured, bench, cell)))
        report(done + 1, len(planned))
    data: Data = {
        "points": points,
        "facts": bench.facts,
        "sizes": {name: list(v) if isinstance(v, tuple) else v for name, v in dataclasses.asdict(sizes).items()},
        "first": INITIAL_EPSILON_SHARE,
        "draws": drawn(sizes.draws, derived(setting.seed, "draws")),
    }
    return Result(data, table(data), findings(data), details(data))


def drawn(count: int, seed: int) -> Data:
    """Return what becomes of uniform numbers from (0, 1) in the transform of DPText (Habernal 2022, equation 9)."""
    u = np.random.default_rng(seed).random(count)
    with np.errstate(invalid="ignore"):
        noise = -np.sign(u) * np.log(1 - 2 * np.abs(u))
    missing = estimate_share(int(np.isnan(noise).sum()), count)
    found = {"value": missing.value, "low": missing.low, "high": missing.high, "count": count}
    return {"missing": found, "negative": int((noise < 0).sum())}


STUDY = Study(
    name="dptext",
    summary="representations by DPText: task, private attribute and identity, as published and corrected",
    paper='Habernal 2022, "How reparametrization trick broke differentially-private text representation learning", '
    'Theorems 3.1 and 3.2, on Beigi et al. 2019, "I Am Not What I Write" (DPText)',
    full=FULL,
    quick=QUICK,
    run=run,
    draw=draw,
)

"""Phan et al., DPAL: what its noise hides of MNIST, experiment by experiment, each beside its control."""

import dataclasses
from collections.abc import Callable
from importlib.util import find_spec

from deniable.core.errors import InputError
from deniable.core.parallel import parallel_map
from deniable.studies.dpal import parts
from deniable.studies.dpal.figure import draw
from deniable.studies.dpal.words import findings, table
from deniable.studies.study import Data, Result, Setting, Study

PARTS: dict[str, Callable[[parts.Bench], Data]] = {
    "differences": parts.differences,
    "recovery": parts.recovery,
    "parameters": parts.parameters,
    "labels": parts.labels,
    "sensitivity": parts.sensitivity,
    "utility": parts.utility,
}


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is run.

    Attributes:
        eps_t: DPAL's total epsilon.
        batch: m.
        neurons: |h_pi|, of the last hidden layer where labels are recovered.
        dense: beta, of the fully connected first layer whose parameters are looked at.
        differences: releases of either data set for differences of two images, and for a black and a white image.
        recoveries: releases of either batch that are recovered without side knowledge.
        steps: steps of training on either batch, for the parameters.
        train: images that networks are trained on for their accuracy.
        epochs: over these.
    """

    eps_t: float = 0.2
    batch: int = 2_499
    neurons: int = 256
    dense: int = 64
    differences: int = 10_000
    recoveries: int = 200
    steps: int = 200
    train: int = 60_000
    epochs: int = 5


def run(sizes: Sizes, setting: Setting) -> Result:
    """Run every audit on the training images, with the noise as published and with noise that is independent."""
    path = setting.file("mnist.npz")
    if find_spec("torch") is None or find_spec("dp_accounting") is None:
        raise InputError("This study trains networks with torch, which is missing: install deniable[train].")
    from deniable.models.images.reading import read_images  # noqa: PLC0415 - the same
    from deniable.published.dpal.mechanism import DPALBudget  # noqa: PLC0415 - needs torch, an extra

    budget = DPALBudget(sizes.eps_t, m=sizes.batch, delta_l2=2 * sizes.neurons)
    bench = parts.Bench(read_images(path), budget, sizes, setting.seed)

    def found(name: str) -> Data:
        part: Data = setting.ledger.remember(name, lambda: PARTS[name](bench))
        return part

    # One after the other, since torch works on all cores.
    data = dict(zip(PARTS, parallel_map(found, PARTS, workers=1), strict=True))
    data["budget"] = {
        "eps_t": budget.eps_t,
        "eps1": budget.eps1,
        "eps2": budget.eps2,
        "m": budget.m,
        "input claim": budget.input_claim,
        "parameter claim": budget.parameter_claim,
        "input scale": budget.input_scale,
        "label scale": budget.label_scale,
    }
    return Result(data, table(data), findings(data))


STUDY = Study(
    name="dpal-audit",
    summary="what DPAL's noise hides of its training images and labels, beside independent noise of the same scale",
    paper='Phan et al., "Differential Privacy in Adversarial Learning with Provable Robustness", under review at '
    "ICLR 2020, Algorithm 1, Lemmas 2 to 4 and Theorems 1, 3 and 4",
    full=Sizes(),
    quick=Sizes(recoveries=25, steps=25, train=15_000, epochs=4),
    run=run,
    draw=draw,
)

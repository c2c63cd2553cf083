"""DPAL in the zoo: five audits that refute its claims, on small images, and two controls with enough noise."""

import dataclasses
import functools
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from deniable.auditing.zoo.entry import CONFIDENCE, Entry
from deniable.robust.audits.events import Event
from deniable.robust.audits.labels import NoiseForm, labels
from deniable.robust.audits.parameters import parameters
from deniable.robust.audits.sensitivity import likelier
from deniable.robust.audits.shared_noise import differences, recovery
from deniable.robust.dpal.noise import Budget
from deniable.robust.dpal.verdict import refuted
from deniable.status import IDEAL, Status
from deniable.verdict import Verdict, Witness

_SOURCE = "Phan et al., DPAL, under review at ICLR 2020"
_FULL = Budget(0.2)
_SMALL = Budget(0.2, m=200)
"""A batch of 200 digits of 8 x 8 pixels, among which every pixel is black somewhere."""
_SIDE = 28
_FEW = 4
"""Pixels a side of images so small that samples can say something of independent noise's true epsilon."""
_STEPS = 12
_TRIALS = 50


@functools.cache
def _digits() -> Tensor:
    """Return handwritten digits (1797, 1, 8, 8) that come with scikit-learn, pixels in [0, 1]."""
    from sklearn.datasets import load_digits  # noqa: PLC0415 - slow to import

    return torch.from_numpy(load_digits().images / 16)[:, None]


def _event(claim: float, what: str, apart: str, run: Callable[[np.random.Generator], Event], seed: int) -> Verdict:
    """Return the verdict of an event that should tell two neighbouring data sets apart."""
    start = time.perf_counter()
    event = run(np.random.default_rng(seed))
    bound = event.lower_bound(CONFIDENCE)
    witness = Witness("D", "D'", what, 1.0, bound, event.right, event.runs)
    seen = event.detectable(claim, CONFIDENCE)
    return _verdict(
        claim, bound, event.runs, witness, f"event in runs on data sets that differ in {apart}", start, seen
    )


def _verdict(
    claim: float, bound: float, samples: int, witness: Witness, method: str, start: float, seen: float
) -> Verdict:
    status: Status = "refuted" if bound > claim else "not refuted"
    seconds = time.perf_counter() - start
    return Verdict(status, claim, float("inf"), bound, CONFIDENCE, samples, witness, method, seconds, detectable=seen)


def _differences(seed: int) -> Verdict:
    return _event(
        _FULL.input_claim,
        "a difference of two perturbed images is that of the images",
        "one image",
        lambda random: differences(_digits(), _FULL, random).event,
        seed,
    )


def _recovery(seed: int) -> Verdict:
    return _event(
        _SMALL.input_claim,
        "the image recovered from the batch is that of D",
        "one image",
        lambda random: recovery(_digits(), _SMALL, random, trials=_TRIALS).event,
        seed,
    )


def _parameters(seed: int) -> Verdict:
    return _event(
        _SMALL.parameter_claim,
        "the first layer after one step fits D better",
        "one image",
        lambda random: parameters(_digits(), _SMALL, random, trials=_TRIALS, neurons=16).event,
        seed,
    )


def _worst(side: int) -> float:
    """Return the exact epsilon of independent noise of DPAL's scale, that of a black image and a white one."""
    return 2 * side**2 / _FULL.input_scale


def _likelier(claim: float, side: int) -> Callable[[int], Verdict]:
    """Return the audit of independent noise on a black image and a white one."""

    def sampled(seed: int) -> Verdict:
        black, white = torch.zeros(1, side, side), torch.ones(1, side, side)
        return _event(
            claim,
            "the perturbed image is nearer to black",
            "a black image or a white one",
            lambda random: likelier(black, white, _FULL, random, trials=5_000),
            seed,
        )

    return sampled


def _exact(claim: float, side: int) -> Callable[[], Verdict]:
    """Return the verdict by the law of independent noise: every pixel may lose 2 / scale."""

    def exact() -> Verdict:
        worst = _worst(side)
        status: Status = "refuted" if worst > claim else IDEAL  # the samples' noise is numpy's
        witness = Witness("a black image", "a white image", "a black image", 1.0, worst)
        method = "by the law of Laplace noise, l1 sensitivity 2 d"
        return Verdict(status, claim, worst, worst, 1.0, 0, witness, method, 0.0)

    return exact


def _labels(claim: float, noise: NoiseForm) -> Callable[[int], Verdict]:
    """Return the audit of labels that were drawn, in one run of training."""

    def sampled(seed: int) -> Verdict:
        start = time.perf_counter()
        random = np.random.default_rng(seed)
        found = labels(_digits(), _SMALL, random, neurons=64, steps=_STEPS, noise=noise)
        bound = found.lower_bound(CONFIDENCE)
        witness = Witness(
            "a label", "another", "the label that solves the equations", 1.0, bound, found.right, found.count
        )
        seen = found.detectable(claim, CONFIDENCE)
        return _verdict(claim, bound, found.count, witness, "labels drawn and guessed in one run", start, seen)

    return sampled


ENTRIES: tuple[Entry, ...] = (
    Entry(
        name="dpal-differences",
        source=f"{_SOURCE}, Lemma 3",
        claim=f"{_FULL.input_claim:.3g}-DP, images with noise",
        flaw="one noise vector for all images: it cancels in their differences",
        sampled=_differences,
        sampled_status="refuted",
        exact=lambda: dataclasses.replace(refuted(_FULL), claim=_FULL.input_claim),
        exact_status="refuted",
    ),
    Entry(
        name="dpal-recovery",
        source=f"{_SOURCE}, Lemma 3",
        claim=f"{_SMALL.input_claim:.3g}-DP, images with noise",
        flaw="every pixel is black in some image, so that a batch shows the noise, and with it every image",
        sampled=_recovery,
        sampled_status="refuted",
    ),
    Entry(
        name="dpal-parameters",
        source=f"{_SOURCE}, Theorem 1",
        claim=f"{_SMALL.parameter_claim:.3g}-DP, first layer",
        flaw="the gradient holds the scatter of the batch about its mean, which the shared noise does not touch",
        sampled=_parameters,
        sampled_status="refuted",
    ),
    Entry(
        name="dpal-labels",
        source=f"{_SOURCE}, Theorem 3",
        claim=f"{_SMALL.eps2:g}-DP, labels",
        flaw="one draw of noise for all steps and classes cancels in differences; labels then solve linear equations",
        sampled=_labels(_SMALL.eps2, "published"),
        sampled_status="refuted",
    ),
    Entry(
        name="dpal-sensitivity",
        source=f"{_SOURCE}, Lemma 3, with independent noise",
        claim=f"{_FULL.input_claim:.3g}-DP, images with noise",
        flaw="a Lipschitz constant of 1 for the l1 sensitivity of 2 d = 1,568",
        sampled=_likelier(_FULL.input_claim, _SIDE),
        sampled_status="refuted",
        exact=_exact(_FULL.input_claim, _SIDE),
        exact_status="refuted",
    ),
    Entry(
        name="dpal-independent",
        source="control: independent noise of DPAL's scale, at its true epsilon",
        claim=f"{_worst(_FEW):.3g}-DP, {_FEW} x {_FEW} pixels",
        flaw="",
        sampled=_likelier(_worst(_FEW), _FEW),
        sampled_status="not refuted",
        exact=_exact(_worst(_FEW), _FEW),
        exact_status=IDEAL,
    ),
    Entry(
        name="dpal-labels-fresh",
        source="control: label noise drawn in every step for every class",
        claim=f"{_STEPS * _SMALL.eps2:.3g}-DP, labels, {_STEPS} steps",
        flaw="",
        sampled=_labels(_STEPS * _SMALL.eps2, "each step and class"),
        sampled_status="not refuted",
    ),
)
"""They need torch: deniable[train]."""

"""DPAL in the zoo: five audits that refute its claims, on small images, and two controls with enough noise."""

import dataclasses
import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from deniable.core.errors import import_extra
from deniable.core.guarantees import PROVED_IDEAL, REPLACED_RECORD, Guarantee, Status, Verdict, Witness
from deniable.core.numbers import format_exact, format_upper, round_down
from deniable.published.dpal.image_audit import (
    EventCounts,
    audit_differences,
    audit_image_recovery,
    count_likelier_guesses,
)
from deniable.published.dpal.mechanism import DPALBudget, build_refuted_verdict
from deniable.published.dpal.training_audit import (
    LABEL_STEPS,
    LabelAudit,
    LabelNoiseForm,
    audit_labels,
    audit_parameters,
)
from deniable.published.entry import ZOO_CONFIDENCE, ZooEntry

_SOURCE = "Phan et al., DPAL, under review at ICLR 2020"
_FULL_BUDGET = DPALBudget(0.2)
_SMALL_BUDGET = DPALBudget(0.2, m=200)
"""A batch of 200 digits of 8 x 8 pixels, among which every pixel is black somewhere."""
_MNIST_SIDE = 28
_SMALL_SIDE = 4
"""Pixels a side of images so small that samples can say something of independent noise's true epsilon."""
_BLACK_OR_WHITE = "a black image or a white one"
_TRIALS = 50


@functools.cache
def _load_digits() -> Tensor:
    """Return handwritten digits (1797, 1, 8, 8) that come with scikit-learn, pixels in [0, 1]."""
    datasets = import_extra("sklearn.datasets", "This entry", "measure")
    return torch.from_numpy(datasets.load_digits().images / 16)[:, None]


def _state_claim(epsilon: float, adjacency: str) -> Guarantee:
    return Guarantee(epsilon, "Phan et al. 2020", "claimed", adjacency=adjacency)


def _judge(
    claim: float,
    adjacency: str,
    method: str,
    witness: tuple[str, str, str],
    run_audit: Callable[[np.random.Generator], EventCounts | LabelAudit],
    seed: int,
) -> Verdict:
    """Return the verdict of an audit; the witness names two inputs and an output."""
    start = time.perf_counter()
    found = run_audit(np.random.default_rng(seed))
    bound = found.compute_lower_bound(ZOO_CONFIDENCE)
    return Verdict(
        _state_claim(claim, adjacency),
        "refuted" if bound > claim else "not refuted",
        method,
        lower_bound=bound,
        confidence=ZOO_CONFIDENCE,
        samples=found.total_guesses,
        witness=Witness(*witness, 1.0, bound, found.correct_guesses, found.total_guesses),
        seconds=time.perf_counter() - start,
        detectable_epsilon=found.compute_detectable_epsilon(claim, ZOO_CONFIDENCE),
    )


def _make_event_audit(
    claim: float, output: str, difference: str, run_audit: Callable[[np.random.Generator], EventCounts]
) -> Callable[[int], Verdict]:
    """Return the audit of an event that should tell two neighbouring data sets apart."""
    adjacency = f"data sets that differ in {difference}"
    method = f"event in runs on {adjacency}"
    return functools.partial(_judge, claim, adjacency, method, ("D", "D'", output), run_audit)


def _make_label_audit(claim: float, noise: LabelNoiseForm) -> Callable[[int], Verdict]:
    """Return the audit of labels that were drawn, in one run of training."""
    return functools.partial(
        _judge,
        claim,
        "one label replaced by another",
        "labels drawn and guessed in one run",
        ("a label", "another", "the label that solves the equations"),
        lambda random: audit_labels(_load_digits(), _SMALL_BUDGET, random, neurons=64, noise=noise),
    )


def _compute_true_epsilon(side: int) -> float:
    """Return the exact epsilon of independent noise of DPAL's scale, that of a black image and a white one."""
    return 2 * side**2 / _FULL_BUDGET.input_scale


def _make_sensitivity_evidence(claim: float, side: int) -> dict[str, Any]:
    """Return the evidence on independent noise, of a black image and a white one: every pixel may lose 2 / scale."""
    true_epsilon = _compute_true_epsilon(side)
    status: Status = "refuted" if true_epsilon > claim else PROVED_IDEAL  # the samples' noise is numpy's

    def verify_law() -> Verdict:
        witness = Witness("a black image", "a white image", "a black image", 1.0, true_epsilon)
        method = "by the law of Laplace noise, l1 sensitivity 2 d"
        guarantee = _state_claim(claim, _BLACK_OR_WHITE)
        return Verdict(guarantee, status, method, true_epsilon, true_epsilon, witness=witness)

    black, white = torch.zeros(1, side, side), torch.ones(1, side, side)
    return {
        "audit_samples": _make_event_audit(
            claim,
            "the perturbed image is nearer to black",
            _BLACK_OR_WHITE,
            lambda random: count_likelier_guesses(black, white, _FULL_BUDGET, random, trials=5_000),
        ),
        "verify_law": verify_law,
        "expected_of_law": status,
    }


ENTRIES = (
    ZooEntry(
        name="dpal-differences",
        source=f"{_SOURCE}, Lemma 3",
        claim=f"{format_upper(_FULL_BUDGET.input_claim)}-DP, images with noise",
        flaw="one noise vector for all images: it cancels in their differences",
        audit_samples=_make_event_audit(
            _FULL_BUDGET.input_claim,
            "a difference of two perturbed images is that of the images",
            "one image",
            lambda random: audit_differences(_load_digits(), _FULL_BUDGET, random),
        ),
        verify_law=lambda: dataclasses.replace(
            build_refuted_verdict(_FULL_BUDGET), guarantee=_state_claim(_FULL_BUDGET.input_claim, REPLACED_RECORD)
        ),
    ),
    ZooEntry(
        name="dpal-recovery",
        source=f"{_SOURCE}, Lemma 3",
        claim=f"{format_upper(_SMALL_BUDGET.input_claim)}-DP, images with noise",
        flaw="every pixel is black in some image, so that a batch shows the noise, and with it every image",
        audit_samples=_make_event_audit(
            _SMALL_BUDGET.input_claim,
            "the image recovered from the batch is that of D",
            "one image",
            lambda random: audit_image_recovery(_load_digits(), _SMALL_BUDGET, random, trials=_TRIALS).event,
        ),
    ),
    ZooEntry(
        name="dpal-parameters",
        source=f"{_SOURCE}, Theorem 1",
        claim=f"{format_upper(_SMALL_BUDGET.parameter_claim)}-DP, first layer",
        flaw="the gradient holds the scatter of the batch about its mean, which the shared noise does not touch",
        audit_samples=_make_event_audit(
            _SMALL_BUDGET.parameter_claim,
            "the first layer after one step fits D better",
            "one image",
            lambda random: (
                audit_parameters(_load_digits(), _SMALL_BUDGET, random, trials=_TRIALS, neurons=16).ratio_event
            ),
        ),
    ),
    ZooEntry(
        name="dpal-labels",
        source=f"{_SOURCE}, Theorem 3",
        claim=f"{format_exact(_SMALL_BUDGET.eps2)}-DP, labels",
        flaw="one draw of noise for all steps and classes cancels in differences; labels then solve linear equations",
        audit_samples=_make_label_audit(_SMALL_BUDGET.eps2, "published"),
    ),
    ZooEntry(
        name="dpal-sensitivity",
        source=f"{_SOURCE}, Lemma 3, with independent noise",
        claim=f"{format_upper(_FULL_BUDGET.input_claim)}-DP, images with noise",
        flaw="a Lipschitz constant of 1 for the l1 sensitivity of 2 d = 1,568",
        **_make_sensitivity_evidence(_FULL_BUDGET.input_claim, _MNIST_SIDE),
    ),
    ZooEntry(
        name="dpal-independent",
        source="control: independent noise of DPAL's scale, at its true epsilon",
        claim=f"{format_upper(_compute_true_epsilon(_SMALL_SIDE))}-DP, {_SMALL_SIDE} x {_SMALL_SIDE} pixels",
        flaw="",
        **_make_sensitivity_evidence(_compute_true_epsilon(_SMALL_SIDE), _SMALL_SIDE),
    ),
    ZooEntry(
        name="dpal-labels-fresh",
        source="control: label noise drawn in every step for every class",
        claim=f"{format_upper(round_down(LABEL_STEPS * _SMALL_BUDGET.eps2, 12))}-DP, labels, {LABEL_STEPS} steps",
        flaw="",
        audit_samples=_make_label_audit(LABEL_STEPS * _SMALL_BUDGET.eps2, "each step and class"),
    ),
)
"""They need torch: deniable[train]."""

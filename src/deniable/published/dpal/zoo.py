"""DPAL in the zoo: five audits that refute its claims, on small images, and two controls with enough noise."""

import dataclasses
import functools
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from deniable.core.errors import import_extra
from deniable.core.guarantees import PROVED_IDEAL, REPLACED_RECORD, Guarantee, Status, Verdict, Witness
from deniable.core.numbers import format_exact, format_upper, round_down
from deniable.published.dpal.events import EventCounts
from deniable.published.dpal.image_audit import audit_differences, audit_image_recovery
from deniable.published.dpal.label_audit import LabelNoiseForm, audit_labels
from deniable.published.dpal.mechanism import DPALBudget, build_refuted_verdict
from deniable.published.dpal.parameter_audit import audit_parameters
from deniable.published.dpal.sensitivity_audit import count_likelier_guesses
from deniable.published.entry import ZOO_CONFIDENCE, ZooEntry

_SOURCE = "Phan et al., DPAL, under review at ICLR 2020"
_FULL_BUDGET = DPALBudget(0.2)
_SMALL_BUDGET = DPALBudget(0.2, m=200)
"""A batch of 200 digits of 8 x 8 pixels, among which every pixel is black somewhere."""
_MNIST_SIDE = 28
_SMALL_SIDE = 4
"""Pixels a side of images so small that samples can say something of independent noise's true epsilon."""
_LABEL_STEPS = 12
_TRIALS = 50


@functools.cache
def _load_digits() -> Tensor:
    """Return handwritten digits (1797, 1, 8, 8) that come with scikit-learn, pixels in [0, 1]."""
    datasets = import_extra("sklearn.datasets", "This entry", "measure")
    return torch.from_numpy(datasets.load_digits().images / 16)[:, None]


def _judge_event(
    claim: float, output: str, difference: str, run_audit: Callable[[np.random.Generator], EventCounts], seed: int
) -> Verdict:
    """Return the verdict of an event that should tell two neighbouring data sets apart."""
    start = time.perf_counter()
    event = run_audit(np.random.default_rng(seed))
    bound = event.compute_lower_bound(ZOO_CONFIDENCE)
    witness = Witness("D", "D'", output, 1.0, bound, event.correct_runs, event.total_runs)
    detectable = event.compute_detectable_epsilon(claim, ZOO_CONFIDENCE)
    return _build_audit_verdict(
        _state_claim(claim, f"data sets that differ in {difference}"),
        bound,
        event.total_runs,
        witness,
        f"event in runs on data sets that differ in {difference}",
        start,
        detectable,
    )


def _state_claim(epsilon: float, adjacency: str) -> Guarantee:
    return Guarantee(epsilon, "Phan et al. 2020", "claimed", adjacency=adjacency)


def _build_audit_verdict(
    guarantee: Guarantee, bound: float, samples: int, witness: Witness, method: str, start: float, detectable: float
) -> Verdict:
    status: Status = "refuted" if bound > guarantee.epsilon else "not refuted"
    seconds = time.perf_counter() - start
    return Verdict(
        guarantee,
        status,
        method,
        lower_bound=bound,
        confidence=ZOO_CONFIDENCE,
        samples=samples,
        witness=witness,
        seconds=seconds,
        detectable_epsilon=detectable,
    )


def _judge_differences(seed: int) -> Verdict:
    return _judge_event(
        _FULL_BUDGET.input_claim,
        "a difference of two perturbed images is that of the images",
        "one image",
        lambda random: audit_differences(_load_digits(), _FULL_BUDGET, random).event,
        seed,
    )


def _judge_differences_by_law() -> Verdict:
    guarantee = _state_claim(_FULL_BUDGET.input_claim, REPLACED_RECORD)
    return dataclasses.replace(build_refuted_verdict(_FULL_BUDGET), guarantee=guarantee)


def _judge_recovery(seed: int) -> Verdict:
    return _judge_event(
        _SMALL_BUDGET.input_claim,
        "the image recovered from the batch is that of D",
        "one image",
        lambda random: audit_image_recovery(_load_digits(), _SMALL_BUDGET, random, trials=_TRIALS).event,
        seed,
    )


def _judge_parameters(seed: int) -> Verdict:
    return _judge_event(
        _SMALL_BUDGET.parameter_claim,
        "the first layer after one step fits D better",
        "one image",
        lambda random: audit_parameters(_load_digits(), _SMALL_BUDGET, random, trials=_TRIALS, neurons=16).ratio_event,
        seed,
    )


def _compute_true_epsilon(side: int) -> float:
    """Return the exact epsilon of independent noise of DPAL's scale, that of a black image and a white one."""
    return 2 * side**2 / _FULL_BUDGET.input_scale


def _make_likelier_audit(claim: float, side: int) -> Callable[[int], Verdict]:
    """Return the audit of independent noise on a black image and a white one."""

    def sampled(seed: int) -> Verdict:
        black, white = torch.zeros(1, side, side), torch.ones(1, side, side)
        return _judge_event(
            claim,
            "the perturbed image is nearer to black",
            "a black image or a white one",
            lambda random: count_likelier_guesses(black, white, _FULL_BUDGET, random, trials=5_000),
            seed,
        )

    return sampled


def _make_exact_audit(claim: float, side: int) -> Callable[[], Verdict]:
    """Return the verdict by the law of independent noise: every pixel may lose 2 / scale."""

    def exact() -> Verdict:
        true_epsilon = _compute_true_epsilon(side)
        status: Status = "refuted" if true_epsilon > claim else PROVED_IDEAL  # the samples' noise is numpy's
        witness = Witness("a black image", "a white image", "a black image", 1.0, true_epsilon)
        method = "by the law of Laplace noise, l1 sensitivity 2 d"
        guarantee = _state_claim(claim, "a black image or a white one")
        return Verdict(guarantee, status, method, true_epsilon, true_epsilon, witness=witness)

    return exact


def _make_label_audit(claim: float, noise: LabelNoiseForm) -> Callable[[int], Verdict]:
    """Return the audit of labels that were drawn, in one run of training."""

    def sampled(seed: int) -> Verdict:
        start = time.perf_counter()
        random = np.random.default_rng(seed)
        audit = audit_labels(_load_digits(), _SMALL_BUDGET, random, neurons=64, steps=_LABEL_STEPS, noise=noise)
        bound = audit.compute_lower_bound(ZOO_CONFIDENCE)
        witness = Witness(
            "a label",
            "another",
            "the label that solves the equations",
            1.0,
            bound,
            audit.recovered_labels,
            audit.total_labels,
        )
        detectable = audit.compute_detectable_epsilon(claim, ZOO_CONFIDENCE)
        return _build_audit_verdict(
            _state_claim(claim, "one label replaced by another"),
            bound,
            audit.total_labels,
            witness,
            "labels drawn and guessed in one run",
            start,
            detectable,
        )

    return sampled


DPAL_ENTRIES: tuple[ZooEntry, ...] = (
    ZooEntry(
        name="dpal-differences",
        source=f"{_SOURCE}, Lemma 3",
        claim=f"{format_upper(_FULL_BUDGET.input_claim)}-DP, images with noise",
        flaw="one noise vector for all images: it cancels in their differences",
        audit_samples=_judge_differences,
        sampled_status="refuted",
        verify_law=_judge_differences_by_law,
        exact_status="refuted",
    ),
    ZooEntry(
        name="dpal-recovery",
        source=f"{_SOURCE}, Lemma 3",
        claim=f"{format_upper(_SMALL_BUDGET.input_claim)}-DP, images with noise",
        flaw="every pixel is black in some image, so that a batch shows the noise, and with it every image",
        audit_samples=_judge_recovery,
        sampled_status="refuted",
    ),
    ZooEntry(
        name="dpal-parameters",
        source=f"{_SOURCE}, Theorem 1",
        claim=f"{format_upper(_SMALL_BUDGET.parameter_claim)}-DP, first layer",
        flaw="the gradient holds the scatter of the batch about its mean, which the shared noise does not touch",
        audit_samples=_judge_parameters,
        sampled_status="refuted",
    ),
    ZooEntry(
        name="dpal-labels",
        source=f"{_SOURCE}, Theorem 3",
        claim=f"{format_exact(_SMALL_BUDGET.eps2)}-DP, labels",
        flaw="one draw of noise for all steps and classes cancels in differences; labels then solve linear equations",
        audit_samples=_make_label_audit(_SMALL_BUDGET.eps2, "published"),
        sampled_status="refuted",
    ),
    ZooEntry(
        name="dpal-sensitivity",
        source=f"{_SOURCE}, Lemma 3, with independent noise",
        claim=f"{format_upper(_FULL_BUDGET.input_claim)}-DP, images with noise",
        flaw="a Lipschitz constant of 1 for the l1 sensitivity of 2 d = 1,568",
        audit_samples=_make_likelier_audit(_FULL_BUDGET.input_claim, _MNIST_SIDE),
        sampled_status="refuted",
        verify_law=_make_exact_audit(_FULL_BUDGET.input_claim, _MNIST_SIDE),
        exact_status="refuted",
    ),
    ZooEntry(
        name="dpal-independent",
        source="control: independent noise of DPAL's scale, at its true epsilon",
        claim=f"{format_upper(_compute_true_epsilon(_SMALL_SIDE))}-DP, {_SMALL_SIDE} x {_SMALL_SIDE} pixels",
        flaw="",
        audit_samples=_make_likelier_audit(_compute_true_epsilon(_SMALL_SIDE), _SMALL_SIDE),
        sampled_status="not refuted",
        verify_law=_make_exact_audit(_compute_true_epsilon(_SMALL_SIDE), _SMALL_SIDE),
        exact_status=PROVED_IDEAL,
    ),
    ZooEntry(
        name="dpal-labels-fresh",
        source="control: label noise drawn in every step for every class",
        claim=f"{format_upper(round_down(_LABEL_STEPS * _SMALL_BUDGET.eps2, 12))}-DP, labels, {_LABEL_STEPS} steps",
        flaw="",
        audit_samples=_make_label_audit(_LABEL_STEPS * _SMALL_BUDGET.eps2, "each step and class"),
        sampled_status="not refuted",
    ),
)
"""They need torch: deniable[train]."""

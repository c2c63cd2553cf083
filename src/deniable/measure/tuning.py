"""Tuning: the epsilon at which an attacker's success, the share of words kept or the utility reaches a target."""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from deniable.auditing import verify
from deniable.core.errors import InputError, check_positive, make_parameter_error
from deniable.core.guarantees import Verdict
from deniable.core.numbers import format_exact, format_lower, format_upper, round_down, round_up
from deniable.core.parallel import expect_passes
from deniable.measure.batches import privatize_texts
from deniable.measure.choice import AUTO, choose_word_mechanism
from deniable.measure.intervals import Estimate
from deniable.measure.labels import ClassCodes
from deniable.measure.root_finding import find_crossing
from deniable.measure.success import check_blind_success, estimate_all, estimate_kept, estimate_success
from deniable.measure.utility import UtilityResult, measure_utility
from deniable.space import Space
from deniable.words import WordMechanism
from deniable.words.calibrated_exponential import CalibratedExponential
from deniable.words.laws import ExponentialKernel, make_exponential_law
from deniable.words.outcomes import GuessedWords, Outcomes
from deniable.words.prior import Prior, PriorLike, build_prior
from deniable.words.tem import TEM
from deniable.words.tight_exponential import MAX_DENSE_POINTS, TightExponential

MechanismChoice = type[WordMechanism] | Literal["auto", "best"]
"""What can be tuned: a class of mechanisms, the choice by the space, or the best of several."""
BEST: Literal["best"] = "best"
_MAX_TEXTS = 2_000
"""Maximum number of texts on which a utility is measured."""
_SIGNIFICANT_DIGITS = 4
_HUGE_EPSILON = 1e12
"""An epsilon above the minimum of every mechanism."""
_PASSES_PER_CALIBRATION, _PASSES_PER_OUTCOME, _PASSES_PER_TUNING = 4, 1, 12
"""What a calibration and its proof, the outcomes of a mechanism, and a whole tuning usually take, for the report of
progress alone."""
_MAX_ROUNDED_EPSILONS = 100
"""Maximum number of rounded epsilons tried until one is on the safe side of the target."""


@dataclasses.dataclass(frozen=True)
class TuningResult:
    """A tuned mechanism and its measures.

    Attributes:
        mechanism: the mechanism, with the epsilon found.
        verdict: verdict of its verification.
        achieved: the tuned quantity, on the safe side of the target.
        recovery_share: share of words that an attacker who sees one word at a time guesses, under the prior.
        kept_share: share of words released unchanged, under the prior.
        outcomes: what words become by their frequency, under the prior; None where no law is known.
        blind_share: share of words that an attacker without the output guesses, under the prior.
        utility: the scores of classifiers that decided, beside a blind guess; None unless a utility was tuned.
    """

    mechanism: WordMechanism
    verdict: Verdict
    achieved: float
    recovery_share: Estimate
    kept_share: Estimate
    outcomes: Outcomes | None
    blind_share: float
    utility: UtilityResult | None = None


@dataclasses.dataclass(frozen=True)
class _Goal:
    """The quantity that is tuned, and its target.

    Attributes:
        target: target of the quantity, which increases with epsilon.
        evaluate_mechanism: the quantity under a mechanism, on the safe side where it is simulated.
        max_ratio: epsilons of this ratio or less are taken as equal.
        is_upper_limit: whether the target must not be exceeded; else it must be reached.
    """

    target: float
    evaluate_mechanism: Callable[[WordMechanism], float]
    max_ratio: float
    is_upper_limit: bool

    def is_met(self, value: float) -> bool:
        """Say whether a value is on the safe side."""
        return value <= self.target if self.is_upper_limit else value >= self.target


def tune_recovery(
    space: Space,
    target: float,
    *,
    words: GuessedWords = "rare",
    mechanism: MechanismChoice = AUTO,
    prior: PriorLike = None,
) -> TuningResult:
    """Return the largest epsilon found, with four digits, at which an attacker's success is at most a target.

    The attacker is that of `deniable.recovery`. Where no law is known the success is simulated, and the upper end of
    its interval must be at most the target; a better attacker may guess more.

    Args:
        space: the domain.
        target: maximum share of words; above the success of an attacker without the output, below 1.
        words: whose words: ``rare``, those beyond rank 1,000 (the rarer half where there are few) that are not hidden;
            ``average``, all running words, most of which are the few most frequent ones; or ``every``, each single
            word that is not hidden, to an attacker for whom all are equally likely. See `deniable.words.outcomes`.
        mechanism: a class such as `deniable.TEM`; ``auto``, see `deniable.measure.choice`; or ``best``: the one of
            calibrated, TEM and (in spaces of at most 14,000 points) tight with the least proved epsilon.
        prior: word frequencies, see `deniable.recovery`; None for the public Zipf law.

    Raises:
        InputError: an unknown mechanism, a target that no epsilon reaches, or no rare word.
    """
    public_prior = build_prior(space, prior)
    check_positive("tune", "recovery", target, upper=1.0)
    check_blind_success(space, target, words, public_prior)

    goal = _Goal(
        target,
        lambda candidate: estimate_success(candidate, public_prior, words).high,
        max_ratio=1.004,
        is_upper_limit=True,
    )
    return _choose_mechanism(space, mechanism, goal, public_prior)


def tune_kept(
    space: Space, target: float, *, mechanism: MechanismChoice = AUTO, prior: PriorLike = None
) -> TuningResult:
    """Return the least epsilon found, with four digits, at which at least a share of the words is kept.

    Args:
        space: the domain.
        target: share of words, in (0, 1).
        mechanism: as in `tune_recovery`.
        prior: as in `tune_recovery`.

    Raises:
        InputError: as in `tune_recovery`.
    """
    public_prior = build_prior(space, prior)
    check_positive("tune", "kept", target, upper=1.0)

    goal = _Goal(
        target,
        lambda candidate: estimate_kept(candidate, public_prior).low,
        max_ratio=1.004,
        is_upper_limit=False,
    )
    return _choose_mechanism(space, mechanism, goal, public_prior)


def tune_utility(
    space: Space,
    texts: Sequence[str],
    codes: ClassCodes,
    target: float,
    *,
    mechanism: MechanismChoice = AUTO,
    prior: PriorLike = None,
    classifier: str = "tfidf",
    seed: int = 0,
) -> TuningResult:
    """Return the least epsilon found at which a classifier trained on private texts reaches an accuracy.

    At most 2,000 of the texts, drawn at random, are privatized once at each epsilon, so that the choice is as
    uncertain as a single measurement of an accuracy. Texts whose class no other of them has are left out. The choice
    is made from private data, which the guarantee does not cover.

    Args:
        space: the domain.
        texts: n private texts.
        codes: (n,) their classes.
        target: accuracy on original texts, in five-fold cross-validation.
        mechanism: as in `tune_recovery`.
        prior: prior of the attacker whose success is reported, as in `tune_recovery`.
        classifier: a name from `deniable.measure.classifiers.CLASSIFIERS`.
        seed: public; sample, folds and noise follow from it.

    Raises:
        InputError: as in `tune_recovery`, a target above the accuracy of training on the original texts, or one that a
            blind guess reaches.
    """
    public_prior = build_prior(space, prior)
    check_positive("tune", "utility", target, upper=1.0)
    sampled_rows = np.sort(np.random.default_rng(seed).permutation(len(texts))[:_MAX_TEXTS])
    # A class with one text could only be trained on or tested on.
    sampled_rows = sampled_rows[np.bincount(codes[sampled_rows])[codes[sampled_rows]] > 1]
    sampled_texts, sampled_codes = [texts[row] for row in sampled_rows], codes[sampled_rows]
    if len(np.unique(sampled_codes)) < 2:  # noqa: PLR2004 - one class leaves nothing to learn
        raise InputError(
            f"The labels must hold 2 classes of 2 texts each, at least. Got {len(np.unique(sampled_codes))} such among "
            f"{len(texts):,} texts: name another column."
        )

    blind_accuracy = float(np.bincount(sampled_codes).max() / len(sampled_codes))
    if target <= blind_accuracy:
        raise InputError(
            f"The 'utility' target must be above {format_upper(blind_accuracy, 4)}, the accuracy of always "
            "predicting the most "
            f"frequent class, which needs no texts. Got {format_exact(target)}."
        )
    latest_utility: list[UtilityResult] = []

    def measure_accuracies(mechanisms: Sequence[WordMechanism]) -> list[float]:
        private_versions = {}
        for index, candidate in enumerate(mechanisms):
            with expect_passes(len(mechanisms) - index):  # those of the other candidates, and that of all classifiers
                private_versions[str(index)] = privatize_texts(candidate, sampled_texts, seed=seed).texts
        utility_results = measure_utility(
            sampled_texts, private_versions, sampled_codes, classifier=classifier, seed=seed
        )
        original_accuracy = utility_results["0"].accuracy.original.value
        if original_accuracy < target:
            raise InputError(
                f"The 'utility' target must be at most {format_lower(original_accuracy, 4)}, the accuracy of a "
                "classifier trained "
                f"on the original texts. Got {format_exact(target)}."
            )
        latest_utility[:] = [utility_results[name] for name in private_versions]
        return [utility.accuracy.private.value for utility in latest_utility]

    goal = _Goal(
        target,
        lambda candidate: measure_accuracies([candidate])[0],
        max_ratio=1.05,
        is_upper_limit=False,
    )
    result = _choose_mechanism(space, mechanism, goal, public_prior)
    measure_accuracies([result.mechanism])
    return dataclasses.replace(result, utility=latest_utility[0])


def _choose_mechanism(space: Space, mechanism: MechanismChoice, goal: _Goal, prior: Prior) -> TuningResult:
    """Return the result for a mechanism, or of several the one with the least proved epsilon."""
    is_dense = space.point_count <= MAX_DENSE_POINTS
    choices: list[MechanismChoice]
    if mechanism == BEST:
        choices = [CalibratedExponential, TEM, *([TightExponential] if is_dense else [])]
    elif mechanism == AUTO:
        has_choice = is_dense and space.graph is None
        choices = [AUTO if has_choice or not space.metric.is_builtin else CalibratedExponential]
    elif isinstance(mechanism, type) and issubclass(mechanism, WordMechanism):
        choices = [mechanism]
    else:
        raise make_parameter_error("tune", "mechanism", f"a class of mechanisms, {AUTO!r} or {BEST!r}", mechanism)
    results = []
    for number, choice in enumerate(choices, 1):
        with expect_passes(_PASSES_PER_TUNING * (len(choices) - number)):
            results.append(_tune_mechanism(space, choice, goal, prior))
    return min(results, key=lambda result: result.verdict.epsilon)


def _tune_mechanism(space: Space, choice: MechanismChoice, goal: _Goal, prior: Prior) -> TuningResult:
    """Return the result for one mechanism: where the target is crossed, then the rounded epsilon on its safe side."""
    name = choice if isinstance(choice, str) else choice.name
    is_calibrated = choice is CalibratedExponential
    if not isinstance(choice, str):
        _build_mechanism(space, choice, _HUGE_EPSILON)  # refuses the space, if it must be refused at every epsilon

    def evaluate(parameter: float) -> float:
        try:
            # The law of calibrated at a scale is that of TEM without truncation: one calibration is enough, at the end.
            candidate = (
                TEM(space, epsilon=2 * parameter, gamma=math.inf)
                if is_calibrated
                else _build_mechanism(space, choice, parameter)
            )
        except InputError:  # below the mechanism's minimum epsilon
            return 0.0
        return goal.evaluate_mechanism(candidate)

    with expect_passes(_PASSES_PER_CALIBRATION + _PASSES_PER_OUTCOME):
        bracket = find_crossing(
            lambda parameters: list(map(evaluate, parameters)),
            goal.target,
            start=_compute_typical_scale(space),
            initial_points=1,
            max_ratio=goal.max_ratio if choice in (CalibratedExponential, TEM) else 1.01,
            name=name,
        )
    epsilon = bracket[0 if goal.is_upper_limit else 1]
    if is_calibrated:
        with expect_passes(_PASSES_PER_CALIBRATION - 2 + _PASSES_PER_OUTCOME):
            epsilon = make_exponential_law(space, ExponentialKernel(epsilon)).exact_epsilon().epsilon
    for step in range(_MAX_ROUNDED_EPSILONS):
        epsilon_near = epsilon * (1 + (goal.max_ratio - 1) / 2) ** (-step if goal.is_upper_limit else step)
        round_safely = round_down if goal.is_upper_limit else round_up
        rounded_epsilon = round_safely(epsilon_near, _SIGNIFICANT_DIGITS)
        try:
            with expect_passes(_PASSES_PER_OUTCOME):
                mechanism = _build_mechanism(space, choice, rounded_epsilon)
        except InputError:  # below the mechanism's minimum epsilon
            continue
        achieved = goal.evaluate_mechanism(mechanism)
        if goal.is_met(achieved):
            return TuningResult(
                mechanism, verify(mechanism), achieved, *estimate_all(mechanism, prior), prior.blind_success
            )
    raise InputError(
        f"No epsilon of {name} on the safe side of {format_exact(goal.target)} was found: choose another mechanism."
    )


def _compute_typical_scale(space: Space) -> float:
    """Return the scale at which words at a median distance are about as unlikely as there are words."""
    return 2 * float(np.log(space.point_count) / np.median(space.distances([0])[0]))


def _build_mechanism(space: Space, choice: MechanismChoice, epsilon: float) -> WordMechanism:
    return choose_word_mechanism(space, epsilon) if isinstance(choice, str) else choice(space, epsilon=epsilon)

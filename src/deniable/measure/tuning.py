"""Tuning: the epsilon at which an attacker's success, the share of words kept or the utility reaches a target."""

import contextlib
import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Literal, Self

import numpy as np

from deniable.auditing import verify
from deniable.core.errors import InputError, check_positive, make_parameter_error
from deniable.core.guarantees import Verdict
from deniable.core.numbers import format_exact, format_lower, format_upper, round_down, round_up
from deniable.core.parallel import expect_passes
from deniable.measure.batches import privatize_texts
from deniable.measure.choice import AUTO, choose_word_mechanism
from deniable.measure.intervals import Estimate, as_exact_estimate
from deniable.measure.labels import ClassCodes
from deniable.measure.recovery import estimate_kept, estimate_success
from deniable.measure.root_finding import find_crossing
from deniable.measure.utility import UtilityResult, measure_utility
from deniable.space import Space
from deniable.words import WordMechanism
from deniable.words.calibrated_exponential import CalibratedExponential
from deniable.words.laws import ExponentialKernel, make_exponential_law
from deniable.words.outcomes import GuessedWords, Outcomes, weigh_rare_words
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
_PASSES_AFTER_SEARCH, _PASSES_PER_TUNING = 5, 12
"""What the proof at the end, and a whole tuning, usually take, for the report of progress alone."""
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

    @classmethod
    def of(cls, mechanism: WordMechanism, achieved: float, prior: Prior) -> Self:
        """Return what is known of a mechanism under a prior."""
        verdict = verify(mechanism)
        outcomes = None
        if mechanism.law.is_tabulated:
            outcomes = mechanism.outcomes(prior)  # once: under a prior of private texts nothing is kept
            recovery_share, kept_share = as_exact_estimate(outcomes.guessed), as_exact_estimate(outcomes.kept)
        else:
            recovery_share, kept_share = estimate_success(mechanism, prior, "average"), estimate_kept(mechanism, prior)
        return cls(mechanism, verdict, achieved, recovery_share, kept_share, outcomes, prior.blind_success)


@dataclasses.dataclass(frozen=True)
class _Goal:
    """The quantity that is tuned, and its target.

    Attributes:
        target: target of the quantity, which increases with epsilon.
        evaluate: the quantity under a mechanism, on the safe side where it is simulated.
        is_upper_limit: whether the target must not be exceeded; else it must be reached.
        max_ratio: epsilons of this ratio or less are taken as equal.
    """

    target: float
    evaluate: Callable[[WordMechanism], float]
    is_upper_limit: bool
    max_ratio: float = 1.004


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
    _check_blind_success(space, target, words, public_prior)

    goal = _Goal(target, lambda candidate: estimate_success(candidate, public_prior, words).high, is_upper_limit=True)
    return _choose_mechanism(space, mechanism, goal, public_prior)


def _check_blind_success(space: Space, target: float, words: GuessedWords, prior: Prior) -> None:
    """Raise `InputError` for a target that a guess without any output reaches, or for words that do not exist."""
    rare_weights = weigh_rare_words(space, prior.weights)
    guess = "who always says the most frequent word"
    match words:
        case "average":
            blind_success = prior.blind_success
        case "rare":
            blind_success = float(rare_weights[prior.weights.argmax()])
        case "every":
            blind_success, guess = 1 / space.point_count, "to whom all words at different points are equally likely"
        case _:
            raise make_parameter_error("tune", "words", "'average', 'rare' or 'every'", words)
    if words == "rare" and not rare_weights.any():
        raise InputError(f"No word that is rare and not hidden has any weight under {prior.name}: tune for 'average'.")
    if target <= blind_success:
        raise InputError(
            f"The 'recovery' target must be above {format_upper(blind_success, 4)}, the success of an attacker without "
            f"the output {guess}. Got {format_exact(target)}."
        )


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

    goal = _Goal(target, lambda candidate: estimate_kept(candidate, public_prior).low, is_upper_limit=False)
    return _choose_mechanism(space, mechanism, goal, public_prior)


def tune_utility(
    space: Space,
    texts: Sequence[str],
    codes: ClassCodes,
    target: float,
    *,
    mechanism: MechanismChoice = AUTO,
    prior: PriorLike = None,
    seed: int = 0,
) -> TuningResult:
    """Return the least epsilon found at which a TF-IDF classifier trained on private texts reaches an accuracy.

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
            f"At least two classes with two texts each are needed. Got {len(np.unique(sampled_codes))} such among "
            f"{len(texts):,} texts: name another column."
        )

    blind_accuracy = float(np.bincount(sampled_codes).max() / len(sampled_codes))
    if target <= blind_accuracy:
        raise InputError(
            f"The 'utility' target must be above {format_upper(blind_accuracy, 4)}, the accuracy of always predicting "
            f"the most frequent class, which needs no texts. Got {format_exact(target)}."
        )

    def measure(candidate: WordMechanism) -> UtilityResult:
        with expect_passes(1):  # that of the classifiers
            private_texts = {"private": privatize_texts(candidate, sampled_texts, seed=seed).texts}
        utility = measure_utility(sampled_texts, private_texts, sampled_codes, seed=seed)
        original = utility["private"].accuracy.original.value
        if original < target:
            raise InputError(
                f"The 'utility' target must be at most {format_lower(original, 4)}, the accuracy of a classifier "
                f"trained on the original texts. Got {format_exact(target)}."
            )
        return utility["private"]

    goal = _Goal(
        target, lambda candidate: measure(candidate).accuracy.private.value, is_upper_limit=False, max_ratio=1.05
    )
    result = _choose_mechanism(space, mechanism, goal, public_prior)
    return dataclasses.replace(result, utility=measure(result.mechanism))


def _choose_mechanism(space: Space, mechanism: MechanismChoice, goal: _Goal, prior: Prior) -> TuningResult:
    """Return the result for a mechanism, or of several the one with the least proved epsilon."""
    is_dense = space.point_count <= MAX_DENSE_POINTS
    builders: list[Callable[..., WordMechanism]]
    if mechanism == BEST:
        builders = [CalibratedExponential, TEM, *([TightExponential] if is_dense else [])]
    elif mechanism == AUTO:
        has_choice = is_dense and space.graph is None
        builders = [choose_word_mechanism if has_choice or not space.metric.is_builtin else CalibratedExponential]
    elif isinstance(mechanism, type) and issubclass(mechanism, WordMechanism):
        builders = [mechanism]
    else:
        raise make_parameter_error("tune", "mechanism", f"a class of mechanisms, {AUTO!r} or {BEST!r}", mechanism)
    results = []
    for number, build in enumerate(builders, 1):
        with expect_passes(_PASSES_PER_TUNING * (len(builders) - number)):
            results.append(_tune_mechanism(space, build, goal, prior))
    return min(results, key=lambda result: result.verdict.epsilon)


def _tune_mechanism(space: Space, build: Callable[..., WordMechanism], goal: _Goal, prior: Prior) -> TuningResult:
    """Return the result for one mechanism: where the target is crossed, then the rounded epsilon on its safe side."""
    name, is_calibrated = getattr(build, "name", AUTO), build is CalibratedExponential
    if build is not choose_word_mechanism:
        build(space, epsilon=_HUGE_EPSILON)  # refuses the space, if it must be refused at every epsilon

    def evaluate(parameter: float) -> float:
        try:
            # The law of calibrated at a scale is that of TEM without truncation: one calibration is enough, at the end.
            candidate = (
                TEM(space, epsilon=2 * parameter, gamma=math.inf) if is_calibrated else build(space, epsilon=parameter)
            )
        except InputError:  # below the mechanism's minimum epsilon
            return 0.0
        return goal.evaluate(candidate)

    with expect_passes(_PASSES_AFTER_SEARCH):
        low, high = find_crossing(
            evaluate,
            goal.target,
            # The scale at which words at a median distance are about as unlikely as there are words.
            start=2 * float(np.log(space.point_count) / np.median(space.distances([0])[0])),
            max_ratio=goal.max_ratio if build in (CalibratedExponential, TEM) else 1.01,
            name=name,
        )
    epsilon = low if goal.is_upper_limit else high
    if is_calibrated:
        epsilon = make_exponential_law(space, ExponentialKernel(epsilon)).exact_epsilon().epsilon
    step, round_safely = (1 + goal.max_ratio) / 2, round_up
    if goal.is_upper_limit:
        step, round_safely = 1 / step, round_down
    for _ in range(_MAX_ROUNDED_EPSILONS):
        with contextlib.suppress(InputError):  # below the mechanism's minimum epsilon
            mechanism = build(space, epsilon=round_safely(epsilon, _SIGNIFICANT_DIGITS))
            achieved = goal.evaluate(mechanism)
            if achieved <= goal.target if goal.is_upper_limit else achieved >= goal.target:
                return TuningResult.of(mechanism, achieved, prior)
        epsilon *= step
    raise InputError(
        f"No epsilon of {name} on the safe side of {format_exact(goal.target)} was found: choose another mechanism."
    )

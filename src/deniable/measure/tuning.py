"""Which epsilon? The one at which an attacker's success, the words kept or the utility is what is asked for."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from deniable.auditing import verify
from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, check_positive
from deniable.core.evidence import Verdict
from deniable.core.intervals import Estimate, as_exact_estimate, estimate_share
from deniable.measure.attackers.guesses import draw_from_prior
from deniable.measure.batches import privatize_texts
from deniable.measure.labels import ClassCodes
from deniable.measure.recovery import simulate_recovery
from deniable.measure.root_finding import Quantity, find_crossing, round_significant
from deniable.measure.utility import measure_utilities
from deniable.registry.words import WORD_MECHANISMS, choose_word_mechanism
from deniable.space import Space
from deniable.words import TEM, WordMechanism
from deniable.words.calibrated_exponential import load_or_calibrate
from deniable.words.laws.exponential import ExponentialLaw, compute_normalisers, prove_exact_epsilon
from deniable.words.laws.outcomes import compute_exponential_outcomes
from deniable.words.laws.tabulated import compute_zipf_prior
from deniable.words.prior import Prior, PriorLike, build_prior
from deniable.words.tight_exponential import MAX_DENSE_POINTS

LawFamily = Callable[[Space, float], ExponentialLaw]
_SUBSPACE_WORDS = 2_000
"""Words of the part of a large space on which the search begins."""
_SIMULATED_DRAWS = 20_000
_MAX_TEXTS = 2_000
"""Texts, at most, on which a utility is tried."""
_SIGNIFICANT_DIGITS = 4
_COARSE_RATIO = 1.02
"""Closeness from which on a part of the space says too little about the whole."""
_HUGE_EPSILON = 1e12
"""An epsilon above the least one of any mechanism."""
_MAX_ROUNDED_EPSILONS = 100
"""Rounded epsilons that are tried until one is on the safe side of the target."""

_FAMILIES: dict[str, LawFamily] = {
    "calibrated": lambda _, scale: ExponentialLaw(scale),
    "tem": lambda space, epsilon: TEM(space, epsilon=epsilon).exponential_law,
}
"""Mechanisms whose laws are known before anything is calibrated; the parameter of calibrated is its scale."""


@dataclasses.dataclass(frozen=True)
class TuningResult:
    """An epsilon that was found, and what it gives.

    Attributes:
        mechanism: at that epsilon.
        verdict: what is proved of it.
        achieved: the quantity that was asked for, on the safe side of the target.
        recovery_share: share of words that an attacker names who sees one at a time, under the prior that was given.
        kept_share: share of words released unchanged, under that prior.
        blind_share: share of words that an attacker names who sees nothing.
    """

    mechanism: WordMechanism
    verdict: Verdict
    achieved: float
    recovery_share: Estimate
    kept_share: Estimate
    blind_share: float


@dataclasses.dataclass(frozen=True)
class _Goal:
    """What is asked for.

    Attributes:
        target: of the quantity, which grows with epsilon.
        is_upper_limit: whether it must not be exceeded, else it must be reached.
        evaluate_laws: the quantity under several laws of a space.
        evaluate_mechanism: the quantity under a mechanism, on the safe side where it is simulated.
        max_ratio: ratio of epsilons that are not told apart.
    """

    target: float
    is_upper_limit: bool
    evaluate_laws: Callable[[Space, Sequence[ExponentialLaw]], list[float]]
    evaluate_mechanism: Callable[[WordMechanism], float]
    max_ratio: float

    def is_met(self, value: float) -> bool:
        """Say whether a value is on the safe side."""
        return value <= self.target if self.is_upper_limit else value >= self.target


def tune_recovery(space: Space, target: float, *, mechanism: str = "auto", prior: PriorLike = None) -> TuningResult:
    """Return the largest epsilon with four digits that was found to hold an attacker's success to a target.

    The attacker is the one of `deniable.recovery`. Where no law is known his success is simulated, and the upper
    end of its interval must be at most the target; a better attacker than ours may name more.

    Args:
        space: the domain.
        target: share of words, at most; above the success of who sees nothing, below 1.
        mechanism: a name from `deniable.registry.words.WORD_MECHANISMS`, ``auto``, or ``best``: the one of calibrated, TEM and
            (in spaces of at most 14,000 points) tight that proves the least epsilon.
        prior: how frequent words are, see `deniable.recovery`; None for the public Zipf law.

    Raises:
        InputError: an unknown mechanism, or a target that no epsilon reaches.
    """
    public_prior = build_prior(space, prior)
    check_positive("tune", "recovery", target, upper=1.0)
    if target <= public_prior.blind_success:
        raise InputError(
            f"The 'recovery' target must be above {public_prior.blind_success:.4g}, what a guesser names who sees nothing and "
            f"always says the most frequent word. Got {target:g}."
        )

    def evaluate_laws(domain: Space, laws: Sequence[ExponentialLaw]) -> list[float]:
        weights = (
            public_prior.weights if domain is space else compute_zipf_prior(len(domain))
        )  # a part, where the search begins
        return [bayes_success for _, bayes_success in _compute_law_outcomes(domain, laws, weights)]

    goal = _Goal(target, True, evaluate_laws, lambda one: _estimate_outcomes(one, public_prior)[0].high, 1.004)  # noqa: FBT003 - at most
    return _choose_mechanism(space, mechanism, goal, public_prior)


def tune_kept(space: Space, target: float, *, mechanism: str = "auto", prior: PriorLike = None) -> TuningResult:
    """Return the least epsilon with four digits that was found to keep at least a share of the words.

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

    def evaluate_laws(domain: Space, laws: Sequence[ExponentialLaw]) -> list[float]:
        weights = (
            public_prior.weights if domain is space else compute_zipf_prior(len(domain))
        )  # a part, where the search begins
        return [
            float(weights @ kept_probabilities)
            for kept_probabilities, _ in _compute_law_outcomes(domain, laws, weights)
        ]

    goal = _Goal(target, False, evaluate_laws, lambda one: _estimate_outcomes(one, public_prior)[1].low, 1.004)  # noqa: FBT003 - at least
    return _choose_mechanism(space, mechanism, goal, public_prior)


def tune_utility(
    space: Space,
    texts: Sequence[str],
    codes: ClassCodes,
    target: float,
    *,
    mechanism: str = "auto",
    prior: PriorLike = None,
    classifier: str = "tfidf",
    seed: int = 0,
) -> TuningResult:
    """Return the least epsilon found at which a classifier trained on private texts is accurate enough.

    At most 2,000 of the texts, drawn at random, are privatized once at each epsilon, so that the choice is as
    uncertain as an accuracy that is measured once. Texts whose class no other of them has are left out. The choice
    is made from private data, which the guarantee does not cover.

    Args:
        space: the domain.
        texts: n private texts.
        codes: (n,) their classes.
        target: accuracy on original texts, by five-fold cross-validation.
        mechanism: as in `tune_recovery`.
        prior: of the attacker whose success is reported, as in `tune_recovery`.
        classifier: a name from `deniable.measure.classifiers.CLASSIFIERS`.
        seed: public, of sample, folds and noise.

    Raises:
        InputError: as in `tune_recovery`, or a target above the accuracy of learning from the original texts.
    """
    public_prior = build_prior(space, prior)
    check_positive("tune", "utility", target, upper=1.0)
    sampled_rows = np.sort(np.random.default_rng(seed).permutation(len(texts))[:_MAX_TEXTS])
    # A class that is there once is either learned or tested.
    sampled_rows = sampled_rows[np.bincount(codes[sampled_rows])[codes[sampled_rows]] > 1]
    sampled_texts, sampled_codes = [texts[row] for row in sampled_rows], codes[sampled_rows]
    if len(np.unique(sampled_codes)) < 2:  # noqa: PLR2004 - one class leaves nothing to learn
        raise InputError(
            f"The labels must hold 2 classes of 2 texts each, at least. Got {len(np.unique(sampled_codes))} such among "
            f"{len(texts):,} texts: name another column."
        )

    def measure_accuracies(mechanisms: Sequence[WordMechanism]) -> list[float]:
        private_versions = {
            str(index): privatize_texts(one, sampled_texts, seed=seed).texts for index, one in enumerate(mechanisms)
        }
        utility_results = measure_utilities(
            sampled_texts, private_versions, sampled_codes, classifier=classifier, seed=seed
        )
        original_accuracy = utility_results["0"].original.value
        if original_accuracy < target:
            raise InputError(
                f"The 'utility' target must be at most {original_accuracy:.4g}, the accuracy of a classifier trained on the "
                f"original texts. Got {target:g}."
            )
        return [utility_results[name].private.value for name in private_versions]

    def evaluate_laws(domain: Space, laws: Sequence[ExponentialLaw]) -> list[float]:
        # TEM with twice the scale and the same cutoff draws from just these laws.
        return measure_accuracies([TEM(domain, epsilon=2 * law.scale, gamma=law.cutoff) for law in laws])

    goal = _Goal(target, False, evaluate_laws, lambda one: measure_accuracies([one])[0], 1.05)  # noqa: FBT003 - at least
    return _choose_mechanism(space, mechanism, goal, public_prior)


def _choose_mechanism(space: Space, mechanism: str, goal: _Goal, prior: Prior) -> TuningResult:
    """Return the choice for a mechanism, or of several the one that proves the least epsilon."""
    known_names = ["auto", "best", *WORD_MECHANISMS]
    if mechanism not in known_names:
        raise InputError(f"Unknown mechanism {mechanism!r}. Known: {', '.join(known_names)}.")
    names = [mechanism]
    if mechanism == "best":
        names = ["calibrated", "tem", *(["tight"] if len(space.points) <= MAX_DENSE_POINTS else [])]
    elif mechanism == "auto" and len(space.points) > MAX_DENSE_POINTS and space.metric.is_builtin:
        names = ["calibrated"]
    return min((_tune_mechanism(space, name, goal, prior) for name in names), key=lambda result: result.verdict.epsilon)


def _tune_mechanism(space: Space, name: str, goal: _Goal, prior: Prior) -> TuningResult:
    """Return the choice for one mechanism: where the target is crossed, then the rounded epsilon on its safe side."""
    family = _FAMILIES.get(name)
    scale_per_epsilon = None
    if family is None:
        if name in WORD_MECHANISMS and WORD_MECHANISMS[name].requires_euclidean_metric:
            _build_mechanism(space, name, _HUGE_EPSILON)  # says if it is not epsilon that does not suit
        bracket = find_crossing(
            _build_mechanism_quantity(space, name, goal),
            goal.target,
            start=_compute_typical_scale(space),
            initial_points=1,
            max_ratio=1.01,
            name=name,
        )
        epsilon = bracket[0 if goal.is_upper_limit else 1]
    else:
        start = _find_start(space, family, goal)
        quantity = _build_law_quantity(space, family, goal)
        bracket = find_crossing(
            quantity, goal.target, start=start, initial_points=7, max_ratio=goal.max_ratio, name=name
        )
        epsilon = bracket[0 if goal.is_upper_limit else 1]
        if name == "calibrated":
            scale, epsilon = epsilon, prove_exact_epsilon(space, ExponentialLaw(epsilon)).epsilon
            scale_per_epsilon = scale / epsilon
    for step in range(_MAX_ROUNDED_EPSILONS):
        rounded_epsilon = round_significant(
            epsilon * (1 + (goal.max_ratio - 1) / 2) ** (-step if goal.is_upper_limit else step),
            _SIGNIFICANT_DIGITS,
            upward=not goal.is_upper_limit,
        )
        if scale_per_epsilon is not None:  # from a good guess, before the mechanism looks for it from none
            load_or_calibrate(space, rounded_epsilon, guess=scale_per_epsilon * rounded_epsilon)
        try:
            mechanism = _build_mechanism(space, name, rounded_epsilon)
        except InputError:  # below the mechanism's least epsilon
            continue
        achieved = goal.evaluate_mechanism(mechanism)
        if goal.is_met(achieved):
            recovery_share, kept_share = _estimate_outcomes(mechanism, prior)
            return TuningResult(mechanism, verify(mechanism), achieved, recovery_share, kept_share, prior.blind_success)
    raise InputError(f"No epsilon of {name} on the safe side of {goal.target:g} was found: choose another mechanism.")


def _compute_typical_scale(space: Space) -> float:
    """Return the scale at which words at a median distance are about as unlikely as there are words."""
    return 2 * float(np.log(len(space.points)) / np.median(space.distances([0])[0]))


def _find_start(space: Space, family: LawFamily, goal: _Goal) -> float:
    """Return where to begin: what a small part of the space asks for, which costs next to nothing."""
    if len(space.points) <= _SUBSPACE_WORDS or goal.max_ratio > _COARSE_RATIO:
        return _compute_typical_scale(space)
    subspace_words = np.unique(np.linspace(0, len(space) - 1, _SUBSPACE_WORDS).astype(int))
    subspace = Space([space.words[word] for word in subspace_words], space.vectors[subspace_words], metric=space.metric)
    try:
        low, _ = find_crossing(
            _build_law_quantity(subspace, family, goal),
            goal.target,
            start=_compute_typical_scale(subspace),
            initial_points=1,
            max_ratio=1.1,
            name="a part",
        )
    except InputError:  # in so small a part a blind guess may take more than the target
        return _compute_typical_scale(space) / 2
    return low * float(np.log(len(space.points)) / np.log(_SUBSPACE_WORDS))


def _build_law_quantity(space: Space, family: LawFamily, goal: _Goal) -> Quantity:
    """Return the quantity as a function of the parameters of a family."""
    return lambda parameters: goal.evaluate_laws(space, [family(space, parameter) for parameter in parameters])


def _build_mechanism_quantity(space: Space, name: str, goal: _Goal) -> Quantity:
    """Return the quantity as a function of the epsilons of a mechanism."""

    def evaluate_epsilon(epsilon: float) -> float:
        try:
            mechanism = _build_mechanism(space, name, epsilon)
        except InputError:  # below the mechanism's least epsilon
            return 0.0
        return goal.evaluate_mechanism(mechanism)

    return lambda parameters: list(map(evaluate_epsilon, parameters))


def _compute_law_outcomes(
    space: Space, laws: Sequence[ExponentialLaw], prior: FloatArray
) -> list[tuple[FloatArray, float]]:
    """Return what `deniable.words.laws.tabulated.compute_exponential_outcomes` does for several laws, whose distances are computed once."""
    return compute_exponential_outcomes(space, laws, [np.log(sums) for sums in compute_normalisers(space, laws)], prior)


def _estimate_outcomes(mechanism: WordMechanism, prior: Prior) -> tuple[Estimate, Estimate]:
    """Return what an attacker recovers and what is kept, exact where draws come from a law."""
    if mechanism.is_tabulated:
        kept_probability, bayes_success = mechanism.outcomes(prior)
        return as_exact_estimate(bayes_success), as_exact_estimate(kept_probability)
    words, outputs = draw_from_prior(mechanism, prior.weights, _SIMULATED_DRAWS, 0, "kept")
    kept_share = estimate_share(int((words == outputs).sum()), _SIMULATED_DRAWS)
    return simulate_recovery(mechanism, prior=prior, draws=_SIMULATED_DRAWS, always_simulate=True).share, kept_share


def _build_mechanism(space: Space, name: str, epsilon: float) -> WordMechanism:
    return choose_word_mechanism(space, epsilon) if name == "auto" else WORD_MECHANISMS[name](space, epsilon=epsilon)

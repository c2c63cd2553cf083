"""Which epsilon? The one at which an attacker's success, the words kept or the utility is what is asked for."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from deniable.auditing import verify
from deniable.errors import InputError, positive
from deniable.measure.attackers.surrogate import sample
from deniable.measure.draws import draws
from deniable.measure.estimate import Estimate, exact, share
from deniable.measure.labels import Codes
from deniable.measure.recovery import simulated_recovery
from deniable.measure.search import Values, crossing, rounded
from deniable.measure.utility import utilities
from deniable.space import Space
from deniable.space.metrics import Array
from deniable.verdict import Verdict
from deniable.words import MECHANISMS, TEM, WordMechanism, auto
from deniable.words.calibration import calibrated
from deniable.words.exponential import Exponential, normalisers, prove
from deniable.words.law import zipf
from deniable.words.outcomes import outcomes
from deniable.words.prior import Frequencies, Prior, build_prior
from deniable.words.weights import DENSE

Family = Callable[[Space, float], Exponential]
_SMALL = 2_000
"""Words of the part of a large space on which the search begins."""
_DRAWS = 20_000
_SAMPLE = 2_000
"""Texts, at most, on which a utility is tried."""
_DIGITS = 4
_ROUGH = 1.02
"""Closeness from which on a part of the space says too little about the whole."""
_HUGE = 1e12
"""An epsilon above the least one of any mechanism."""
_STEPS = 100
"""Rounded epsilons that are tried until one is on the safe side of the target."""

_FAMILIES: dict[str, Family] = {
    "calibrated": lambda _, scale: Exponential(scale),
    "tem": lambda space, epsilon: TEM(space, epsilon=epsilon).family,
}
"""Mechanisms whose laws are known before anything is calibrated; the parameter of calibrated is its scale."""


@dataclasses.dataclass(frozen=True)
class Choice:
    """An epsilon that was found, and what it gives.

    Attributes:
        mechanism: at that epsilon.
        verdict: what is proved of it.
        reached: the quantity that was asked for, on the safe side of the target.
        recovered: share of words that an attacker names who sees one at a time, under the prior that was given.
        kept: share of words released unchanged, under that prior.
        blind: share of words that an attacker names who sees nothing.
    """

    mechanism: WordMechanism
    verdict: Verdict
    reached: float
    recovered: Estimate
    kept: Estimate
    blind: float


@dataclasses.dataclass(frozen=True)
class _Aim:
    """What is asked for.

    Attributes:
        target: of the quantity, which grows with epsilon.
        at_most: whether it must not be exceeded, else it must be reached.
        of_laws: the quantity under several laws of a space.
        of_mechanism: the quantity under a mechanism, on the safe side where it is simulated.
        close: ratio of epsilons that are not told apart.
    """

    target: float
    at_most: bool
    of_laws: Callable[[Space, Sequence[Exponential]], list[float]]
    of_mechanism: Callable[[WordMechanism], float]
    close: float

    def met(self, value: float) -> bool:
        """Say whether a value is on the safe side."""
        return value <= self.target if self.at_most else value >= self.target


def tune_recovery(space: Space, target: float, *, mechanism: str = "auto", prior: Frequencies = None) -> Choice:
    """Return the largest epsilon with four digits that was found to hold an attacker's success to a target.

    The attacker is the one of `deniable.recovery`. Where no law is known his success is simulated, and the upper
    end of its interval must be at most the target; a better attacker than ours may name more.

    Args:
        space: the domain.
        target: share of words, at most; above the success of who sees nothing, below 1.
        mechanism: a name from `deniable.words.MECHANISMS`, ``auto``, or ``best``: the one of calibrated, TEM and
            (in spaces of at most 14,000 points) tight that proves the least epsilon.
        prior: how frequent words are, see `deniable.recovery`; None for the public Zipf law.

    Raises:
        InputError: an unknown mechanism, or a target that no epsilon reaches.
    """
    public = build_prior(space, prior)
    positive("tune", "recovery", target, upper=1.0)
    if target <= public.blind:
        raise InputError(
            f"The 'recovery' target must be above {public.blind:.4g}, what a guesser names who sees nothing and "
            f"always says the most frequent word. Got {target:g}."
        )

    def of_laws(domain: Space, laws: Sequence[Exponential]) -> list[float]:
        own = public.weights if domain is space else zipf(len(domain))  # a part, where the search begins
        return [recovered for _, recovered in _of_laws(domain, laws, own)]

    aim = _Aim(target, True, of_laws, lambda one: _outcomes(one, public)[0].high, 1.004)  # noqa: FBT003 - at most
    return _chosen(space, mechanism, aim, public)


def tune_kept(space: Space, target: float, *, mechanism: str = "auto", prior: Frequencies = None) -> Choice:
    """Return the least epsilon with four digits that was found to keep at least a share of the words.

    Args:
        space: the domain.
        target: share of words, in (0, 1).
        mechanism: as in `tune_recovery`.
        prior: as in `tune_recovery`.

    Raises:
        InputError: as in `tune_recovery`.
    """
    public = build_prior(space, prior)
    positive("tune", "kept", target, upper=1.0)

    def of_laws(domain: Space, laws: Sequence[Exponential]) -> list[float]:
        own = public.weights if domain is space else zipf(len(domain))  # a part, where the search begins
        return [float(own @ kept) for kept, _ in _of_laws(domain, laws, own)]

    aim = _Aim(target, False, of_laws, lambda one: _outcomes(one, public)[1].low, 1.004)  # noqa: FBT003 - at least
    return _chosen(space, mechanism, aim, public)


def tune_utility(
    space: Space,
    texts: Sequence[str],
    codes: Codes,
    target: float,
    *,
    mechanism: str = "auto",
    prior: Frequencies = None,
    classifier: str = "tfidf",
    seed: int = 0,
) -> Choice:
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
    public = build_prior(space, prior)
    positive("tune", "utility", target, upper=1.0)
    chosen = np.sort(np.random.default_rng(seed).permutation(len(texts))[:_SAMPLE])
    # A class that is there once is either learned or tested.
    chosen = chosen[np.bincount(codes[chosen])[codes[chosen]] > 1]
    sampled, classes = [texts[row] for row in chosen], codes[chosen]
    if len(np.unique(classes)) < 2:  # noqa: PLR2004 - one class leaves nothing to learn
        raise InputError(
            f"The labels must hold 2 classes of 2 texts each, at least. Got {len(np.unique(classes))} such among "
            f"{len(texts):,} texts: name another column."
        )

    def accuracies(mechanisms: Sequence[WordMechanism]) -> list[float]:
        private = {str(at): draws(one, sampled, seed=seed).texts for at, one in enumerate(mechanisms)}
        found = utilities(sampled, private, classes, classifier=classifier, seed=seed)
        original = found["0"].original.value
        if original < target:
            raise InputError(
                f"The 'utility' target must be at most {original:.4g}, the accuracy of a classifier trained on the "
                f"original texts. Got {target:g}."
            )
        return [found[name].private.value for name in private]

    def of_laws(domain: Space, laws: Sequence[Exponential]) -> list[float]:
        # TEM with twice the scale and the same cutoff draws from just these laws.
        return accuracies([TEM(domain, epsilon=2 * law.scale, gamma=law.cutoff) for law in laws])

    aim = _Aim(target, False, of_laws, lambda one: accuracies([one])[0], 1.05)  # noqa: FBT003 - at least
    return _chosen(space, mechanism, aim, public)


def _chosen(space: Space, mechanism: str, aim: _Aim, prior: Prior) -> Choice:
    """Return the choice for a mechanism, or of several the one that proves the least epsilon."""
    known = ["auto", "best", *MECHANISMS]
    if mechanism not in known:
        raise InputError(f"Unknown mechanism {mechanism!r}. Known: {', '.join(known)}.")
    names = [mechanism]
    if mechanism == "best":
        names = ["calibrated", "tem", *(["tight"] if len(space.points) <= DENSE else [])]
    elif mechanism == "auto" and len(space.points) > DENSE and space.metric.builtin:
        names = ["calibrated"]
    return min((_tuned(space, name, aim, prior) for name in names), key=lambda choice: choice.verdict.epsilon)


def _tuned(space: Space, name: str, aim: _Aim, prior: Prior) -> Choice:
    """Return the choice for one mechanism: where the target is crossed, then the rounded epsilon on its safe side."""
    family = _FAMILIES.get(name)
    scale_of_one = None
    if family is None:
        if name in MECHANISMS and MECHANISMS[name].euclidean_only:
            _built(space, name, _HUGE)  # says if it is not epsilon that does not suit
        found = crossing(_singly(space, name, aim), aim.target, start=_typical(space), points=1, close=1.01, what=name)
        epsilon = found[0 if aim.at_most else 1]
    else:
        start = _start(space, family, aim)
        values = _jointly(space, family, aim)
        found = crossing(values, aim.target, start=start, points=7, close=aim.close, what=name)
        epsilon = found[0 if aim.at_most else 1]
        if name == "calibrated":
            scale, epsilon = epsilon, prove(space, Exponential(epsilon)).epsilon
            scale_of_one = scale / epsilon
    for step in range(_STEPS):
        tried = rounded(
            epsilon * (1 + (aim.close - 1) / 2) ** (-step if aim.at_most else step), _DIGITS, up=not aim.at_most
        )
        if scale_of_one is not None:  # from a good guess, before the mechanism looks for it from none
            calibrated(space, tried, guess=scale_of_one * tried)
        try:
            mechanism = _built(space, name, tried)
        except InputError:  # below the mechanism's least epsilon
            continue
        reached = aim.of_mechanism(mechanism)
        if aim.met(reached):
            recovered, kept = _outcomes(mechanism, prior)
            return Choice(mechanism, verify(mechanism), reached, recovered, kept, prior.blind)
    raise InputError(f"No epsilon of {name} on the safe side of {aim.target:g} was found: choose another mechanism.")


def _typical(space: Space) -> float:
    """Return the scale at which words at a median distance are about as unlikely as there are words."""
    return 2 * float(np.log(len(space.points)) / np.median(space.distances([0])[0]))


def _start(space: Space, family: Family, aim: _Aim) -> float:
    """Return where to begin: what a small part of the space asks for, which costs next to nothing."""
    if len(space.points) <= _SMALL or aim.close > _ROUGH:
        return _typical(space)
    chosen = np.unique(np.linspace(0, len(space) - 1, _SMALL).astype(int))
    part = Space([space.words[word] for word in chosen], space.vectors[chosen], metric=space.metric)
    try:
        low, _ = crossing(
            _jointly(part, family, aim), aim.target, start=_typical(part), points=1, close=1.1, what="a part"
        )
    except InputError:  # in so small a part a blind guess may take more than the target
        return _typical(space) / 2
    return low * float(np.log(len(space.points)) / np.log(_SMALL))


def _jointly(space: Space, family: Family, aim: _Aim) -> Values:
    """Return the quantity as a function of the parameters of a family."""
    return lambda parameters: aim.of_laws(space, [family(space, parameter) for parameter in parameters])


def _singly(space: Space, name: str, aim: _Aim) -> Values:
    """Return the quantity as a function of the epsilons of a mechanism."""

    def value(epsilon: float) -> float:
        try:
            mechanism = _built(space, name, epsilon)
        except InputError:  # below the mechanism's least epsilon
            return 0.0
        return aim.of_mechanism(mechanism)

    return lambda parameters: list(map(value, parameters))


def _of_laws(space: Space, laws: Sequence[Exponential], prior: Array) -> list[tuple[Array, float]]:
    """Return what `deniable.words.law.outcomes` does for several laws, whose distances are computed once."""
    return outcomes(space, laws, [np.log(sums) for sums in normalisers(space, laws)], prior)


def _outcomes(mechanism: WordMechanism, prior: Prior) -> tuple[Estimate, Estimate]:
    """Return what an attacker recovers and what is kept, exact where draws come from a law."""
    if mechanism.tabulated:
        kept, recovered = mechanism.outcomes(prior)
        return exact(recovered), exact(kept)
    words, outputs = sample(mechanism, prior.weights, _DRAWS, 0, "kept")
    kept_share = share(int((words == outputs).sum()), _DRAWS)
    return simulated_recovery(mechanism, prior=prior, draws=_DRAWS, always=True).share, kept_share


def _built(space: Space, name: str, epsilon: float) -> WordMechanism:
    return auto(space, epsilon) if name == "auto" else MECHANISMS[name](space, epsilon=epsilon)

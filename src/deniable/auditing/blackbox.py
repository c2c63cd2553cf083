"""Black-box audits: what a mechanism's outputs, and nothing else, say against its claim."""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from deniable.auditing import games
from deniable.auditing.attackers import ATTACKERS, HOW, Scores, suitable
from deniable.auditing.games import Game, Score
from deniable.auditing.outputs import Outputs, short
from deniable.auditing.samplers import OutOfTimeError, Runs, Sampler
from deniable.errors import InputError, bad_parameter
from deniable.verdict import Verdict, Witness

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Method = Literal["auto", "coin", "candidates", "pooled", "anytime", "precision"]
METHODS: tuple[Method, ...] = ("auto", "coin", "candidates", "pooled", "anytime", "precision")

LEAST = 20
"""Samples below which no audit is worth its name."""
_FITTED = 1 / 3
"""Share of the samples that the attacker is fitted on."""
_FIRST = 32
"""Trials before the first guess of an anytime audit; each later round is as large as all before it."""
_SHARES = np.geomspace(1.0, 0.01, 30)
"""Shares of trials with a guess among which the best is chosen; in the others the attacker abstains."""
_FOLDS = 2
_CAUTION = 0.5
"""Standard errors that a share of right guesses is taken to be lower than seen: the highest of many flatters."""
_BETTER = 1.05
"""How much more than the attackers before it one must promise."""


@dataclasses.dataclass(frozen=True)
class _Claim:
    """What is tested: epsilon and delta at significance level alpha."""

    epsilon: float
    delta: float
    alpha: float


@dataclasses.dataclass(frozen=True)
class _Player:
    """A fitted attacker who guesses where it is sure enough.

    Attributes:
        name: in `ATTACKERS`.
        scores: log-likelihoods of the inputs.
        threshold: log-odds beyond what the claim allows, from which on it guesses.
        bound: the lower bound to expect of it.
    """

    name: str
    scores: Scores
    threshold: float
    bound: float


def audit(
    sampler: Sampler,
    x: Any = None,  # noqa: ANN401 - whatever the sampler takes
    x_prime: Any = None,  # noqa: ANN401 - the same
    *,
    claim: float,
    candidates: Sequence[Any] | None = None,
    pairs: Sequence[tuple[Any, Any]] | None = None,
    distance: "float | Sequence[float] | npt.ArrayLike | Callable[[Any, Any], float]" = 1.0,
    delta: float = 0.0,
    confidence: float = 0.95,
    samples: int = 10_000,
    method: Method = "auto",
    batched: bool = False,
    seconds: float | None = None,
    seed: int | None = None,
) -> Verdict:
    """Audit a mechanism that can only be run: a lower confidence bound on its privacy loss.

    Inputs are drawn by fair chance, the sampler is run on each, and an attacker who was fitted on
    other runs guesses which input it was, or abstains. Too many right guesses refute the claim
    (`deniable.auditing.games`). No audit can show that a mechanism is private: the verdict is
    ``refuted`` or ``not refuted``, the latter with ``detectable``, the violation it would have seen.

    Give two inputs ``x`` and ``x_prime``, or several ``pairs`` (their trials pool, each pair with its
    own distance), or ``candidates`` among which the input is to be identified: two inputs tell
    nothing of losses beyond about ln(samples), K candidates reach farther the more they are.

    Args:
        sampler: takes an input, returns one output: a number, an array, a word, a text or a list of
            words. It must be the whole mechanism, with fresh randomness in every call.
        x: an input.
        x_prime: another.
        claim: epsilon >= 0, per unit of distance.
        candidates: K >= 2 inputs.
        pairs: pairs of inputs.
        distance: between x and x_prime; one for each pair; an array (K, K) for candidates; or a
            function of two inputs. The claim between them is a loss of at most claim * distance.
        delta: of an (epsilon, delta) claim, in [0, 1).
        confidence: of the lower bound, in (0, 1).
        samples: calls of the sampler, a third of them for fitting.
        method: ``auto`` plays the game that the inputs make, with every attacker; ``coin``,
            ``pooled`` or ``candidates`` name that game, and look at values only; ``precision``
            looks at the last bits of floats only; ``anytime`` is ``auto`` that stops as soon as the
            claim is refuted, or at ``samples`` or ``seconds``.
        batched: the sampler takes m inputs (a list, or an array with numbers stacked in its first
            axis) and returns m outputs, each with randomness of its own.
        seconds: budget of time. It ends an anytime audit with a verdict, and others with an error.
        seed: of the audit's own coins; None for fresh ones.

    Returns:
        A `Verdict`: ``lower_bound`` on epsilon per unit of distance at the given confidence,
        ``samples`` used, the ``witness`` event, ``detectable``.

    Raises:
        InputError: a parameter out of its domain; a sampler that raises, prints, returns NaN, or
            changes the shape of its outputs; out of time.
    """
    if not callable(sampler):
        raise bad_parameter("audit", "sampler", "a callable that takes an input and returns one output", sampler)
    game = _game(x, x_prime, candidates, pairs, distance)
    tested = _checked_claim(claim, delta, confidence)
    _check_method(method, game, tested, candidates is not None, pairs is not None)
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < LEAST:
        raise bad_parameter("audit", "samples", f"an int of at least {LEAST}", samples)
    if seconds is not None and not (isinstance(seconds, (int, float)) and 0 < seconds < math.inf):
        raise bad_parameter("audit", "seconds", "a float in (0, inf) or None", seconds)
    runs = Runs(sampler, game.inputs, batched=batched, seconds=seconds)
    coins = np.random.default_rng(seed)
    play = _anytime if method == "anytime" else _fixed
    return play(game, tested, runs, samples, coins, _attackers(method))


def _attackers(method: Method) -> Sequence[str]:
    """Return who may play: last bits and values, or one of the two."""
    if method == "precision":
        return ["precision"]
    return [name for name in ATTACKERS if name != "precision" or method in {"auto", "anytime"}]


def _fixed(
    game: Game, claim: _Claim, runs: Runs, samples: int, coins: np.random.Generator, allowed: Sequence[str]
) -> Verdict:
    """Fit on a third of the samples, guess on the others, and bound the loss once."""
    held = max(int(samples * _FITTED), LEAST // 2)
    sets, places = _balanced(game, held, coins)
    outputs = runs.draw(game.sets[sets, places])
    player = _best(game, claim, outputs, sets, places, samples - held, allowed)
    trials, truths = _tossed(game, samples - held, coins)
    seen = runs.draw(game.sets[trials, truths])
    outputs.then(seen)
    score = _play(game, claim, player, seen, trials, truths)
    bound = games.lower_bound(game, score, claim.alpha, claim.delta)
    power = games.detectable(game, score.guesses, claim.epsilon, claim.alpha, claim.delta, score.trials)
    return _verdict(game, claim, runs, score, bound, power, player.name, "fixed number of samples")


def _anytime(
    game: Game, claim: _Claim, runs: Runs, samples: int, coins: np.random.Generator, allowed: Sequence[str]
) -> Verdict:
    """Play in rounds, each with an attacker fitted on all before it, until convinced or out of budget."""
    sets, places = _balanced(game, max(_FIRST, 4 * len(game.inputs)), coins)
    outputs = runs.draw(game.sets[sets, places])
    score = Score(np.zeros_like(game.sets), np.zeros_like(game.sets), 0)
    bound, name, ended = 0.0, "none", "budget of samples spent"
    while runs.calls < samples:
        count = min(len(outputs), samples - runs.calls)
        player = _best(game, claim, outputs, sets, places, samples - len(sets), allowed)
        trials, truths = _tossed(game, count, coins)
        try:
            seen = runs.draw(game.sets[trials, truths])
        except OutOfTimeError:
            ended = "budget of time spent"
            break
        score += _play(game, claim, player, seen, trials, truths)
        bound, name = max(bound, games.anytime_bound(game, score, claim.alpha)), player.name
        outputs = outputs.then(seen)
        sets, places = np.append(sets, trials), np.append(places, truths)
        if games.evidence(game, score, claim.epsilon) >= math.log(1 / claim.alpha):
            ended = "stopped when convinced"
            break
    power = games.detectable_anytime(game, score.guesses, claim.epsilon, claim.alpha)
    return _verdict(game, claim, runs, score, bound, power, name, f"anytime-valid, {ended}")


def _best(
    game: Game,
    claim: _Claim,
    outputs: Outputs,
    sets: Numbers,
    places: Numbers,
    ahead: int,
    allowed: Sequence[str],
) -> _Player:
    """Return the attacker, and its threshold, that do best on these trials by cross-fitting, fitted on all.

    The choice spends nothing of alpha: other trials decide.
    """
    labels = game.sets[sets, places]
    folds = np.empty(len(labels), dtype=np.int64)
    folds[np.argsort(labels, kind="stable")] = np.arange(len(labels)) % _FOLDS  # every input in each
    names = [name for name in suitable(game.inputs, outputs) if name in allowed]
    if not names:
        need = "floats as outputs, or more samples" if allowed == ["precision"] else "more samples"
        raise InputError(
            f"No attacker can be fitted to {len(outputs)} outputs of {len(game.inputs)} inputs: give {need}. "
            f"Got {outputs.form}."
        )
    best: _Player | None = None
    for name in names:
        fit = ATTACKERS[name]
        scores = np.zeros((len(outputs), len(game.inputs)))
        for fold in range(_FOLDS):
            rest, own = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            fitted = fit(game.inputs, outputs.take(rest), labels[rest])
            scores[own] = fitted(outputs.take(own))
        threshold, bound = _threshold(game, claim, scores, sets, places, ahead)
        if best is None or bound > _BETTER * best.bound:
            best = _Player(name, fit(game.inputs, outputs, labels), threshold, bound)
    return best  # type: ignore[return-value]  # names is never empty


def _threshold(
    game: Game, claim: _Claim, scores: Array, sets: Numbers, places: Numbers, ahead: int
) -> tuple[float, float]:
    """Return from which log-odds on to guess, and the bound to expect from it."""
    named, sure = _guess(game, claim, scores, sets)
    best = (-math.inf, 0.0)
    for share in _SHARES:
        least = float(np.quantile(sure, 1 - share))
        chosen = sure >= least
        count = int(chosen.sum())
        right = int((named == places)[chosen].sum())
        guesses = np.zeros_like(game.sets)
        np.add.at(guesses, (sets[chosen], named[chosen]), 1)
        scaled = np.rint(guesses * (ahead / len(sets))).astype(np.int64)
        if scaled.sum() > 0:
            share_right = (right + 0.5) / (count + 1)
            share_right -= _CAUTION * math.sqrt(share_right * (1 - share_right) / count)
            bound = games.rough_bound(game, share_right, scaled, claim.alpha)
            if bound > best[1]:
                best = (least, bound)
    return best


def _guess(game: Game, claim: _Claim, scores: Array, sets: Numbers) -> tuple[Numbers, Array]:
    """Return the likeliest place of each trial's set, and how far its log-odds exceed what the claim allows."""
    posterior = game.posterior(scores, sets)
    named = posterior.argmax(axis=1)
    chance = np.clip(posterior[np.arange(len(named)), named], 1e-300, 1 - 1e-15)
    cap = np.clip(game.caps(claim.epsilon)[sets, named], 1e-300, 1 - 1e-15)
    odds: Array = np.log(chance / (1 - chance)) - np.log(cap / (1 - cap))
    return named, odds


def _play(game: Game, claim: _Claim, player: _Player, seen: Outputs, sets: Numbers, truths: Numbers) -> Score:
    """Return the score of fresh trials."""
    named, sure = _guess(game, claim, player.scores(seen), sets)
    chosen = sure >= player.threshold
    right, guesses = np.zeros_like(game.sets), np.zeros_like(game.sets)
    np.add.at(guesses, (sets[chosen], named[chosen]), 1)
    hits = chosen & (named == truths)
    np.add.at(right, (sets[hits], named[hits]), 1)
    return Score(right, guesses, len(sets))


def _balanced(game: Game, count: int, coins: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Return sets and places of trials to fit on: all equally often, in random order."""
    order = coins.permutation(np.arange(count) % game.sets.size)
    return order // game.sets.shape[1], order % game.sets.shape[1]


def _tossed(game: Game, count: int, coins: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Return sets and places of trials to guess: each drawn afresh, which is what the bounds rest on."""
    return coins.integers(len(game.sets), size=count), coins.integers(game.sets.shape[1], size=count)


def _verdict(
    game: Game, claim: _Claim, runs: Runs, score: Score, bound: float, power: float, attacker: str, how: str
) -> Verdict:
    right, guesses = int(score.right.sum()), int(score.guesses.sum())
    place = np.unravel_index(np.argmax(score.right), score.right.shape)
    members = game.sets[place[0]]
    other = int(np.argmin(game.distances[place] + np.where(np.arange(len(members)) == place[1], np.inf, 0)))
    apart = float(game.distances[place][other])
    witness = Witness(
        input=short(game.inputs[members[place[1]]]),
        other=short(game.inputs[members[other]]),
        output=f"attacker {attacker!r} names the input",
        distance=apart,
        loss=bound * apart,
        right=right,
        guesses=guesses,
    )
    kind = "coin-flip game" if len(game.inputs) == 2 else f"{len(game.sets)} pooled pairs"  # noqa: PLR2004 - a coin
    if game.sets.shape[1] > 2:  # noqa: PLR2004 - a coin
        kind = f"identification among {game.sets.shape[1]} candidates"
    return Verdict(
        status="refuted" if bound > claim.epsilon else "not refuted",
        claim=claim.epsilon,
        epsilon=math.inf,
        lower_bound=bound,
        confidence=1 - claim.alpha,
        samples=runs.calls,
        witness=witness if guesses else None,
        method=f"{kind}, {how}, attacker {attacker!r} ({HOW[attacker]}) chosen and fitted on other samples",
        seconds=runs.elapsed,
        detectable=power,
    )


def _game(
    x: Any,  # noqa: ANN401 - any input
    x_prime: Any,  # noqa: ANN401 - any input
    candidates: Sequence[Any] | None,
    pairs: Sequence[tuple[Any, Any]] | None,
    distance: Any,  # noqa: ANN401 - checked here
) -> Game:
    """Return the game that the inputs describe."""
    two = x is not None or x_prime is not None
    if two + (candidates is not None) + (pairs is not None) != 1:
        raise InputError("audit takes either two inputs x and x_prime, or pairs, or candidates.")
    if two:
        if x is None or x_prime is None:
            raise InputError("audit takes two inputs: x and x_prime.")
        return games.coin((x, x_prime), distance(x, x_prime) if callable(distance) else _number(distance))
    if pairs is not None:
        return _pooled(pairs, distance)
    inputs = tuple(candidates or ())
    if len(inputs) < 2:  # noqa: PLR2004 - a choice
        raise bad_parameter("audit", "candidates", "at least two inputs", candidates)
    if callable(distance):
        apart = np.array([[0.0 if a is b else float(distance(a, b)) for b in inputs] for a in inputs])
    else:
        given = np.asarray(distance, dtype=float)
        apart = given if given.ndim else np.where(np.eye(len(inputs), dtype=bool), 0.0, float(given))
    return games.candidates(inputs, apart)


def _pooled(pairs: Sequence[tuple[Any, Any]], distance: Any) -> Game:  # noqa: ANN401 - checked here
    inputs: list[Any] = []
    numbers = []
    try:
        for one, other in pairs:
            numbers.append((_numbered(inputs, one), _numbered(inputs, other)))
    except (TypeError, ValueError):
        raise bad_parameter("audit", "pairs", "pairs of inputs", pairs) from None
    if not numbers:
        raise bad_parameter("audit", "pairs", "at least one pair of inputs", pairs)
    if callable(distance):
        apart = [float(distance(one, other)) for one, other in pairs]
    else:
        given = np.asarray(distance, dtype=float)
        apart = given.tolist() if given.ndim else [float(given)] * len(numbers)
    if len(apart) != len(numbers):
        raise InputError(f"audit takes one distance for each pair. Got {len(apart)} for {len(numbers)}.")
    return games.pooled(tuple(inputs), numbers, apart)


def _numbered(inputs: list[Any], given: Any) -> int:  # noqa: ANN401 - any input
    """Return the number of an input, listed anew unless it is a text met before."""
    if isinstance(given, str) and given in inputs:
        return inputs.index(given)
    inputs.append(given)
    return len(inputs) - 1


def _number(value: Any) -> float:  # noqa: ANN401 - checked here
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise bad_parameter("audit", "distance", "a float in (0, inf) for two inputs", value)
    return float(value)


def _checked_claim(claim: object, delta: object, confidence: object) -> _Claim:
    for name, value, low, high, expected in (
        ("claim", claim, -math.ulp(0.0), math.inf, "a float in [0, inf)"),
        ("delta", delta, -math.ulp(0.0), 1.0, "a float in [0, 1)"),
        ("confidence", confidence, 0.0, 1.0, "a float in (0, 1)"),
    ):
        fits = isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and low < value < high
        if not fits:
            raise bad_parameter("audit", name, expected, value)
    return _Claim(float(claim), float(delta), 1 - float(confidence))  # type: ignore[arg-type]  # checked above


def _check_method(method: str, game: Game, claim: _Claim, many: bool, paired: bool) -> None:  # noqa: FBT001 - facts
    if method not in METHODS:
        raise bad_parameter("audit", "method", f"one of {', '.join(METHODS)}", method)
    needed = "candidates" if many else "pooled" if paired else "coin"
    if method in {"coin", "candidates", "pooled"} and method != needed:
        raise InputError(f"The method {method!r} does not fit the inputs given: they make a game of {needed!r}.")
    if claim.delta > 0 and (method == "anytime" or game.sets.shape[1] > 2):  # noqa: PLR2004 - a coin
        raise InputError("A claim with delta > 0 is audited on two inputs or pairs, with a fixed number of samples.")

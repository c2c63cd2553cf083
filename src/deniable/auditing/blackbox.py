"""Black-box audits: what a mechanism's outputs, and nothing else, say against its claim."""

import math
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.auditing import bounds
from deniable.auditing.attackers import ATTACKERS, HOW
from deniable.auditing.games import Claim, Game, Score
from deniable.auditing.inputs import Method, check_method, claim_of, game_of
from deniable.auditing.outputs import short
from deniable.auditing.players import choose, play
from deniable.auditing.samplers import OutOfTimeError, Runs, Sampler
from deniable.errors import bad_parameter, positive
from deniable.verdict import Verdict, Witness

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

LEAST = 20
"""Samples below which no audit is worth its name."""
MOST = 100_000_000
"""Samples beyond which memory ends before the audit does."""
_FITTED = 1 / 3
"""Share of the samples that the attacker is fitted on."""
_FIRST = 32
"""Trials before the first guess of an anytime audit; each later round is as large as all before it."""
_COINS = tuple(b"coins of an audit")


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
        seconds: budget of time, looked at between calls. It ends an anytime audit with a verdict, and
            others with an error.
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
    game = game_of(x, x_prime, candidates, pairs, distance)
    tested = claim_of(claim, delta, confidence)
    check_method(method, game, tested, candidates is not None, pairs is not None)
    if isinstance(samples, bool) or not isinstance(samples, Integral) or not LEAST <= samples <= MOST:
        raise bad_parameter("audit", "samples", f"an int from {LEAST} to {MOST:,}", samples)
    if seconds is not None:
        positive("audit", "seconds", seconds)
    runs = Runs(sampler, game.inputs, batched=batched, seconds=seconds)
    conduct = _anytime if method == "anytime" else _fixed
    return conduct(game, tested, runs, int(samples), _coins(seed), _attackers(method))


def _coins(seed: object) -> np.random.Generator:
    """Return the audit's own coins: never the stream that a mechanism under audit makes of the same seed."""
    if seed is None:
        return np.random.default_rng()
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise bad_parameter("audit", "seed", "an int of at least 0 or None", seed)
    return np.random.default_rng(np.random.SeedSequence(int(seed), spawn_key=_COINS))


def _attackers(method: Method) -> Sequence[str]:
    """Return who may play: last bits and values, or one of the two."""
    if method == "precision":
        return ["precision"]
    return [name for name in ATTACKERS if name != "precision" or method in {"auto", "anytime"}]


def _fixed(
    game: Game, claim: Claim, runs: Runs, samples: int, coins: np.random.Generator, allowed: Sequence[str]
) -> Verdict:
    """Fit on a third of the samples, guess on the others, and bound the loss once."""
    held = max(int(samples * _FITTED), LEAST // 2)
    sets, places = _balanced(game, held, coins)
    outputs = runs.draw(game.sets[sets, places])
    player = choose(game, claim, outputs, sets, places, samples - held, allowed)
    trials, truths = _tossed(game, samples - held, coins)
    seen = runs.draw(game.sets[trials, truths])
    outputs.then(seen)
    score = play(game, claim, player, seen, trials, truths)
    bound = bounds.lower_bound(game, score, claim.alpha, claim.delta)
    power = bounds.detectable(game, score.guesses, claim.epsilon, claim.alpha, claim.delta, score.trials)
    return _verdict(game, claim, runs, score, bound, power, player.name, "fixed number of samples")


def _anytime(
    game: Game, claim: Claim, runs: Runs, samples: int, coins: np.random.Generator, allowed: Sequence[str]
) -> Verdict:
    """Play in rounds, each with an attacker fitted on all before it, until convinced or out of budget."""
    score = Score(np.zeros_like(game.sets), np.zeros_like(game.sets), 0)
    bound, name, ended = 0.0, "none", "budget of samples spent"
    sets, places = _balanced(game, min(max(_FIRST, 4 * len(game.inputs)), samples // 2), coins)
    try:
        outputs = runs.draw(game.sets[sets, places])
        while runs.calls < samples:
            count = min(len(outputs), samples - runs.calls)
            player = choose(game, claim, outputs, sets, places, samples - len(sets), allowed)
            trials, truths = _tossed(game, count, coins)
            seen = runs.draw(game.sets[trials, truths])
            score += play(game, claim, player, seen, trials, truths)
            bound, name = max(bound, bounds.anytime_bound(game, score, claim.alpha)), player.name
            if bounds.evidence(game, score, claim.epsilon) >= math.log(1 / claim.alpha):
                ended = "stopped when convinced"
                break
            outputs = outputs.then(seen)
            sets, places = np.append(sets, trials), np.append(places, truths)
    except OutOfTimeError:
        ended = "budget of time spent"
    power = bounds.detectable_anytime(game, score.guesses, claim.epsilon, claim.alpha)
    return _verdict(game, claim, runs, score, bound, power, name, f"anytime-valid, {ended}")


def _balanced(game: Game, count: int, coins: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Return sets and places of trials to fit on: all equally often, in random order."""
    order = coins.permutation(np.arange(count) % game.sets.size)
    return order // game.sets.shape[1], order % game.sets.shape[1]


def _tossed(game: Game, count: int, coins: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Return sets and places of trials to guess: each drawn afresh, which is what the bounds rest on."""
    return coins.integers(len(game.sets), size=count), coins.integers(game.sets.shape[1], size=count)


def _verdict(
    game: Game, claim: Claim, runs: Runs, score: Score, bound: float, power: float, attacker: str, how: str
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
        delta=claim.delta,
    )

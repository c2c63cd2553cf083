"""Black-box audits: what a mechanism's outputs, and nothing else, say against its claim."""

import contextlib
import dataclasses
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
from deniable.auditing.outputs import Outputs, short
from deniable.auditing.players import Player, choose, play
from deniable.auditing.precision import choose_grid, round_to_grid
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
_ASIDE = 0.1
"""Share of alpha for a second bound, on rounded outputs, where last bits are read: both bounds hold at level alpha."""
_EVENT = " by the last bits of its floats and not by their values (the float-precision event, Mironov 2012)"
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
            claim is refuted, or at ``samples`` or ``seconds``. Where last bits are what refutes, ``auto``
            and ``anytime`` say besides what is found when outputs are rounded to a grid: by the same
            samples, or by those that are left.
        batched: the sampler takes m inputs (a list, or an array with numbers stacked in its first
            axis) and returns m outputs, each with randomness of its own.
        seconds: budget of time, looked at between calls. It ends an anytime audit with a verdict, and
            others with an error.
        seed: of the audit's own coins; None for fresh ones.

    Returns:
        A `Verdict`: ``lower_bound`` on epsilon per unit of distance at the given confidence,
        ``samples`` used, the ``witness`` event, ``detectable``, and ``rounded`` where the event is that of
        float precision (Mironov 2012). Both bounds together hold at the given confidence.

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


@dataclasses.dataclass(frozen=True)
class _Trials:
    """Trials of a game: outputs, the set of each, and the place of its input in the set."""

    outputs: Outputs
    sets: Numbers
    places: Numbers

    def then(self, later: "_Trials") -> "_Trials":
        return _Trials(
            self.outputs.then(later.outputs), np.append(self.sets, later.sets), np.append(self.places, later.places)
        )

    def rounded(self, exponent: int) -> "_Trials":
        values = round_to_grid(self.outputs.values, exponent)
        return dataclasses.replace(self, outputs=dataclasses.replace(self.outputs, values=values))


def _fixed(
    game: Game, claim: Claim, runs: Runs, samples: int, coins: np.random.Generator, allowed: Sequence[str]
) -> Verdict:
    """Fit on a third of the samples, guess on the others, and bound the loss once."""
    held = max(int(samples * _FITTED), LEAST // 2)
    known = _run(game, runs, *_balanced(game, held, coins))
    player = _choose(game, claim, known, samples - held, allowed)
    fresh = _run(game, runs, *_tossed(game, samples - held, coins))
    known.outputs.then(fresh.outputs)
    bits = player.name == "precision" and len(allowed) > 1
    found = _decide(game, claim, runs, player, fresh, "fixed number of samples", share=1 - _ASIDE if bits else 1.0)
    return _beside(found, game, claim, runs, known, fresh, allowed) if bits else found


def _decide(
    game: Game, claim: Claim, runs: Runs, player: Player, fresh: _Trials, how: str, *, share: float = 1.0
) -> Verdict:
    """Return the verdict of a player's guesses on fresh trials, at a share of alpha."""
    score = play(game, claim, player, fresh.outputs, fresh.sets, fresh.places)
    alpha = share * claim.alpha
    bound = bounds.lower_bound(game, score, alpha, claim.delta)
    power = bounds.detectable(game, score.guesses, claim.epsilon, alpha, claim.delta, score.trials)
    return _verdict(game, claim, runs, score, bound, power, player.name, how)


def _beside(
    found: Verdict, game: Game, claim: Claim, runs: Runs, known: _Trials, fresh: _Trials, allowed: Sequence[str]
) -> Verdict:
    """Return a verdict of last bits and, where it refutes, beside it the verdict of the same game on rounded outputs.

    The grid and the attacker are chosen on the known trials alone, the fresh ones decide.
    """
    if found.status != "refuted":
        return found
    exponent = choose_grid(known.outputs.values)
    known, fresh = known.rounded(exponent), fresh.rounded(exponent)
    player = _choose(game, claim, known, len(fresh.outputs), allowed)
    how = f"outputs rounded to multiples of 2^{exponent}, fixed number of samples"
    return dataclasses.replace(found, rounded=_decide(game, claim, runs, player, fresh, how, share=_ASIDE))


def _anytime(
    game: Game, claim: Claim, runs: Runs, samples: int, coins: np.random.Generator, allowed: Sequence[str]
) -> Verdict:
    """Play in rounds, each with an attacker fitted on all before it, until convinced or out of budget."""
    score = Score(np.zeros_like(game.sets), np.zeros_like(game.sets), 0)
    bound, name, ended, alpha = 0.0, "none", "budget of samples spent", claim.alpha
    sets, places = _balanced(game, min(max(_FIRST, 4 * len(game.inputs)), samples // 2), coins)
    known = None
    try:
        known = _run(game, runs, sets, places)
        alpha *= 1.0 if known.outputs.textual or len(allowed) == 1 else 1 - _ASIDE
        while runs.calls < samples:
            player = _choose(game, claim, known, samples - len(sets), allowed)
            fresh = _run(game, runs, *_tossed(game, min(len(known.outputs), samples - runs.calls), coins))
            score += play(game, claim, player, fresh.outputs, fresh.sets, fresh.places)
            bound, name = max(bound, bounds.anytime_bound(game, score, alpha)), player.name
            known = known.then(fresh)
            if bounds.evidence(game, score, claim.epsilon) >= math.log(1 / alpha):
                ended = "stopped when convinced"
                break
    except OutOfTimeError:
        ended = "budget of time spent"
    power = bounds.detectable_anytime(game, score.guesses, claim.epsilon, alpha)
    found = _verdict(game, claim, runs, score, bound, power, name, f"anytime-valid, {ended}")
    left = samples - runs.calls
    if known is None or name != "precision" or len(allowed) == 1 or left < LEAST:
        return found
    with contextlib.suppress(OutOfTimeError):
        fresh = _run(game, runs, *_tossed(game, left, coins))
        known.outputs.then(fresh.outputs)
        return _beside(found, game, claim, runs, known, fresh, allowed)
    return found


def _run(game: Game, runs: Runs, sets: Numbers, places: Numbers) -> _Trials:
    return _Trials(runs.draw(game.sets[sets, places]), sets, places)


def _choose(game: Game, claim: Claim, known: _Trials, ahead: int, allowed: Sequence[str]) -> Player:
    return choose(game, claim, known.outputs, known.sets, known.places, ahead, allowed)


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
        output=f"attacker {attacker!r} names the input{_EVENT if attacker == 'precision' else ''}",
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

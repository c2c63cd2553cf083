"""The choice of an attacker: the best one on the trials given, and abstention where a guess is not worth it."""

import numpy as np
import pytest

from deniable.auditing import attacker_selection
from deniable.auditing.attacker_selection import FittedAttacker, choose_attacker, score_trials
from deniable.auditing.games import build_claim, make_coin_game
from deniable.auditing.outputs import parse_outputs
from deniable.core.errors import InputError

GAME = make_coin_game((np.zeros(1), np.ones(1)), 1.0)
CLAIM = build_claim(1.0, 0.0, 0.95, GAME)


def play(draw, count=2_000, seed=0):
    """Return outputs, sets and places of trials with equal shares of both inputs."""
    random = np.random.default_rng(seed)
    places = random.permutation(np.arange(count) % 2)
    return parse_outputs([draw(place, random) for place in places]), np.zeros(count, dtype=np.int64), places


def leaky(place, random):
    return place + random.laplace(size=1, scale=0.1)


def hidden(place, random):
    return random.laplace(size=1) + 0 * place


def test_the_best_of_those_allowed_is_chosen():
    """Where values tell the input, an attacker is chosen that names it, with a bound beyond the claim."""
    chosen = choose_attacker(GAME, CLAIM, *play(leaky), 2_000, ["nearest", "linear"])
    assert chosen.name in {"nearest", "linear"}
    assert chosen.bound > 1.0
    only = choose_attacker(GAME, CLAIM, *play(leaky), 2_000, ["linear"])
    assert only.name == "linear"


def test_outputs_without_the_input_promise_no_bound():
    """Noise alone gives no attacker an expected bound near the claim."""
    assert choose_attacker(GAME, CLAIM, *play(hidden), 2_000, ["nearest", "linear"]).bound < 0.5


def test_the_choice_depends_on_its_trials_alone():
    """The same trials give the same choice, share, threshold and bound."""
    one, other = (choose_attacker(GAME, CLAIM, *play(leaky), 2_000, ["nearest", "linear"]) for _ in range(2))
    assert (one.name, one.share, one.threshold, one.bound) == (other.name, other.share, other.threshold, other.bound)


@pytest.mark.parametrize(
    ("allowed", "advice"), [([], "give more samples"), (["precision"], "give floats as outputs, or more samples")]
)
def test_no_attacker_at_all_is_refused(allowed, advice):
    """The error names the outputs and what would help."""
    with pytest.raises(InputError, match=f"No attacker can be fitted to 40 outputs of 2 inputs: {advice}"):
        choose_attacker(GAME, CLAIM, *play(lambda place, _: int(place), count=40), 40, allowed)


def test_a_share_makes_the_attacker_abstain():
    """Guesses are counted in a share of the trials, the surest, right ones where the place is the true one."""
    outputs, sets, places = play(leaky, count=500)

    def score(share, threshold=np.inf):
        attacker = FittedAttacker(
            "known", lambda new: np.stack([-new.values[:, 0], new.values[:, 0] - 1], 1), threshold, share, 0
        )
        return score_trials(GAME, CLAIM, attacker, outputs, sets, places)

    every, some, none = (score(share) for share in (1.0, 0.5, 1e-4))
    assert every.guesses.sum() == every.trials == some.trials == none.trials == 500
    assert some.guesses.sum() == 250
    assert none.guesses.sum() == none.right.sum() == 0
    assert 170 < score(0.5, 0.0).guesses.sum() < 375
    assert (every.right <= every.guesses).all()
    assert some.right.sum() / some.guesses.sum() >= every.right.sum() / every.guesses.sum() > 0.9


def test_wrong_guesses_are_not_counted_as_right():
    """An attacker that always names the other input guesses as often, and is hardly ever right."""
    outputs, sets, places = play(leaky, count=500)
    contrary = FittedAttacker(
        "other", lambda new: np.stack([new.values[:, 0], 1 - new.values[:, 0]], 1), -np.inf, 1.0, 0
    )
    score = score_trials(GAME, CLAIM, contrary, outputs, sets, places)
    assert score.guesses.sum() == 500
    assert score.right.sum() < 50


@pytest.mark.parametrize("shift", [-1e-3, 0.0, 1e-3])
def test_a_plateau_is_guessed_wherever_it_lies(shift):
    """Three fifths of equal scores are guessed, though a model fitted on other trials has them a little lower."""
    outputs, sets, places = play(leaky, count=500)
    scores = np.where(np.arange(500) < 300, 1.0 + shift, np.linspace(0, 0.5, 500))
    threshold = 1.0 - float(np.log(1 / (1 / GAME.caps(1.0)[0, 0] - 1)))
    attacker = FittedAttacker("known", lambda _: np.stack([scores, np.zeros(500)], 1), threshold, 0.55, 0)
    assert score_trials(GAME, CLAIM, attacker, outputs, sets, places).guesses.sum() == 300


@pytest.mark.parametrize(
    ("surest", "share", "guessed"), [(9, 0.02, 9), (11, 0.02, 11), (300, 0.5, 300), (500, 0.01, 0)]
)
def test_ties_are_guessed_together_or_not_at_all(surest, share, guessed):
    """A few outputs that give their input away stay apart from the many that tell nothing."""
    log_odds = np.where(np.arange(500) < surest, 3.0, 0.0)
    assert attacker_selection._select_surest(log_odds, share).sum() == guessed


def test_texts_that_hold_numbers_are_read_as_both():
    """Noisy numbers that are written as texts are told apart by their values, as the numbers would be."""

    def draw(place, random):
        return f"{place * 3 + random.laplace():.6f}"

    chosen = choose_attacker(GAME, CLAIM, *play(draw), 2_000, ["linear", "tree"])
    assert chosen.as_numbers
    outputs, sets, places = play(draw, seed=1)
    score = score_trials(GAME, CLAIM, chosen, outputs, sets, places)
    assert score.right.sum() > 0.9 * score.guesses.sum() > 500

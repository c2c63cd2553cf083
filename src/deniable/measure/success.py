"""How often an attacker guesses words of a prior, or those of them that are rare, and how often words are kept."""

from deniable.core.errors import InputError, make_parameter_error
from deniable.core.numbers import format_exact, format_upper
from deniable.measure.attackers.surrogate import draw_from_prior
from deniable.measure.intervals import Estimate, as_exact_estimate, estimate_share
from deniable.measure.recovery import simulate_recovery
from deniable.space import Space
from deniable.words import WordMechanism
from deniable.words.outcomes import GuessedWords, Outcomes, weigh_rare_words
from deniable.words.prior import Prior

_SIMULATED_DRAWS = 20_000


def check_blind_success(space: Space, target: float, words: GuessedWords, prior: Prior) -> None:
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


def estimate_success(mechanism: WordMechanism, prior: Prior, words: GuessedWords) -> Estimate:
    """Return the share of some words that an attacker guesses, exact where draws come from a law.

    Raises:
        InputError: no single word's share is known, as no law is.
    """
    if mechanism.law.is_tabulated:
        return as_exact_estimate(mechanism.outcomes(prior).get_success(words) or 0.0)
    if words == "every":
        raise InputError(
            f"No law of {mechanism.name} is known, and so no share of a single word: tune for 'average' or 'rare', or "
            "take another mechanism."
        )
    among = weigh_rare_words(mechanism.space, prior.weights) if words == "rare" else None
    share = simulate_recovery(mechanism, prior=prior, among=among, draws=_SIMULATED_DRAWS, always_simulate=True).share
    if among is None:
        return share
    drawn, outputs = draw_from_prior(mechanism, among, _SIMULATED_DRAWS, 0, "kept")
    kept = estimate_share(int((drawn == outputs).sum()), _SIMULATED_DRAWS)
    return max(share, kept, key=lambda estimate: estimate.high)


def estimate_kept(mechanism: WordMechanism, prior: Prior) -> Estimate:
    """Return the share of words that are kept, exact where draws come from a law."""
    if mechanism.law.is_tabulated:
        return as_exact_estimate(mechanism.outcomes(prior).kept)
    words, outputs = draw_from_prior(mechanism, prior.weights, _SIMULATED_DRAWS, 0, "kept")
    return estimate_share(int((words == outputs).sum()), _SIMULATED_DRAWS)


def estimate_all(mechanism: WordMechanism, prior: Prior) -> tuple[Estimate, Estimate, Outcomes | None]:
    """Return the shares of words that an attacker guesses and that are kept, and what single words become."""
    if not mechanism.law.is_tabulated:
        return estimate_success(mechanism, prior, "average"), estimate_kept(mechanism, prior), None
    outcomes = mechanism.outcomes(prior)  # once: under a prior of private texts nothing is kept
    return as_exact_estimate(outcomes.guessed), as_exact_estimate(outcomes.kept), outcomes

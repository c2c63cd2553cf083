"""What an attacker recovers who knows the mechanism and how frequent words are in public text."""

from deniable.core.arguments import refuse_wrong_calls
from deniable.core.errors import make_parameter_error
from deniable.words.mechanism import WordMechanism
from deniable.words.prior import PriorLike


@refuse_wrong_calls
def recovery(mechanism: WordMechanism, prior: PriorLike = None, workers: int | None = None) -> float:
    """Return the Bayes success of an attacker: the share of words that the best guess is right about.

    With the public prior pi the sum over outputs y of max over w of pi(w) P(y|w), from the exact law.
    That is optimal for an attacker who sees one output word at a time; one who knows language, and sees the words
    around it, does better. Without any output the success is max pi.

    Args:
        mechanism: with a known law.
        prior: how frequent words are, declared public: what `read_prior` returns, counts by word (words that the
            space lacks are left out), or n numbers in the order of ``space.words``; None for Zipf's law by rank.
        workers: threads.

    Raises:
        InputError: no word mechanism, or counts that are negative, not finite, all zero, or not one for each word.
        NotTractable: no law is known, or computing it for every word would take hours.
    """
    if not isinstance(mechanism, WordMechanism):
        expected = "a word mechanism, such as TEM(space, epsilon=3.0)"
        raise make_parameter_error("recovery", "mechanism", expected, mechanism)
    return mechanism.outcomes(prior, workers).guessed

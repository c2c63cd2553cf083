"""The result of attacks inside certificates, and how many flips refute them."""

import dataclasses
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from scipy import stats

from deniable.core.numbers import format_upper


class Attempt(Protocol):
    """One certified input after the attack; its `str` is one line."""

    @property
    def p_value(self) -> float:
        """p-value of the certified class being at least as probable as another one."""
        ...


AttemptT = TypeVar("AttemptT", bound=Attempt)


@dataclasses.dataclass(frozen=True)
class Refutation(Generic[AttemptT]):
    """The result of attacks inside certificates.

    Attributes:
        is_refuted: whether the certificate is refuted at the requested level.
        p_value: upper bound on the probability that a sound certificate leaves this many flips or more; 1 for none.
        flips: number of attacked inputs whose class differs, each by a test of its own.
        tested: number of inputs with a certificate.
        witness: the attempt with the smallest p-value; None if nothing was tested.
    """

    is_refuted: bool
    p_value: float
    flips: int
    tested: int
    witness: AttemptT | None

    def __str__(self) -> str:
        """Return the result in one line."""
        return self.describe(str(self.witness))

    def describe(self, witness: str) -> str:
        """Return the result in one line, with the witness as the caller describes it."""
        if self.witness is None:
            return "not refuted: nothing is certified"
        verdict = "refuted" if self.is_refuted else "not refuted"
        return (
            f"{verdict}: {self.flips} of {self.tested} certified flipped, p = {format_upper(self.p_value, 2)}; "
            f"{witness}"
        )


def compute_rival_p_value(votes_rival: int, votes_certified: int) -> float:
    """Return the p-value of the certified class being at least as probable as the rival, by an exact binomial test.

    Given that one of the two was voted for, the rival then has at most even odds.
    """
    votes = votes_rival + votes_certified
    return float(stats.binomtest(votes_rival, votes, alternative="greater").pvalue) if votes_rival else 1.0


def conclude_refutation(attempts: Sequence[AttemptT], alpha: float, certified_at: float) -> Refutation[AttemptT]:
    """Return the conclusion from the tests of n attacked inputs.

    A sound certificate flips an input with probability at most ``certified_at``, and a test reports a false flip with
    at most alpha / (2 n). The certificate is refuted if this many flips or more among n then have a probability of at
    most alpha.

    Args:
        attempts: one for each input with a certificate.
        alpha: level of the refutation.
        certified_at: the probability that the certificate of one input is wrong.
    """
    if not attempts:
        return Refutation(is_refuted=False, p_value=1.0, flips=0, tested=0, witness=None)
    test_level = alpha / (2 * len(attempts))
    flips = sum(attempt.p_value <= test_level for attempt in attempts)
    p_value = float(stats.binom.sf(flips - 1, len(attempts), min(1.0, certified_at + test_level)))
    return Refutation(
        p_value <= alpha, p_value, flips, len(attempts), min(attempts, key=lambda attempt: attempt.p_value)
    )

"""What an attack inside certificates found, and when so many flips refute them."""

import dataclasses
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from scipy import stats


class Attempt(Protocol):
    """One certified input after the attack; as text it is one line."""

    @property
    def p_value(self) -> float:
        """Of the certified class being at least as probable as another one."""
        ...


Found = TypeVar("Found", bound=Attempt)


@dataclasses.dataclass(frozen=True)
class Refutation(Generic[Found]):
    """What an attack inside certificates found.

    Attributes:
        found: whether the certificate is refuted at the level asked for.
        p_value: the probability, at most, that a sound certificate leaves so many flips or more; 1 for none.
        flips: attacked inputs whose class differs, each shown by a test of its own.
        tested: inputs with a certificate.
        witness: the clearest flip, or the nearest to one; None where nothing was tested.
    """

    found: bool
    p_value: float
    flips: int
    tested: int
    witness: Found | None

    def __str__(self) -> str:
        """Return the finding in one line."""
        return self.told(str(self.witness))

    def told(self, witness: str) -> str:
        """Return the finding in one line, with the witness in the caller's words."""
        if self.witness is None:
            return "not refuted: nothing is certified"
        verdict = "refuted" if self.found else "not refuted"
        return f"{verdict}: {self.flips} of {self.tested} certified flipped, p = {self.p_value:.2g}; {witness}"


def concluded(tested: Sequence[Found], alpha: float, certified_at: float) -> Refutation[Found]:
    """Return what follows from the tests of n attacked inputs.

    A sound certificate flips an input with probability at most ``certified_at``, and a test says so falsely with at
    most alpha / (2 n). The certificate is refuted if so many flips or more among n have a probability of at most alpha
    under that.

    Args:
        tested: one for each input with a certificate.
        alpha: level of the refutation.
        certified_at: the probability that the certificate of one input is wrong.
    """
    if not tested:
        return Refutation(found=False, p_value=1.0, flips=0, tested=0, witness=None)
    single = alpha / (2 * len(tested))
    flips = sum(one.p_value <= single for one in tested)
    p_value = float(stats.binom.sf(flips - 1, len(tested), min(1.0, certified_at + single)))
    return Refutation(p_value <= alpha, p_value, flips, len(tested), min(tested, key=lambda one: one.p_value))

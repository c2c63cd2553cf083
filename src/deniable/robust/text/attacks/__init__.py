"""Attacks on text classifiers: other words in a document's places that lead to another class, found by queries alone.

They ask for logits and use no gradients. A document is attacked where it is classified rightly, with a margin above 0.
"""

from typing import Protocol

from deniable.robust.text.attacks.genetic import genetic
from deniable.robust.text.attacks.greedy import greedy
from deniable.robust.text.attacks.outcome import Attacked
from deniable.robust.text.attacks.resampling import resampling
from deniable.robust.text.copies import Source
from deniable.robust.text.documents import Documents
from deniable.robust.text.network import Scorer


class Attack(Protocol):
    """What every entry of `ATTACKS` can be called as; see `genetic` for the arguments."""

    def __call__(
        self, scorer: Scorer, documents: Documents, source: Source, key: bytes, *, workers: int | None = None
    ) -> Attacked:
        """Return what the attack found."""


ATTACKS: dict[str, Attack] = {"genetic": genetic, "greedy": greedy, "resampling": resampling}
"""The registry: a new attack is one new file and one more entry here."""

__all__ = ["ATTACKS", "Attack", "Attacked", "genetic", "greedy", "resampling"]

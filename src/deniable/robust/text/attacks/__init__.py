"""Attacks on text classifiers: other words in a document's places that lead to another class, found by queries alone.

They ask for logits and use no gradients. A document is attacked where it is classified rightly, with a margin above 0.
"""

from typing import Protocol

from deniable.robust.text.attacks.genetic import run_genetic_attack
from deniable.robust.text.attacks.greedy import run_greedy_attack
from deniable.robust.text.attacks.outcome import TextAttackResult
from deniable.robust.text.attacks.resampling import run_resampling_attack
from deniable.robust.text.copies import SubstituteSource
from deniable.robust.text.documents import Documents
from deniable.robust.text.network import Scorer


class TextAttack(Protocol):
    """What every entry of `TEXT_ATTACKS` can be called as; see `run_genetic_attack` for the arguments."""

    def __call__(
        self, scorer: Scorer, documents: Documents, source: SubstituteSource, key: bytes, *, workers: int | None = None
    ) -> TextAttackResult:
        """Return what the attack found."""


TEXT_ATTACKS: dict[str, TextAttack] = {
    "genetic": run_genetic_attack,
    "greedy": run_greedy_attack,
    "resampling": run_resampling_attack,
}
"""The registry: a new attack is one new file and one more entry here."""

__all__ = [
    "TEXT_ATTACKS",
    "TextAttack",
    "TextAttackResult",
    "run_genetic_attack",
    "run_greedy_attack",
    "run_resampling_attack",
]

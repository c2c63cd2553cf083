"""Attacks on text classifiers: other words in a document's places that lead to another class, found by queries alone.

They ask for logits and use no gradients. A document is attacked where it is classified rightly, with a margin above 0.
"""

from typing import Protocol

from deniable.models.text.attacks.algorithms import run_genetic_attack, run_greedy_attack, run_resampling_attack
from deniable.models.text.attacks.search import TextAttackResult
from deniable.models.text.documents import Documents
from deniable.models.text.networks.base import Scorer
from deniable.models.text.substitutions import SubstituteSource


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

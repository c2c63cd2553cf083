"""Attacks on text classifiers: they replace words of a document until it is classified wrongly, by queries alone.

They use logits and no gradients. A document is attacked where it is classified correctly, with a margin above 0.
"""

from typing import Protocol

from deniable.models.text.attacks.algorithms import run_genetic_attack, run_greedy_attack, run_resampling_attack
from deniable.models.text.attacks.search import TextAttackResult
from deniable.models.text.documents import Documents
from deniable.models.text.networks.base import Scorer
from deniable.models.text.substitutions import SubstituteSource


class TextAttack(Protocol):
    """The signature of the entries of `TEXT_ATTACKS`; see `run_genetic_attack` for the arguments."""

    def __call__(
        self, scorer: Scorer, documents: Documents, source: SubstituteSource, key: bytes, *, workers: int | None = None
    ) -> TextAttackResult:
        """Return the texts that the attack ends with."""


TEXT_ATTACKS: dict[str, TextAttack] = {
    "genetic": run_genetic_attack,
    "greedy": run_greedy_attack,
    "resampling": run_resampling_attack,
}
"""A new attack is one function and one more entry here."""

__all__ = [
    "TEXT_ATTACKS",
    "TextAttack",
    "TextAttackResult",
    "run_genetic_attack",
    "run_greedy_attack",
    "run_resampling_attack",
]

"""How fluent releases of one table are, under one language model of half of its originals."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from deniable.core.arrays import IntArray
from deniable.measure.attackers.language_model import LanguageModel, number_texts
from deniable.measure.fluency import measure_perplexity
from deniable.measure.intervals import Estimate
from deniable.space import Space


@dataclasses.dataclass(frozen=True, eq=False)
class FluencyJudge:
    """A language model of half of the originals.

    Attributes:
        space: whose words it reads.
        model: of one half; None where that has no word of the vocabulary.
        other_rows: rows of the other half, on whose releases it is fair.
    """

    space: Space
    model: LanguageModel | None
    other_rows: IntArray

    def measure_rows(self, texts: Sequence[str]) -> Estimate | None:
        """Return the perplexity of a version of the table, one text a row, from the rows of the other half."""
        return self.measure_texts([texts[row] for row in self.other_rows.tolist()])

    def measure_texts(self, texts: Sequence[str]) -> Estimate | None:
        """Return the perplexity of texts that belong to no row; None where none of their words is known."""
        sequences = number_texts(self.space, texts)
        if self.model is None or not any((words < len(self.space)).any() for words in sequences):
            return None
        return measure_perplexity(self.model, sequences)


def fit_fluency_judge(space: Space, texts: Sequence[str], seed: int) -> FluencyJudge:
    """Return a judge that has read half of the texts, drawn at random."""
    order = np.random.default_rng(seed).permutation(len(texts))
    half = len(texts) // 2
    sequences = number_texts(space, [texts[row] for row in order[:half].tolist()])
    has_words = any((words < len(space)).any() for words in sequences)
    model = LanguageModel.fit(sequences, len(space)) if has_words else None
    return FluencyJudge(space, model, np.sort(order[half:]))

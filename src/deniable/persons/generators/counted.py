r"""Texts of trigram models that are built from noisy counts alone: where there is no public text at all.

For each class, with c the released counts of its words and phrases, R(h) the sum of c(hw) over all w released after
h, and tau the threshold below which nothing was released::

    P(w|h) = c(hw) / T(h)  +  (1 - R(h) / T(h)) P(w|h'),   T(h) = max(c(h), R(h)) + tau

where h' is the history without its first word, and words alone are drawn in proportion to their counts. The label of a
text is what the released classifier says of it.

**Theorem.** If counts and ``knowledge`` are together (epsilon, delta)-DP (`deniable.persons.ngram_counts`), so are
the texts with their labels: they are a function of both and a seed (post-processing, Dwork and Roth 2014, Proposition
2.1).
"""

import dataclasses

import numpy as np

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import InputError
from deniable.core.randomness import derive_key_from_seed, make_generator
from deniable.measure.attackers.language_model import NgramTables
from deniable.persons.generators.knowledge import ReleasedKnowledge, TextGenerator
from deniable.persons.ngram_counts import NgramCounts
from deniable.persons.ngrams import InterpolatedModel

_END_SHARE = 1e-9
"""Probability of the end of a text, which is not counted: texts end with a sentence near their length."""


@dataclasses.dataclass(frozen=True)
class CountedTexts(TextGenerator):
    """Texts of models of released phrases, one model for each class.

    Attributes:
        counts: released words and phrases.

    Raises:
        InputError: a class has no released word.
    """

    counts: NgramCounts

    def write_drafts(self, knowledge: ReleasedKnowledge, count: int, seed: int) -> list[str]:
        """See `TextGenerator`."""
        generator = make_generator(derive_key_from_seed(seed), "counted texts")

        def draft(code: int, lengths: IntArray) -> list[str]:
            model = build_counted_model(self.counts, code, knowledge.classifier.classes[code])
            return model.write_texts(np.zeros(len(model.words)), lengths, generator)

        return knowledge.draft_by_class(knowledge.draw_codes(count, generator), generator, draft)


def build_counted_model(counts: NgramCounts, code: int, class_name: str) -> InterpolatedModel:
    """Return the model of one class; phrases whose words or beginnings were not released are left out.

    Args:
        counts: of all classes.
        code: of the class.
        class_name: of the class, for errors.

    Raises:
        InputError: no word of the class was released.
    """
    places = np.flatnonzero(counts.codes == code).tolist()
    counted = {counts.ngrams[place]: float(counts.counts[place]) for place in places}
    words, pairs, triples = ([ngram for ngram in sorted(counted) if len(ngram) == order] for order in (1, 2, 3))
    if not words:
        raise InputError(
            f"No word of class {class_name!r} was counted often enough to be released: take a larger epsilon, or give "
            "public texts."
        )
    numbers = {word: number for number, (word,) in enumerate(words)}
    pairs = [pair for pair in pairs if numbers.keys() >= {*pair}]
    pair_numbers = {pair: number for number, pair in enumerate(pairs)}
    triples = [triple for triple in triples if triple[:2] in pair_numbers and triple[2] in numbers]
    word_counts, pair_counts, triple_counts = (
        np.array([counted[ngram] for ngram in ngrams]) for ngrams in (words, pairs, triples)
    )
    first, second = np.array([(numbers[u], numbers[v]) for u, v in pairs], dtype=np.int64).reshape(-1, 2).T
    ends = [(pair_numbers[triple[:2]], numbers[triple[2]]) for triple in triples]
    history, third = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    # The end and the start of a text are histories without counts.
    padded = np.append(word_counts, [0.0, 0.0])
    bigram_shares, bigram_backoffs = _interpolate_counts(pair_counts, first, padded, counts.threshold)
    trigram_shares, trigram_backoffs = _interpolate_counts(triple_counts, history, pair_counts, counts.threshold)
    law = NgramTables(
        np.append(word_counts / word_counts.sum(), _END_SHARE),
        _compute_run_starts(first, len(padded)),
        second.astype(np.int32),
        bigram_shares,
        bigram_backoffs,
        _compute_run_starts(history, len(pairs)),
        third.astype(np.int32),
        trigram_shares,
        trigram_backoffs,
    )
    return InterpolatedModel((*numbers,), law)


def _interpolate_counts(
    counts: FloatArray, history: IntArray, history_counts: FloatArray, threshold: float
) -> tuple[FloatArray, FloatArray]:
    """Return the share of each phrase after its history, and the backoff weight of each history."""
    sums = np.bincount(history, counts, minlength=len(history_counts))
    totals = np.maximum(history_counts, sums) + threshold
    return counts / totals[history], 1 - sums / totals


def _compute_run_starts(history: IntArray, histories: int) -> IntArray:
    """Return (histories + 1,) where the entries of each history begin."""
    return np.concatenate([[0], np.cumsum(np.bincount(history, minlength=histories))]).astype(np.int64)

"""Fluency: how surprising released texts are to a language model of original ones, as perplexity per word.

With the trigram model P of other original texts (`deniable.measure.attackers.language_model`), over the N words of the
released texts that the vocabulary has::

    perplexity  =  exp( -(1 / N) sum_i ln P(w_i | w_i-2, w_i-1) )

Texts that read like the originals have about the perplexity of the originals that the model has not seen.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.parallel import compile_loop
from deniable.measure.attackers.language_model import LanguageModel, NgramTables, SymbolNumbers, WordNumbers
from deniable.measure.intervals import Estimate, estimate_clustered_mean


def measure_perplexity(model: LanguageModel, sequences: Sequence[WordNumbers]) -> Estimate:
    """Return the perplexity per word of texts; the interval is over texts, given the model.

    Args:
        model: of other texts, over the V words of a space.
        sequences: texts as word numbers, see `deniable.measure.attackers.language_model.number_texts`; an unknown word
            (number V) is read as one, and not counted.

    Raises:
        InputError: no word of the texts is in the vocabulary.
    """
    words = np.concatenate([np.empty(0, dtype=np.int32), *sequences]).astype(np.int32)
    offsets = np.cumsum([0, *map(len, sequences)])
    sums, counts = np.zeros(len(sequences)), np.zeros(len(sequences), dtype=np.int64)
    _sum_surprisals(words, offsets, model.tables, sums, counts)
    mean = estimate_clustered_mean(sums, counts)
    value, low, high = np.exp([mean.value, mean.low, mean.high]).tolist()
    return dataclasses.replace(mean, value=value, low=low, high=high)


@compile_loop
def _sum_surprisals(
    words: WordNumbers, offsets: SymbolNumbers, tables: NgramTables, sums: FloatArray, counts: IntArray
) -> None:  # pragma: no cover - compiled
    """Write the sum of -ln P over the known words of each text, and their number."""
    unknown = len(tables.unigram_logs) - 1
    start = unknown + 1
    for text in range(len(offsets) - 1):
        pair, last = -1, start
        for place in range(offsets[text], offsets[text + 1]):
            word = words[place]
            entry = _find_entry(tables.bigram_words, tables.bigram_starts[last], tables.bigram_starts[last + 1], word)
            if entry < 0:
                surprisal = -tables.bigram_backoffs[last] - tables.unigram_logs[word]
            else:
                surprisal = -tables.bigram_logs[entry]
            if pair >= 0:
                triple = _find_entry(
                    tables.trigram_words, tables.trigram_starts[pair], tables.trigram_starts[pair + 1], word
                )
                surprisal = surprisal - tables.trigram_backoffs[pair] if triple < 0 else -tables.trigram_logs[triple]
            if word != unknown:
                sums[text] += surprisal
                counts[text] += 1
            pair, last = entry, word


@compile_loop
def _find_entry(words: WordNumbers, low: int, high: int, word: int) -> int:  # pragma: no cover - compiled
    """Return the place of a word in words[low:high], which are sorted; -1 for none."""
    end = high
    while low < high:
        middle = (low + high) // 2
        if words[middle] < word:
            low = middle + 1
        else:
            high = middle
    return low if low < end and words[low] == word else -1

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

import numpy as np

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import InputError, check_count
from deniable.core.randomness import derive_key_from_seed, make_generator
from deniable.persons.generators.knowledge import ReleasedKnowledge, SyntheticTexts, count_drafts, label_texts
from deniable.persons.ngram_counts import NgramCounts
from deniable.persons.ngrams import InterpolatedModel

_END_SHARE = 1e-9
"""Probability of the end of a text, which is not counted: texts end with a sentence near their length."""


def generate_counted_texts(
    knowledge: ReleasedKnowledge, counts: NgramCounts, rows: int, *, seed: int
) -> SyntheticTexts:
    """Return texts of models of released phrases, one model for each class.

    Args:
        knowledge: what was released beside the counts.
        counts: released words and phrases.
        rows: number of texts.
        seed: public; the texts follow from it.

    Raises:
        InputError: no row is asked for, or a class has no released word.
    """
    check_count("generate_counted_texts", "rows", rows)
    generator = make_generator(derive_key_from_seed(seed), "counted texts")
    codes = knowledge.draw_codes(count_drafts(rows), generator)
    lengths = knowledge.draw_lengths(len(codes), generator)
    drafts = [""] * len(codes)
    for code, name in enumerate(knowledge.classes):
        members = np.flatnonzero(codes == code)
        if len(members):
            model = build_counted_model(counts, code, name)
            texts = model.write_texts(np.zeros(len(model.words)), lengths[members], generator)
            for place, text in zip(members.tolist(), texts, strict=True):
                drafts[place] = text
    return label_texts(knowledge, drafts, rows)


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
    tables: list[dict[tuple[str, ...], float]] = [{}, {}, {}]
    for place in places:
        tables[len(counts.ngrams[place]) - 1][counts.ngrams[place]] = float(counts.counts[place])
    words = tuple(ngram[0] for ngram in sorted(tables[0]))
    if not words:
        raise InputError(
            f"No word of class {class_name!r} was counted often enough to be released: take a larger epsilon, or give "
            "public texts."
        )
    numbers = {word: number for number, word in enumerate(words)}
    pairs = sorted((numbers[u], numbers[v]) for u, v in tables[1] if u in numbers and v in numbers)
    pair_numbers = {pair: number for number, pair in enumerate(pairs)}
    triples = sorted(
        (pair_numbers[pair], numbers[w])
        for u, v, w in tables[2]
        if (pair := (numbers.get(u, -1), numbers.get(v, -1))) in pair_numbers and w in numbers
    )
    word_counts = np.array([tables[0][word,] for word in words])
    pair_counts = np.array([tables[1][words[u], words[v]] for u, v in pairs])
    triple_counts = np.array([tables[2][words[pairs[h][0]], words[pairs[h][1]], words[w]] for h, w in triples])
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    history, third = np.array(triples, dtype=np.int64).reshape(-1, 2).T
    # The end and the start of a text are histories without counts.
    padded = np.append(word_counts, [0.0, 0.0])
    bigram_shares, bigram_backoffs = _interpolate_counts(pair_counts, first, padded, counts.threshold)
    trigram_shares, trigram_backoffs = _interpolate_counts(triple_counts, history, pair_counts, counts.threshold)
    return InterpolatedModel(
        words,
        np.append(word_counts / word_counts.sum(), _END_SHARE),
        _compute_run_starts(first, len(padded)),
        second,
        bigram_shares,
        bigram_backoffs,
        _compute_run_starts(history, len(pairs)),
        third,
        trigram_shares,
        trigram_backoffs,
    )


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

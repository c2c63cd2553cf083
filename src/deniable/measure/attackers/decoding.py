"""Forward-backward decoding: the likeliest word at each place of a privatized text, given all of its words.

With x the private text, y the released one and P(x) a trigram model to the power of its weight, the guess at
place i is the word that maximises P(x_i | y_1 ... y_L), which recovers more words on average than the likeliest
whole text would. A state is a pair of words, and at each place only the likeliest states are kept.
"""

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.parallel import compile_loop
from deniable.measure.attackers.language_model import NgramTables, WordNumbers

Positions = npt.NDArray[np.int64]

_NEGLIGIBLE = 1e-6
"""States with less than this share of the likeliest one's probability are dropped."""


@compile_loop
def decode_words(  # pragma: no cover - compiled
    rows: Positions,
    words: WordNumbers,
    chances: FloatArray,
    tables: NgramTables,
    unigram_chances: FloatArray,
    beam: int,
    unknown: int,
    out: WordNumbers,
) -> None:
    """Write the likeliest word of each place, -1 where no candidate is a word of the space.

    With ``beam`` at least the square of the number of candidates, only negligible states are dropped.

    Args:
        rows: (L,) the row of candidates of each place.
        words: (m, K) candidates, ascending within a row; those with probability 0 come last.
        chances: (m, K) P(y|w) of each, times any number of the row's own.
        tables: the language model, tempered, see `deniable.measure.attackers.language_model.NgramTables`.
        unigram_chances: (V + 1,) P(w) after a dropped state, to the same power.
        beam: maximum number of states kept.
        unknown: the symbol of unknown words, which is never a guess.
        out: (L,) written.
    """
    count, width = rows.size, words.shape[1]
    candidate_of_state, state_counts = np.full((count, beam + 1), -1, dtype=np.int32), np.zeros(count, dtype=np.int64)
    alphas, dropped = np.zeros((count + 1, beam + 1)), np.zeros((count, width))
    edges = np.zeros((count, beam + 1, beam + 1), dtype=np.float32)
    contexts, group_of_state = np.full((2, beam + 1), -1)
    previous_words = np.full(min(beam, width) + 1, tables.unigrams.size)
    bigram_chances, mass = np.empty((2, previous_words.size, width))
    pairs = np.empty((previous_words.size, width), dtype=np.int64)
    state_chances = np.empty((beam + 1, width))
    matches, group_of_candidate = np.empty((2, width), dtype=np.int64)
    places, next_contexts = np.empty(beam, dtype=np.int64), np.empty(beam, dtype=np.int64)
    alphas[0, 0], group_of_state[0] = 1.0, 0
    state_count, group_count = 1, 1
    for i in range(count):
        chance = chances[rows[i]]
        size = np.sum(chance > 0)
        candidates = words[rows[i], :size]
        for p in range(group_count):
            look_up_after_word(candidates, previous_words[p], tables, unigram_chances, bigram_chances[p], pairs[p])
            mass[p] = 0.0
        for b in range(state_count):
            look_up_after_pair(
                candidates, contexts[b], tables, bigram_chances[group_of_state[b]], matches, state_chances[b]
            )
            for k in range(size):
                state_chances[b, k] *= chance[k]
                mass[group_of_state[b], k] += alphas[i, b] * state_chances[b, k]
        kept_count = _select_states(mass[:group_count, :size], alphas[i + 1], places)
        dropped_mass = _drop_states(mass[:group_count, :size], places[:kept_count], dropped[i])
        total = np.sum(alphas[i + 1, :kept_count]) + dropped_mass
        alphas[i + 1, :kept_count] /= total
        alphas[i + 1, kept_count] = dropped_mass / total
        dropped[i] /= total
        _write_transitions(state_chances[:state_count, :size], group_of_state, places[:kept_count], total, edges[i])
        group_of_candidate[:] = -1
        group_count = 0
        for n in range(kept_count):
            p, k = places[n] // size, places[n] % size
            candidate_of_state[i, n], next_contexts[n] = k, pairs[p, k]
            if group_of_candidate[k] < 0:
                group_of_candidate[k] = group_count
                previous_words[group_count] = candidates[k]
                group_count += 1
            group_of_state[n] = group_of_candidate[k]
        contexts[:kept_count] = next_contexts[:kept_count]
        state_count = kept_count
        if dropped_mass > _NEGLIGIBLE * total:
            contexts[kept_count], group_of_state[kept_count], previous_words[group_count] = -1, group_count, -1
            state_count, group_count = kept_count + 1, group_count + 1
        state_counts[i] = state_count
    _write_best_words(rows, words, alphas, dropped, edges, candidate_of_state, state_counts, unknown, out)


@compile_loop
def _drop_states(mass: FloatArray, places: Positions, dropped: FloatArray) -> float:  # pragma: no cover - compiled
    """Write the mass of each candidate that no kept state has, and return its sum."""
    for place in places:
        mass[place // mass.shape[1], place % mass.shape[1]] = 0.0
    for p in range(mass.shape[0]):
        for k in range(mass.shape[1]):
            dropped[k] += mass[p, k]
    return np.sum(dropped)


@compile_loop
def _write_transitions(  # pragma: no cover - compiled
    state_chances: FloatArray,
    group_of_state: Positions,
    places: Positions,
    total: float,
    edges: npt.NDArray[np.float32],
) -> None:
    """Write the probability of going from each state (row) to each kept one, and last to any dropped one."""
    size = state_chances.shape[1]
    for b in range(state_chances.shape[0]):
        dropped_mass = np.sum(state_chances[b])
        for n in range(places.size):
            if group_of_state[b] == places[n] // size:
                edges[b, n] = state_chances[b, places[n] % size] / total
                dropped_mass -= state_chances[b, places[n] % size]
        edges[b, places.size] = max(dropped_mass, 0.0) / total


@compile_loop
def _write_best_words(  # pragma: no cover - compiled
    rows: Positions,
    words: WordNumbers,
    alphas: FloatArray,
    dropped: FloatArray,
    edges: npt.NDArray[np.float32],
    candidate_of_state: WordNumbers,
    state_counts: Positions,
    unknown: int,
    out: WordNumbers,
) -> None:
    """Go back through the states, and write the word of the largest sum of alpha * beta."""
    betas, previous_betas = np.ones(alphas.shape[1]), np.empty(alphas.shape[1])
    chances = np.empty(words.shape[1])
    for i in range(rows.size - 1, -1, -1):
        chances[:] = 0.0
        for n in range(state_counts[i]):
            if candidate_of_state[i, n] < 0:
                chances += dropped[i] * betas[n]
            else:
                chances[candidate_of_state[i, n]] += alphas[i + 1, n] * betas[n]
        out[i] = -1
        best_chance = 0.0
        for k in range(chances.size):
            if chances[k] > best_chance and words[rows[i], k] != unknown:
                out[i], best_chance = words[rows[i], k], chances[k]
        if i > 0:
            previous_betas[:] = 0.0
            for b in range(state_counts[i - 1]):
                for n in range(state_counts[i]):
                    previous_betas[b] += edges[i, b, n] * betas[n]
            betas[:] = previous_betas / previous_betas.max()


@compile_loop
def _select_states(mass: FloatArray, top_masses: FloatArray, places: Positions) -> int:  # pragma: no cover - compiled
    """Write the largest masses of words k after words p, in order, and p * K + k; return the number kept."""
    state_count, width = 0, mass.shape[1]
    for p in range(mass.shape[0]):
        for k in range(width):
            score = mass[p, k]
            if (state_count == places.size and score <= top_masses[state_count - 1]) or (
                state_count and score < _NEGLIGIBLE * top_masses[0]
            ):
                continue
            place = min(state_count, places.size - 1)
            while place > 0 and top_masses[place - 1] < score:
                top_masses[place], places[place] = top_masses[place - 1], places[place - 1]
                place -= 1
            top_masses[place], places[place] = score, p * width + k
            state_count = min(state_count + 1, places.size)
    while top_masses[state_count - 1] < _NEGLIGIBLE * top_masses[0]:
        state_count -= 1
    return state_count


@compile_loop
def look_up_after_word(  # pragma: no cover - compiled
    candidates: WordNumbers,
    previous_word: int,
    tables: NgramTables,
    unigram_chances: FloatArray,
    bigram_chances: FloatArray,
    pairs: Positions,
) -> None:
    """Write P(w|previous word) of every candidate, and the entry of the pair in `bigram_words`, -1 for none."""
    if previous_word < 0:
        for k in range(candidates.size):
            bigram_chances[k], pairs[k] = unigram_chances[candidates[k]], -1
        return
    _find_words(
        candidates,
        tables.bigram_words,
        tables.bigram_starts[previous_word],
        tables.bigram_starts[previous_word + 1],
        pairs,
    )
    for k in range(candidates.size):
        if pairs[k] < 0:
            bigram_chances[k] = tables.bigram_backoffs[previous_word] * tables.unigrams[candidates[k]]
        else:
            bigram_chances[k] = tables.bigrams[pairs[k]]


@compile_loop
def look_up_after_pair(  # pragma: no cover - compiled
    candidates: WordNumbers,
    pair: int,
    tables: NgramTables,
    bigram_chances: FloatArray,
    matches: Positions,
    trigram_chances: FloatArray,
) -> None:
    """Write P(w|pair) of every candidate, from its probability after the pair's second word alone."""
    if pair < 0 or tables.trigram_starts[pair] == tables.trigram_starts[pair + 1]:
        trigram_chances[: candidates.size] = bigram_chances[: candidates.size]
        return
    backoff = tables.trigram_backoffs[pair]
    for k in range(candidates.size):
        trigram_chances[k] = backoff * bigram_chances[k]
    if _find_words(
        candidates, tables.trigram_words, tables.trigram_starts[pair], tables.trigram_starts[pair + 1], matches
    ):
        for k in range(candidates.size):
            if matches[k] >= 0:
                trigram_chances[k] = tables.trigrams[matches[k]]


@compile_loop
def _find_words(
    candidates: WordNumbers, words: WordNumbers, start: int, end: int, matches: Positions
) -> int:  # pragma: no cover - compiled
    """Write the place of each candidate in words[start:end], -1 for none, both sorted; return the number of matches."""
    matches[: candidates.size] = -1
    hits = 0
    if end - start < candidates.size:
        for place in range(start, end):
            k = np.searchsorted(candidates, words[place])
            if k < candidates.size and candidates[k] == words[place]:
                matches[k] = place
                hits += 1
    else:
        for k in range(candidates.size):
            start += np.searchsorted(words[start:end], candidates[k])
            if start == end:
                break
            if words[start] == candidates[k]:
                matches[k] = start
                hits += 1
    return hits

"""The likeliest word at each place of a privatized text, given all of its words: a forward-backward search.

With x the private text, y the released one and P(x) a trigram model to the power of its weight, the guess at
place i is the word that maximises P(x_i | y_1 ... y_L), which recovers more words on average than the likeliest
text as a whole does. A state is a pair of words, and at each place the likeliest few states are kept.
"""

import numpy as np
import numpy.typing as npt

from deniable.measure.attackers.language import Tables, Words
from deniable.measure.attackers.lookup import after_pair, after_word
from deniable.parallel import compiled
from deniable.space.metrics import Array

Places = npt.NDArray[np.int64]
_NEGLIGIBLE = 1e-6
"""States that are less likely than this, beside the likeliest one, are dropped."""


@compiled
def decode(  # pragma: no cover - compiled
    rows: Places, words: Words, chances: Array, tables: Tables, alone: Array, beam: int, unknown: int, out: Words
) -> None:
    """Write the likeliest word of each place, -1 where no candidate names one.

    With ``beam`` at least the square of the number of candidates nothing is dropped but the negligible.

    Args:
        rows: (L,) which row of candidates each place has.
        words: (m, K) candidates, ascending within a row; those of chance 0 come last.
        chances: (m, K) P(y|w) of each, times any number of the row's own.
        tables: the language model, see `deniable.measure.attackers.lookup.powered`.
        alone: (V + 1,) P(w) after a dropped state, to the same power.
        beam: states kept.
        unknown: the symbol of unknown words, which is never named.
        out: (L,) written.
    """
    count, width = rows.size, words.shape[1]
    slots, helds = np.full((count, beam + 1), -1, dtype=np.int32), np.zeros(count, dtype=np.int64)
    alphas, dropped = np.zeros((count + 1, beam + 1)), np.zeros((count, width))
    edges = np.zeros((count, beam + 1, beam + 1), dtype=np.float32)
    contexts, group = np.full((2, beam + 1), -1)
    previous = np.full(min(beam, width) + 1, tables.logs1.size)
    plain, mass = np.empty((2, previous.size, width))
    pairs = np.empty((previous.size, width), dtype=np.int64)
    lines = np.empty((beam + 1, width))
    found, seen = np.empty((2, width), dtype=np.int64)
    places, fresh = np.empty(beam, dtype=np.int64), np.empty(beam, dtype=np.int64)
    alphas[0, 0], group[0] = 1.0, 0
    held, groups = 1, 1
    for i in range(count):
        chance = chances[rows[i]]
        size = np.sum(chance > 0)
        here = words[rows[i], :size]
        for p in range(groups):
            after_word(here, previous[p], tables, alone, plain[p], pairs[p])
            mass[p] = 0.0
        for b in range(held):
            after_pair(here, contexts[b], tables, plain[group[b]], found, lines[b])
            for k in range(size):
                lines[b, k] *= chance[k]
                mass[group[b], k] += alphas[i, b] * lines[b, k]
        kept = _best(mass[:groups, :size], alphas[i + 1], places)
        rest = _drop(mass[:groups, :size], places[:kept], dropped[i])
        total = np.sum(alphas[i + 1, :kept]) + rest
        alphas[i + 1, :kept] /= total
        alphas[i + 1, kept] = rest / total
        dropped[i] /= total
        _connect(lines[:held, :size], group, places[:kept], total, edges[i])
        seen[:] = -1
        groups = 0
        for n in range(kept):
            p, k = places[n] // size, places[n] % size
            slots[i, n], fresh[n] = k, pairs[p, k]
            if seen[k] < 0:
                seen[k] = groups
                previous[groups] = here[k]
                groups += 1
            group[n] = seen[k]
        contexts[:kept] = fresh[:kept]
        held = kept
        if rest > _NEGLIGIBLE * total:
            contexts[kept], group[kept], previous[groups] = -1, groups, -1
            held, groups = kept + 1, groups + 1
        helds[i] = held
    _name(rows, words, alphas, dropped, edges, slots, helds, unknown, out)


@compiled
def _drop(mass: Array, places: Places, dropped: Array) -> float:  # pragma: no cover - compiled
    """Write how much of each candidate is in no state that was kept, and return the sum."""
    for place in places:
        mass[place // mass.shape[1], place % mass.shape[1]] = 0.0
    for p in range(mass.shape[0]):
        for k in range(mass.shape[1]):
            dropped[k] += mass[p, k]
    return np.sum(dropped)


@compiled
def _connect(  # pragma: no cover - compiled
    lines: Array, group: Places, places: Places, total: float, edges: npt.NDArray[np.float32]
) -> None:
    """Write how likely each state (row) goes on to each kept one, and last to those dropped, with what is released."""
    size = lines.shape[1]
    for b in range(lines.shape[0]):
        rest = np.sum(lines[b])
        for n in range(places.size):
            if group[b] == places[n] // size:
                edges[b, n] = lines[b, places[n] % size] / total
                rest -= lines[b, places[n] % size]
        edges[b, places.size] = max(rest, 0.0) / total


@compiled
def _name(  # pragma: no cover - compiled
    rows: Places,
    words: Words,
    alphas: Array,
    dropped: Array,
    edges: npt.NDArray[np.float32],
    slots: Words,
    helds: Places,
    unknown: int,
    out: Words,
) -> None:
    """Go back through the states, and write the word of the largest sum of alpha * beta."""
    betas, before = np.ones(alphas.shape[1]), np.empty(alphas.shape[1])
    chances = np.empty(words.shape[1])
    for i in range(rows.size - 1, -1, -1):
        chances[:] = 0.0
        for n in range(helds[i]):
            if slots[i, n] < 0:
                chances += dropped[i] * betas[n]
            else:
                chances[slots[i, n]] += alphas[i + 1, n] * betas[n]
        out[i] = -1
        most = 0.0
        for k in range(chances.size):
            if chances[k] > most and words[rows[i], k] != unknown:
                out[i], most = words[rows[i], k], chances[k]
        if i > 0:
            before[:] = 0.0
            for b in range(helds[i - 1]):
                for n in range(helds[i]):
                    before[b] += edges[i, b, n] * betas[n]
            betas[:] = before / before.max()


@compiled
def _best(mass: Array, top: Array, places: Places) -> int:  # pragma: no cover - compiled
    """Write the largest masses of words k after words p, in order, and p * K + k; return how many are kept."""
    held, width = 0, mass.shape[1]
    for p in range(mass.shape[0]):
        for k in range(width):
            score = mass[p, k]
            if (held == places.size and score <= top[held - 1]) or (held and score < _NEGLIGIBLE * top[0]):
                continue
            at = min(held, places.size - 1)
            while at > 0 and top[at - 1] < score:
                top[at], places[at] = top[at - 1], places[at - 1]
                at -= 1
            top[at], places[at] = score, p * width + k
            held = min(held + 1, places.size)
    while top[held - 1] < _NEGLIGIBLE * top[0]:
        held -= 1
    return held

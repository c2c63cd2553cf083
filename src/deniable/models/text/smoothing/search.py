"""The search for the text covered by a certificate whose class a smoothed classifier is least sure of."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.randomness import Streams
from deniable.models.text.documents import IndexedTexts, WordIds, concatenate_texts
from deniable.models.text.networks.base import Scorer
from deniable.models.text.smoothing.sampling import draw_noisy_versions, score_in_parts
from deniable.models.text.substitutions import Substitutions
from deniable.space import Space
from deniable.words import WordMechanism

_MAX_DRAWN_WORDS = 1 << 21
"""Maximum number of words drawn at a time, which bounds memory."""
_TINY = 1e-12


@dataclasses.dataclass(frozen=True, eq=False)
class BudgetedReplacements:
    """Candidate changes of one text: m single replacements with costs, and a budget.

    Attributes:
        text: (L,) words.
        positions: (m,) positions in the text.
        words: (m,) the new words.
        distances: (m,) of the new words from the old ones.
        costs: (m,) of the replacements.
        budget: upper bound on the total cost of the replacements of a text.
    """

    text: WordIds
    positions: npt.NDArray[np.int64]
    words: WordIds
    distances: FloatArray
    costs: FloatArray
    budget: float

    def apply(self, chosen: Sequence[int]) -> WordIds:
        """Return the text with some of the replacements."""
        words = self.text.copy()
        words[self.positions[list(chosen)]] = self.words[list(chosen)]
        return words

    def fill_budget(self, order: Sequence[int]) -> list[int]:
        """Return replacements taken in an order, at most one for a position, within the budget."""
        remaining, replacements, used_positions = self.budget, [], set()
        for replacement in order:
            if self.costs[replacement] <= remaining and self.positions[replacement] not in used_positions:
                remaining -= self.costs[replacement]
                used_positions.add(self.positions[replacement])
                replacements.append(replacement)
        return replacements


@dataclasses.dataclass(frozen=True, eq=False)
class SmoothedSearch:
    """The comparison of versions of one text: by their mean margin over the same noise."""

    mechanism: WordMechanism
    scorer: Scorer
    label: int
    streams: Streams
    draws: int
    workers: int | None

    def compute_leads(self, candidates: IndexedTexts) -> FloatArray:
        """Return the lead (n,) of the label, in [-1, 1]: the mean of tanh of half the margin of logits."""
        leads = np.empty(len(candidates))
        batch_size = max(1, _MAX_DRAWN_WORDS // (self.draws * max(int(candidates.lengths.max()), 1)))
        for first in range(0, len(candidates), batch_size):
            batch = candidates.take(np.arange(first, min(first + batch_size, len(candidates))))
            # The same stream for each: candidates differ by their replacements, not by the noise.
            streams = dataclasses.replace(self.streams, starts=[self.streams.starts[0]] * len(batch))
            noisy_texts = draw_noisy_versions(self.mechanism, batch, [self.draws] * len(batch), streams, self.workers)
            logits = np.concatenate(
                [part for _, part in score_in_parts(self.scorer, noisy_texts, np.zeros(len(noisy_texts), np.int64))]
            )
            rival_logits = np.delete(logits, self.label, axis=1).max(axis=1)
            margins = np.tanh((logits[:, self.label] - rival_logits) / 2)
            leads[first : first + len(batch)] = margins.reshape(len(batch), self.draws).mean(axis=1)
        return leads


def search_hardest_text(
    search: SmoothedSearch, replacements: BudgetedReplacements, tries: int, rng: np.random.Generator
) -> tuple[WordIds, float]:
    """Return the text with the least lead among those tried, and its distance."""
    if not len(replacements.positions):
        return replacements.text, 0.0
    singles = [replacements.apply([replacement]) for replacement in range(len(replacements.positions))]
    gains = search.compute_leads(concatenate_texts([replacements.text]))[0] - search.compute_leads(
        concatenate_texts(singles)
    )  # (m,)
    rates = gains / np.maximum(replacements.costs, _TINY)
    # The largest gains first, then the largest gains per cost, then the latter with random factors.
    orders = [np.argsort(-gains), *(np.argsort(-rates * odds) for odds in (1, *rng.random((tries, len(rates)))))]
    effective_orders = [[int(replacement) for replacement in order if gains[replacement] > 0] for order in orders]
    plans = [replacements.fill_budget(order) for order in effective_orders]
    leads = search.compute_leads(concatenate_texts([replacements.apply(plan) for plan in plans]))
    best = plans[int(np.argmin(leads))]
    return replacements.apply(best), float(replacements.distances[best].sum())


def list_replacements_within(
    space: Space, text: WordIds, distance: float, choices_per_position: int, rng: np.random.Generator
) -> BudgetedReplacements:
    """Return replacements by any word within a distance: half of them the nearest, the others at random.

    Args:
        space: of the mechanism.
        text: (L,) words.
        distance: exclusive bound on the total distance.
        choices_per_position: maximum number of replacements of one position.
        rng: of the random ones.
    """

    def choose_near(word: int, row: FloatArray) -> WordIds:
        order = np.argsort(row, kind="stable")[: int((row < distance).sum())]
        order = order[(row[order] > 0) & (order != word)]
        far_words = rng.permutation(order[choices_per_position // 2 :])
        return np.concatenate(
            [order[: choices_per_position // 2], far_words[: choices_per_position - choices_per_position // 2]]
        )

    positions, words, distances = _list_replacements(space, text, choose_near)
    return BudgetedReplacements(text, positions, words, distances, distances, distance * (1 - _TINY))


def list_replacements_among(
    space: Space,
    text: WordIds,
    replacements: Substitutions | None,
    changes: int,
    choices_per_position: int,
    rng: np.random.Generator,
) -> BudgetedReplacements:
    """Return replacements by the words of sets, or by any word, of at most ``changes`` words of a text.

    The other arguments are those of `list_replacements_within`.
    """

    def choose_allowed(word: int, row: FloatArray) -> WordIds:
        allowed_words = np.arange(len(row)) if replacements is None else replacements.choices_of(word)
        return rng.permutation(allowed_words[allowed_words != word])[:choices_per_position]

    positions, words, distances = _list_replacements(space, text, choose_allowed)
    return BudgetedReplacements(text, positions, words, distances, np.ones(len(positions)), changes)


def _list_replacements(
    space: Space, text: WordIds, choose_words: Callable[[int, FloatArray], WordIds]
) -> tuple[npt.NDArray[np.int64], WordIds, FloatArray]:
    """Return positions, words and distances of the replacements that ``choose_words`` gives for every word."""
    distinct_words, inverse = np.unique(text, return_inverse=True)
    rows = space.distances(space.point_by_word[distinct_words])[:, space.point_by_word]  # (kinds, V)
    chosen_words = [choose_words(int(distinct_words[index]), rows[index]) for index in inverse]
    distances = [rows[index, words] for index, words in zip(inverse, chosen_words, strict=True)]
    positions = np.repeat(np.arange(len(text)), [len(words) for words in chosen_words])
    return positions, np.concatenate(chosen_words).astype(np.int32), np.concatenate(distances)

"""Three attacks: genetic (Alzantot et al. 2018; Jia et al. 2019), greedy, and resampling of the whole text."""

import dataclasses

import numpy as np
import numpy.typing as npt

from deniable.core.errors import check_count
from deniable.core.randomness import make_generator
from deniable.models.text.attack_search import (
    TEXTS_PER_ROUND,
    AttackSearch,
    AttackTargets,
    Margins,
    TextAttack,
    WordChanges,
)
from deniable.models.text.documents import IndexedTexts, RowIndices, WordIds
from deniable.models.text.substitutions import (
    SubstituteSource,
    Substitutions,
    draw_replacements,
    find_replaceable_words,
)


@dataclasses.dataclass(frozen=True)
class GeneticAttack(TextAttack):
    """Breeds texts of ever lower margin (Alzantot et al. 2018, Algorithm 1; Jia et al. 2019, section 5).

    The first population is versions of the document with one word changed. A generation is the best text of the last
    one, and children of two parents drawn in proportion to sigmoid(-margin): each word is taken from either with
    probability 1/2, then one word is changed. A mutation is one draw; Alzantot et al. and Jia et al. score all choices
    at the position and take the best, which costs a query for each.

    Attributes:
        population: texts in a generation, >= 2; the default is that of Jia et al. (section 5), as of generations.
        generations: maximum number of generations, >= 1.
    """

    population: int = 60
    generations: int = 40

    def __post_init__(self) -> None:
        check_count("the genetic attack", "population", self.population, minimum=2)
        check_count("the genetic attack", "generations", self.generations)

    @property
    def query_budget(self) -> int:
        """Maximum number of texts that it scores, without the document itself."""
        return self.population + self.generations * (self.population - 1)

    def start_searches(
        self, targets: AttackTargets, source: SubstituteSource, workers: int | None
    ) -> list[AttackSearch]:
        """See `TextAttack.start_searches`."""
        changes = draw_mutations(source, targets, self.query_budget, workers)
        rngs = [make_generator(targets.key, "attack", "breeding", name) for name in targets.stream_names]
        starts = zip(targets.texts, changes, rngs, strict=True)
        return [_search_genetic(*start, self.population) for start in starts]

    def count_draws(self, lengths: RowIndices) -> RowIndices:
        """See `TextAttack.count_draws`."""
        return np.full_like(lengths, self.query_budget)

    def count_round_texts(self) -> int:
        """See `TextAttack.count_round_texts`."""
        return self.population


def draw_mutations(
    source: SubstituteSource, targets: AttackTargets, count: int, workers: int | None
) -> list[WordChanges]:
    """Return a number of changes of each text: of a word drawn uniformly among the replaceable ones, by a draw for it.

    All are drawn at once: a mechanism then computes the law of a word once for all texts.
    """
    counts = [count] * len(targets.texts)
    replaceable_positions = [np.flatnonzero(find_replaceable_words(source, text)) for text in targets.texts]
    choices = targets.make_streams("positions", counts).uniform_below(
        np.repeat([len(candidates) for candidates in replaceable_positions], count)
    )
    positions = [
        candidates[indices]
        for candidates, indices in zip(replaceable_positions, choices.reshape(-1, count), strict=True)
    ]
    originals = np.concatenate([text[indices] for text, indices in zip(targets.texts, positions, strict=True)])
    streams = targets.make_streams("words", counts)
    words = draw_replacements(source, originals, streams, workers, is_own_allowed=False).reshape(-1, count)
    return [WordChanges(indices, new_words) for indices, new_words in zip(positions, words, strict=True)]


def _search_genetic(text: WordIds, changes: WordChanges, rng: np.random.Generator, population: int) -> AttackSearch:
    """Search from one text (L,); each scored text uses the next of the changes."""
    individuals = changes.apply_each(text, 0, population)  # (P, L)
    margins = yield individuals
    for used in range(population, len(changes.positions), population - 1):
        children = _cross_over_parents(individuals, margins, rng)  # (P - 1, L)
        next_changes = slice(used, used + len(children))
        children[np.arange(len(children)), changes.positions[next_changes]] = changes.words[next_changes]
        scores = yield children
        best = np.argmin(margins)
        individuals = np.concatenate([individuals[best, None], children])
        margins = np.append(margins[best], scores)


def _cross_over_parents(individuals: WordIds, margins: Margins, rng: np.random.Generator) -> WordIds:
    """Return one child fewer than there are individuals (P, L), before mutation."""
    first, second = _select_parents(margins, rng, len(individuals) - 1)
    from_first: npt.NDArray[np.bool_] = rng.integers(0, 2, (len(first), individuals.shape[1]), dtype=np.bool_)
    children: WordIds = np.where(from_first, individuals[first], individuals[second])
    return children


def _select_parents(margins: Margins, rng: np.random.Generator, count: int) -> RowIndices:
    """Return the indices (2, count) of parents, drawn with replacement in proportion to sigmoid(-margin) (P,)."""
    log_weights = -np.logaddexp(0, margins)  # however large the margins, the fittest keeps its weight
    weights = np.exp(log_weights - log_weights.max())
    return rng.choice(len(margins), (2, count), p=weights / weights.sum())


@dataclasses.dataclass(frozen=True)
class GreedyAttack(TextAttack):
    """Scores every change of one word, then takes the best of each position while they lower the margin.

    It finds the worst text where the margin is a sum over words; elsewhere two changes may help only together.

    Attributes:
        tries: number of draws of a mechanism for each position, >= 1; of sets all substitutes are scored.
    """

    tries: int = 8

    def __post_init__(self) -> None:
        check_count("the greedy attack", "tries", self.tries)

    def start_searches(
        self, targets: AttackTargets, source: SubstituteSource, workers: int | None
    ) -> list[AttackSearch]:
        """See `TextAttack.start_searches`."""
        singles = list_single_changes(source, targets, self.tries, workers)
        starts = zip(targets.texts, singles, targets.margins.tolist(), strict=True)
        return [_search_greedy(*start) for start in starts]

    def count_draws(self, lengths: RowIndices) -> RowIndices:
        """See `TextAttack.count_draws`."""
        return self.tries * lengths


def list_single_changes(
    source: SubstituteSource, targets: AttackTargets, tries: int, workers: int | None
) -> list[WordChanges]:
    """Return the distinct changes of one word to try on each text: all of sets, or those among ``tries`` draws."""
    changes = []
    if isinstance(source, Substitutions):
        for text in targets.texts:
            is_other = np.arange(1, source.choices.shape[1]) < source.choice_counts[text][:, None]  # (L, k - 1)
            changes.append(WordChanges(np.nonzero(is_other)[0], source.choices[text, 1:][is_other]))
        return changes
    originals = np.repeat(targets.texts.words, tries)
    streams = targets.make_streams("singles", (tries * targets.texts.lengths).tolist())
    drawn = IndexedTexts(source.draw_words(originals, streams, workers), tries * targets.texts.offsets)
    for text, words in zip(targets.texts, drawn, strict=True):
        draws = words.reshape(-1, tries)  # (L, tries)
        positions, indices = np.nonzero(draws != text[:, None])
        pairs = np.unique(np.stack([positions, draws[positions, indices]], axis=1), axis=0)  # (c, 2)
        changes.append(WordChanges(pairs[:, 0], pairs[:, 1].astype(np.int32)))
    return changes


def _search_greedy(text: WordIds, changes: WordChanges, margin: float) -> AttackSearch:
    """Search from one text (L,) of some margin."""
    margins = np.empty(len(changes.positions))
    for start in range(0, len(margins), TEXTS_PER_ROUND):
        versions = changes.apply_each(text, start, start + TEXTS_PER_ROUND)
        margins[start : start + TEXTS_PER_ROUND] = yield versions
    order = np.argsort(margins, kind="stable")
    order = order[margins[order] < margin]
    _, first = np.unique(changes.positions[order], return_index=True)
    order = order[np.sort(first)]  # the best change of each position, the lowest margin first
    for rank, change in enumerate(order.tolist()):
        version = changes.apply_each(text, change, change + 1)
        score = (yield version)[0] if rank else margins[change]  # the first is known already
        if score < margin:
            text, margin = version[0], score


@dataclasses.dataclass(frozen=True)
class ResamplingAttack(TextAttack):
    """Draws every word again until the classifier errs.

    Under a mechanism these are the texts that it releases; under sets every choice of a word is equally likely, the
    word itself among them.

    Attributes:
        draws: maximum number of texts to try, >= 1; by default that of the genetic attack.
    """

    draws: int = GeneticAttack().query_budget

    def __post_init__(self) -> None:
        check_count("the resampling attack", "draws", self.draws)

    def start_searches(
        self, targets: AttackTargets, source: SubstituteSource, workers: int | None
    ) -> list[AttackSearch]:
        """See `TextAttack.start_searches`."""
        return [_search_resampling(copies) for copies in redraw_texts(source, targets, self.draws, workers)]

    def count_draws(self, lengths: RowIndices) -> RowIndices:
        """See `TextAttack.count_draws`."""
        return self.draws * lengths


def redraw_texts(source: SubstituteSource, targets: AttackTargets, count: int, workers: int | None) -> list[WordIds]:
    """Return copies (count, L) of each text with every word drawn again."""
    originals = np.concatenate([np.tile(text, count) for text in targets.texts])
    streams = targets.make_streams("redraws", (count * targets.texts.lengths).tolist())
    words = draw_replacements(source, originals, streams, workers, is_own_allowed=True)
    return [copies.reshape(count, -1) for copies in IndexedTexts(words, count * targets.texts.offsets)]


def _search_resampling(copies: WordIds) -> AttackSearch:
    """Try copies (c, L) of one text, some at a time."""
    for start in range(0, len(copies), TEXTS_PER_ROUND):
        yield copies[start : start + TEXTS_PER_ROUND]


TEXT_ATTACKS: dict[str, TextAttack] = {
    "genetic": GeneticAttack(),
    "greedy": GreedyAttack(),
    "resampling": ResamplingAttack(),
}
"""Attacks by name; a new one is one class and one more entry here."""

"""Three attacks: genetic (Alzantot et al. 2018; Jia et al. 2019), greedy, and resampling of the whole text."""

import numpy as np
import numpy.typing as npt

from deniable.core.errors import check_count
from deniable.models.text.attacks.replacements import (
    AttackTargets,
    Margins,
    WordChanges,
    draw_mutations,
    make_replacements,
    redraw_texts,
)
from deniable.models.text.attacks.search import (
    TEXTS_PER_ROUND,
    AttackSearch,
    TextAttackResult,
    run_attack,
)
from deniable.models.text.documents import Documents, RowIndices, WordIds
from deniable.models.text.networks.base import Scorer
from deniable.models.text.substitutions import SubstituteSource

POPULATION, GENERATIONS = 60, 40
"""Those of Jia et al. 2019 (section 5)."""


def compute_query_budget(population: int = POPULATION, generations: int = GENERATIONS) -> int:
    """Return the maximum number of texts that the genetic attack scores, without the document itself."""
    return population + generations * (population - 1)


def run_genetic_attack(
    scorer: Scorer,
    documents: Documents,
    source: SubstituteSource,
    key: bytes,
    *,
    population: int = POPULATION,
    generations: int = GENERATIONS,
    workers: int | None = None,
) -> TextAttackResult:
    """Breed texts of ever lower margin (Alzantot et al. 2018, Algorithm 1; Jia et al. 2019, section 5).

    The first population is versions of the document with one word changed. A generation is the best text of the last
    one, and children of two parents drawn in proportion to sigmoid(-margin): each word is taken from either with
    probability 1/2, then one word is changed. A mutation is one draw; Alzantot et al. and Jia et al. score all choices
    at the position and take the best, which costs a query for each.

    Args:
        scorer: of versions of the documents.
        documents: with their true labels; those classified wrongly are not attacked.
        source: sets of substitutions, or a mechanism.
        key: 32 bytes; the draws for a document depend on the key and the document alone.
        population: texts in a generation, >= 2.
        generations: maximum number of generations, >= 1.
        workers: threads that draw for the mechanism; the result does not depend on them.

    Raises:
        InputError: an option outside its domain, or what `deniable.models.text.attacks.search.run_attack` refuses.
    """
    check_count("the genetic attack", "population", population, minimum=2)
    check_count("the genetic attack", "generations", generations)
    replacements = make_replacements(source)
    budget = compute_query_budget(population, generations)

    def start_searches(targets: AttackTargets) -> list[AttackSearch]:
        changes = draw_mutations(replacements, targets, budget, workers)
        generators = targets.make_generators("breeding")
        return [
            _search_genetic(*arguments, population)
            for arguments in zip(targets.texts, changes, generators, strict=True)
        ]

    return run_attack(
        scorer,
        documents,
        replacements,
        key,
        start_searches,
        lambda lengths: np.full_like(lengths, budget),
        texts_per_round=population,
    )


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
    log_weights = -np.logaddexp(
        0, margins
    )  # ln sigmoid(-margin): however large the margins, the fittest keeps its weight
    weights = np.exp(log_weights - log_weights.max())
    return rng.choice(len(margins), (2, count), p=weights / weights.sum())


def run_greedy_attack(
    scorer: Scorer,
    documents: Documents,
    source: SubstituteSource,
    key: bytes,
    *,
    tries: int = 8,
    workers: int | None = None,
) -> TextAttackResult:
    """Score every change of one word, then take the best of each position while they lower the margin.

    It finds the worst text where the margin is a sum over words; elsewhere two changes may help only together.

    Args:
        scorer: of versions of the documents.
        documents: with their true labels; those classified wrongly are not attacked.
        source: sets of substitutions, of which all are scored, or a mechanism.
        key: 32 bytes; the draws for a document depend on the key and the document alone.
        tries: number of draws of a mechanism for each position, >= 1.
        workers: threads that draw for the mechanism; the result does not depend on them.

    Raises:
        InputError: an option outside its domain, or what `deniable.models.text.attacks.search.run_attack` refuses.
    """
    check_count("the greedy attack", "tries", tries)
    replacements = make_replacements(source)

    def start_searches(targets: AttackTargets) -> list[AttackSearch]:
        singles = replacements.list_single_changes(targets, tries, workers)
        starts = zip(targets.texts, singles, targets.margins.tolist(), strict=True)
        return [_search_greedy(text, changes, margin) for text, changes, margin in starts]

    return run_attack(scorer, documents, replacements, key, start_searches, lambda lengths: tries * lengths)


def _search_greedy(text: WordIds, changes: WordChanges, margin: float) -> AttackSearch:
    """Search from one text (L,) of some margin."""
    margins = np.empty(len(changes.positions))
    for start in range(0, len(margins), TEXTS_PER_ROUND):
        versions = changes.apply_each(text, start, start + TEXTS_PER_ROUND)
        margins[start : start + TEXTS_PER_ROUND] = yield versions
    order = _rank_best_changes(changes.positions, margins, margin)
    for rank, change in enumerate(order.tolist()):
        version = changes.apply_each(text, change, change + 1)
        score = (yield version)[0] if rank else margins[change]  # the first is known already
        if score < margin:
            text, margin = version[0], score


def _rank_best_changes(positions: RowIndices, margins: Margins, limit: float) -> RowIndices:
    """Return the best change of each position with a margin below the limit, the lowest margin first."""
    order = np.argsort(margins, kind="stable")
    order = order[margins[order] < limit]
    _, first = np.unique(positions[order], return_index=True)
    return order[np.sort(first)]


def run_resampling_attack(
    scorer: Scorer,
    documents: Documents,
    source: SubstituteSource,
    key: bytes,
    *,
    draws: int = compute_query_budget(),
    workers: int | None = None,
) -> TextAttackResult:
    """Draw every word again until the classifier errs.

    Under a mechanism these are the texts that it releases; under sets every choice of a word is equally likely, the
    word itself among them.

    Args:
        scorer: of versions of the documents.
        documents: with their true labels; those classified wrongly are not attacked.
        source: sets of substitutions, or a mechanism.
        key: 32 bytes; the draws for a document depend on the key and the document alone.
        draws: maximum number of texts to try, >= 1; by default that of the genetic attack.
        workers: threads that draw for the mechanism; the result does not depend on them.

    Raises:
        InputError: an option outside its domain, or what `deniable.models.text.attacks.search.run_attack` refuses.
    """
    check_count("the resampling attack", "draws", draws)
    replacements = make_replacements(source)

    def start_searches(targets: AttackTargets) -> list[AttackSearch]:
        return [_search_resampling(copies) for copies in redraw_texts(replacements, targets, draws, workers)]

    return run_attack(scorer, documents, replacements, key, start_searches, lambda lengths: draws * lengths)


def _search_resampling(copies: WordIds) -> AttackSearch:
    """Try copies (c, L) of one text, some at a time."""
    for start in range(0, len(copies), TEXTS_PER_ROUND):
        yield copies[start : start + TEXTS_PER_ROUND]

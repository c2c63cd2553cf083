"""The genetic attack (Alzantot et al. 2018, Algorithm 1; Jia et al. 2019, section 5; paper 000, section 6.3)."""

import numpy as np
import numpy.typing as npt

from deniable.robust.text.attacks.moves import Changes, moves_of, mutations
from deniable.robust.text.attacks.outcome import Attacked, Margins
from deniable.robust.text.attacks.search import Search, attacked, whole
from deniable.robust.text.attacks.targets import Targets
from deniable.robust.text.copies import Source
from deniable.robust.text.documents import Documents, Rows, Words
from deniable.robust.text.network import Scorer

POPULATION, GENERATIONS = 60, 40
"""The sizes of Jia et al. 2019 (section 5)."""


def texts_scored(population: int = POPULATION, generations: int = GENERATIONS) -> int:
    """Return how many texts the attack asks about at most, the document itself aside."""
    return population + generations * (population - 1)


def genetic(
    scorer: Scorer,
    documents: Documents,
    source: Source,
    key: bytes,
    *,
    population: int = POPULATION,
    generations: int = GENERATIONS,
    workers: int | None = None,
) -> Attacked:
    """Breed texts of ever lower margin.

    The first population is the document with one word changed each. A generation is the best text of the one before,
    and children: of two parents drawn in proportion to sigmoid(-margin), each word from either with probability 1/2,
    then one word changed. A mutation is one draw; Alzantot et al. and Jia et al. score all choices at the position and
    take the best, which costs a query for each.

    Args:
        scorer: of versions of the documents.
        documents: with the labels to lead away from; those classified wrongly are left as they are.
        source: sets of substitutions, or a mechanism.
        key: 32 bytes; what is drawn for a document follows from the key and the document.
        population: texts in a generation, >= 2.
        generations: bred at most, >= 1.
        workers: threads that draw for the mechanism; the result does not depend on them.

    Raises:
        InputError: an option outside its domain, or what `deniable.robust.text.attacks.search.attacked` refuses.
    """
    whole("genetic", "population", population, 2)
    whole("genetic", "generations", generations, 1)
    moves = moves_of(source)
    count = texts_scored(population, generations)

    def begin(given: Targets) -> list[Search]:
        drawn = mutations(moves, given, count, workers)
        coins = given.coins("breeding")
        return [_search(*held, population) for held in zip(given.texts, drawn, coins, strict=True)]

    return attacked(
        scorer, documents, moves, key, begin, lambda lengths: np.full_like(lengths, count), texts_a_round=population
    )


def _search(text: Words, changes: Changes, coins: np.random.Generator, population: int) -> Search:
    """Search from one text (L,): each text scored takes the next of the changes."""
    people = changes.applied(text, 0, population)  # (P, L)
    margins = yield people
    for used in range(population, len(changes.positions), population - 1):
        children = _children(people, margins, coins)  # (P - 1, L)
        born = slice(used, used + len(children))
        children[np.arange(len(children)), changes.positions[born]] = changes.words[born]
        scores = yield children
        best = np.argmin(margins)
        people = np.concatenate([people[best, None], children])
        margins = np.append(margins[best], scores)


def _children(people: Words, margins: Margins, coins: np.random.Generator) -> Words:
    """Return one child fewer than there are people (P, L), before mutation."""
    first, second = _parents(margins, coins, len(people) - 1)
    from_first: npt.NDArray[np.bool_] = coins.integers(0, 2, (len(first), people.shape[1]), dtype=np.bool_)
    children: Words = np.where(from_first, people[first], people[second])
    return children


def _parents(margins: Margins, coins: np.random.Generator, count: int) -> Rows:
    """Return the numbers (2, count) of parents, drawn with replacement in proportion to sigmoid(-margin) (P,)."""
    logs = -np.logaddexp(0, margins)  # ln sigmoid(-margin): however large the margins, the fittest keeps its weight
    weights = np.exp(logs - logs.max())
    return coins.choice(len(margins), (2, count), p=weights / weights.sum())

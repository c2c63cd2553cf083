"""What becomes of one word: its most likely outputs, and how many words share the rest."""

import dataclasses
from collections import Counter

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.errors import NotTractable
from deniable.words.laws.law import WordShares
from deniable.words.mechanism import WordMechanism
from deniable.words.outcomes import Band, rank_words, summarize_outcomes
from deniable.words.prior import PriorLike, build_prior

COVERED_SHARE = 0.9
"""Share of the outputs whose most likely words are counted."""
DENIABILITY_RUNS = 1_000
"""Draws over which N_w and S_w are counted, as by Xu et al. 2021 (Section 6.5)."""


@dataclasses.dataclass(frozen=True)
class WordOutput:
    """One output of a word.

    Attributes:
        word: as the space writes it.
        hidden_class: name of the class of which any may come out; None for the word itself.
        members: number of words that it stands for.
        probability: of it, or of its class as a whole.
        distance: from the word that was read.
    """

    word: str
    hidden_class: str | None
    members: int
    probability: float
    distance: float


@dataclasses.dataclass(frozen=True)
class WordExplanation:
    """What becomes of one word.

    Attributes:
        word: any text.
        read_as: the word of the space that it is read as: the public word for an unknown one.
        is_known: whether the space has it.
        hidden_class: name of the class that it is hidden in, or None.
        class_size: number of words of that class.
        outputs: the most likely ones, a hidden class as one.
        kept: probability that it stays as it was read.
        covering: number of words that make up `COVERED_SHARE` of the outputs.
        distinct: S_w, how many different words are expected to come out in `DENIABILITY_RUNS` draws.
        draws: number of draws behind the probabilities, 0 where they are exact.
        guessed: how often the best guess is right when this word is the input; None where that is not known, and of a
            hidden class, of whose words always the same one is guessed, whichever was written.
        rank: of the word by frequency, None as `guessed`.
        band: words of about the same frequency, if any.
    """

    word: str
    read_as: str
    is_known: bool
    hidden_class: str | None
    class_size: int
    outputs: list[WordOutput]
    kept: float
    covering: int
    distinct: float
    draws: int
    guessed: float | None = None
    rank: int | None = None
    band: Band | None = None


def explain_word(
    mechanism: WordMechanism,
    word: str,
    *,
    prior: PriorLike = None,
    shares: WordShares | None = None,
    draws: int = 100_000,
    max_outputs: int = 10,
) -> WordExplanation:
    """Return what becomes of a word.

    Args:
        mechanism: any word mechanism.
        word: any text; one that the space lacks is read as its public word.
        prior: public word frequencies, see `WordMechanism.outcomes`.
        shares: those of all words under this prior, where they are known already.
        draws: where no exact law is known.
        max_outputs: that are listed.
    """
    space = mechanism.space
    number = space.find_number(word)
    read_number = space.index_of(space.unknown_word) if number is None else number
    hidden = None if number is None else space.find_class(number)
    probabilities, drawn = _compute_probabilities(mechanism, space.words[read_number], draws)
    explanation = WordExplanation(
        word,
        space.words[read_number],
        number is not None,
        None if hidden is None else hidden.name,
        0 if hidden is None else len(hidden.members),
        _list_outputs(mechanism, read_number, probabilities, max_outputs),
        float(probabilities[read_number]),
        min(int((np.sort(probabilities)[::-1].cumsum() < COVERED_SHARE).sum()) + 1, len(space)),
        float(compute_seen_probabilities(probabilities, DENIABILITY_RUNS).sum()),
        drawn,
    )
    if not mechanism.law.is_tabulated or space.find_class(read_number) is not None:
        return explanation
    resolved_prior = build_prior(space, prior)
    rank = int(rank_words(resolved_prior.weights)[read_number])
    known = shares or mechanism.word_shares(resolved_prior)
    band = summarize_outcomes(space, resolved_prior.weights, known).find_band(rank)
    return dataclasses.replace(explanation, guessed=float(known.guessed[read_number]), rank=rank, band=band)


def compute_seen_probabilities(probabilities: FloatArray, runs: int) -> FloatArray:
    """Return how likely each output is to come out at least once: 1 - (1 - p)^runs."""
    with np.errstate(divide="ignore"):
        seen: FloatArray = -np.expm1(runs * np.log1p(-np.clip(probabilities, 0.0, 1.0)))
    return seen


def _compute_probabilities(mechanism: WordMechanism, word: str, draws: int) -> tuple[FloatArray, int]:
    """Return the law (n,) of the output for a word, and the number of draws behind it, 0 where it is exact."""
    try:
        return mechanism.probabilities(word), 0
    except NotTractable:
        probabilities = np.zeros(len(mechanism.space))
        for output, count in Counter(mechanism.sample([word] * draws)).items():
            probabilities[mechanism.space.index_by_word[output]] = count / draws
        return probabilities, draws


def _list_outputs(
    mechanism: WordMechanism, number: int, probabilities: FloatArray, max_outputs: int
) -> list[WordOutput]:
    """Return the most likely outputs of a word."""
    space = mechanism.space
    distances = space.distances([space.point_by_word[number]])[0][space.point_by_word]
    shares, classes = probabilities.copy(), {int(hidden.members[0]): hidden for hidden in space.hidden_classes}
    for first, hidden in classes.items():
        shares[hidden.members] = 0.0
        shares[first] = probabilities[hidden.members].sum()
    return [
        WordOutput(
            space.words[index],
            classes[index].name if index in classes else None,
            len(classes[index].members) if index in classes else 1,
            float(shares[index]),
            float(distances[index]),
        )
        for index in np.argsort(-shares, kind="stable")[:max_outputs].tolist()
        if shares[index] > 0
    ]

"""What becomes of one word, as JSON."""

from collections import Counter
from typing import Any

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.errors import NotTractable
from deniable.serve.ladder import describe_outcomes
from deniable.serve.offers import WordOffer
from deniable.space import Space
from deniable.words import WordMechanism

_SIMULATED_DRAWS = 20_000
_MAX_OUTPUTS = 20
_COVERED_SHARE = 0.9


def explain_word(offer: WordOffer, word: str) -> dict[str, Any]:
    """Return how a word is read, its most likely outputs with their probabilities, and what an attacker guesses.

    Args:
        offer: prepared.
        word: any text; one that the space lacks is read as its public word.
    """
    mechanism = offer.release.mechanism
    space = mechanism.space
    number = space.find_number(word)
    read_number = space.index_of(space.unknown_word) if number is None else number
    hidden = None if number is None else space.find_class(number)
    probabilities, draws = _compute_probabilities(mechanism, space.words[read_number])
    outputs = _list_outputs(space, read_number, probabilities)
    covering = int((np.sort(probabilities)[::-1].cumsum() < _COVERED_SHARE).sum()) + 1
    return {
        "word": word,
        "read_as": space.words[read_number],
        "is_known": number is not None,
        "hidden": None if hidden is None else {"class": hidden.name, "words": len(hidden.members)},
        "outputs": outputs,
        "kept": float(probabilities[read_number]),
        **_describe_guesses(offer, read_number),
        "covering": {"share": _COVERED_SHARE, "words": min(covering, len(space))},
        "draws": draws,
        "attacker": offer.attacker,
        "outcomes": describe_outcomes(offer),
        "release": offer.description,
    }


def _describe_guesses(offer: WordOffer, number: int) -> dict[str, Any]:
    """Return how often a word is guessed when it is the input, its rank, and its band; nulls where it is not known.

    Of the words of a hidden class always the same one is guessed, whichever was written.
    """
    space = offer.release.mechanism.space
    if offer.shares is None or offer.outcomes is None or space.find_class(number) is not None:
        return {"guessed": None, "rank": None, "band": None}
    rank = number + 1  # by Zipf's law
    band = offer.outcomes.find_band(rank)
    return {"guessed": float(offer.shares.guessed[number]), "rank": rank, "band": None if band is None else band.name}


def _compute_probabilities(mechanism: WordMechanism, word: str) -> tuple[FloatArray, int]:
    """Return the law (n,) of the output for a word, and the number of draws behind it, 0 where it is exact."""
    try:
        return mechanism.probabilities(word), 0
    except NotTractable:
        counts = Counter(mechanism.sample([word] * _SIMULATED_DRAWS))
        probabilities = np.zeros(len(mechanism.space))
        for output, count in counts.items():
            probabilities[mechanism.space.index_by_word[output]] = count / _SIMULATED_DRAWS
        return probabilities, _SIMULATED_DRAWS


def _list_outputs(space: Space, number: int, probabilities: FloatArray) -> list[dict[str, Any]]:
    """Return the most likely outputs of a word, a hidden class as one."""
    distances = space.distances([space.point_by_word[number]])[0][space.point_by_word]
    shares = probabilities.copy()
    class_by_first: dict[int, str] = {}
    for hidden in space.hidden_classes:
        first = int(hidden.members[0])
        shares[hidden.members] = 0.0
        shares[first] = probabilities[hidden.members].sum()
        class_by_first[first] = hidden.name
    order = np.argsort(-shares, kind="stable")[:_MAX_OUTPUTS].tolist()
    return [
        {
            "word": space.words[index],
            "class": class_by_first.get(index),
            "probability": float(shares[index]),
            "distance": float(distances[index]),
        }
        for index in order
        if shares[index] > 0
    ]

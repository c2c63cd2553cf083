"""Words of nations, peoples and languages, which join the public class of places: *czech*, *germans*, *swahili*.

They say where somebody is from, and to the vote of ``word_classes.py`` they are ordinary words. A word of GloVe is one
of them by sources that name it, and not by its neighbours:

1. *Named.* WordNet has it, with a capital, for an inhabitant, a language or a people, or as an adjective of those or of
   a place; or CLDR has it for a language.
2. *Not ordinary.* SCOWL's dictionary does not spell it in lower case ("fox" and "attic" are languages too), and it has
   three letters or more.
3. *Plurals*, and men and women, that the dictionary spells with a capital: "germans", "irishmen".
4. *By hand.* ``by_hand.tsv`` has words that are in ("french", "polish", "asia", "uk") or out ("gothic", "olympic").

Words of a country's name that are common by themselves ("united", "kingdom", "states", "new", "south") stay out: a
class follows from a word alone. So do words of religions.
"""

import importlib
from collections.abc import Collection
from pathlib import Path

from by_hand import read_words_by_hand
from wordnet import find_derived_words, find_kinds, read_synsets

from deniable.space.grammar import fold_word

_INHABITANT, _LANGUAGE, _PEOPLE = "n09620078", "n06904171", "n07967382"
_LOCATIONS = "15"
"""Lexicographer's file of places."""
_MIN_LETTERS = 3


def read_nations(
    wordnet: Path, dictionary: tuple[Collection[str], Collection[str]], words: Collection[str]
) -> set[str]:
    """Return the words of nations, peoples and languages.

    Args:
        wordnet: folder of WordNet's data files.
        dictionary: words that the dictionary spells in lower case, and, folded, those with a capital.
        words: those that can be in a class.
    """
    lower, capitalized = dictionary
    written, left_out = read_words_by_hand("nations")
    synsets = read_synsets(wordnet)
    kinds = find_kinds(synsets, (_INHABITANT, _LANGUAGE, _PEOPLE))
    homes = kinds | {key for key, synset in synsets.items() if synset.file == _LOCATIONS}
    named = [word for key in kinds for word in synsets[key].words]
    named += [word for _, word in find_derived_words(synsets, homes)]
    named += importlib.import_module("babel").Locale("en").languages.values()
    folded = {fold_word(word) for word in named if word[0].isupper() and word.isalpha()}
    singular = {word for word in folded - set(lower) if len(word) >= _MIN_LETTERS} | written
    plurals = {word for word in capitalized if _make_singular(word) in singular} - set(lower)
    return (singular | plurals) & set(words) - left_out


def _make_singular(word: str) -> str:
    """Return "german" for "germans", and "irishman" for "irishmen"."""
    return f"{word[:-2]}an" if word.endswith("men") else word.removesuffix("s")

"""What WordNet says of words: sets of synonyms, what they are kinds of, and what they are derived from."""

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

KINDS = frozenset({"@", "@i"})
"""Pointers from a set to what it is a kind, or an instance, of."""
DERIVATIONS = frozenset({"+", "\\"})
"""Pointers from a word to the noun that it is derived from, or pertains to."""


@dataclasses.dataclass(frozen=True)
class Pointer:
    """A pointer from one set of synonyms to another.

    Attributes:
        sign: what it says.
        target: part of speech and offset, such as ``n14070360``.
        source_word: which word of the set it is about, from 1; 0 for all of them.
    """

    sign: str
    target: str
    source_word: int


@dataclasses.dataclass(frozen=True)
class Synset:
    """A set of synonyms.

    Attributes:
        words: as they are written, with underscores for spaces.
        pointers: to other sets.
        file: number of the lexicographer's file.
    """

    words: tuple[str, ...]
    pointers: tuple[Pointer, ...]
    file: str


@dataclasses.dataclass(frozen=True)
class Sense:
    """A sense of a word.

    Attributes:
        synset: key of the set.
        rank: among the word's senses of that part of speech, from 1, the most frequent first.
        count: how often texts were tagged with it.
    """

    synset: str
    rank: int
    count: int


def parse_synsets(lines: Iterable[str]) -> Iterator[tuple[str, Synset]]:
    """Yield the key, such as ``n14070360``, and the set of each line of a data file."""
    for line in lines:
        if line.startswith("  "):
            continue
        fields = line.split(" | ")[0].split()
        count = int(fields[3], 16)
        first = 5 + 2 * count
        quadruples = (fields[at : at + 4] for at in range(first, first + 4 * int(fields[first - 1]), 4))
        pointers = tuple(Pointer(sign, part + offset, int(ends[:2], 16)) for sign, offset, part, ends in quadruples)
        # An adjective may say where it stands: "aware(p)".
        words = tuple(fields[4 + 2 * number].partition("(")[0] for number in range(count))
        yield fields[2].replace("s", "a") + fields[0], Synset(words, pointers, fields[1])


def read_synsets(folder: Path) -> dict[str, Synset]:
    """Return the sets of all parts of speech of a folder with WordNet's data files."""
    synsets: dict[str, Synset] = {}
    for part in ("noun", "adj", "adv", "verb"):
        synsets.update(parse_synsets((folder / f"data.{part}").read_text(encoding="latin-1").splitlines()))
    return synsets


def read_senses(folder: Path) -> dict[str, list[Sense]]:
    """Return the senses of each word, in lower case and with underscores for spaces."""
    counts: dict[tuple[str, str, int], int] = {}
    for line in (folder / "cntlist.rev").read_text(encoding="latin-1").splitlines():
        key, number, count = line.split()
        word, _, code = key.partition("%")
        counts[word, " nvara"[int(code[0])], int(number)] = int(count)
    senses: defaultdict[str, list[Sense]] = defaultdict(list)
    for part in ("noun", "adj", "adv", "verb"):
        for line in (folder / f"index.{part}").read_text(encoding="latin-1").splitlines():
            if line.startswith("  "):
                continue
            word, letter, number, *rest = line.split()
            for rank, offset in enumerate(rest[-int(number) :], start=1):
                senses[word].append(Sense(letter + offset, rank, counts.get((word, letter, rank), 0)))
    return senses


def find_kinds(synsets: Mapping[str, Synset], roots: Iterable[str]) -> set[str]:
    """Return the keys of some sets, and of all kinds and instances of them, and of these, and so on."""
    kinds: defaultdict[str, list[str]] = defaultdict(list)
    for key, synset in synsets.items():
        for pointer in synset.pointers:
            if pointer.sign in KINDS:
                kinds[pointer.target].append(key)
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            waiting += kinds[key]
    return found


def find_derived_words(synsets: Mapping[str, Synset], targets: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the key and word of each adjective that is derived from, or pertains to, one of some sets of nouns."""
    for key, synset in synsets.items():
        for pointer in synset.pointers:
            if key[0] == "a" and pointer.sign in DERIVATIONS and pointer.target in targets:
                at = pointer.source_word
                yield from ((key, word) for word in (synset.words[at - 1 : at] if at else synset.words))

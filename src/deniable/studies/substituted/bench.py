"""What all models of a study share: the space, the substitution sets and the texts."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from deniable.core.errors import InputError
from deniable.models.text.documents import Documents, concatenate_texts
from deniable.models.text.substitutions import Substitutions, build_substitutions, read_substitute_lists
from deniable.space import Space
from deniable.space.grammar import fold_word, split_words
from deniable.studies.study import Data, Setting, derived
from deniable.studies.substituted.plan import SUBSTITUTIONS, VECTORS, Plan, Sizes

_LABEL, _SPLIT = "label", "jia_split"
_BREAK = "<br />"
Row = dict[str, str | None]


@dataclasses.dataclass(frozen=True, eq=False)
class Bench:
    """What all models share.

    Attributes:
        plan: of the study.
        sizes: how much of everything.
        setting: seed, data and ledger.
        schedule: name of the sizes.
        space: of words.
        sets: substitutions that interval bounds are about.
        train: to learn from.
        test: to test and to attack.
        facts: about all of these, as JSON.
    """

    plan: Plan
    sizes: Sizes
    setting: Setting
    schedule: str
    space: Space
    sets: Substitutions
    train: Documents
    test: Documents
    facts: Data

    def seed(self, *parts: object) -> int:
        """Return the seed of one part."""
        return derived(self.setting.seed, *parts)


def prepared(plan: Plan, sizes: Sizes, setting: Setting, schedule: str) -> Bench:
    """Read space, sets and texts, and draw those to learn from and to attack.

    Raises:
        InputError: a file is missing, or lacks a column, or holds no text with a known word.
    """
    space = Space.load(setting.file(VECTORS), limit=sizes.words)
    listed, name = read_substitute_lists(setting.file(SUBSTITUTIONS))
    sets = build_substitutions(space, listed, name)
    learned, of_split = _rows(setting.file(plan.train), plan, split_name="train")
    tested, _ = _rows(setting.file(plan.test), plan)
    learned = _some(learned, sizes.train, derived(setting.seed, "training texts"))
    tested = _some(tested, sizes.test, derived(setting.seed, "test texts"))
    classes = tuple(sorted({str(row[_LABEL]) for row in learned}))
    train, left_out = _documents(space, learned, plan, classes)
    test, left_out_of_test = _documents(space, tested, plan, classes)
    facts = {
        "training texts": len(train),
        "test texts": len(test),
        "training texts left out": left_out,
        "test texts left out": left_out_of_test,
        "training texts are": "rows whose jia_split is train" if of_split else "all rows of the file",
        "classes": list(classes),
        "words of the space": len(space),
        "space": space.source,
        "training words": len(train.texts.words),
        "test words": len(test.texts.words),
        "sets": sets.name,
        "words with substitutes": int((sets.choice_counts > 1).sum()),
        "substitutes of the test words": int((sets.choice_counts - 1)[test.texts.words].sum()),
        "substitutes listed for the test words": _listed(space, listed, test),
        "about the sets": list(sets.notes),
    }
    return Bench(plan, sizes, setting, schedule, space, sets, train, test, facts)


def _listed(space: Space, listed: dict[str, list[str]], held: Documents) -> int:
    """Return how many substitutes a file lists for the words of some texts, whether the space knows them or not."""
    counts = np.zeros(len(space), dtype=np.int64)
    for word, others in listed.items():
        own = space.index_by_word.get(fold_word(word))
        if own is not None:
            counts[own] += len(others)
    return int(counts[held.texts.words].sum())


def _rows(path: Path, plan: Plan, split_name: str | None = None) -> tuple[list[Row], bool]:
    """Return the rows of a table, those of a split where the table names splits; and whether it does."""
    known = pq.read_schema(path).names
    wanted = [plan.text, _LABEL, *([] if plan.premise is None else [plan.premise])]
    for name in wanted:
        if name not in known:
            raise InputError(f"{str(path)!r} has no column {name!r}: it has {', '.join(known)}.")
    of_split = split_name is not None and _SPLIT in known
    rows = pq.read_table(path, columns=[*wanted, *([_SPLIT] if of_split else [])]).to_pylist()
    return [row for row in rows if not of_split or row[_SPLIT] == split_name], of_split


def _some(rows: list[Row], most: int | None, seed: int) -> list[Row]:
    """Return some of the rows, drawn at random, in their order."""
    chosen = np.sort(np.random.default_rng(seed).permutation(len(rows))[:most])
    return [rows[at] for at in chosen.tolist()]


def _documents(space: Space, rows: list[Row], plan: Plan, classes: tuple[str, ...]) -> tuple[Documents, int]:
    """Return documents, and how many rows are left out: without a known word, or of a class not learned."""
    columns = [plan.text] if plan.premise is None else [plan.text, plan.premise]
    number = {name: at for at, name in enumerate(classes)}
    held = [
        (number[str(row[_LABEL])], parts)
        for row in rows
        if str(row[_LABEL]) in number and all(parts := [list(_known(space, row[column])) for column in columns])
    ]
    if not held:
        raise InputError(
            f"No text of {plan.name} has a class and a word of {space.source}: check the data and the vectors."
        )
    labels = np.array([label for label, _ in held], dtype=np.int64)
    found = [concatenate_texts([parts[at] for _, parts in held]) for at in range(len(columns))]
    return Documents(found[0], labels, classes, None if plan.premise is None else found[1]), len(rows) - len(held)


def _known(space: Space, text: str | None) -> Iterator[int]:
    """Yield the numbers of the words of a text that a space knows, marks of line breaks left out."""
    for word in split_words((text or "").replace(_BREAK, " "))[1::2]:
        number = space.index_by_word.get(fold_word(word))
        if number is not None:
            yield number

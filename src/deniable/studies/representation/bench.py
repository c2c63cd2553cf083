"""ATIS as DPText sees it: a task, and a private attribute that is derived from the text itself."""

import collections
import dataclasses
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from deniable.core.errors import InputError
from deniable.measure.labels import ClassCodes
from deniable.studies.representation.plan import OTHER, Sizes
from deniable.studies.study import Data, Setting, derived

FILES = ("atis_train.parquet", "atis_dev.parquet", "atis_test.parquet")
_PREFIX = "atis_"
_FROM = re.compile(r"\bfrom ((?:(?:new|san|los|las|st\.?|kansas|salt|fort|long|westchester) )?[a-z]+)")
"""A departure as ATIS writes it; names of two words are known by their first."""
_NO_CITY = {"the", "a", "what", "there", "one", "any", "here", "either", "my", "this", "that", "it", "airport"}


@dataclasses.dataclass(frozen=True, eq=False)
class Part:
    """Some of the texts.

    Attributes:
        texts: k of them.
        task: (k,) intents.
        city: (k,) departure cities, derived.
    """

    texts: list[str]
    task: ClassCodes
    city: ClassCodes


@dataclasses.dataclass(frozen=True, eq=False)
class Bench:
    """What all trainings share.

    Attributes:
        sizes: how much of everything.
        seed: public.
        train: for encoders.
        known: for downstream classifiers and attackers.
        test: for both to be measured on.
        facts: about all of these, as JSON.
    """

    sizes: Sizes
    seed: int
    train: Part
    known: Part
    test: Part
    facts: Data


def departure(text: str) -> str | None:
    """Return the city after the first "from" of a text, or None."""
    found = next((name for name in _FROM.findall(text) if name not in _NO_CITY), None)
    return found.removesuffix(" to") if found else None


def prepared(sizes: Sizes, setting: Setting) -> Bench:
    """Read ATIS, deal its distinct texts anew, and derive the private attribute.

    The splits of the file do not serve: most test texts depart from cities that are rare in training.

    Raises:
        InputError: a file is missing, or lacks a column, or there are too few texts.
    """
    intents = _read(setting)
    texts = list(intents)
    needed = sizes.train + sizes.known + sizes.test
    if len(texts) < needed:
        raise InputError(f"This study needs {needed:,} distinct texts. Got {len(texts):,}: give all of ATIS.")
    task, kinds = _coded([intents[text] for text in texts], sizes.intents)
    city, names = _coded([departure(text) for text in texts], sizes.cities)
    order = np.random.default_rng(derived(setting.seed, "parts")).permutation(len(texts))
    edges = [0, sizes.train, sizes.train + sizes.known, needed]
    train, known, test = (_part(texts, task, city, order[edges[at] : edges[at + 1]]) for at in range(3))
    facts = {
        "distinct texts": len(texts),
        "encoders are trained on": len(train.texts),
        "classifiers learn from": len(known.texts),
        "tested": len(test.texts),
        "intents": kinds,
        "cities": names,
        "majority": {"task": _majority(known.task, test.task), "city": _majority(known.city, test.city)},
    }
    return Bench(sizes, setting.seed, train, known, test, facts)


def _read(setting: Setting) -> dict[str, str]:
    """Return the first intent of every distinct text."""
    out: dict[str, str] = {}
    for name in FILES:
        path = setting.file(name)
        columns = pq.read_schema(path).names
        for column in ("text", "intent"):
            if column not in columns:
                raise InputError(f"{str(path)!r} has no column {column!r}: it has {', '.join(columns)}.")
        for row in pq.read_table(path, columns=["text", "intent"]).to_pylist():
            out.setdefault(str(row["text"]), str(row["intent"]).removeprefix(_PREFIX))
    return out


def _coded(column: Sequence[str | None], most: int) -> tuple[ClassCodes, list[str]]:
    """Return numbers (k,) of values, the most frequent first, and their names; all others have the last number."""
    counts = collections.Counter(value for value in column if value is not None)
    names = sorted(counts, key=lambda value: (-counts[value], value))[:most]
    number: dict[str | None, int] = {value: at for at, value in enumerate(names)}
    return np.array([number.get(value, len(names)) for value in column], dtype=np.int64), [*names, OTHER]


def _part(texts: list[str], task: ClassCodes, city: ClassCodes, rows: npt.NDArray[np.int64]) -> Part:
    return Part([texts[row] for row in rows.tolist()], task[rows], city[rows])


def _majority(known: ClassCodes, test: ClassCodes) -> float:
    """Return the share of tested texts that have the most frequent class of the others."""
    return float((test == np.bincount(known).argmax()).mean())

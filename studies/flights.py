"""ATIS as DPText sees it: a task, and a private attribute that is derived from the text itself."""

import collections
import dataclasses
import itertools
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from deniable.core.errors import InputError
from deniable.measure.labels import ClassCodes
from studies.runner import Context

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


def find_departure(text: str) -> str | None:
    """Return the city after the first "from" of a text, or None."""
    city = next((name for name in _FROM.findall(text) if name not in _NO_CITY), None)
    return city.removesuffix(" to") if city else None


def split_flights(context: Context, sizes: Sequence[int], *, intents: int, cities: int) -> list[Part]:
    """Return ATIS's distinct texts in parts of given sizes, split anew, with intent and private attribute.

    The splits of the files do not serve: most test texts depart from cities that are rare in training.

    Args:
        context: of the run.
        sizes: of the parts.
        intents: that are classes of their own, the most frequent ones; all others are one class.
        cities: likewise.

    Raises:
        InputError: a file is missing, or lacks a column, or there are too few texts.
    """
    intent_of = read_intents(context)
    texts, needed = list(intent_of), sum(sizes)
    if len(texts) < needed:
        raise InputError(f"This study needs {needed:,} distinct texts. Got {len(texts):,}: use all of ATIS.")
    task = encode_classes([intent_of[text] for text in texts], intents)
    city = encode_classes([find_departure(text) for text in texts], cities)
    order = np.random.default_rng(context.derive_seed("parts")).permutation(len(texts))
    edges = np.cumsum([0, *sizes])
    return [_take_part(texts, task, city, order[start:end]) for start, end in itertools.pairwise(edges.tolist())]


def load_parts(context: Context) -> list[Part]:
    """Return the texts for encoders, for classifiers and attackers, and to test them on; split once in a run."""
    sizes = context.sizes
    return context.share(
        "parts",
        lambda: split_flights(
            context, (sizes.train, sizes.known, sizes.test), intents=sizes.intents, cities=sizes.cities
        ),
    )


def read_intents(context: Context) -> dict[str, str]:
    """Return the first intent of every distinct text."""
    intent_of: dict[str, str] = {}
    for name in FILES:
        for text, intent in read_rows(context, name):
            intent_of.setdefault(text, intent)
    return intent_of


def read_rows(context: Context, name: str) -> list[tuple[str, str]]:
    """Return text and intent of every row of one file.

    Raises:
        InputError: the file is missing, or lacks a column.
    """
    path = context.find_file(name)
    columns = pq.read_schema(path).names
    for column in ("text", "intent"):
        if column not in columns:
            raise InputError(f"{str(path)!r} has no column {column!r}: it has {', '.join(columns)}.")
    table = pq.read_table(path, columns=["text", "intent"]).to_pylist()
    return [(str(row["text"]), str(row["intent"]).removeprefix(_PREFIX)) for row in table]


def encode_classes(values: Sequence[str | None], maximum: int) -> ClassCodes:
    """Return numbers (k,) of values, the most frequent first; all others have the number ``maximum`` or below it."""
    counts = collections.Counter(value for value in values if value is not None)
    names = sorted(counts, key=lambda value: (-counts[value], value))[:maximum]
    numbers: dict[str | None, int] = {value: number for number, value in enumerate(names)}
    return np.array([numbers.get(value, len(names)) for value in values], dtype=np.int64)


def _take_part(texts: list[str], task: ClassCodes, city: ClassCodes, rows: npt.NDArray[np.int64]) -> Part:
    return Part([texts[row] for row in rows.tolist()], task[rows], city[rows])


def measure_majority(learned: ClassCodes, tested: ClassCodes) -> float:
    """Return the share of tested texts that have the most frequent class of the learned ones."""
    return float((tested == np.bincount(learned).argmax()).mean())

"""What a study is: a published figure run again, and what came out of it beside what was said of it."""

import dataclasses
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from deniable.core.errors import InputError
from deniable.studies.ledger import Ledger

Sizes = TypeVar("Sizes")
Data = dict[str, Any]
"""Results as JSON holds them (numbers, texts, lists and dicts), except that floats may be infinite."""
Outcome = Literal["agrees", "agrees in part", "does not agree"]


@dataclasses.dataclass(frozen=True)
class Setting:
    """What a run is given besides its sizes.

    Attributes:
        seed: public; everything drawn follows from it.
        data: folder with data sets, for studies that need one.
        ledger: keeps the results of parts, so that a long run can be interrupted.
    """

    seed: int
    data: Path | None = None
    ledger: Ledger = dataclasses.field(default_factory=Ledger)

    def file(self, name: str) -> Path:
        """Return the path of a data set.

        Raises:
            InputError: no folder was named, or it lacks the file.
        """
        if self.data is None:
            raise InputError(f"This study needs {name}: name the folder that holds it with --data DIR.")
        path = self.data / name
        if not path.is_file():
            raise InputError(f"The data folder {str(self.data)!r} has no file {name!r}: name the folder that holds it.")
        return path


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One statement of a paper and what the run says of it.

    Attributes:
        paper: the statement, with its place.
        ours: the result, in numbers.
        outcome: whether they agree.
    """

    paper: str
    ours: str
    outcome: Outcome


@dataclasses.dataclass(frozen=True)
class Result:
    """What a run found.

    Attributes:
        data: everything that the figure shows, and more.
        table: the paper's statements and ours, side by side.
        findings: the few lines to read first.
        details: every point, as a table in markdown; empty where the figure and the data are enough.
    """

    data: Data
    table: tuple[Comparison, ...]
    findings: tuple[str, ...]
    details: str = ""


@dataclasses.dataclass(frozen=True)
class Study(Generic[Sizes]):
    """A published figure that can be run again.

    Attributes:
        name: of the study and of its files.
        summary: one line.
        paper: author, year, title and figure.
        full: sizes of the whole study.
        quick: sizes of the same study in a few minutes.
        run: from sizes and setting to the result; its long steps go through `deniable.core.parallel.parallel_map`.
        draw: from the result's data to a matplotlib figure.
    """

    name: str
    summary: str
    paper: str
    full: Sizes
    quick: Sizes
    run: Callable[[Sizes, Setting], Result]
    draw: Callable[[Data], Any]


def derived(seed: int, *parts: object) -> int:
    """Return the seed of one part of a study, 62 bits: parts share no randomness, in whatever order they run."""
    text = "\0".join(map(str, (seed, *parts)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 2

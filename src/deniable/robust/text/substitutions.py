"""Sets of words that may stand for a word: what a certificate by intervals is about."""

import dataclasses
import functools
import gzip
import hashlib
import json
import lzma
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError
from deniable.space import Space
from deniable.space.grammar import fold

_OPENERS = {".xz": lzma.decompress, ".gz": gzip.decompress}


@dataclasses.dataclass(frozen=True, eq=False)
class Substitutions:
    """For every word of a space the words that may stand in its place.

    Attributes:
        name: of the sets, with a digest, for certificates.
        choices: int32 (V, k), the numbers of a word's choices: the word itself first, then its substitutes, and the
            word again up to k.
        notes: remarks about how they were read.
    """

    name: str
    choices: npt.NDArray[np.int32]
    notes: tuple[str, ...] = ()

    def thinned(self, share: float, source: np.random.Generator) -> "Substitutions":
        """Return sets that keep each substitute with a probability.

        Args:
            share: the probability, in [0, 1].
            source: of the draws.
        """
        own = np.arange(len(self.choices), dtype=np.int32)[:, None]
        kept = (self.choices != own) & (source.random(self.choices.shape) < share)
        kept[:, 0] = True  # the word itself
        order = np.argsort(~kept, axis=1, kind="stable")
        choices = np.take_along_axis(np.where(kept, self.choices, own), order, axis=1)
        return Substitutions(f"{share:g} of {self.name}", choices, self.notes)

    def of(self, word: int) -> npt.NDArray[np.int32]:
        """Return the distinct choices of a word, itself first."""
        row = self.choices[word]
        return np.concatenate([row[:1], row[1:][row[1:] != word]])

    @functools.cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many distinct choices each word has (V,), itself among them."""
        own = np.arange(len(self.choices))[:, None]
        counts: npt.NDArray[np.int64] = 1 + (self.choices != own).sum(axis=1)
        return counts


def substitutions(space: Space, given: dict[str, list[str]], name: str) -> Substitutions:
    """Return the sets of a mapping from words to their substitutes, of which the space knows some.

    Args:
        space: of the classifier.
        given: word -> substitutes.
        name: of the sets.

    Raises:
        InputError: the space knows no word of it together with a substitute.
    """
    found: dict[int, list[int]] = {}
    missing, pairs = 0, 0
    for word, others in given.items():
        own = space.index.get(fold(word))
        numbers = [number for other in others if (number := space.index.get(fold(other))) is not None]
        pairs += len(others)
        missing += len(others) if own is None else len(others) - len(numbers)
        if own is not None:
            held = found.setdefault(own, [])
            held += [number for number in dict.fromkeys(numbers) if number != own and number not in held]
    most = max(map(len, found.values()), default=0)
    if not most:
        raise InputError(
            f"No word of the substitutions {name} and its substitutes are both in {space.source}: "
            "name other substitutions, or another space."
        )
    choices = np.repeat(np.arange(len(space), dtype=np.int32)[:, None], 1 + most, axis=1)
    for own, numbers in found.items():
        choices[own, 1 : 1 + len(numbers)] = numbers
    notes = (f"{missing:,} of {pairs:,} substitutes have no vector, or their word has none, and were left out",)
    return Substitutions(name, choices, notes if missing else ())


def read_substitutions(path: Path, space: Space) -> Substitutions:
    """Read the sets that a space knows, see `read_substitutes`.

    Raises:
        InputError: no such file, or it is no such object, or the space knows none of its words.
    """
    return substitutions(space, *read_substitutes(path))


def read_substitutes(path: Path) -> tuple[dict[str, list[str]], str]:
    """Read a JSON object of word -> list of substitutes, which may be compressed (.xz, .gz), and name it.

    Raises:
        InputError: no such file, or it is no such object.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"The substitutions {str(path)!r} cannot be read: {error.strerror}.") from None
    try:
        held = json.loads(_OPENERS.get(path.suffix.lower(), bytes)(content))
    except (ValueError, OSError, EOFError, lzma.LZMAError, zlib.error, RecursionError) as error:
        reason = " ".join(str(error).split())[:100]
        raise InputError(f"The substitutions {str(path)!r} are no JSON: {reason}.") from None
    _check(held, str(path))
    digest = hashlib.blake2b(content, digest_size=8).hexdigest()
    return held, f"{path.name} ({digest})"


def _check(held: Any, name: str) -> None:  # noqa: ANN401 - whatever JSON holds
    """Raise `InputError` where an object is no mapping from words to lists of words."""
    form = 'an object of word: [substitute, ...], for example {"film": ["movie"]}'
    if not isinstance(held, dict) or not held:
        raise InputError(f"The substitutions {name!r} must be {form}. Got {type(held).__name__}.")
    for word, others in held.items():
        if not isinstance(others, list) or not all(isinstance(other, str) for other in others):
            shown = " ".join(repr(others).split())[:50]
            raise InputError(f"The substitutions {name!r} must be {form}. Got {shown} for {word!r}.")

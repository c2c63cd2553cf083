"""The contract of a word mechanism: a randomized map from words to words with a guarantee."""

import abc
import dataclasses
import hashlib
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from randomgen import AESCounter

from deniable.cache import remember
from deniable.errors import InputError, NotTractable, positive
from deniable.frozen import WriteOnce
from deniable.guarantees import MetricDP
from deniable.origin import is_own
from deniable.parallel import each
from deniable.randomness import PIECE, Streams, fresh_key, stream_start
from deniable.space.metrics import Array
from deniable.space.space import Points, Space
from deniable.words import law
from deniable.words.documents import DocumentGuarantee, document_guarantee
from deniable.words.exponential import Exponential, log_normalisers
from deniable.words.outcomes import outcomes
from deniable.words.prior import Frequencies, build_prior

SIMULATED = 20_000
"""Draws behind an expected share where no cheap law is known."""


@dataclasses.dataclass(frozen=True)
class Share:
    """A share of words and where the figure comes from.

    Attributes:
        value: between 0 and 1.
        draws: number of simulated draws behind it; 0 where it is exact.
    """

    value: float
    draws: int = 0

    def __str__(self) -> str:
        """Return the share in percent, with a 95 % interval where it is simulated."""
        if not self.draws:
            return f"{100 * self.value:.1f} %"
        margin = 196 * np.sqrt(max(self.value * (1 - self.value), 1 / self.draws) / self.draws)
        return f"{100 * self.value:.1f} % (+- {margin:.1f}, {self.draws:,} simulated draws)"


def _digest(weights: Array) -> str:
    """Return a short text that differs between priors."""
    return hashlib.blake2b(weights.tobytes(), digest_size=8).hexdigest()


def _are_shares(found: dict[str, float]) -> bool:
    """Say whether cached values can be shares; the sum of many may round to a little more than 1."""
    return all(0 <= value <= 1 + 1e-9 for value in found.values())


class WordMechanism(WriteOnce, abc.ABC):
    """A mechanism M: W -> W over a space, with epsilon per unit of the space's distance.

    A mechanism is one file: a subclass that gives `guarantee`, the law in `family` or `rows` if one
    is known, and `_draw_piece` unless draws come from tables of that law; and one row in the
    registry `deniable.words.MECHANISMS`. Its attributes are set once, by its constructor, so that
    what is proved of it stays true.

    Args:
        space: the domain.
        epsilon: privacy parameter per unit of distance, > 0.

    Raises:
        InputError: epsilon is not a positive finite number, or the space does not suit.
    """

    name: ClassVar[str]
    """Name on the command line and in certificates."""
    tabulated: bool
    """True where draws come from the integer tables of `rows`; False where they are simulated."""
    euclidean_only: ClassVar[bool] = False
    """True where the theorem is about the Euclidean metric alone."""
    named_metric: ClassVar[bool] = False
    """True where the proof needs to know how the metric rounds: no function of the user's own."""

    def __init__(self, space: Space, *, epsilon: float) -> None:
        if not isinstance(space, Space):
            raise InputError(f"The 'space' parameter of {type(self).__name__} must be a Space. Got {space!r}.")
        self.space = space
        self.epsilon = positive(type(self).__name__, "epsilon", epsilon)
        if self.euclidean_only and space.metric.name != "euclidean":
            raise InputError(
                f"{type(self).__name__} needs the Euclidean metric. Got {space.metric}: use TEM, "
                "which takes any metric."
            )

        if self.named_metric and not self.space.metric.builtin:
            raise InputError(
                f"{type(self).__name__} needs a metric that has a name, whose rounding is known. Got "
                f"{space.metric}: use TEM, which takes any metric."
            )

    @property
    @abc.abstractmethod
    def guarantee(self) -> MetricDP:
        """What the mechanism's theorem states."""

    @property
    def parameters(self) -> dict[str, float]:
        """The numbers that define the mechanism, beside the space. Noise is keyed by them."""
        return {"epsilon": self.epsilon}

    @property
    def derived(self) -> dict[str, float | str]:
        """What was computed from space and parameters to make the law, for certificates."""
        return {}

    @property
    def fingerprint(self) -> str:
        """A text that differs between mechanisms, parameters and spaces."""
        numbers = ",".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.name}({numbers})@{self.space.fingerprint}"

    @property
    def family(self) -> Exponential | None:
        """The law as a member of the exponential family, or None where it is none."""
        return None

    @property
    def draws_from_law(self) -> bool:
        """Whether draws come from the integer tables of `rows`, by no code of the subclass's own."""
        steps = ("_draw_points", "draw", "privatize", "__call__", "__getattribute__")
        return self.tabulated and all(getattr(type(self), step) is getattr(WordMechanism, step) for step in steps)

    @property
    def closed_form(self) -> Exponential | None:
        """The family's law where draws come from it: None too where a subclass has rows or draws of its own.

        A subclass of `Exponential` may compute any law, which scale, cutoff and weights do not tell.
        """
        if type(self).rows is not WordMechanism.rows or not self.draws_from_law:
            return None
        family = self.family
        return family if type(family) is Exponential else None

    @property
    def has_law(self) -> bool:
        """Whether `rows` gives an exact law of what is drawn."""
        kind = type(self)
        known = kind.family is not WordMechanism.family or kind.rows is not WordMechanism.rows
        return known and (self.draws_from_law or not self.tabulated)

    @property
    def own(self) -> bool:
        """Whether the class is this package's: another's may have any law, or any draws, under the same name."""
        return is_own(type(self))

    @property
    def has_fingerprint(self) -> bool:
        """Whether `law_fingerprint` is a text; found without computing the law of a class of this package."""
        return self.space.fingerprint is not None and (self.own or self.closed_form is not None)

    @property
    def law_fingerprint(self) -> str | None:
        """A short text that differs between laws; None where no text can tell them apart."""
        if not self.has_fingerprint:
            return None
        if self.closed_form is not None:
            return f"{self.space.fingerprint}-{self.closed_form.fingerprint}"
        return stream_start(bytes(32), "law", self.fingerprint).hex() if self.own else None

    def rows(self, distances: Array) -> Array:
        """Return the exact law (k, number of points) of k input points.

        Args:
            distances: (k, number of points), from the inputs to all points; may be overwritten.

        Raises:
            NotTractable: no law is known.
        """
        family = self.family
        if family is not None:
            return family.rows(distances)
        raise NotTractable(
            f"No exact output law of {type(self).__name__} is known. "
            "Draw samples instead: mechanism.privatize([word] * 100_000)."
        )

    def bounded_rows(self, distances: Array) -> tuple[Array, Array]:
        """Return `rows` and a bound on the error of each probability, both (k, number of points)."""
        law_rows = self.rows(distances)
        return law_rows, np.zeros_like(law_rows)

    def _prepare_points(self, points: Points, workers: int | None) -> None:
        """Compute once for all records what `_draw_piece` needs of these input points (N,)."""
        del points, workers

    def _draw_piece(self, points: Points, generator: AESCounter) -> npt.NDArray[Any]:
        """Return (k, ...) what is drawn for each input point; needed where not `tabulated`.

        Args:
            points: (k,) consecutive tokens of one record, at most `deniable.randomness.PIECE`.
            generator: the record's stream, read on in order.
        """
        del points, generator
        raise TypeError(f"{type(self).__name__} must be tabulated or give _draw_piece.")

    def _settle(self, drawn: npt.NDArray[Any], workers: int | None) -> Points:
        """Return the output points (k,) of what was drawn (k, ...) for the tokens of many records."""
        del workers
        return drawn

    def _draw_points(self, points: Points, streams: Streams, workers: int | None) -> Points:
        """Return one output point for each input point (N,)."""
        if self.tabulated:
            return law.draw(self.space, self.rows, points, streams.bits(), workers)
        self._prepare_points(points, workers)
        out = np.empty(len(points), dtype=np.int32)
        offsets = np.concatenate([[0], np.cumsum(streams.lengths)])
        batches = list(streams.batches(PIECE))
        inner = workers if len(batches) == 1 else 1  # one long record alone: its tokens share the cores

        def batch(records: tuple[int, int]) -> None:
            start = end = int(offsets[records[0]])
            drawn: list[npt.NDArray[Any]] = []
            for piece in streams.pieces(*records, start):
                drawn.append(self._draw_piece(points[piece.tokens], piece.generator))
                end = piece.tokens.stop
                if end - start >= PIECE:
                    out[start:end] = self._settle(np.concatenate(drawn), inner)
                    start, drawn = end, []
            if drawn:
                out[start:end] = self._settle(np.concatenate(drawn), inner)

        each(batch, batches, workers)
        return out

    def draw(self, words: npt.NDArray[np.int32], streams: Streams, workers: int | None = None) -> npt.NDArray[np.int32]:
        """Return one output word number for each input word number (N,).

        Args:
            words: the words of several records, end to end.
            streams: the records' keystreams and lengths.
            workers: threads; the result does not depend on them.
        """
        space = self.space
        points = self._draw_points(space.point_of[words], streams, workers)
        if len(space.points) == len(space):
            return points
        order, ends = space.members
        sizes = np.diff(ends, prepend=0)[points]
        chosen: npt.NDArray[np.int32] = order[ends[points] - sizes + streams.choose(sizes)].astype(np.int32)
        return chosen

    def privatize(self, words: Sequence[str]) -> list[str]:
        """Return one output word for each word, with fresh noise from the operating system.

        Raises:
            InputError: a word is not in the space.
        """
        if isinstance(words, str):
            raise InputError("privatize takes a list of words. Got one str: call the mechanism itself.")
        numbers = np.array([self.space.number(word) for word in words], dtype=np.int32)
        streams = Streams(fresh_key(), [bytes(16)], [len(numbers)])
        return [self.space.words[number] for number in self.draw(numbers, streams).tolist()]

    def __call__(self, word: str) -> str:
        """Return one draw for one word."""
        return self.privatize([word])[0]

    def probabilities(self, word: str) -> Array:
        """Return the exact law (n,) of the word's output, in the order of ``space.words``.

        Raises:
            NotTractable: no law is known.
            InputError: the word is not in the space.
        """
        space = self.space
        row = self.rows(space.distances(space.point_of[[space.number(word)]]))[0]
        shares: Array = (row / np.bincount(space.point_of))[space.point_of]
        return shares

    def outcomes(self, prior: Frequencies = None, workers: int | None = None) -> tuple[float, float]:
        """Return the share of words released unchanged, and the share that the best guess names.

        Args:
            prior: how frequent words are, see `deniable.recovery`; None for Zipf's law by the space's ranks.
            workers: threads.

        Raises:
            InputError: a prior that is none.
            NotTractable: no law is known.
        """
        given = build_prior(self.space, prior)
        weights = given.weights

        def compute() -> dict[str, float]:
            if self.closed_form is not None:
                logs = log_normalisers(self.space, self.closed_form, workers)
                ((kept, recovered),) = outcomes(self.space, [self.closed_form], [logs], weights, workers)
            else:
                kept, recovered = law.outcomes(self.space, self.rows, weights, workers)
            return {"kept": float(weights @ kept), "recovered": recovered}

        fingerprint = self.law_fingerprint
        # What follows from the frequencies of private words is not kept.
        if fingerprint is None or not given.public:
            found = compute()
        else:
            found = remember(f"outcomes-{fingerprint}-{_digest(weights)}", ("kept", "recovered"), compute, _are_shares)
        return found["kept"], found["recovered"]

    def expected_kept(self, prior: Frequencies = None, workers: int | None = None) -> Share:
        """Return the share of words released unchanged when words follow a public prior.

        Exact where draws come from the law, else simulated with `SIMULATED` draws from a fixed
        public stream. It tells nothing about any private text from which the prior was not made.

        Args:
            prior: how frequent words are, see `deniable.recovery`; None for Zipf's law by the space's ranks.
            workers: threads.

        Raises:
            InputError: a prior that is none.
        """
        given = build_prior(self.space, prior)
        if self.draws_from_law:
            return Share(self.outcomes(given, workers)[0])

        def compute() -> dict[str, float]:
            streams = Streams(bytes(32), [bytes(16)], [SIMULATED])
            ranks = np.searchsorted(np.cumsum(given.weights), (np.arange(SIMULATED) + 0.5) / SIMULATED)
            words = np.minimum(ranks, len(self.space) - 1).astype(np.int32)
            return {"value": float(np.mean(self.draw(words, streams, workers) == words))}

        if not self.space.metric.builtin or not self.own or not given.public:
            return Share(compute()["value"], SIMULATED)
        name = stream_start(bytes(32), "kept", self.fingerprint, _digest(given.weights)).hex()
        return Share(remember(f"kept-{name}", ("value",), compute, _are_shares)["value"], SIMULATED)

    def document_guarantee(self, words: int, delta: float, workers: int | None = None) -> DocumentGuarantee:
        """Return what is promised for a text of so many words, against any other of the same number.

        Args:
            words: number of words, >= 1.
            delta: in (0, 1), for the (epsilon, delta) guarantee.
            workers: threads.

        Raises:
            InputError: a parameter outside its domain.
        """
        return document_guarantee(self, words, delta, workers)

    def __repr__(self) -> str:
        """Return name, parameters and space."""
        numbers = ", ".join(f"{name}={value:g}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({self.space!r}, {numbers})"

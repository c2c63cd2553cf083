"""The contract of a word mechanism: a randomized map from words to words with a guarantee."""

import abc
import dataclasses
import hashlib
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from randomgen import AESCounter

from deniable.core.arrays import FloatArray
from deniable.core.cache import load_or_compute_facts
from deniable.core.classes import WriteOnce, is_builtin_class
from deniable.core.errors import InputError, NotTractable, check_positive
from deniable.core.guarantees import MetricDP
from deniable.core.parallel import parallel_map
from deniable.core.randomness import CHUNK_TOKENS, Streams, derive_stream_start, generate_key
from deniable.space.space import PointNumbers, Space
from deniable.words.composition import DocumentGuarantee, compute_document_guarantee
from deniable.words.laws import tabulated
from deniable.words.laws.exponential import ExponentialLaw, compute_log_normalisers
from deniable.words.laws.outcomes import compute_exponential_outcomes
from deniable.words.prior import PriorLike, build_prior

KEPT_SHARE_DRAWS = 20_000
"""Draws behind an expected share where no cheap law is known."""


@dataclasses.dataclass(frozen=True)
class KeptShare:
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


def _hash_weights(weights: FloatArray) -> str:
    """Return a short text that differs between priors."""
    return hashlib.blake2b(weights.tobytes(), digest_size=8).hexdigest()


def _has_valid_shares(facts: dict[str, float]) -> bool:
    """Say whether cached values can be shares; the sum of many may round to a little more than 1."""
    return all(0 <= value <= 1 + 1e-9 for value in facts.values())


class WordMechanism(WriteOnce, abc.ABC):
    """A mechanism M: W -> W over a space, with epsilon per unit of the space's distance.

    A mechanism is one file: a subclass that gives `guarantee`, the law in `exponential_law` or `rows` if one
    is known, and `_draw_chunk` unless draws come from tables of that law; and one row in the
    registry `deniable.registry.words.WORD_MECHANISMS`. Its attributes are set once, by its constructor, so that
    what is proved of it stays true.

    Args:
        space: the domain.
        epsilon: privacy parameter per unit of distance, > 0.

    Raises:
        InputError: epsilon is not a positive finite number, or the space does not suit.
    """

    name: ClassVar[str]
    """Name on the command line and in certificates."""
    is_tabulated: bool
    """True where draws come from the integer tables of `rows`; False where they are simulated."""
    requires_euclidean_metric: ClassVar[bool] = False
    """True where the theorem is about the Euclidean metric alone."""
    requires_builtin_metric: ClassVar[bool] = False
    """True where the proof needs to know how the metric rounds: no function of the user's own."""

    def __init__(self, space: Space, *, epsilon: float) -> None:
        if not isinstance(space, Space):
            raise InputError(f"The 'space' parameter of {type(self).__name__} must be a Space. Got {space!r}.")
        self.space = space
        self.epsilon = check_positive(type(self).__name__, "epsilon", epsilon)
        if self.requires_euclidean_metric and space.metric.name != "euclidean":
            raise InputError(
                f"{type(self).__name__} needs the Euclidean metric. Got {space.metric}: use TEM, "
                "which takes any metric."
            )

        if self.requires_builtin_metric and not self.space.metric.is_builtin:
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
    def derived_parameters(self) -> dict[str, float | str]:
        """What was computed from space and parameters to make the law, for certificates."""
        return {}

    @property
    def fingerprint(self) -> str:
        """A text that differs between mechanisms, parameters and spaces."""
        numbers = ",".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.name}({numbers})@{self.space.fingerprint}"

    @property
    def exponential_law(self) -> ExponentialLaw | None:
        """The law as a member of the exponential family, or None where it is none."""
        return None

    @property
    def is_drawn_from_law(self) -> bool:
        """Whether draws come from the integer tables of `rows`, by no code of the subclass's own."""
        steps = ("_draw_points", "draw_words", "sample", "__call__", "__getattribute__")
        return self.is_tabulated and all(getattr(type(self), step) is getattr(WordMechanism, step) for step in steps)

    @property
    def sampled_exponential_law(self) -> ExponentialLaw | None:
        """The family's law where draws come from it: None too where a subclass has rows or draws of its own.

        A subclass of `ExponentialLaw` may compute any law, which scale, cutoff and weights do not tell.
        """
        if type(self).rows is not WordMechanism.rows or not self.is_drawn_from_law:
            return None
        exponential = self.exponential_law
        return exponential if type(exponential) is ExponentialLaw else None

    @property
    def has_law(self) -> bool:
        """Whether `rows` gives an exact law of what is drawn."""
        kind = type(self)
        has_rows = kind.exponential_law is not WordMechanism.exponential_law or kind.rows is not WordMechanism.rows
        return has_rows and (self.is_drawn_from_law or not self.is_tabulated)

    @property
    def is_builtin(self) -> bool:
        """Whether the class is this package's: another's may have any law, or any draws, under the same name."""
        return is_builtin_class(type(self))

    @property
    def has_fingerprint(self) -> bool:
        """Whether `law_fingerprint` is a text; found without computing the law of a class of this package."""
        return self.space.fingerprint is not None and (self.is_builtin or self.sampled_exponential_law is not None)

    @property
    def law_fingerprint(self) -> str | None:
        """A short text that differs between laws; None where no text can tell them apart."""
        if not self.has_fingerprint:
            return None
        if self.sampled_exponential_law is not None:
            return f"{self.space.fingerprint}-{self.sampled_exponential_law.fingerprint}"
        return derive_stream_start(bytes(32), "law", self.fingerprint).hex() if self.is_builtin else None

    def rows(self, distances: FloatArray) -> FloatArray:
        """Return the exact law (k, number of points) of k input points.

        Args:
            distances: (k, number of points), from the inputs to all points; may be overwritten.

        Raises:
            NotTractable: no law is known.
        """
        exponential = self.exponential_law
        if exponential is not None:
            return exponential.rows(distances)
        raise NotTractable(
            f"No exact output law of {type(self).__name__} is known. "
            "Draw samples instead: mechanism.privatize([word] * 100_000)."
        )

    def rows_with_errors(self, distances: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return `rows` and a bound on the error of each probability, both (k, number of points)."""
        law_rows = self.rows(distances)
        return law_rows, np.zeros_like(law_rows)

    def _prepare_points(self, points: PointNumbers, workers: int | None) -> None:
        """Compute once for all records what `_draw_chunk` needs of these input points (N,)."""
        del points, workers

    def _draw_chunk(self, points: PointNumbers, generator: AESCounter) -> npt.NDArray[Any]:
        """Return (k, ...) what is drawn for each input point; needed where not `is_tabulated`.

        Args:
            points: (k,) consecutive tokens of one record, at most `deniable.core.randomness.CHUNK_TOKENS`.
            generator: the record's stream, read on in order.
        """
        del points, generator
        raise TypeError(f"{type(self).__name__} must be tabulated or give _draw_piece.")

    def _resolve_points(self, draws: npt.NDArray[Any], workers: int | None) -> PointNumbers:
        """Return the output points (k,) of what was drawn (k, ...) for the tokens of many records."""
        del workers
        return draws

    def _draw_points(self, points: PointNumbers, streams: Streams, workers: int | None) -> PointNumbers:
        """Return one output point for each input point (N,)."""
        if self.is_tabulated:
            return tabulated.sample_from_tables(self.space, self.rows, points, streams.bits(), workers)
        self._prepare_points(points, workers)
        out = np.empty(len(points), dtype=np.int32)
        offsets = np.concatenate([[0], np.cumsum(streams.lengths)])
        batches = list(streams.batches(CHUNK_TOKENS))
        inner_workers = workers if len(batches) == 1 else 1  # one long record alone: its tokens share the cores

        def draw_batch(records: tuple[int, int]) -> None:
            start = end = int(offsets[records[0]])
            draws: list[npt.NDArray[Any]] = []
            for chunk in streams.chunks(*records, start):
                draws.append(self._draw_chunk(points[chunk.tokens], chunk.generator))
                end = chunk.tokens.stop
                if end - start >= CHUNK_TOKENS:
                    out[start:end] = self._resolve_points(np.concatenate(draws), inner_workers)
                    start, draws = end, []
            if draws:
                out[start:end] = self._resolve_points(np.concatenate(draws), inner_workers)

        parallel_map(draw_batch, batches, workers)
        return out

    def draw_words(
        self, word_numbers: npt.NDArray[np.int32], streams: Streams, workers: int | None = None
    ) -> npt.NDArray[np.int32]:
        """Return one output word number for each input word number (N,).

        Args:
            word_numbers: the words of several records, end to end.
            streams: the records' keystreams and lengths.
            workers: threads; the result does not depend on them.
        """
        space = self.space
        points = self._draw_points(space.point_by_word[word_numbers], streams, workers)
        if len(space.points) == len(space):
            return points
        order, ends = space.words_by_point
        sizes = np.diff(ends, prepend=0)[points]
        drawn_words: npt.NDArray[np.int32] = order[ends[points] - sizes + streams.uniform_below(sizes)].astype(np.int32)
        return drawn_words

    def sample(self, words: Sequence[str]) -> list[str]:
        """Return one output word for each word, with fresh noise from the operating system.

        Raises:
            InputError: a word is not in the space.
        """
        if isinstance(words, str):
            raise InputError("privatize takes a list of words. Got one str: call the mechanism itself.")
        numbers = np.array([self.space.index_of(word) for word in words], dtype=np.int32)
        streams = Streams(generate_key(), [bytes(16)], [len(numbers)])
        return [self.space.words[number] for number in self.draw_words(numbers, streams).tolist()]

    def __call__(self, word: str) -> str:
        """Return one draw for one word."""
        return self.sample([word])[0]

    def probabilities(self, word: str) -> FloatArray:
        """Return the exact law (n,) of the word's output, in the order of ``space.words``.

        Raises:
            NotTractable: no law is known.
            InputError: the word is not in the space.
        """
        space = self.space
        row = self.rows(space.distances(space.point_by_word[[space.index_of(word)]]))[0]
        shares: FloatArray = (row / np.bincount(space.point_by_word))[space.point_by_word]
        return shares

    def outcomes(self, prior: PriorLike = None, workers: int | None = None) -> tuple[float, float]:
        """Return the share of words released unchanged, and the share that the best guess names.

        Args:
            prior: how frequent words are, see `deniable.recovery`; None for Zipf's law by the space's ranks.
            workers: threads.

        Raises:
            InputError: a prior that is none.
            NotTractable: no law is known.
        """
        resolved_prior = build_prior(self.space, prior)
        weights = resolved_prior.weights

        def compute() -> dict[str, float]:
            if self.sampled_exponential_law is not None:
                logs = compute_log_normalisers(self.space, self.sampled_exponential_law, workers)
                ((kept_shares, bayes_success),) = compute_exponential_outcomes(
                    self.space, [self.sampled_exponential_law], [logs], weights, workers
                )
            else:
                kept_shares, bayes_success = tabulated.compute_outcomes(self.space, self.rows, weights, workers)
            return {"kept": float(weights @ kept_shares), "recovered": bayes_success}

        fingerprint = self.law_fingerprint
        # What follows from the frequencies of private words is not kept.
        if fingerprint is None or not resolved_prior.is_public:
            facts = compute()
        else:
            facts = load_or_compute_facts(
                f"outcomes-{fingerprint}-{_hash_weights(weights)}", ("kept", "recovered"), compute, _has_valid_shares
            )
        return facts["kept"], facts["recovered"]

    def expected_kept_share(self, prior: PriorLike = None, workers: int | None = None) -> KeptShare:
        """Return the share of words released unchanged when words follow a public prior.

        Exact where draws come from the law, else simulated with `KEPT_SHARE_DRAWS` draws from a fixed
        public stream. It tells nothing about any private text from which the prior was not made.

        Args:
            prior: how frequent words are, see `deniable.recovery`; None for Zipf's law by the space's ranks.
            workers: threads.

        Raises:
            InputError: a prior that is none.
        """
        resolved_prior = build_prior(self.space, prior)
        if self.is_drawn_from_law:
            return KeptShare(self.outcomes(resolved_prior, workers)[0])

        def compute() -> dict[str, float]:
            streams = Streams(bytes(32), [bytes(16)], [KEPT_SHARE_DRAWS])
            ranks = np.searchsorted(
                np.cumsum(resolved_prior.weights), (np.arange(KEPT_SHARE_DRAWS) + 0.5) / KEPT_SHARE_DRAWS
            )
            words = np.minimum(ranks, len(self.space) - 1).astype(np.int32)
            return {"value": float(np.mean(self.draw_words(words, streams, workers) == words))}

        if not self.space.metric.is_builtin or not self.is_builtin or not resolved_prior.is_public:
            return KeptShare(compute()["value"], KEPT_SHARE_DRAWS)
        name = derive_stream_start(bytes(32), "kept", self.fingerprint, _hash_weights(resolved_prior.weights)).hex()
        return KeptShare(
            load_or_compute_facts(f"kept-{name}", ("value",), compute, _has_valid_shares)["value"], KEPT_SHARE_DRAWS
        )

    def document_guarantee(self, word_count: int, delta: float, workers: int | None = None) -> DocumentGuarantee:
        """Return what is promised for a text of so many words, against any other of the same number.

        Args:
            word_count: number of words, >= 1.
            delta: in (0, 1), for the (epsilon, delta) guarantee.
            workers: threads.

        Raises:
            InputError: a parameter outside its domain.
        """
        return compute_document_guarantee(self, word_count, delta, workers)

    def __repr__(self) -> str:
        """Return name, parameters and space."""
        numbers = ", ".join(f"{name}={value:g}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({self.space!r}, {numbers})"

"""The contract of a word mechanism: a randomized map from words to words with a guarantee."""

import abc
import dataclasses
import functools
import hashlib
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.cache import load_or_compute_array
from deniable.core.classes import get_picklable_state, is_builtin_class
from deniable.core.errors import InputError, check_positive, make_parameter_error
from deniable.core.guarantees import Guarantee, Status
from deniable.core.numbers import format_exact
from deniable.core.parallel import compile_loop
from deniable.core.randomness import Streams, derive_stream_start, generate_key
from deniable.space.space import Space
from deniable.words.composition import DocumentGuarantee, compute_document_guarantee
from deniable.words.laws import Law
from deniable.words.laws.law import WordShares, format_fingerprint
from deniable.words.outcomes import KeptShare, Outcomes, summarize_outcomes
from deniable.words.prior import PriorLike, build_prior

KEPT_SHARE_DRAWS = 20_000
"""Draws behind an expected share where no cheap law is known."""

_DESCRIBED = (
    "__call__",
    "__getattribute__",
    "document_guarantee",
    "draw_words",
    "expected_kept_share",
    "has_fingerprint",
    "is_builtin",
    "law",
    "outcomes",
    "probabilities",
    "sample",
    "word_shares",
)
"""What draws, and what is said of the draws: a mechanism that is proved has none of its own."""


@dataclasses.dataclass(frozen=True, repr=False)
class WordMechanism(abc.ABC):
    """A mechanism M: W -> W over a space, with epsilon per unit of the space's distance.

    A mechanism is one file: a subclass with a name, a `guarantee` and the law that `build_law` returns; and one row in
    `deniable.registry`. The law is what is drawn from, verified, explained and composed.

    Args:
        space: the domain.
        epsilon: privacy parameter per unit of distance, > 0.

    Raises:
        InputError: epsilon is not a positive finite number, or the space does not suit.
        TypeError: a subclass has no name.
    """

    name: ClassVar[str]
    """Name on the command line and in certificates."""
    metrics: ClassVar[Literal["any", "named", "euclidean"]] = "any"
    """Metrics that the theorem is about: any; those that have a name, whose rounding is known; or the Euclidean one."""
    space: Space
    epsilon: float = dataclasses.field(kw_only=True)

    def __post_init__(self) -> None:
        """Check the parameters."""
        if not isinstance(self.space, Space):
            raise InputError(f"The 'space' parameter of {type(self).__name__} must be a Space. Got {self.space!r}.")
        if not isinstance(getattr(self, "name", None), str):
            raise TypeError(f'{type(self).__name__} needs a name, by which noise is keyed: write name = "..." in it.')
        object.__setattr__(self, "epsilon", check_positive(type(self).__name__, "epsilon", self.epsilon))
        metric = self.space.metric
        if not {"any": True, "named": metric.is_builtin, "euclidean": metric.name == "euclidean"}[self.metrics]:
            needed = "the Euclidean metric" if self.metrics == "euclidean" else "a metric of this package"
            raise InputError(
                f"{type(self).__name__} needs {needed}. Got {metric}: give --metric euclidean (metric='euclidean' in "
                "Python), or use TEM, which takes any metric."
            )

    @property
    @abc.abstractmethod
    def guarantee(self) -> Guarantee:
        """What the mechanism's theorem states."""

    @abc.abstractmethod
    def build_law(self) -> Law:
        """Return the law of the outputs, of one of the kinds in `deniable.words.laws`; `law` keeps it."""

    @functools.cached_property
    def law(self) -> Law:
        """The law of the outputs: the very object that is drawn from and verified. May take a while to find.

        Raises:
            TypeError: the class returns a law that is not of this package's kinds, or over another space.
        """
        law = self.build_law()
        if not (isinstance(law, Law) and is_builtin_class(type(law))) or law.space is not self.space:
            raise TypeError(
                f"{type(self).__name__}.build_law must return a law of dn.laws, and no subclass, over the mechanism's "
                f"own space: build it with self.space. Got {law!r}."
            )
        return law

    @property
    def parameters(self) -> dict[str, float]:
        """The numbers that define the mechanism, besides the space. Noise is keyed by them."""
        return {"epsilon": self.epsilon}

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002, ARG002 - scikit-learn's contract
        """The constructor's arguments by name, as they were given; with `replace`, what scikit-learn reads."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def replace(self, **changes: Any) -> Self:  # noqa: ANN401 - arguments of the subclass
        """A mechanism of the same class with other arguments, by name.

        What follows from others does so anew: ``TEM(space, epsilon=3.0).replace(epsilon=6.0)`` has the truncation
        threshold of epsilon 6.
        """
        return dataclasses.replace(self, **changes)

    def __getstate__(self) -> dict[str, Any]:
        """What pickles: nothing that was computed from the rest."""
        return get_picklable_state(self)

    def __sklearn_clone__(self) -> Self:
        """Return the mechanism itself, which never changes: clones share the law that was found."""
        return self

    @property
    def derived_parameters(self) -> dict[str, float | str]:
        """What was computed from space and parameters to make the law, for certificates."""
        return {}

    @property
    def fingerprint(self) -> str:
        """A text that differs between mechanisms, parameters and spaces."""
        return format_fingerprint(self.name, self.parameters, self.space)

    @property
    def is_builtin(self) -> bool:
        """Whether the class is this package's, so that the theorem it cites is about its draws."""
        return is_builtin_class(type(self))

    @property
    def has_fingerprint(self) -> bool:
        """Whether the law has a fingerprint; found without computing the law of a class of this package."""
        return self.space.fingerprint is not None and (self.is_builtin or self.law.fingerprint is not None)

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
        points = self.law.sample(space.point_by_word[word_numbers], streams, workers)
        if space.point_count == len(space):
            return points
        return _choose_words(points, *space.words_by_point, streams.bits(region=1))

    def sample(self, words: Sequence[str]) -> list[str]:
        """Return one output word for each word, with fresh noise from the operating system.

        Raises:
            InputError: a word is not in the space.
        """
        if isinstance(words, str):
            raise InputError("sample takes a list of words. Got one str: call the mechanism itself.")
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
        point = space.point_by_word[[space.index_of(word)]]
        row = self.law.rows(point)[0]
        shares: FloatArray = (row / np.bincount(space.point_by_word))[space.point_by_word]
        return shares

    def outcomes(self, prior: PriorLike = None, workers: int | None = None) -> Outcomes:
        """Return the shares of words that are released unchanged and that the best guess is right about.

        Args:
            prior: how frequent words are, see `deniable.recovery`; None for Zipf's law by the space's ranks.
            workers: threads.

        Raises:
            InputError: a prior that is none.
            NotTractable: no law is known, or computing it for every word would take hours.
        """
        resolved_prior = build_prior(self.space, prior)
        return summarize_outcomes(self.space, resolved_prior.weights, self.word_shares(resolved_prior, workers))

    def word_shares(self, prior: PriorLike = None, workers: int | None = None) -> WordShares:
        """Return for each word how often it is released unchanged, and how often the best guess is right about it.

        Args:
            prior: see `outcomes`.
            workers: threads.

        Raises:
            InputError: see `outcomes`.
            NotTractable: see `outcomes`.
        """
        resolved_prior = build_prior(self.space, prior)

        def compute() -> FloatArray:
            shares = self.law.outcomes(resolved_prior.weights, workers)
            return np.stack([shares.kept, shares.guessed])

        if self.law.fingerprint is None or not resolved_prior.is_public:  # what private words follow is not kept
            return WordShares(*compute())
        weights = hashlib.blake2b(resolved_prior.weights.tobytes(), digest_size=8).hexdigest()
        name = derive_stream_start(bytes(32), "outcomes", self.law.fingerprint, weights).hex()
        return WordShares(*load_or_compute_array(f"outcomes-{name}", (2, len(self.space)), compute))

    def expected_kept_share(self, prior: PriorLike = None, workers: int | None = None) -> KeptShare:
        """The share of words released unchanged when words follow a public prior.

        Exact where draws come from tables, else simulated with `KEPT_SHARE_DRAWS` draws from a fixed
        public stream. It tells nothing about any private text from which the prior was not made.

        Args:
            prior: how frequent words are, see `deniable.recovery`; None for Zipf's law by the space's ranks.
            workers: threads.

        Raises:
            InputError: a prior that is none.
        """
        resolved_prior = build_prior(self.space, prior)
        if self.law.is_tabulated:
            return KeptShare(self.outcomes(resolved_prior, workers).kept)

        streams = Streams(bytes(32), [bytes(16)], [KEPT_SHARE_DRAWS])
        places = (np.arange(KEPT_SHARE_DRAWS) + 0.5) / KEPT_SHARE_DRAWS
        ranks = np.searchsorted(np.cumsum(resolved_prior.weights), places)
        words = np.minimum(ranks, len(self.space) - 1).astype(np.int32)
        return KeptShare(float(np.mean(self.draw_words(words, streams, workers) == words)), KEPT_SHARE_DRAWS)

    def document_guarantee(self, word_count: int, delta: float, workers: int | None = None) -> DocumentGuarantee:
        """Return what is promised for a text of so many words, against any other of the same number.

        Args:
            word_count: number of words, >= 1.
            delta: in (0, 1), for the (epsilon, delta) guarantee.
            workers: threads.

        Raises:
            InputError: a parameter outside its domain.
            TypeError: the draws are not those of the law.
        """
        check_draws(self)
        # Where the loss is not computed it follows from the claim, whose theorem is not about floats.
        claimed_loss_status: Status = "proved for ideal arithmetic" if self.is_builtin else "undecided"
        return compute_document_guarantee(
            self.law, self.guarantee, word_count, delta, claimed_loss_status=claimed_loss_status, workers=workers
        )

    def __repr__(self) -> str:
        """Return name, parameters and space."""
        numbers = ", ".join(f"{name}={format_exact(value)}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({self.space!r}, {numbers})"


def recovery(mechanism: WordMechanism, prior: PriorLike = None, workers: int | None = None) -> float:
    """The Bayes success of an attacker: the share of words that the best guess is right about.

    With the public prior pi the sum over outputs y of max over w of pi(w) P(y|w), from the exact law.
    That is optimal for an attacker who sees one output word at a time; one who knows language, and sees the words
    around it, does better. Without any output the success is max pi.

    Args:
        mechanism: with a known law.
        prior: how frequent words are, declared public: what `read_prior` returns, counts by word (words that the
            space lacks are left out), or n numbers in the order of ``space.words``; None for Zipf's law by rank.
        workers: threads.

    Raises:
        InputError: no word mechanism, or counts that are negative, not finite, all zero, or not one for each word.
        NotTractable: no law is known, or computing it for every word would take hours.
    """
    if not isinstance(mechanism, WordMechanism):
        expected = "a word mechanism, such as TEM(space, epsilon=3.0)"
        raise make_parameter_error("recovery", "mechanism", expected, mechanism)
    return mechanism.outcomes(prior, workers).guessed


@compile_loop
def _choose_words(  # pragma: no cover - compiled
    points: npt.NDArray[np.int32],
    order: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    bits: npt.NDArray[np.uint64],
) -> npt.NDArray[np.int32]:
    """Return for each point (N,) one of the words that lie there, all equally likely but for a share below n / 2^62.

    Args:
        points: (N,).
        order: the words, sorted by their points.
        ends: of each point's words in ``order``.
        bits: (N,) random 64-bit numbers, of which the upper 62 bits are used.
    """
    words = np.empty(points.size, dtype=np.int32)
    for token in range(points.size):
        point = points[token]
        start = ends[point - 1] if point > 0 else 0
        size = ends[point] - start
        choice = np.int64(bits[token] >> np.uint64(2)) % size if size > 1 else 0
        words[token] = order[start + choice]
    return words


def check_draws(mechanism: WordMechanism) -> None:
    """Refuse a mechanism that draws otherwise than from its law: nothing that is computed of the law is true of it.

    Raises:
        TypeError: see above.
    """
    kind = type(mechanism)
    replaced = {*vars(mechanism)} - {"law"}  # which `law` keeps there, and which is verified itself
    for name in _DESCRIBED:
        if name in replaced or getattr(kind, name, None) is not getattr(WordMechanism, name):
            raise TypeError(
                f"{kind.__name__} must not replace {name!r}: what a mechanism draws is its law. Override 'build_law', "
                "and return a SimulatedLaw for draws of your own."
            )

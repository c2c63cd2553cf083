"""The contract of a word mechanism: a randomized map from words to words with a guarantee."""

import abc
import functools
import hashlib
import inspect
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from deniable.core.arguments import bind_arguments
from deniable.core.arrays import FloatArray
from deniable.core.cache import load_or_compute_array, load_or_compute_facts
from deniable.core.classes import WriteOnce, find_home, find_shadowing_attribute, is_builtin_class
from deniable.core.errors import InputError, NotTractable, check_positive
from deniable.core.guarantees import MetricDP, Status
from deniable.core.numbers import format_exact
from deniable.core.parallel import compile_loop
from deniable.core.randomness import Streams, derive_stream_start, generate_key
from deniable.space.space import Space
from deniable.words.composition import DocumentGuarantee, compute_document_guarantee
from deniable.words.laws import ExponentialLaw, Law, QuadratureLaw, RingLaw, SimulatedLaw, TabulatedLaw
from deniable.words.laws.law import WordShares, format_fingerprint
from deniable.words.outcomes import KeptShare, Outcomes, summarize_outcomes
from deniable.words.prior import PriorLike, build_prior
from deniable.words.search import KernelSearch

KEPT_SHARE_DRAWS = 20_000
"""Draws behind an expected share where no cheap law is known."""


def _hash_weights(weights: FloatArray) -> str:
    """Return a short text that differs between priors."""
    return hashlib.blake2b(weights.tobytes(), digest_size=8).hexdigest()


def _are_shares(values: FloatArray) -> bool:
    """Return whether cached values can be shares; the sum of many may round to a little more than 1."""
    return bool(((values >= 0) & (values <= 1 + 1e-9)).all())


def _has_valid_share(facts: dict[str, float]) -> bool:
    return _are_shares(np.array([*facts.values()]))


_LAW_KINDS = (ExponentialLaw, RingLaw, TabulatedLaw, QuadratureLaw, SimulatedLaw)
_FINAL_METHODS = (
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
"""What draws, and what is said of the draws: a subclass has neither of its own."""


class WordMechanism(WriteOnce, abc.ABC):
    """A mechanism M: W -> W over a space, with epsilon per unit of the space's distance.

    A mechanism is one file: a subclass with a name, a `guarantee` and the law that `build_law` returns; and one row in
    the registry `deniable.registry.word_mechanisms`. The law is what is drawn from, verified, explained and
    composed: a subclass cannot replace how words are drawn. Its attributes are set once, by its constructor, so that
    what is proved of it stays true.

    Args:
        space: the domain.
        epsilon: privacy parameter per unit of distance, > 0.

    Raises:
        InputError: epsilon is not a positive finite number or was given without its name, or the space does not suit.
        TypeError: a subclass has no name, or replaces a method that draws.
    """

    name: ClassVar[str]
    """Name on the command line and in certificates."""
    __signature__: ClassVar[inspect.Signature]
    _arguments: dict[str, Any]

    def __new__(cls, *arguments: Any, **options: Any) -> Self:  # noqa: ANN401 - those of the subclass
        """Note the constructor's arguments by name; a call that does not fit it is told in one line how to write it."""
        instance = super().__new__(cls)
        if arguments or options:  # a pickle brings its own
            instance._arguments = bind_arguments(cls.__name__, _get_signature(cls), arguments, options)
        return instance

    def __init__(self, space: Space, *, epsilon: float) -> None:
        if not isinstance(space, Space):
            raise InputError(f"The 'space' parameter of {type(self).__name__} must be a Space. Got {space!r}.")
        if not isinstance(getattr(self, "name", None), str):
            raise TypeError(f'{type(self).__name__} needs a name, by which noise is keyed: write name = "..." in it.')
        self.space = space
        self.epsilon = check_positive(type(self).__name__, "epsilon", epsilon)

    def __init_subclass__(cls, **options: Any) -> None:  # noqa: ANN401 - those of object
        """Refuse a subclass that draws otherwise than from its law; `inspect` sees its constructor's arguments."""
        super().__init_subclass__(**options)
        cls.__signature__ = _get_signature(cls)
        _refuse_replaced_methods(cls)

    @property
    @abc.abstractmethod
    def guarantee(self) -> MetricDP:
        """What the mechanism's theorem states."""

    @abc.abstractmethod
    def build_law(self) -> Law:
        """Return the law of the outputs, of one of the kinds in `deniable.words.laws`; `law` keeps it."""

    @classmethod
    def kernel_search(cls, space: Space) -> KernelSearch | None:
        """Return how to look for an epsilon over a space, where kernels are known at once; else None."""
        del space
        return None

    @functools.cached_property
    def law(self) -> Law:
        """The law of the outputs: the very object that is drawn from and verified. May take a while to find.

        Raises:
            TypeError: the class returns a law that is not of this package's kinds, or over another space.
        """
        law = self.build_law()
        _check_law(self, law)
        return law

    @property
    def parameters(self) -> dict[str, float]:
        """The numbers that define the mechanism, beside the space. Noise is keyed by them."""
        return {"epsilon": self.epsilon}

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002, ARG002 - scikit-learn's contract
        """Return the constructor's arguments by name, as they were given; with `replace`, what scikit-learn reads."""
        return dict(self._arguments)

    def replace(self, **changes: Any) -> Self:  # noqa: ANN401 - arguments of the subclass
        """Return a mechanism of the same class with other arguments; this one does not change.

        What the constructor derives from others is derived anew: ``TEM(space, epsilon=3.0).replace(epsilon=6.0)`` has
        the truncation threshold of epsilon 6.

        Args:
            changes: arguments of the constructor, by name.

        Raises:
            InputError: the constructor has no such argument, or refuses its value.
        """
        return type(self)(**{**self._arguments, **changes})

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
        if not self.law.has_rows:
            raise NotTractable(
                f"No exact output law of {type(self).__name__} is known. "
                "Draw samples instead: mechanism.sample([word] * 100_000)."
            )
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
        weights = resolved_prior.weights

        def compute() -> FloatArray:
            shares = self.law.outcomes(weights, workers)
            return np.stack([shares.kept, shares.guessed])

        fingerprint = self.law.fingerprint
        # What follows from the frequencies of private words is not kept.
        if fingerprint is None or not resolved_prior.is_public:
            return WordShares(*compute())
        name = f"outcomes-{fingerprint}-{_hash_weights(weights)}"
        return WordShares(*load_or_compute_array(name, (2, len(weights)), compute, _are_shares))

    def expected_kept_share(self, prior: PriorLike = None, workers: int | None = None) -> KeptShare:
        """Return the share of words released unchanged when words follow a public prior.

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

        def compute() -> dict[str, float]:
            streams = Streams(bytes(32), [bytes(16)], [KEPT_SHARE_DRAWS])
            ranks = np.searchsorted(
                np.cumsum(resolved_prior.weights), (np.arange(KEPT_SHARE_DRAWS) + 0.5) / KEPT_SHARE_DRAWS
            )
            words = np.minimum(ranks, len(self.space) - 1).astype(np.int32)
            return {"value": float(np.mean(self.draw_words(words, streams, workers) == words))}

        if not self.has_fingerprint or not self.is_builtin or not resolved_prior.is_public:
            return KeptShare(compute()["value"], KEPT_SHARE_DRAWS)
        name = derive_stream_start(bytes(32), "kept", self.fingerprint, _hash_weights(resolved_prior.weights)).hex()
        return KeptShare(
            load_or_compute_facts(f"kept-{name}", ("value",), compute, _has_valid_share)["value"], KEPT_SHARE_DRAWS
        )

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


def _get_signature(cls: type[WordMechanism]) -> inspect.Signature:
    """Return the signature of a mechanism's constructor, without ``self``."""
    signature = inspect.signature(cls.__init__)
    return signature.replace(parameters=[*signature.parameters.values()][1:])


def _refuse_replaced_methods(cls: type) -> None:
    """Raise `TypeError` where a class has a method of its own in place of one that draws or describes the draws."""
    for method in _FINAL_METHODS:
        if find_home(cls, method) is not find_home(WordMechanism, method):
            raise TypeError(
                f"{cls.__name__} must not replace {method!r}: what a mechanism draws is its law. Override "
                "'build_law', and return a SimulatedLaw for draws of your own."
            )


def _check_law(mechanism: WordMechanism, law: Law) -> None:
    """Raise `TypeError` where a law is not of this package's kinds, or over another space than its mechanism's."""
    owner = type(mechanism).__name__
    if type(law) not in _LAW_KINDS:
        kinds = ", ".join(kind.__name__ for kind in _LAW_KINDS)
        raise TypeError(f"{owner}.build_law must return one of {kinds}, and no subclass. Got {type(law).__name__}.")
    if law.space is not mechanism.space:
        raise TypeError(
            f"{owner}.build_law must return a law over the mechanism's own space, {mechanism.space!r}. Got one over "
            f"{law.space!r}: build it with self.space."
        )


def check_draws(mechanism: WordMechanism) -> None:
    """Refuse a mechanism that draws otherwise than from its law: nothing that is computed of the law is true of it.

    Classes are checked when they are defined, but for those of a base that swallows the check, or that changed since.

    Raises:
        TypeError: see above.
    """
    _refuse_replaced_methods(type(mechanism))
    law = mechanism.law
    _check_law(mechanism, law)
    for owner in (mechanism, law):
        name = find_shadowing_attribute(owner)
        if name is not None:
            raise TypeError(f"{name!r} of this {type(owner).__name__} was replaced: make a new one instead.")


def check_euclidean(mechanism: WordMechanism) -> None:
    """Refuse a space of another metric than the Euclidean, which the mechanism's theorem is about.

    Raises:
        InputError: see above.
    """
    if mechanism.space.metric.name != "euclidean":
        raise InputError(
            f"{type(mechanism).__name__} needs the Euclidean metric. Got {mechanism.space.metric}: give --metric "
            "euclidean (metric='euclidean' in Python), or use TEM, which takes any metric."
        )


def check_metric_has_name(mechanism: WordMechanism) -> None:
    """Refuse a metric that is a function of the user's own: the mechanism's proof needs to know how it rounds.

    Raises:
        InputError: see above.
    """
    if not mechanism.space.metric.is_builtin:
        raise InputError(
            f"{type(mechanism).__name__} needs a metric that has a name, whose rounding is known. Got "
            f"{mechanism.space.metric}: use TEM, which takes any metric."
        )

"""The contract of a vector mechanism: a randomized map from vectors to vectors with a guarantee."""

import abc
import dataclasses
import functools
import math
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from randomgen import AESCounter

from deniable.core.arrays import FloatArray
from deniable.core.classes import is_builtin_class
from deniable.core.errors import InputError, NotTractable, make_parameter_error
from deniable.core.guarantees import Guarantee, NoiseLaw
from deniable.core.randomness import derive_key_from_seed
from deniable.vectors.discrete_noise import make_noise_generator
from deniable.vectors.domains import Domain, check_dimension


class ExactLoss(NamedTuple):
    """The true loss of a mechanism in nats: the largest log odds ratio over inputs and outputs.

    Attributes:
        upper: bound on the loss of any two inputs at any output, rounding included.
        lower: the loss of ``pair`` at some output, computed from the integers that are released.
        pair: the two inputs (n,); where the loss is infinite, some outputs of the first never come from
            the second.
    """

    upper: float
    lower: float
    pair: tuple[FloatArray, FloatArray]


class VectorMechanism(abc.ABC):
    """A mechanism M: R^n -> R^n for any n; every row of an input is one record and protected by itself.

    A mechanism is one file: a subclass that gives `claim`, `sensitivity`, `scale`, `worst_pair` and
    `_sample_rows`, `_exact_loss` where its loss is known, `noise`, `arithmetic` and `domain` where they
    differ from those below, and one entry in `deniable.registry.VECTOR_MECHANISMS`.

    Args:
        seed: for tests only: makes the draws of an instance repeatable, and its guarantee void.

    Raises:
        InputError: the seed is not an int.
    """

    name: ClassVar[str]
    """Name in the registry and in reports."""
    arithmetic: ClassVar[str] = "noise in floating point"
    """How draws are made, in words, for reports and certificates."""
    domain: Domain | None = None
    """The set that inputs are clipped to; None for a mechanism that does not clip."""

    def __init__(self, *, seed: int | None = None) -> None:
        if seed is not None:
            derive_key_from_seed(seed)  # raises
        self.seed = seed

    @property
    def noise(self) -> NoiseLaw | None:
        """Law of the noise, of one scale whatever the input; None for any other."""
        return None

    @property
    @abc.abstractmethod
    def claim(self) -> Guarantee:
        """What is known of the mechanism when its noise is secret, for any two rows as neighbours."""

    @property
    def guarantee(self) -> Guarantee:
        """The claim; refuted where the noise comes from a public seed."""
        if self.seed is None:
            return self.claim
        return dataclasses.replace(self.claim, source="not private: public seed", status="refuted")

    @abc.abstractmethod
    def sensitivity(self, n: int) -> float:
        """Return the sensitivity that the noise for vectors (n,) is calibrated to, in units of the input."""

    @abc.abstractmethod
    def scale(self, n: int) -> float:
        """Return the scale of the noise that vectors (n,) get, rounding included, in units of the input."""

    @abc.abstractmethod
    def worst_pair(self, n: int) -> tuple[FloatArray, FloatArray]:
        """Return two inputs (n,) at which the loss is largest."""

    def exact_loss(self, n: int) -> ExactLoss:
        """Return the pure loss for vectors (n,), bounded from both sides; infinite under a public seed.

        Raises:
            InputError: the dimension cannot be served.
            NotTractable: the mechanism has no finite pure loss and promises none.
        """
        if self.seed is not None:
            return ExactLoss(math.inf, math.inf, self.worst_pair(n))
        return self._exact_loss(n)

    def _exact_loss(self, n: int) -> ExactLoss:
        check_dimension(n)
        raise NotTractable(
            f"No pure loss of {type(self).__name__} is known: its guarantee is approximate, {self.claim}."
        )

    def sample(self, x: npt.ArrayLike) -> FloatArray:
        """Return noisy vectors, float64 of the same shape; every row and every call has noise of its own.

        Releasing the same row again spends its epsilon again.

        Args:
            x: (n,) one vector or (k, n) one per row, finite numbers.

        Raises:
            InputError: ``x`` is something else, or the parameters cannot serve its dimension.
        """
        array = _check_array(x)
        rows = array.reshape(-1, array.shape[-1])
        return self._sample_rows(rows, self._get_generator()).reshape(array.shape)

    __call__ = sample

    @abc.abstractmethod
    def _sample_rows(self, rows: FloatArray, generator: AESCounter) -> FloatArray:
        """Return (k, n): noisy copies of the rows (k, n), which are checked."""

    def _get_generator(self) -> AESCounter:
        """Return the source of bits: a fresh key for every release, or the stream of the seed, continued.

        No stream of a fresh key outlives its release, so that copies and forks of a process cannot share noise.
        """
        return make_noise_generator() if self.seed is None else self._seeded_generator

    @functools.cached_property
    def _seeded_generator(self) -> AESCounter:
        return make_noise_generator(self.seed)


_SAMPLER_STEPS = ("sample", "__call__", "_sample_rows", "_get_generator", "exact_loss", "_exact_loss", "grid")


def has_builtin_sampler(mechanism: VectorMechanism) -> bool:
    """Whether the code of the draws, of their loss and of the domain is this package's, so that the loss is theirs.

    A subclass from elsewhere may change the claim or the scale, from which the loss follows, but not the draws.
    """
    homes = [home for step in _SAMPLER_STEPS for home in type(mechanism).__mro__ if step in vars(home)]
    homes += [] if mechanism.domain is None else [type(mechanism.domain)]
    return all(map(is_builtin_class, homes))


def is_builtin_mechanism(mechanism: VectorMechanism) -> bool:
    """Whether the class is this package's too: another's may claim anything under the same theorem."""
    return is_builtin_class(type(mechanism)) and has_builtin_sampler(mechanism)


def check_domain(owner: str, domain: object) -> Domain:
    """Return the domain if it is one, else raise `InputError`."""
    if not isinstance(domain, Domain):
        raise make_parameter_error(owner, "domain", "a Box, L1Ball or L2Ball", domain)
    return domain


def _check_array(x: npt.ArrayLike) -> FloatArray:
    """Return ``x`` as float64 (n,) or (k, n), or raise `InputError`."""
    try:
        array = np.asarray(x)
    except ValueError:
        raise InputError("The vectors to release must be of one length. Got rows that differ; pad them.") from None
    if array.dtype.kind not in "iuf":
        raise InputError(f"The vectors to release must be numbers. Got dtype {array.dtype}; convert them to float.")
    if array.ndim not in {1, 2} or array.size == 0:
        raise InputError(f"The vectors to release must be (n,) or (k, n). Got shape {array.shape}; reshape them.")
    check_dimension(array.shape[-1])
    with np.errstate(over="ignore"):  # a wider float beyond float64 becomes infinite, and is refused as that
        numbers = array.astype(np.float64)
    nonfinite = np.flatnonzero(~np.isfinite(numbers))
    if len(nonfinite):
        index = tuple(int(i) for i in np.unravel_index(nonfinite[0], array.shape))
        raise InputError(
            f"The vectors to release must be finite. Got {numbers[index]} at index {index}; fix or drop that vector."
        )
    return numbers

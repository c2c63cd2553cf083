r"""A small reference of private prediction: texts whose tokens follow private records, in integers after the clip.

With l_0 the public logits, l_i those of the record in place i of B, C a clip and tau the temperature (Amin et al. 2024;
Vinod et al. 2025), and K steps in C::

    t(v) = sum over i of  round(K clip(l_i(v) - l_0(v), -C, C) / C)          -B K <= t(v) <= B K
    w(v) = floor(2^38 softmax(l_0 / tau)(v)) g(t(v))                         drawn with probability w(v) / sum of w
    g(t) = round(2^22 exp((t / K - B) C / (B tau)))

A record is in the place that a keyed hash of it names, whatever else is there, and a place that two records claim is
empty. So a record that comes or goes fills or empties one place, and moves t(v) by at most K. With r the largest
g(t + K) / g(t), the logarithms of the ratios of two laws lie in an interval of length e = 2 ln r: one token loses at
most e and is e^2 / 8-zCDP (Cesar and Rogers 2021), and T tokens add up.

What makes it true of the program, where others fail: the public row is computed alone, and every row at one shape, so
that no float depends on another record; the clipped differences are integers, whose sum does not depend on order; g is
a table whose largest ratio is found by looking; draws are uniform integers of a secret key.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence

import numpy as np

from deniable.accounting.renyi import compute_zcdp_rho
from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import check_count, check_fraction, check_positive
from deniable.core.guarantees import ADDED_OR_REMOVED_RECORD, Guarantee
from deniable.core.numbers import bisect
from deniable.core.randomness import derive_stream_start, generate_key, make_generator

_STEPS = 256
"""K."""
_BASE_BITS, _FACTOR_BITS = 38, 22
_OWNER = "private prediction"
Row = Callable[[str | None, Sequence[int]], FloatArray]
"""Logits (V,) of one record, or None for the public prompt, and a prefix; computed alone, at one shape."""


@dataclasses.dataclass(frozen=True)
class PrivatePrediction:
    """Texts of at most T tokens, each of which follows the records of its own places.

    Attributes:
        compute_row: of the model.
        epsilon: for one record more or less, over all texts: a record serves one of them.
        delta: in (0, 1).
        tokens: T.
        places: B, records of a text.
        temperature: tau.
        end: token that ends a text.
        key: secret, 32 bytes: decides places and draws.

    Raises:
        InputError: a number outside its domain.
    """

    compute_row: Row
    epsilon: float
    delta: float
    tokens: int
    places: int = 8
    temperature: float = 1.0
    end: int = 0
    key: bytes = dataclasses.field(default_factory=generate_key, repr=False)

    def __post_init__(self) -> None:
        """Refuse numbers out of range."""
        check_positive(_OWNER, "epsilon", self.epsilon)
        check_positive(_OWNER, "delta", check_fraction(_OWNER, "delta", self.delta))
        for name in ("tokens", "places"):
            check_count(_OWNER, name, getattr(self, name))
        check_positive(_OWNER, "temperature", self.temperature)

    @property
    def guarantee(self) -> Guarantee:
        """For one record more or less."""
        source = "zCDP of draws of bounded range (Cesar and Rogers 2021), composed over the tokens of a text"
        return Guarantee(self.epsilon, source, delta=self.delta, adjacency=ADDED_OR_REMOVED_RECORD)

    @functools.cached_property
    def token_epsilon(self) -> float:
        """What one token may lose: e with T e^2 / 8 = rho."""
        return math.sqrt(8 * compute_zcdp_rho(self.epsilon, self.delta) / self.tokens)

    @functools.cached_property
    def clip(self) -> float:
        """C, the largest whose table keeps the claim."""
        ideal = self.places * self.temperature * self.token_epsilon / 2
        return bisect(lambda clip: 2 * find_log_ratio(self._tabulate(clip)) > self.token_epsilon, 0.0, 2 * ideal)[0]

    @functools.cached_property
    def factors(self) -> IntArray:
        """G (2 B K + 1,), from t = -B K."""
        return self._tabulate(self.clip)

    def _tabulate(self, clip: float) -> IntArray:
        count = self.places * _STEPS
        sums = np.arange(-count, count + 1)
        values = np.exp((sums / _STEPS - self.places) * (clip / (self.places * self.temperature)))
        return np.rint(2.0**_FACTOR_BITS * values).astype(np.int64)

    def arrange(self, records: Sequence[str], texts: int = 1) -> list[list[str]]:
        """Return the records of each text, those that are alone in their place."""
        taken: dict[int, list[str]] = {}
        for record in records:
            digest = derive_stream_start(self.key, "place", record)
            taken.setdefault(int.from_bytes(digest, "little") % (texts * self.places), []).append(record)
        alone = {place: claimants[0] for place, claimants in taken.items() if len(claimants) == 1}
        return [[alone[place] for place in sorted(alone) if place // self.places == text] for text in range(texts)]

    def weigh(self, records: Sequence[str], prefix: Sequence[int]) -> IntArray:
        """Return the weights (V,) of the next token of a text with these records, at most B, in its places."""
        public = self.compute_row(None, prefix)
        sums = np.zeros(len(public), dtype=np.int64)
        for record in records:
            moved = np.clip(self.compute_row(record, prefix) - public, -self.clip, self.clip)
            sums += np.rint(moved * (_STEPS / self.clip)).astype(np.int64)
        scaled = np.exp((public - public.max()) / self.temperature)
        base = np.floor(2.0**_BASE_BITS * (scaled / scaled.sum())).astype(np.int64)
        weights: IntArray = base * self.factors[sums + self.places * _STEPS]
        return weights

    def law(self, records: Sequence[str], prefix: Sequence[int]) -> IntArray:
        """Return the weights of the next token of the only text, as `audit_language_model` takes them."""
        return self.weigh(self.arrange(records)[0], prefix)

    def write(self, records: Sequence[str], texts: int = 1) -> list[list[int]]:
        """Return the tokens of each text; call it once under one key."""
        written = []
        for number, chosen in enumerate(self.arrange(records, texts)):
            generator = make_generator(self.key, "text", str(number))
            drawn: list[int] = []
            while len(drawn) < self.tokens:
                sums = np.cumsum(self.weigh(chosen, drawn))
                token = int(np.searchsorted(sums, generator.integers(sums[-1]), "right"))
                if token == self.end:
                    break
                drawn.append(token)
            written.append(drawn)
        return written


def find_log_ratio(factors: IntArray) -> float:
    """Return ln r, the largest ln g(t') / g(t) for sums that are at most K apart; infinite where a factor is 0."""
    if not factors[0]:
        return math.inf
    # g grows, so that the largest ratio within K steps is one of K steps.
    return math.log(float((factors[_STEPS:] / factors[:-_STEPS]).max()) * (1 + 2.0**-50))

"""An attacker who knows encoder and noise: which text a vector came from, and what class its text is of.

Both are public: the encoder is given to whoever releases, and privacy must not hang on a secret law. DPText's sampler
as published is one-sided, so that a vector rules out every text whose encoding lies above it in any coordinate
(Habernal 2022, Theorem 3.2); with zeros for missing logarithms, half of the coordinates are the encoding itself.
"""

import dataclasses
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from deniable.measure.labels import Codes
from deniable.parallel import each
from deniable.rewrite.representation.model import Representation
from deniable.vectors.domains import Array

Flags = npt.NDArray[np.bool_]
Kind = Literal["none", "two-sided", "one-sided", "one-sided or none"]

SAME = 1e-6
"""Width at which nearly equal numbers are taken for the same one: an encoding is computed anew with other rounding."""
WIDTHS = (0.03, 0.1, 0.3, 1.0)
"""Widths to choose from where texts stand for others of their class."""
_BLOCK = 32
"""Vectors looked at together."""


@dataclasses.dataclass(frozen=True)
class NoiseLaw:
    """The law of one coordinate's noise.

    Attributes:
        kind: two-sided exponential (Laplace), one-sided, one-sided for half of the draws and nothing for the others,
            or nothing.
        scale: of the exponential parts.
    """

    kind: Kind
    scale: float

    def density(self, noise: Array, width: float) -> Array:
        """Return the log-density of noise, smeared below zero by an exponential of some width where it ends there.

        Args:
            noise: of any shape.
            width: > 0; how far the encoding of another text may lie from the true one.
        """
        apart = np.abs(noise)
        if self.kind in {"none", "two-sided"}:
            scale = max(self.scale, width)
            both: Array = -apart / scale - np.log(2 * scale)
            return both
        one_sided: Array = -apart / np.where(noise < 0, width, self.scale) - np.log(self.scale + width)
        if self.kind == "one-sided":
            return one_sided
        mixed: Array = np.logaddexp(one_sided, -apart / width - np.log(2 * width)) - np.log(2)
        return mixed


def law_of(model: Representation) -> NoiseLaw:
    """Return the law of the noise that a model releases with."""
    options = model.options
    if options.variant == "none":
        return NoiseLaw("none", 0.0)
    scale = model.mechanism().scale(model.dimensions)
    if options.variant == "fixed":
        return NoiseLaw("two-sided", scale)
    return NoiseLaw("one-sided or none" if options.invalid == "zero" else "one-sided", scale)


def likelihoods(released: Array, candidates: Array, law: NoiseLaw, width: float) -> Array:
    """Return (k, K) log-likelihoods of candidates (K, n), which are encodings, for released vectors (k, n)."""

    def block(first: int) -> Array:
        noise = released[first : first + _BLOCK, None, :] - candidates
        sums: Array = law.density(noise, width).sum(axis=2)
        return sums

    found = each(block, range(0, len(released), _BLOCK))
    return np.concatenate(found) if found else np.empty((0, len(candidates)))


def places(released: Array, truths: Codes, candidates: Array, law: NoiseLaw) -> Codes:
    """Return the place (k,) of the true text among the candidates, from 1, likeliest first; ties stand before it.

    Args:
        released: (k, n) vectors.
        truths: (k,) which candidate each comes from.
        candidates: (K, n) encodings, all equally likely beforehand.
        law: of the noise.
    """
    found = likelihoods(released, candidates, law, SAME)
    own = np.take_along_axis(found, truths[:, None], axis=1)
    ahead: Codes = (found >= own).sum(axis=1)
    return ahead


@dataclasses.dataclass(frozen=True, eq=False)
class Known:
    """Texts whose class an attacker knows: each stands for what a text of its class may encode to.

    Attributes:
        encodings: (K, n) without noise.
        codes: (K,) their classes.
        law: of the noise.
        width: see `NoiseLaw.density`.
    """

    encodings: Array
    codes: Codes
    law: NoiseLaw
    width: float

    def classes(self, released: Array, own: Flags | None = None) -> Codes:
        """Return the likeliest class (k,) of vectors (k, n): that of which all known texts together explain the most.

        Args:
            released: the vectors.
            own: (k, K) texts to leave out for a vector, such as the one that it came from.
        """
        found = likelihoods(released, self.encodings, self.law, self.width)
        if own is not None:
            found[own] = -np.inf
        weights = np.exp(found - found.max(axis=1, keepdims=True))
        sums = np.stack(
            [weights[:, self.codes == code].sum(axis=1) for code in range(int(self.codes.max()) + 1)], axis=1
        )
        named: Codes = sums.argmax(axis=1)
        return named


def fitted(encodings: Array, codes: Codes, law: NoiseLaw, released: Array, rows: Sequence[int]) -> Known:
    """Return the attacker with the width that names most classes of vectors that he released himself.

    Args:
        encodings: (K, n) of his texts.
        codes: (K,) their classes.
        law: of the noise.
        released: (m, n) vectors of some of them.
        rows: (m,) of which; each is left out when its own vector is named.
    """
    chosen = np.asarray(rows)
    own = np.arange(len(codes)) == chosen[:, None]
    attackers = [Known(encodings, codes, law, width) for width in WIDTHS]
    return max(attackers, key=lambda one: int((one.classes(released, own) == codes[chosen]).sum()))

"""An attacker who knows encoder and noise, and infers which text a vector came from, and which class its text has.

Both are public: everybody who releases has the encoder, and privacy must not depend on a secret law. DPText's sampler
as published is one-sided, so that a vector rules out every text whose encoding lies above it in any coordinate
(Habernal 2022, Theorem 3.2); with zeros for missing logarithms, half of the coordinates are the encoding itself.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from deniable.core.arrays import BoolArray, FloatArray
from deniable.core.parallel import parallel_map
from deniable.measure.labels import ClassCodes
from deniable.published.dptext.representation import Representation

NoiseKind = Literal["none", "two-sided", "maximum norm", "one-sided", "one-sided or none"]

SAME_WIDTH = 1e-6
"""Difference up to which two coordinates count as equal: recomputing an encoding can round differently."""
CLASS_WIDTHS = (0.03, 0.1, 0.3, 1.0)
"""Widths to choose from where a text represents others of its class."""
_VECTORS_PER_BLOCK = 32
"""Vectors processed together."""


@dataclasses.dataclass(frozen=True)
class NoiseLaw:
    """The law of the noise of a vector.

    Attributes:
        kind: none; exponential in the maximum norm; or of independent coordinates: two-sided exponential (Laplace),
            one-sided exponential, or one-sided for half of the draws and none for the others.
        scale: of the exponential parts.
    """

    kind: NoiseKind
    scale: float

    def compute_log_density(self, noise: FloatArray, width: float) -> FloatArray:
        """Return the log-density (...) of noise, extended below zero by an exponential of some width if one-sided.

        Args:
            noise: (..., n) vectors.
            width: > 0; typical distance of another text's encoding from the true one.
        """
        magnitudes, n, scale = np.abs(noise), noise.shape[-1], max(self.scale, width)
        log_density: FloatArray
        if self.kind == "maximum norm":
            log_density = -magnitudes.max(axis=-1) / scale - n * np.log(2 * scale) - math.lgamma(n + 1)
        elif self.kind in {"none", "two-sided"}:
            log_density = (-magnitudes / scale - np.log(2 * scale)).sum(axis=-1)
        else:
            one_sided = -magnitudes / np.where(noise < 0, width, self.scale) - np.log(self.scale + width)
            if self.kind == "one-sided or none":
                one_sided = np.logaddexp(one_sided, -magnitudes / width - np.log(2 * width)) - np.log(2)
            log_density = one_sided.sum(axis=-1)
        return log_density


def get_noise_law(model: Representation) -> NoiseLaw:
    """Return the law of the noise that a model releases with."""
    options = model.options
    if options.variant == "none":
        return NoiseLaw("none", 0.0)
    scale = model.make_mechanism().scale(model.dimensions)
    if options.variant in {"fixed", "norm"}:
        return NoiseLaw("two-sided" if options.variant == "fixed" else "maximum norm", scale)
    return NoiseLaw("one-sided or none" if options.invalid == "zero" else "one-sided", scale)


def compute_log_likelihoods(released: FloatArray, candidates: FloatArray, law: NoiseLaw, width: float) -> FloatArray:
    """Return (k, K) log-likelihoods of candidates (K, n), which are encodings, for released vectors (k, n)."""

    def score_block(first: int) -> FloatArray:
        noise = released[first : first + _VECTORS_PER_BLOCK, None, :] - candidates
        return law.compute_log_density(noise, width)

    blocks = parallel_map(score_block, range(0, len(released), _VECTORS_PER_BLOCK))
    return np.concatenate(blocks) if blocks else np.empty((0, len(candidates)))


def rank_true_texts(released: FloatArray, truths: ClassCodes, candidates: FloatArray, law: NoiseLaw) -> ClassCodes:
    """Return the place (k,) of the true text among the candidates, from 1, likeliest first; ties stand before it.

    Args:
        released: (k, n) vectors.
        truths: (k,) which candidate each comes from.
        candidates: (K, n) encodings, all equally likely beforehand.
        law: of the noise.
    """
    log_likelihoods = compute_log_likelihoods(released, candidates, law, SAME_WIDTH)
    true_log_likelihoods = np.take_along_axis(log_likelihoods, truths[:, None], axis=1)
    ranks: ClassCodes = (log_likelihoods >= true_log_likelihoods).sum(axis=1)
    return ranks


@dataclasses.dataclass(frozen=True, eq=False)
class AttributeAttacker:
    """Texts whose class an attacker knows: each stands for what a text of its class may encode to.

    Attributes:
        encodings: (K, n) without noise.
        codes: (K,) their classes.
        law: of the noise.
        width: see `NoiseLaw.compute_log_density`.
    """

    encodings: FloatArray
    codes: ClassCodes
    law: NoiseLaw
    width: float

    def predict(self, released: FloatArray, excluded: BoolArray | None = None) -> ClassCodes:
        """Return the likeliest class (k,) of vectors (k, n): that of which all known texts together explain the most.

        Args:
            released: the vectors.
            excluded: (k, K) texts to leave out for a vector, such as the one that it came from.
        """
        log_likelihoods = compute_log_likelihoods(released, self.encodings, self.law, self.width)
        if excluded is not None:
            log_likelihoods[excluded] = -np.inf
        weights = np.exp(log_likelihoods - log_likelihoods.max(axis=1, keepdims=True))
        sums = np.stack(
            [weights[:, self.codes == code].sum(axis=1) for code in range(int(self.codes.max()) + 1)], axis=1
        )
        predictions: ClassCodes = sums.argmax(axis=1)
        return predictions


def fit_attribute_attacker(
    encodings: FloatArray, codes: ClassCodes, law: NoiseLaw, released: FloatArray, rows: Sequence[int]
) -> AttributeAttacker:
    """Return the attacker with the width that predicts the most classes on releases of the attacker's own texts.

    Args:
        encodings: (K, n) of the attacker's texts.
        codes: (K,) their classes.
        law: of the noise.
        released: (m, n) vectors of some of them.
        rows: (m,) index of the text of each; a text is left out when the class of its own release is predicted.
    """
    row_indices = np.asarray(rows)
    excluded = np.arange(len(codes)) == row_indices[:, None]
    attackers = [AttributeAttacker(encodings, codes, law, width) for width in CLASS_WIDTHS]
    return max(attackers, key=lambda attacker: int((attacker.predict(released, excluded) == codes[row_indices]).sum()))

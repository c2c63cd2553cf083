"""What every rewriting method gives, and the methods that release a vector.

Of those the noise is Laplace's, Gaussian or K-norm noise, for the true sensitivity of a clip to a ball or a box.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from deniable.auditing import verify
from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError
from deniable.core.guarantees import ANY_TWO_TEXTS, Guarantee, Verdict
from deniable.core.numbers import format_exact
from deniable.rewriting.model import Rewriter
from deniable.rewriting.options import TrainingNoise
from deniable.vectors import Box, Domain, Gaussian, KNorm, L1Ball, L2Ball, Laplace, VectorMechanism

BOX_HALF_WIDTH = 3.0
"""Half the side of the box, in root mean squares of the coordinates of a vector of length C."""
_MAX_SCALE = 1e300
"""Scale of the noise beyond which a draw may not be finite."""


class RewritingMethod(Protocol):
    """Rewrites texts, each by itself: the new text of one depends on no other.

    A method is one entry in `deniable.registry.REWRITING_METHODS`.
    """

    @property
    def name(self) -> str:
        """Name in the registry and in reports."""

    @property
    def model(self) -> Rewriter:
        """The public model that texts are encoded and decoded with."""

    @property
    def seed(self) -> int | None:
        """The public seed of the noise; None for fresh noise at every call."""

    @property
    def parameters(self) -> dict[str, Any]:
        """Everything that determines its law, as JSON values."""

    @property
    def arithmetic(self) -> str:
        """How draws are made, in words."""

    @property
    def guarantee(self) -> Guarantee:
        """Of one text, whatever two texts are compared: local differential privacy."""

    def verify(self) -> Verdict:
        """Return what is known of the guarantee: computed where the law is known, else its theorem."""

    def rewrite(self, texts: Sequence[str]) -> list[str]:
        """Return one new text for each text, an empty one too.

        Raises:
            InputError: a text is longer than the model takes, or the model fails on it.
        """


@dataclasses.dataclass(frozen=True, eq=False)
class VectorMethod:
    """Encodes a text, releases the vector by a mechanism, and decodes the released vector.

    The encoder may return any vector: the mechanism clips it into a bounded set, and its guarantee is for any two
    points of that set. The decoder reads the released vector alone (post-processing). So neither encoder nor decoder
    need to be trusted for the guarantee.

    Attributes:
        name: in the registry.
        model: encoder and decoder.
        mechanism: what adds the noise, for vectors of the model's dimension.
        parameters: see `RewritingMethod`.
        decoder_domain: the set of points that the decoder was trained on, to which a vector is clipped before the
            mechanism's own clip; None for none. Each text is clipped by itself, which costs no privacy.
        stretch: public factor by which a released vector is multiplied before it is decoded.
    """

    name: str
    model: Rewriter
    mechanism: VectorMechanism
    parameters: dict[str, Any]
    decoder_domain: Domain | None = None
    stretch: float = 1.0

    def __init_subclass__(cls) -> None:
        """Refuse every subclass: what it rewrites and promises is not what `verify` looks at."""
        raise TypeError(f"{cls.__name__} must not derive from VectorMethod: give that a mechanism of your own.")

    @property
    def seed(self) -> int | None:
        """That of the mechanism."""
        return self.mechanism.seed

    @property
    def guarantee(self) -> Guarantee:
        """That of the mechanism, for the vectors of any two texts: decoding costs nothing.

        A claim that is refuted in some dimensions is refuted here where it is in the model's own.
        """
        guarantee = self.mechanism.guarantee
        if guarantee.status == "refuted":
            judged = verify(self.mechanism, dimension=self.model.latent).guarantee
            guarantee = dataclasses.replace(guarantee, status=judged.status)
        return dataclasses.replace(guarantee, adjacency=ANY_TWO_TEXTS)

    @property
    def training_noise(self) -> TrainingNoise:
        """Its noise as the decoder sees it, for training with it.

        Raises:
            InputError: the noise is none that a training knows.
        """
        if self.mechanism.noise is None:
            raise InputError(f"Training has no counterpart of the noise of {self.name}: train with another method.")
        return self.mechanism.noise, self.mechanism.scale(self.model.latent) * self.stretch

    @property
    def arithmetic(self) -> str:
        """That of the mechanism."""
        return self.mechanism.arithmetic

    def verify(self) -> Verdict:
        """Return the exact loss of the mechanism, or its theorem."""
        verdict = verify(self.mechanism, dimension=self.model.latent)
        return dataclasses.replace(verdict, guarantee=self.guarantee)

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Return the vectors (k, n) of texts before the mechanism's own clip and noise.

        Raises:
            InputError: a text is too long, or its vector is not finite.
        """
        vectors = np.asarray(self.model.encode(texts), dtype=np.float64)
        bad_rows = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(bad_rows):
            raise InputError(
                f"The model gives text {bad_rows[0] + 1} a vector that is not finite: nothing is released. "
                "Train it again."
            )
        return vectors if self.decoder_domain is None or not len(vectors) else self.decoder_domain.clip(vectors)

    def release(self, texts: Sequence[str]) -> FloatArray:
        """Return the noisy vectors (k, n) of texts; releasing a text again spends its epsilon again.

        Raises:
            InputError: as `encode`, or the mechanism cannot serve the dimension.
        """
        vectors = self.encode(texts)
        return self.mechanism.sample(vectors) if len(vectors) else vectors

    def decode(self, released: FloatArray) -> list[str]:
        """Return the texts of released vectors (k, n)."""
        return self.model.decode(released * self.stretch)

    def rewrite(self, texts: Sequence[str]) -> list[str]:
        """Return one new text for each text; raises as `release` does."""
        return self.decode(self.release(texts)) if len(texts) else []


def make_l1_ball_method(model: Rewriter, *, epsilon: float, seed: int | None = None) -> VectorMethod:
    """Return Laplace noise of scale 2 C / epsilon on vectors clipped to the l1 ball (Habernal 2021, Section 7).

    The radius C is that of the model's training, in which the decoder saw vectors of l2 norm up to C. After an l1 clip
    to C they are shorter by the ratio of the two norms, about sqrt(2 n / pi) for a vector of no special direction
    (exact for a Gaussian one and large n). So what is released is stretched by that public factor before it is decoded.

    Args:
        model: encoder and decoder.
        epsilon: of one text, > 0.
        seed: for tests only: the output is then not private.

    Raises:
        InputError: a parameter is outside its domain.
    """
    mechanism = Laplace(epsilon=epsilon, domain=L1Ball(model.radius), seed=seed)
    stretch = math.sqrt(2 * model.latent / math.pi) if model.latent > 1 else 1.0
    return build_vector_method("adept-l1", model, mechanism, stretch=stretch)


def make_l2_ball_method(model: Rewriter, *, epsilon: float, seed: int | None = None) -> VectorMethod:
    """Return Laplace noise of scale 2 C sqrt(n) / epsilon on vectors clipped to the l2 ball (Habernal 2021, Section 7).

    Arguments and errors are those of `make_l1_ball_method`.
    """
    mechanism = Laplace(epsilon=epsilon, domain=L2Ball(model.radius), seed=seed)
    return build_vector_method("adept-true", model, mechanism)


def make_gaussian_ball_method(
    model: Rewriter, *, epsilon: float, delta: float, seed: int | None = None
) -> VectorMethod:
    """Return Gaussian noise for the l2 sensitivity 2 C on vectors clipped to the l2 ball.

    Arguments and errors are those of `make_l1_ball_method`, and ``delta`` of one text, in (0, 1).
    """
    mechanism = Gaussian(epsilon=epsilon, delta=delta, domain=L2Ball(model.radius), seed=seed)
    return build_vector_method("adept-gaussian", model, mechanism)


def make_l2_norm_method(model: Rewriter, *, epsilon: float, seed: int | None = None) -> VectorMethod:
    """Return noise in the l2 norm, of a length of 2 C n / epsilon on average, on vectors clipped to the l2 ball.

    It is pure as that of `make_l2_ball_method`, and 1.40 times shorter at n = 64, see `KNorm`. Arguments and errors are
    those of `make_l1_ball_method`.
    """
    mechanism = KNorm(epsilon=epsilon, domain=L2Ball(model.radius), seed=seed)
    return build_vector_method("adept-norm", model, mechanism)


def make_box_norm_method(model: Rewriter, *, epsilon: float, seed: int | None = None) -> VectorMethod:
    """Return noise in the maximum norm on vectors clipped to the box of `choose_box`.

    It is pure as that of `make_box_method`, and 2.39 times shorter at n = 64, see `KNorm`. Arguments and errors are
    those of `make_l1_ball_method`.
    """
    mechanism = KNorm(epsilon=epsilon, domain=choose_box(model), seed=seed)
    return build_vector_method("dptext-norm", model, mechanism)


def make_box_method(model: Rewriter, *, epsilon: float, seed: int | None = None) -> VectorMethod:
    """Return Laplace noise on vectors clipped to the box of `choose_box`.

    Arguments and errors are those of `make_l1_ball_method`.
    """
    mechanism = Laplace(epsilon=epsilon, domain=choose_box(model), seed=seed)
    return build_vector_method("dptext-fixed", model, mechanism)


def choose_box(model: Rewriter) -> Box:
    """Return the box of public bounds +-3 C / sqrt(n).

    It holds all but some 0.3% of the coordinates of a vector spread evenly over the sphere of radius C (for large n
    they are about normal, of deviation C / sqrt(n)). Its l1 sensitivity is 6 C sqrt(n), three times that of the ball.
    """
    bound = BOX_HALF_WIDTH * model.radius / math.sqrt(model.latent)
    return Box(-bound, bound)


def build_vector_method(
    name: str, model: Rewriter, mechanism: VectorMechanism, *, stretch: float = 1.0
) -> VectorMethod:
    """Return the method of a mechanism that clips to the ball of the model's training, or to the box of `choose_box`.

    Before a box vectors are clipped to the ball, which the decoder was trained on.

    Args:
        name: in the registry.
        model: encoder and decoder.
        mechanism: clips, and adds noise; where it does not say of what law, Laplace's is meant.
        stretch: see `VectorMethod`.

    Raises:
        InputError: epsilon is too small for noise in floating point.
    """
    n, claim, domain = model.latent, mechanism.claim, mechanism.domain
    if not mechanism.scale(n) <= _MAX_SCALE:
        raise InputError(
            f"An epsilon of {format_exact(claim.epsilon)} is too small for the noise of {name}: choose a larger one."
        )
    clip = {"clip": "l1" if isinstance(domain, L1Ball) else "l2", "radius": model.radius}
    if isinstance(domain, Box):
        clip = {"clip": "box", "bound": domain.upper}
    parameters = {
        "epsilon": claim.epsilon,
        **({"delta": claim.delta} if claim.delta else {}),
        "noise": mechanism.noise or "laplace",
        **clip,
        "coordinates": n,
        "sensitivity": mechanism.sensitivity(n),
        "scale": mechanism.scale(n),
    }
    decoder_domain = L2Ball(model.radius) if isinstance(domain, Box) else None
    return VectorMethod(name, model, mechanism, parameters, decoder_domain, stretch)

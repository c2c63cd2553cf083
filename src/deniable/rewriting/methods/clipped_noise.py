"""A text's vector, clipped to a ball or a box, with Laplace or Gaussian noise for the true sensitivity."""

import math
from typing import Any

from deniable.core.errors import InputError
from deniable.core.numbers import format_exact
from deniable.rewriting.methods.base import VectorMethod
from deniable.rewriting.model import Rewriter
from deniable.vectors import Box, Gaussian, L1Ball, L2Ball, Laplace, VectorMechanism

BOX_HALF_WIDTH = 3.0
"""Half the side of the box, in root mean squares of the coordinates of a vector of length C."""
_MAX_SCALE = 1e300
"""Scale of the noise beyond which a draw may not be finite."""


def make_l1_ball_method(model: Rewriter, *, name: str, epsilon: float, seed: int | None = None) -> VectorMethod:
    """Return Laplace noise of scale 2 C / epsilon on vectors clipped to the l1 ball (Habernal 2021, Section 7).

    The radius C is that of the model's training, in which the decoder saw vectors of l2 norm up to C. After an l1 clip
    to C they are shorter by the ratio of the two norms, about sqrt(2 n / pi) for a vector of no special direction
    (exact for a Gaussian one and large n). So what is released is stretched by that public factor before it is decoded.

    Args:
        model: encoder and decoder.
        name: in the registry.
        epsilon: of one text, > 0.
        seed: for tests only: the output is then not private.

    Raises:
        InputError: a parameter is outside its domain.
    """
    n = model.latent
    mechanism = Laplace(epsilon=epsilon, domain=L1Ball(model.radius), seed=seed)
    stretch = math.sqrt(2 * n / math.pi) if n > 1 else 1.0
    return build_ball_method(name, model, mechanism, {"noise": "laplace", "clip": "l1"}, stretch=stretch)


def make_l2_ball_method(model: Rewriter, *, name: str, epsilon: float, seed: int | None = None) -> VectorMethod:
    """Return Laplace noise of scale 2 C sqrt(n) / epsilon on vectors clipped to the l2 ball (Habernal 2021, Section 7).

    Arguments and errors are those of `make_l1_ball_method`.
    """
    mechanism = Laplace(epsilon=epsilon, domain=L2Ball(model.radius), seed=seed)
    return build_ball_method(name, model, mechanism, {"noise": "laplace", "clip": "l2"})


def make_gaussian_ball_method(
    model: Rewriter, *, name: str, epsilon: float, delta: float, seed: int | None = None
) -> VectorMethod:
    """Return Gaussian noise for the l2 sensitivity 2 C on vectors clipped to the l2 ball.

    Arguments and errors are those of `make_l1_ball_method`, and ``delta`` of one text, in (0, 1).
    """
    mechanism = Gaussian(epsilon=epsilon, delta=delta, domain=L2Ball(model.radius), seed=seed)
    return build_ball_method(name, model, mechanism, {"delta": delta, "noise": "gaussian", "clip": "l2"})


def build_ball_method(
    name: str,
    model: Rewriter,
    mechanism: Laplace | Gaussian,
    parameters: dict[str, Any],
    *,
    stretch: float = 1.0,
) -> VectorMethod:
    """Return the method of a mechanism that clips to the ball whose radius is that of the model's training.

    Args:
        name: in the registry.
        model: encoder and decoder.
        mechanism: clips and adds the noise.
        parameters: for reports, beside those that follow from model and mechanism.
        stretch: see `VectorMethod`.
    """
    all_parameters = {
        "epsilon": mechanism.epsilon,
        **parameters,
        "radius": model.radius,
        "coordinates": model.latent,
        "sensitivity": mechanism.sensitivity(model.latent),
        "scale": mechanism.scale(model.latent),
    }
    return VectorMethod(name, model, mechanism, all_parameters, stretch=stretch)


def make_box_method(model: Rewriter, *, name: str, epsilon: float, seed: int | None = None) -> VectorMethod:
    """Return Laplace noise on vectors clipped to the box of `choose_box`.

    Arguments and errors are those of `make_l1_ball_method`.
    """
    return build_box_method(name, model, Laplace(epsilon=epsilon, domain=choose_box(model), seed=seed))


def choose_box(model: Rewriter) -> Box:
    """Return the box of public bounds +-3 C / sqrt(n).

    It holds all but some 0.3 % of the coordinates of a vector spread evenly over the sphere of radius C (for large n
    they are about normal, of deviation C / sqrt(n)). Its l1 sensitivity is 6 C sqrt(n), three times that of the ball.
    """
    bound = BOX_HALF_WIDTH * model.radius / math.sqrt(model.latent)
    return Box(-bound, bound)


def build_box_method(name: str, model: Rewriter, mechanism: VectorMechanism) -> VectorMethod:
    """Return the method of a mechanism that clips to the box of `choose_box`, after a clip to the model's ball.

    Args:
        name: in the registry.
        model: encoder and decoder.
        mechanism: clips and adds the noise.

    Raises:
        InputError: epsilon is too small for noise in floating point.
    """
    n, epsilon = model.latent, mechanism.claim.epsilon
    if not mechanism.scale(n) <= _MAX_SCALE:
        raise InputError(
            f"An epsilon of {format_exact(epsilon)} is too small for the noise of {name}: choose a larger one."
        )
    parameters = {
        "epsilon": epsilon,
        "noise": "laplace",
        "clip": "box",
        "bound": choose_box(model).upper,
        "coordinates": n,
        "sensitivity": mechanism.sensitivity(n),
        "scale": mechanism.scale(n),
    }
    return VectorMethod(name, model, mechanism, parameters, decoder_domain=L2Ball(model.radius))

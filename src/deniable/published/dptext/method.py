"""DPText's noise on a text's vector, as published and corrected (Beigi et al. 2019; Habernal 2022)."""

import math

from deniable.core.errors import InputError
from deniable.published.dptext.mechanism import DPText, DptextSampler
from deniable.rewriting.methods.base import VectorMethod
from deniable.rewriting.model import Rewriter
from deniable.vectors import L2Ball

BOX_HALF_WIDTH = 3.0
"""Half the side of the box, in root mean squares of the coordinates of a vector of length C."""
_MAX_SCALE = 1e300
"""Scale of the noise beyond which a draw may not be finite."""


def make_dptext_method(
    model: Rewriter,
    *,
    epsilon: float,
    name: str = "dptext",
    sampler: DptextSampler = "published",
    seed: int | None = None,
) -> VectorMethod:
    """Return DPText's mechanism on a model's vectors.

    A vector is brought into the model's ball of radius C first, then into the box of public bounds +-3 C / sqrt(n),
    which holds all but some 0.3 % of the coordinates of a vector spread evenly over the sphere (for large n they
    are about normal, of deviation C / sqrt(n)). Its l1 sensitivity is 6 C sqrt(n), three times that of the ball.

    Args:
        model: encoder and decoder.
        epsilon: of one text, > 0; public and fixed, unlike in the paper, where it is learned from the texts.
        name: in the registry.
        sampler: ``published``, refuted, or ``corrected``.
        seed: for tests only: the output is then not private.

    Raises:
        InputError: a parameter is outside its domain.
    """
    n = model.latent
    bound = BOX_HALF_WIDTH * model.radius / math.sqrt(n)
    mechanism = DPText(epsilon=epsilon, sampler=sampler, lower=-bound, upper=bound, seed=seed)
    if not mechanism.scale(n) <= _MAX_SCALE:
        raise InputError(f"An epsilon of {epsilon:g} is too small for the noise of {name}: choose a larger one.")
    parameters = {
        "epsilon": mechanism.epsilon,
        "noise": "laplace",
        "clip": "box",
        "bound": bound,
        "coordinates": n,
        "sensitivity": mechanism.sensitivity(n),
        "scale": mechanism.scale(n),
    }
    return VectorMethod(name, model, mechanism, parameters, decoder_domain=L2Ball(model.radius))

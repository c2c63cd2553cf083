"""ADePT: a text's vector, clipped to a ball, with Laplace or Gaussian noise (Krishna et al. 2021; Habernal 2021)."""

import math

from deniable.published.adept.mechanism import ADePT, AdeptClip, AdeptNoise, AdeptSensitivity
from deniable.rewriting.methods.base import VectorMethod
from deniable.rewriting.model import Rewriter


def make_adept_method(
    model: Rewriter,
    *,
    epsilon: float,
    name: str = "adept",
    clip: AdeptClip = "l2",
    sensitivity: AdeptSensitivity = "published",
    noise: AdeptNoise = "laplace",
    delta: float | None = None,
    seed: int | None = None,
) -> VectorMethod:
    """Return ADePT on a model's vectors; the radius C of the ball is that of the model's training.

    As published it is refuted; the variants are the three remedies, see `deniable.ADePT`.

    The decoder was trained on vectors of l2 norm up to C. After an l1 clip to C they are shorter by the ratio of the
    two norms, about sqrt(2 n / pi) for a vector of no special direction (exact for a Gaussian one and large n). So
    what is released is then stretched by that public factor before it is decoded.

    Args:
        model: encoder and decoder.
        epsilon: of one text, > 0.
        name: in the registry.
        clip: as in `deniable.ADePT`.
        sensitivity: the same.
        noise: the same.
        delta: of Gaussian noise alone.
        seed: for tests only: the output is then not private.

    Raises:
        InputError: a parameter is outside its domain.
    """
    mechanism = ADePT(
        epsilon=epsilon,
        radius=model.radius,
        clip=clip,
        sensitivity=sensitivity,
        noise=noise,
        delta=delta,
        seed=seed,
    )
    n = model.latent
    parameters = {
        "epsilon": mechanism.epsilon,
        **({} if delta is None else {"delta": delta}),
        "noise": noise,
        "clip": clip,
        "radius": model.radius,
        "coordinates": n,
        "sensitivity": mechanism.sensitivity(n),
        "scale": mechanism.scale(n),
    }
    stretch = math.sqrt(2 * n / math.pi) if clip == "l1" and n > 1 else 1.0
    return VectorMethod(name, model, mechanism, parameters, stretch=stretch)

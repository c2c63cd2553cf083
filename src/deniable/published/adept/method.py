"""Rewriting by ADePT as published: refuted, for comparison (Krishna et al. 2021; Habernal 2021)."""

from deniable.published.adept.mechanism import ADePT
from deniable.rewriting.methods.base import VectorMethod
from deniable.rewriting.methods.clipped_noise import build_ball_method
from deniable.rewriting.model import Rewriter


def make_adept_method(model: Rewriter, *, epsilon: float, seed: int | None = None) -> VectorMethod:
    """Return ADePT's mechanism on a model's vectors; the radius C of the ball is that of the model's training.

    Its remedies are in `deniable.rewriting.methods.clipped_noise`.

    Args:
        model: encoder and decoder.
        epsilon: claimed for one text, > 0.
        seed: for tests only.

    Raises:
        InputError: a parameter is outside its domain.
    """
    mechanism = ADePT(epsilon=epsilon, radius=model.radius, seed=seed)
    return build_ball_method("adept", model, mechanism, {"noise": "laplace", "clip": "l2"})

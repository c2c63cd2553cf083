"""Rewriting by DPText's noise as published: refuted, for comparison (Beigi et al. 2019; Habernal 2022)."""

from deniable.published.dptext.mechanism import DPText
from deniable.rewriting.methods import VectorMethod, build_vector_method, choose_box
from deniable.rewriting.model import Rewriter


def make_dptext_method(model: Rewriter, *, epsilon: float, seed: int | None = None) -> VectorMethod:
    """Return DPText's mechanism on a model's vectors, clipped to the box of `choose_box`.

    The remedies are `deniable.rewriting.methods.make_box_method` and `make_box_norm_method`.

    Args:
        model: encoder and decoder.
        epsilon: claimed for one text, > 0; public and fixed, unlike in the paper, where it is learned from the texts.
        seed: for tests only.

    Raises:
        InputError: a parameter is outside its domain.
    """
    box = choose_box(model)
    mechanism = DPText(epsilon=epsilon, lower=box.lower, upper=box.upper, seed=seed)
    return build_vector_method("dptext", model, mechanism)

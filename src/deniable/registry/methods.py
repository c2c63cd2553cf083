"""Rewriting methods, by the name under which reports know them."""

import functools
from collections.abc import Callable
from typing import Any

from deniable.core.errors import InputError, make_parameter_error
from deniable.published.adept.method import make_adept_method
from deniable.published.dptext.method import make_dptext_method
from deniable.rewriting.methods.base import RewritingMethod
from deniable.rewriting.methods.clipped_noise import (
    make_box_method,
    make_gaussian_ball_method,
    make_l1_ball_method,
    make_l2_ball_method,
)
from deniable.rewriting.methods.token_method import TokenMethod
from deniable.rewriting.model import Rewriter

REWRITING_METHODS: dict[str, Callable[..., RewritingMethod]] = {
    "adept": make_adept_method,
    "adept-l1": functools.partial(make_l1_ball_method, name="adept-l1"),
    "adept-true": functools.partial(make_l2_ball_method, name="adept-true"),
    "adept-gaussian": functools.partial(make_gaussian_ball_method, name="adept-gaussian"),
    "dptext": make_dptext_method,
    "dptext-fixed": functools.partial(make_box_method, name="dptext-fixed"),
    "tokens": TokenMethod,
    "tokens-mixed": functools.partial(TokenMethod, kind="mixed"),
}
"""A new method is one new file and one more entry here. All take a `Rewriter` and ``epsilon``, and ``seed`` for tests;
those of `METHODS_WITH_DELTA` need ``delta``, those of `METHODS_WITH_DRAW_LIMIT` take
``max_draws``."""

METHODS_WITH_DELTA = frozenset({"adept-gaussian"})
METHODS_WITH_DRAW_LIMIT = frozenset({"tokens", "tokens-mixed"})


def check_method_options(name: str, *, delta: float | None = None, max_draws: int | None = None) -> dict[str, float]:
    """Return the options of a method that were given, before any model is read.

    Args:
        name: of a method.
        delta: None for not given.
        max_draws: the same.

    Raises:
        InputError: the method lacks one, or does not take it.
    """
    if name in METHODS_WITH_DELTA and delta is None:
        raise InputError(f"The method {name!r} needs a delta: give one in (0, 1), for example 1e-5.")
    if name not in METHODS_WITH_DELTA and delta is not None:
        raise InputError(
            f"The method {name!r} has no delta: leave it out, or choose {' or '.join(sorted(METHODS_WITH_DELTA))}."
        )
    if name not in METHODS_WITH_DRAW_LIMIT and max_draws is not None:
        choices = " or ".join(sorted(METHODS_WITH_DRAW_LIMIT))
        raise InputError(f"The method {name!r} draws no tokens: leave their number out, or choose {choices}.")
    return {key: value for key, value in (("delta", delta), ("max_draws", max_draws)) if value is not None}


def rewriting_method(name: str, model: Rewriter, *, epsilon: float, **options: Any) -> RewritingMethod:  # noqa: ANN401
    """Return a rewriting method by its name.

    Args:
        name: one of `REWRITING_METHODS`.
        model: that encodes and decodes texts.
        epsilon: per text, > 0.
        **options: ``delta``, ``max_draws`` or ``seed``, as the method takes them.

    Raises:
        InputError: no such method, or it does not take these numbers.
    """
    if name not in REWRITING_METHODS:
        raise make_parameter_error("rewriting_method", "name", f"one of {', '.join(REWRITING_METHODS)}", name)
    return REWRITING_METHODS[name](model, epsilon=epsilon, **options)

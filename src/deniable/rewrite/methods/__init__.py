"""Rewriting methods, by the name under which reports know them."""

import functools
from collections.abc import Callable

from deniable.errors import InputError
from deniable.rewrite.methods.adept import adept
from deniable.rewrite.methods.base import Method, VectorMethod
from deniable.rewrite.methods.dptext import dptext
from deniable.rewrite.methods.tokens import Tokens

METHODS: dict[str, Callable[..., Method]] = {
    "adept": adept,
    "adept-l1": functools.partial(adept, name="adept-l1", clip="l1"),
    "adept-true": functools.partial(adept, name="adept-true", sensitivity="true"),
    "adept-gaussian": functools.partial(adept, name="adept-gaussian", noise="gaussian"),
    "dptext": dptext,
    "dptext-fixed": functools.partial(dptext, name="dptext-fixed", sampler="corrected"),
    "tokens": Tokens,
    "tokens-mixed": functools.partial(Tokens, kind="mixed"),
}
"""The registry: a new method is one new file and one more entry here. All take a `Rewriter` and ``epsilon``, and
``seed`` for tests; those of `WITH_DELTA` need ``delta``, those of `WITH_MOST` take ``most``."""

WITH_DELTA = frozenset({"adept-gaussian"})
WITH_MOST = frozenset({"tokens", "tokens-mixed"})


def check_options(name: str, *, delta: float | None = None, most: int | None = None) -> dict[str, float]:
    """Return the options of a method that were given, before any model is read.

    Args:
        name: of a method.
        delta: None for not given.
        most: the same.

    Raises:
        InputError: the method lacks one, or does not take it.
    """
    if name in WITH_DELTA and delta is None:
        raise InputError(f"The method {name!r} needs a delta: give one in (0, 1), for example 1e-5.")
    if name not in WITH_DELTA and delta is not None:
        raise InputError(
            f"The method {name!r} has no delta: leave it out, or choose {' or '.join(sorted(WITH_DELTA))}."
        )
    if name not in WITH_MOST and most is not None:
        known = " or ".join(sorted(WITH_MOST))
        raise InputError(f"The method {name!r} draws no tokens: leave their number out, or choose {known}.")
    return {key: value for key, value in (("delta", delta), ("most", most)) if value is not None}


__all__ = ["METHODS", "WITH_DELTA", "WITH_MOST", "Method", "Tokens", "VectorMethod", "check_options"]

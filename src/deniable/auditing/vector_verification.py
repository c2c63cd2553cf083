"""Exact verification of vector mechanisms: the loss at the worst pair of inputs, from the integer noise."""

import dataclasses
import math
import time
from numbers import Integral

from deniable.auditing.forms import abbreviate
from deniable.core.errors import NotTractable, make_parameter_error
from deniable.core.evidence import Verdict, Witness
from deniable.core.guarantees import Status, is_proved
from deniable.vectors import VectorMechanism
from deniable.vectors.mechanism import has_builtin_sampler, is_builtin_mechanism


def verify_vector_mechanism(mechanism: VectorMechanism, dimension: object) -> Verdict:
    """Return the exact loss of a mechanism for vectors (n,), or its theorem where its guarantee is approximate.

    Draws of a subclass from elsewhere are compared with nothing, so that no loss stated of them is a proof.

    Args:
        mechanism: any.
        dimension: n.

    Raises:
        InputError: the dimension is no int, or cannot be served.
    """
    if isinstance(dimension, bool) or not isinstance(dimension, Integral) or dimension < 1:
        raise make_parameter_error("verify", "dimension", "the int n of a vector mechanism's inputs (n,)", dimension)
    dimension = int(dimension)
    start = time.perf_counter()
    guarantee = mechanism.guarantee
    x, x_prime = mechanism.worst_pair(dimension)
    distance = float(abs(x - x_prime).sum())
    try:
        loss = mechanism.exact_loss(dimension)
    except NotTractable:
        is_theorem_proved = is_proved(guarantee.status) and is_builtin_mechanism(mechanism)
        upper, lower = guarantee.epsilon if is_theorem_proved else math.inf, 0.0
        witness: Witness | None = None
        status: Status = guarantee.status if is_theorem_proved else "undecided"
        method = f"{'by theorem, nothing computed' if is_theorem_proved else 'nothing computed'}: {guarantee.source}"
    else:
        upper, lower = loss.upper, loss.lower
        x, x_prime = loss.pair
        claim = guarantee.epsilon
        status = "refuted" if lower > claim else "proved" if upper <= claim else "undecided"
        output = "the most telling" if math.isfinite(lower) else "what only the first gives"
        witness = Witness(abbreviate(x), abbreviate(x_prime), output, distance, lower)
        method = f"exact over all inputs ({dimension},) and outputs, the law of its noise"
        # The infinite loss of a public seed refutes whatever draws.
        is_refuted_by_seed = mechanism.seed is not None and status == "refuted"
        if not is_refuted_by_seed and not has_builtin_sampler(mechanism):
            status, upper, lower, witness = "undecided", math.inf, 0.0, None
            method = f"nothing computed: the draws of {type(mechanism).__name__} are not this package's"
        if status == "proved" and guarantee.status == "refuted":  # by its loss in other dimensions
            guarantee = dataclasses.replace(guarantee, status="claimed")
    return Verdict(
        guarantee=guarantee,
        status=status,
        epsilon=upper,
        lower_bound=lower,
        confidence=1.0,
        samples=0,
        witness=witness,
        method=method,
        seconds=time.perf_counter() - start,
    )

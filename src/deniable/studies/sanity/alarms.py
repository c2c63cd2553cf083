"""How often the published check accuses a correct mechanism, and which broken one it cannot see."""

import math
from collections.abc import Callable

import numpy as np

from deniable.auditing import audit
from deniable.core.arrays import FloatArray
from deniable.core.parallel import parallel_map
from deniable.studies.sanity.check import limit
from deniable.studies.study import Data, derived
from deniable.vectors import Box, Laplace

_BOX = Box(0.0, 1.0)
FACTOR = 2.0
"""How many times its claim the broken mechanism spends."""
EVENTS: dict[str, Callable[[float], tuple[float, float]]] = {
    "laplace": lambda epsilon: (0.5 * math.exp(-epsilon / 2), 1 - 0.5 * math.exp(-epsilon / 2)),
    "half-sum": lambda epsilon: (0.5 * math.exp(-epsilon), 0.5),
}
"""Correct mechanisms at n = 1, x + Lap(1/epsilon) and half of that, with the chances that x = 0 and x' = 1
read as 1. The half's event, x + noise >= 1, is tight: its odds are e^epsilon."""


def accused(epsilons: tuple[float, ...], repeats: tuple[int, ...], repetitions: int, seed: int) -> list[Data]:
    """Return how often the published estimate exceeds epsilon for correct mechanisms.

    A run of the check is two binomial counts, so a run with 10 million repeats is simulated by two draws.
    """
    found = []
    for name, law in EVENTS.items():
        for epsilon in epsilons:
            for count in repeats:
                random = np.random.default_rng(derived(seed, "accused", name, epsilon, count))
                ones, ones_prime = (random.binomial(count, q, repetitions).astype(float) for q in law(epsilon))
                flagged = _estimates(ones, ones_prime, count) > epsilon
                row = {"mechanism": name, "epsilon": epsilon, "repeats": count, "repetitions": repetitions}
                found.append({**row, "flagged": float(flagged.mean())})
    return found


def _estimates(ones: FloatArray, ones_prime: FloatArray, repeats: int) -> FloatArray:
    """Return the published estimates of many runs; a guess never made is left out."""
    with np.errstate(divide="ignore", invalid="ignore"):
        both = np.abs([np.log(ones_prime) - np.log(ones), np.log(repeats - ones) - np.log(repeats - ones_prime)])
    both[np.isnan(both)] = 0.0
    estimates: FloatArray = both.max(axis=0)
    return estimates


def audited(audits: int, samples: int, seed: int) -> list[Data]:
    """Return how often an audit with 95 % confidence refutes the same correct mechanisms, at epsilon = 1."""

    def one(job: tuple[str, int]) -> bool:
        name, number = job
        mechanism = Laplace(epsilon=1.0, domain=_BOX, seed=derived(seed, "audited", name, number))
        share = 0.5 if name == "half-sum" else 1.0
        verdict = audit(
            lambda x: share * mechanism.sample(x),
            np.zeros(1), np.ones(1),
            claim=1.0, samples=samples, batched=True, seed=number,
        )  # fmt: skip
        return verdict.status == "refuted"

    found = []
    for name in EVENTS:
        refuted = parallel_map(one, [(name, number) for number in range(audits)])
        found.append({"mechanism": name, "epsilon": 1.0, "audits": audits, "samples": samples, "refuted": sum(refuted)})
    return found


def blind(dimensions: tuple[int, ...], samples: int, seed: int) -> list[Data]:
    """Return what check and audit say of Laplace noise that spends twice its claim of 1, by dimension."""

    def one(n: int) -> Data:
        mechanism = Laplace(epsilon=FACTOR, domain=_BOX, seed=derived(seed, "blind", n))
        wrong = 0.5 * math.exp(-FACTOR / (2 * n))
        verdict = audit(
            mechanism.sample, np.zeros(n), np.ones(n), claim=1.0, samples=samples, batched=True,
            seed=derived(seed, "coins", n),
        )  # fmt: skip
        return {
            "n": n,
            "truth": Laplace(epsilon=FACTOR, domain=_BOX).exact_loss(n).lower,
            "limit of the published estimate": limit((wrong, 1 - wrong), n),
            "the same, ties by a coin": limit((wrong, 1 - wrong), n, coin=True),
            "audit": verdict.status,
            "lower bound": verdict.lower_bound,
            "detectable": verdict.detectable_epsilon,
        }

    return parallel_map(one, dimensions)

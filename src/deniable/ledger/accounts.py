"""What a release costs a person, as integers, and the accounts that costs are charged to.

================  ===================================================================  ===========================
account           components                                                           of one unit
================  ===================================================================  ===========================
``metric steps``  epsilon per unit of distance; each metric has an account of its own  one word of a text
``pure``          epsilon                                                              one text
``approximate``   delta, then the Renyi divergence at each order of `RENYI_ORDERS`     one text, or one person
================  ===================================================================  ===========================

Accounts are never added to each other: their numbers mean different things, as an epsilon per step and one per unit of
Euclidean distance do. The first word of an account is its kind. Within an account costs add up: epsilons
of metric and of pure differential privacy by sequential composition, Renyi divergences order by order (Mironov 2017),
deltas by a union bound. Epsilons and divergences are counted in units of 1e-9, deltas in units of 1e-18, each rounded
up, so that no sum is below the true one and none depends on an order of additions.

A person may spend as much as fits under caps, rounded down. Those of the approximate account follow from epsilon and
delta by Canonne, Kamath and Steinke (2020), Proposition 12: half of delta is for what holds only up to a delta of its
own, and with the other half, where for some order alpha the divergences sum up to at most::

    epsilon - ln((alpha - 1) / alpha) + (ln(delta / 2) + ln(alpha)) / (alpha - 1)

all releases together are (epsilon, delta)-DP for the person. So the cap of each order is a plain bound on a sum.

That whoever asks may choose later releases by what earlier ones showed costs nothing here: every divergence that is
charged is alpha times one number (`make_gaussian_cost`), so that all orders bound one sum, of which the largest that
some order admits is fixed in advance. Costs of another form would need one order for a ledger.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Self, cast

from deniable.accounting.renyi import convert_divergence
from deniable.core.errors import InputError, check_number_within, check_positive
from deniable.core.numbers import format_exact

AccountKind = Literal["metric", "pure", "approximate"]
RENYI_ORDERS = (
    1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0, 24.0, 32.0, 48.0, 64.0, 96.0, 128.0,
    192.0, 256.0, 384.0, 512.0,
)  # fmt: skip
"""Orders alpha at which divergences are summed. They are part of every ledger: other orders are another schema."""
EPSILON_UNITS, DELTA_UNITS = 10**9, 10**18
"""How many units an epsilon, and a delta, of 1 has."""
MAX_AMOUNT = 1 << 62
"""Sums stop here, which no cap reaches: so they fit into the 64 bits of a database."""
MAX_BUDGET = 1e6
"""Largest budget. A larger epsilon would promise nothing."""
_ROUNDING = 1e-12
"""Relative error granted to the logarithms of a cap, 2^12 roundings of float64."""

Amounts = tuple[int, ...]
"""One integer for each component of an account."""
Caps = Mapping[AccountKind, Amounts]


@dataclass(frozen=True)
class Cost:
    """What one unit of a release costs a person.

    Attributes:
        account: which it is charged to.
        amounts: for each component of the account.
        facts: what is released, in public figures, as JSON holds them: mechanism, epsilon and the like.
    """

    account: str
    amounts: Amounts
    facts: Mapping[str, Any]

    def encode(self) -> str:
        """Return the cost as the one JSON text by which ledgers know it."""
        fields = {"account": self.account, "amounts": list(self.amounts), "facts": dict(self.facts)}
        return json.dumps(fields, sort_keys=True, separators=(",", ":"))

    @classmethod
    def decode(cls, text: str) -> Self:
        """Return the cost that `encode` encoded."""
        fields = json.loads(text)
        return cls(fields["account"], tuple(fields["amounts"]), fields["facts"])


def find_kind(account: str) -> AccountKind:
    """Return the kind of an account, which its caps are those of."""
    return cast("AccountKind", account.partition(" ")[0])


def make_metric_cost(epsilon: float, metric: str, facts: Mapping[str, Any]) -> Cost:
    """Return what a word costs that is released under metric differential privacy.

    Args:
        epsilon: per unit of distance.
        metric: name of the distance; hidden classes leave its unit as it is.
        facts: see `Cost`.
    """
    return Cost(f"metric {metric}", (_count_units(epsilon),), facts)


def make_pure_cost(epsilon: float, facts: Mapping[str, Any]) -> Cost:
    """Return what a text costs that is released under pure differential privacy."""
    return Cost("pure", (_count_units(epsilon),), facts)


def make_gaussian_cost(squared_mu: Fraction, facts: Mapping[str, Any], *, delta: float = 0.0) -> Cost:
    """Return what a unit costs that enters sums with Gaussian noise, continuous or discrete.

    A sum of l2 sensitivity S with noise of parameter sigma has, at every order, a Renyi divergence of at most
    alpha mu^2 / 2 with mu = S / sigma; so has the discrete Gaussian, on integer vectors of any dimension (Canonne,
    Kamath and Steinke 2020, Theorem 14), and the squares of several sums add up, also where later sums depend on
    earlier ones.

    Args:
        squared_mu: the sum of mu^2 over all sums.
        facts: see `Cost`.
        delta: what holds only up to a delta of its own, such as a selection of keys.
    """
    divergences = [_round_up(Fraction(order) * squared_mu / 2 * EPSILON_UNITS) for order in RENYI_ORDERS]
    amounts = (_round_up(_read_decimal(delta) * DELTA_UNITS), *divergences)
    return Cost("approximate", tuple(min(amount, MAX_AMOUNT) for amount in amounts), facts)


def compute_caps(budget: float, delta: float | None) -> dict[AccountKind, Amounts]:
    """Return what a person may spend on each account.

    Args:
        budget: epsilon, of each account by itself, > 0.
        delta: in (0, 1), of the approximate account; None for no such account.

    Raises:
        InputError: a number outside its domain, or so small a budget that the approximate account admits nothing.
    """
    check_number_within("the ledger", "budget", budget, 1 / EPSILON_UNITS, MAX_BUDGET)
    epsilon_cap = int(_read_decimal(budget) * EPSILON_UNITS)
    caps: dict[AccountKind, Amounts] = {"metric": (epsilon_cap,), "pure": (epsilon_cap,)}
    if delta is None:
        return caps
    check_positive("the ledger", "delta", delta, upper=1.0)
    order_caps = [_compute_order_cap(budget, delta / 2, order) for order in RENYI_ORDERS]
    if max(order_caps) <= 0:
        raise InputError(
            f"At delta {format_exact(delta)} a budget of {format_exact(budget)} admits no release at all: take a "
            "larger budget or delta."
        )
    return {**caps, "approximate": (int(_read_decimal(delta) * DELTA_UNITS / 2), *order_caps)}


def _compute_order_cap(epsilon: float, delta: float, order: float) -> int:
    """Return how far divergences may sum up at an order, rounded down; -1 where not even 0 is allowed."""
    terms = (epsilon, -math.log1p(-1 / order), (math.log(delta) + math.log(order)) / (order - 1))
    divergence = sum(terms) - _ROUNDING * sum(map(abs, terms))
    return max(-1, math.floor(divergence * EPSILON_UNITS))


def compute_spent_epsilon(totals: Sequence[int], delta: float) -> float:
    """Return the epsilon of what was spent on the approximate account, at the ledger's delta; 0 for nothing.

    Args:
        totals: of the account.
        delta: the whole delta of the ledger, half of which is for the conversion.
    """
    if not any(totals):
        return 0.0
    epsilons = (
        convert_divergence(total / EPSILON_UNITS, order, delta / 2)
        for total, order in zip(totals[1:], RENYI_ORDERS, strict=True)
        if total < MAX_AMOUNT
    )
    return min(epsilons, default=math.inf)


def add_amounts(totals: Sequence[int], amounts: Sequence[int], units: int) -> Amounts:
    """Return totals with so many units added to them."""
    return tuple(min(total + units * amount, MAX_AMOUNT) for total, amount in zip(totals, amounts, strict=True))


def is_within(account: str, totals: Sequence[int], caps: Sequence[int]) -> bool:
    """Return whether totals are covered by the caps of their account."""
    is_any_order_within = any(total <= cap for total, cap in zip(totals[1:], caps[1:], strict=True))
    return totals[0] <= caps[0] and (account != "approximate" or is_any_order_within)


def _read_decimal(number: float) -> Fraction:
    """Return the shortest decimal that reads as a float, which is what certificates print: 0.1 is one tenth."""
    return Fraction(repr(float(number)))


def _count_units(epsilon: float) -> int:
    """Return an epsilon in units of an account, rounded up."""
    return min(_round_up(_read_decimal(epsilon) * EPSILON_UNITS), MAX_AMOUNT)


def _round_up(number: Fraction) -> int:
    return -(-number.numerator // number.denominator)

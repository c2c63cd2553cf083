"""A ledger of what each person has spent, over all releases: charged, committed, and only then is noise drawn."""

from deniable.ledger.accounts import Cost, make_gaussian_cost, make_metric_cost, make_pure_cost
from deniable.ledger.charges import Charges, get_charged_guarantee
from deniable.ledger.ledger import Ledger, create_ledger

__all__ = [
    "Charges",
    "Cost",
    "Ledger",
    "create_ledger",
    "get_charged_guarantee",
    "make_gaussian_cost",
    "make_metric_cost",
    "make_pure_cost",
]

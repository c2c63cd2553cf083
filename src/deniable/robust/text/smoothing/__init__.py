"""Certificates that a classifier of texts inherits from the guarantee of a word mechanism."""

from deniable.robust.text.smoothing.certificate import Certificates, Certified, certify
from deniable.robust.text.smoothing.costs import Costs, costs
from deniable.robust.text.smoothing.pairs import kept_between
from deniable.robust.text.smoothing.refute import Attacked, refute
from deniable.robust.text.smoothing.sampling import votes

__all__ = [
    "Attacked",
    "Certificates",
    "Certified",
    "Costs",
    "certify",
    "costs",
    "kept_between",
    "refute",
    "votes",
]

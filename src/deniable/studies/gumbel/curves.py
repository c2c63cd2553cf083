"""The curves of the mechanisms, read from the results."""

import math

import numpy as np

from deniable.studies.study import Data

TITLES = {
    "multivariate-laplace": "multivariate Laplace",
    "truncated-gumbel": "truncated Gumbel",
    "tem": "TEM",
    "calibrated": "calibrated",
    "tight": "tight",
}
HALF = 0.5
"""Share of the runs in which a word stays, at which mechanisms are compared."""


def points(data: Data, vocabulary: str, mechanism: str) -> list[Data]:
    """Return the points of one mechanism on one vocabulary, in order of epsilon."""
    return [p for p in data["points"] if (p["vocabulary"], p["mechanism"]) == (vocabulary, mechanism)]


def at_half(data: Data, vocabulary: str, mechanism: str) -> float | None:
    """Return S_w where N_w is half of the runs: ln S_w interpolated between two points; None out of their range."""
    pairs = sorted((p["N"]["mean"], math.log(p["S"]["mean"])) for p in points(data, vocabulary, mechanism))
    kept, logs = np.array(pairs).T
    wanted = HALF * data["runs"]
    return math.exp(np.interp(wanted, kept, logs)) if kept[0] <= wanted <= kept[-1] else None

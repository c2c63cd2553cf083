"""Xu et al. 2021, Figures 1 and 2: how deniable single words are, and what epsilon is spent for it."""

import dataclasses
import math

from deniable.auditing import verify
from deniable.core.intervals import Estimate
from deniable.core.parallel import parallel_map
from deniable.measure.deniability import measure_deniability
from deniable.published.truncated_gumbel.mechanism import TruncatedGumbel
from deniable.studies.gumbel.bound import far_output_bound
from deniable.studies.gumbel.figure import draw
from deniable.studies.gumbel.vocabularies import Vocabulary, vocabularies
from deniable.studies.gumbel.words import findings, table
from deniable.studies.study import Data, Result, Setting, Study, derived
from deniable.studies.utility.bench import build
from deniable.words import WordMechanism

_ABOVE = 1.01
"""The first epsilon of truncated Gumbel is so many times the least one that gives it a scale."""
_CLOSE = 1.05
"""Bounds on epsilon within this factor of each other count as its value."""


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is drawn.

    Attributes:
        words: drawn uniformly from each vocabulary.
        runs: of each word.
        most: words kept of each vocabulary, the most frequent ones; None for all.
        laplace: epsilons of the multivariate Laplace mechanism, those of Table 3 and 12 and 15 besides.
        gumbel_logs: natural logarithms of epsilons of truncated Gumbel, those of Table 2 and 6 and 8 besides. The
            first one of all stands just above the bound that the vocabulary sets; those below it are left out.
        tem: epsilons of TEM.
        calibrated: epsilons of the calibrated mechanism.
        tight: epsilons of the tight one, whose weights take minutes in a large space.
    """

    words: int = 100
    runs: int = 1_000
    most: int | None = None
    laplace: tuple[float, ...] = (1.0, 5.0, 9.0, 12.0, 15.0, 20.0, 40.0, 60.0, 80.0, 100.0, 150.0, 200.0)
    gumbel_logs: tuple[float, ...] = (4.67, 6.0, 8.0, 10.0, 14.0, 17.0, 23.0, 38.0, 50.0, 62.0, 74.0, 86.0)
    tem: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0)
    calibrated: tuple[float, ...] = (0.5, 1.0, 1.25, 1.5, 2.0, 3.0)
    tight: tuple[float, ...] = (1.0, 1.25, 1.5, 2.0)

    def epsilons(self, least: float) -> dict[str, tuple[float, ...]]:
        """Return the epsilons of each mechanism, with the least one that suits truncated Gumbel in a vocabulary."""
        first = _ABOVE * least
        return {
            "multivariate-laplace": self.laplace,
            "truncated-gumbel": (first, *(math.exp(log) for log in self.gumbel_logs if math.exp(log) > first)),
            "tem": self.tem,
            "calibrated": self.calibrated,
            "tight": self.tight,
        }


Cell = tuple[Vocabulary, str, float]


def run(sizes: Sizes, setting: Setting) -> Result:
    """Count what words become, under every mechanism at every epsilon, and find what epsilon that spends."""
    found = vocabularies(setting.data, sizes.words, sizes.most, setting.seed)
    cells = [
        (vocabulary, name, epsilon)
        for vocabulary in found
        for name, epsilons in sizes.epsilons(vocabulary.facts["least epsilon"]).items()
        for epsilon in epsilons
    ]
    # One cell at a time, since each works on all cores, and the long ones first, for the time left.
    points = parallel_map(lambda cell: _kept(sizes, cell, setting), cells[::-1], workers=1)[::-1]
    data = {"vocabularies": [vocabulary.facts for vocabulary in found], "points": points, "runs": sizes.runs}
    return Result(data, table(data), findings(data))


def _kept(sizes: Sizes, cell: Cell, setting: Setting) -> Data:
    """Return one point, which an interrupted run has kept."""
    vocabulary, name, epsilon = cell
    name = f"{vocabulary.name} {name} {epsilon}"
    found: Data = setting.ledger.remember(name, lambda: _point(sizes, cell, setting.seed))
    return found


def _point(sizes: Sizes, cell: Cell, seed: int) -> Data:
    """Return means and deviations of S_w and N_w over the sample, and the epsilon spent."""
    vocabulary, name, epsilon = cell
    mechanism = build(name, vocabulary.space, epsilon)
    noise = derived(seed, "draws", vocabulary.name, name, epsilon)
    counted = measure_deniability(mechanism, vocabulary.sample, runs=sizes.runs, seed=noise)
    unchanged, distinct = counted.expected_unchanged, counted.expected_distinct
    return {
        "vocabulary": vocabulary.name,
        "mechanism": name,
        "epsilon": epsilon,
        "S": _facts(counted.mean_distinct, counted.std_distinct, counted.mean_expected_distinct),
        "N": _facts(counted.mean_unchanged, counted.std_unchanged, counted.mean_expected_unchanged),
        "largest S": int(counted.distinct.max()),
        "least share kept": None if unchanged is None else float(unchanged.min()) / sizes.runs,
        "largest expected S": None if distinct is None else float(distinct.max()),
        **_spent(mechanism),
    }


def _facts(drawn: Estimate, deviation: float, expected: Estimate | None) -> Data:
    """Return what is known of one mean."""
    return {
        "mean": drawn.value,
        "low": drawn.low,
        "high": drawn.high,
        "deviation": deviation,
        "expected": None if expected is None else expected.value,
    }


def _spent(mechanism: WordMechanism) -> Data:
    """Return the epsilon that a mechanism spends in truth, as far as it is known, and what becomes of the claim."""
    verdict = verify(mechanism)
    least, status = verdict.lower_bound, verdict.status
    if verdict.method.startswith("by theorem"):
        return {"spent": verdict.epsilon, "spent is": "by theorem", "claim": status}
    if isinstance(mechanism, TruncatedGumbel):
        least = max(least, far_output_bound(mechanism))
        status = "refuted" if least > mechanism.epsilon else status
    if verdict.epsilon <= _CLOSE * least:
        return {"spent": verdict.epsilon, "spent is": "exact", "claim": status}
    return {"spent": least, "spent is": "at least", "claim": status}


STUDY = Study(
    name="gumbel-deniability",
    summary="how often words stay and how many they become, under five mechanisms at the epsilon they spend",
    paper='Xu et al. 2021, "Differentially Private Adversarial Robustness Through Randomized Perturbations", '
    "Figures 1 and 2",
    full=Sizes(),
    quick=Sizes(
        words=40,
        # Above the 3,000 words up to which truncated Gumbel's exact epsilon is computed, a minute a point.
        most=4_000,
        laplace=(1.0, 5.0, 9.0, 12.0, 15.0, 20.0, 40.0, 200.0),
        gumbel_logs=(4.67, 6.0, 10.0, 17.0, 23.0, 38.0, 86.0),
        tem=(0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0),
        calibrated=(0.5, 1.0, 1.25, 1.5, 2.0),
        tight=(1.0, 1.25, 1.5, 2.0),
    ),
    run=run,
    draw=draw,
)

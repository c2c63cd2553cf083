"""Habernal 2022, Figure 1: the empirical loss of five mechanisms, as published and with a valid bound."""

import contextlib
import dataclasses
import math
import sys

from deniable.auditing import audit
from deniable.core.parallel import parallel_map
from deniable.studies.sanity import alarms
from deniable.studies.sanity.check import estimate, limit, votes
from deniable.studies.sanity.figure import draw
from deniable.studies.sanity.subjects import SUBJECTS, Subject
from deniable.studies.sanity.words import findings, table
from deniable.studies.study import Data, Result, Setting, Study, derived

CONFIDENCE = 0.95
_AT_EASE = 1.0
"""The epsilon at which controls, which have none, are run."""
_ODDS = 7.0
"""Samples per e^epsilon of an audit: a claim of epsilon takes about 3 e^epsilon right guesses to refute."""


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is drawn.

    Attributes:
        dimensions: n.
        epsilons: claimed.
        repeats: of the published check for each input, at most.
        coordinates: drawn for each input at most, which limits the repeats of long vectors.
        audit_samples: of the audit, where the claim does not need more.
        audit_most: of the audit in any case.
        accused_repeats: of the published check on correct mechanisms.
        repetitions: of that.
        audits: of correct mechanisms.
        audits_samples: of each of them.
    """

    dimensions: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 128)
    epsilons: tuple[float, ...] = (0.1, 1.0, 5.0, 10.0)
    repeats: int = 10_000_000
    coordinates: int = 10_000_000
    audit_samples: int = 20_000
    audit_most: int = 200_000
    accused_repeats: tuple[int, ...] = (10_000, 1_000_000, 10_000_000)
    repetitions: int = 10_000
    audits: int = 200
    audits_samples: int = 2_000

    def repeated(self, n: int) -> int:
        """Return the repeats for vectors (n,)."""
        return max(min(self.repeats, self.coordinates // n), 1)

    def audited(self, epsilon: float) -> int:
        """Return the samples of the audit of a claim."""
        return min(self.audit_most, max(self.audit_samples, int(_ODDS * math.exp(epsilon))))


Point = tuple[Subject, float, int]


def run(sizes: Sizes, setting: Setting) -> Result:
    """Run the published check and the audit on every mechanism, and both on what shows their worth."""
    points = [
        (subject, epsilon, n)
        for subject in SUBJECTS
        for n in sizes.dimensions
        for epsilon in ((_AT_EASE,) if subject.control else sizes.epsilons)
    ]
    # Audits swap the standard output while a sampler runs, and in threads they may swap it back out of order.
    with contextlib.redirect_stdout(sys.stdout):
        checks = parallel_map(lambda point: _check(sizes, *point, setting.seed), points)
        audits = parallel_map(lambda point: _audit(sizes, *point, setting.seed), points)
        data = {
            "points": [{**check, **verdict} for check, verdict in zip(checks, audits, strict=True)],
            "accused": alarms.accused(sizes.epsilons, sizes.accused_repeats, sizes.repetitions, setting.seed),
            "audited": alarms.audited(sizes.audits, sizes.audits_samples, setting.seed),
            "blind": alarms.blind(sizes.dimensions, sizes.audit_samples, setting.seed),
            "dimensions": list(sizes.dimensions),
            "epsilons": list(sizes.epsilons),
            "confidence": CONFIDENCE,
        }
    return Result(data, table(data), findings(data))


def _check(sizes: Sizes, subject: Subject, epsilon: float, n: int, seed: int) -> Data:
    """Return the published estimate, what it tends to, and the truth."""
    mechanism = subject.make(epsilon, derived(seed, "check", subject.name, epsilon, n))
    repeats = sizes.repeated(n)
    x, x_prime = (votes(mechanism, given, subject.threshold, repeats) for given in subject.inputs(n))
    return {
        "mechanism": subject.name,
        "epsilon": epsilon,
        "n": n,
        "repeats": repeats,
        "read as x' from x": x,
        "read as x' from x'": x_prime,
        "published estimate": estimate(x, x_prime, repeats),
        "its limit": limit(subject.coordinate(epsilon, n), n),
        "truth": subject.truth(epsilon, n),
    }


def _audit(sizes: Sizes, subject: Subject, epsilon: float, n: int, seed: int) -> Data:
    """Return the audit's verdict on the claim of epsilon."""
    mechanism = subject.make(epsilon, derived(seed, "audit", subject.name, epsilon, n))
    verdict = audit(
        mechanism.sample,
        *subject.inputs(n),
        claim=epsilon,
        samples=sizes.audited(epsilon),
        confidence=CONFIDENCE,
        batched=True,
        seed=derived(seed, "coins", subject.name, epsilon, n),
    )
    return {
        "audit": verdict.status,
        "lower bound": verdict.lower_bound,
        "detectable": verdict.detectable_epsilon,
        "samples": verdict.samples,
        "right": verdict.witness.correct_guesses if verdict.witness else 0,
        "guesses": verdict.witness.guesses if verdict.witness else 0,
    }


STUDY = Study(
    name="sanity-check",
    summary="the empirical privacy loss of five mechanisms, as published and with a bound that is valid",
    paper='Habernal 2022, "How reparametrization trick broke differentially-private text representation learning", '
    "Figure 1",
    full=Sizes(),
    quick=Sizes(
        dimensions=(1, 2, 8, 32, 128),
        repeats=500_000,
        coordinates=500_000,
        audit_samples=5_000,
        audit_most=5_000,
        repetitions=2_000,
        audits=20,
        audits_samples=1_000,
    ),
    run=run,
    draw=draw,
)

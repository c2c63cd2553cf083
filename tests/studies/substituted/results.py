"""Results made up for the tests of tables, findings and figures."""

import numpy as np

from deniable.core.intervals import estimate_share
from deniable.studies.substituted.plan import IBP, NORMAL, Point, augmented

TEXTS = 200


def point(model, measure, right, source=None, at=None):
    """Return a share of 200 texts: those before ``right``."""
    held = estimate_share(right, TEXTS)
    hits = np.arange(TEXTS) < right
    shown = {"value": held.value, "low": held.low, "high": held.high, "count": TEXTS}
    names = {"model": model, "measure": measure, "source": source, "at": at}
    return {**names, **shown, "texts": np.packbits(hits).tobytes().hex()}


def known(mechanism, at, *, below=False, claim="proved", spent=1.0):
    """Return what is known of the epsilon of a mechanism."""
    facts = {"mechanism": mechanism, "at": at, "epsilon": Point(mechanism, at).epsilon, "least": 30.0, "below": below}
    if below:
        return {**facts, "claim": None, "spent": None, "spent is": None}
    return {**facts, "claim": claim, "spent": spent, "spent is": "at least" if claim == "refuted" else "exact"}


def results(mechanism, shares, clean=(178, 162), mechanisms=()):
    """Return results of one mechanism.

    Args:
        mechanism: its name.
        shares: place -> texts right of IBP and of augmented training under attack.
        clean: texts right of normal training and of IBP without attack.
        mechanisms: what is known of epsilons besides.
    """
    points = [point(NORMAL, "clean", clean[0]), point(IBP, "clean", clean[1])]
    for at, (ibp, ours) in shares.items():
        name = augmented(Point(mechanism, at))
        points += [point(name, "clean", 178), point(IBP, "genetic", ibp, mechanism, at)]
        points.append(point(name, "genetic", ours, mechanism, at))
    facts = [known(mechanism, at) for at in shares]
    return {"points": points, "mechanisms": [*facts, *mechanisms], "smoothed": [], "trainings": []}

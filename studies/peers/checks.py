"""The checks of an audit: is the law read off the law drawn from, unknown words, repeated outputs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from client import RefusedError
from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from client import Matrix, Worker

UNKNOWN = ("zzqxvk", "qqvvxz", "xkzzvq")  # no words
LEAST = 5.0  # expected draws of a cell of the chi-square test


def chi_square(worker: Worker, matrix: Matrix, names: list[str], inputs: Sequence[str], draws: int) -> dict[str, Any]:
    """Compare draws from the package with the rows of the matrix; one test over all inputs.

    An output that the matrix gives probability 0, and that is drawn all the same, makes p = 0.
    """
    number = {name: i for i, name in enumerate(names)}
    total, freedom, impossible = 0.0, 0, 0
    for word in inputs:
        counts = Counter(worker.draw([word] * draws))
        observed = np.array([counts.get(name, 0) for name in names])
        expected = draws * matrix[number[word]]
        impossible += int(observed[expected == 0].sum()) + draws - int(observed.sum())
        value, cells = _statistic(observed, expected)
        total, freedom = total + value, freedom + cells - 1
    p = float(stats.chi2.sf(total, freedom)) if freedom else 1.0
    return {"p": 0.0 if impossible else p, "inputs": list(inputs), "draws": draws * len(inputs)}


def _statistic(observed: Matrix, expected: Matrix) -> tuple[float, int]:
    """Return Pearson's statistic and its number of cells, rare outputs pooled into one."""
    common = expected >= LEAST
    cells = [*zip(observed[common], expected[common], strict=True)]
    rest = (observed[~common].sum(), expected[~common].sum())
    if rest[1] >= LEAST or not cells:
        cells.append(rest)
    else:  # too rare for a cell: with the rarest one
        least = min(range(len(cells)), key=lambda i: cells[i][1])
        cells[least] = (cells[least][0] + rest[0], cells[least][1] + rest[1])
    return sum(float((o - e) ** 2 / e) for o, e in cells if e), len(cells)


def same_sets(matrix: Matrix) -> dict[str, Any]:
    """Compare only words with the same set of outputs: how many pairs there are, and their largest loss."""
    groups: dict[bytes, list[int]] = {}
    for i, row in enumerate(matrix > 0):
        groups.setdefault(row.tobytes(), []).append(i)
    pairs, loss = 0, 0.0
    for group in groups.values():
        pairs += len(group) * (len(group) - 1)
        rows = np.log(matrix[group][:, matrix[group[0]] > 0])
        loss = max(loss, float((rows.max(axis=0) - rows.min(axis=0)).max()))
    return {"pairs": pairs, "loss": loss}


def unknown(worker: Worker, names: Sequence[str], draws: int) -> dict[str, Any]:
    """Count how often words outside the space come back, from themselves and from known words."""
    given = list(UNKNOWN) * draws
    try:
        outputs = worker.draw(given)
    except RefusedError as error:
        return {"error": str(error)}
    found = {"given": len(given), "unchanged": sum(map(str.__eq__, given, outputs))}
    known = [names[i % len(names)] for i in range(len(given))]
    try:
        return {**found, "known": len(known), "from_known": sum(word in UNKNOWN for word in worker.draw(known))}
    except RefusedError as error:
        return {**found, "known": 0, "from_known": 0, "error": str(error)}


def repeated(first: Worker, second: Worker, names: Sequence[str]) -> dict[str, Any]:
    """Compare the first outputs of two fresh processes, and the first with the second of one."""
    try:
        one, other, later = first.draw(names), second.draw(names), first.draw(names)
    except RefusedError as error:
        return {"error": str(error)}
    same = sum(map(str.__eq__, one, other))
    return {"words": len(one), "equal": same, "within": sum(map(str.__eq__, one, later))}

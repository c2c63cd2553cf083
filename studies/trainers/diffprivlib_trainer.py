"""Adapter for `diffprivlib`: estimators fitted as its documentation does, with bounds given.

Schemes: logistic (`LogisticRegression`), linear (`LinearRegression`). The number of records is public here: a canary
that is left out is replaced by a record of zeros. Both estimators are fitted once, so that there is one step.

A task of the kind "repeat" fits one of two small data sets many times, with one feature, and saves the coefficients in
`coefficients.npy`: `included` says for each fit which of them.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
from protocol import Data, Floats, Outcome, Task, main


def make_estimator(task: Task) -> Any:  # noqa: ANN401 - theirs
    """Return an estimator that has not been fitted."""
    models: Any = importlib.import_module("diffprivlib.models")
    if task.scheme == "linear":
        bounds = {"bounds_X": (0.0, task.norm), "bounds_y": (0.0, 1.0)}
        return models.LinearRegression(epsilon=task.epsilon, fit_intercept=False, **bounds)
    return models.LogisticRegression(epsilon=task.epsilon, data_norm=task.norm, fit_intercept=False, max_iter=10_000)


def fill_up(task: Task, data: Data) -> tuple[Floats, Any]:
    """Return as many records as there would be with all canaries."""
    missing = len(task.included) - sum(task.included)
    x = np.concatenate([data.x, np.zeros((missing, data.x.shape[1]), np.float32)])
    return x, np.concatenate([data.labels, np.zeros(missing, np.int64)])


def train(task: Task) -> Outcome:
    """Fit once."""
    if task.kind == "repeat":
        return repeat(task)
    x, labels = fill_up(task, task.read_data())
    estimator = make_estimator(task).fit(np.clip(x, 0, None) if task.scheme == "linear" else x, labels)
    coefficients = np.asarray(estimator.coef_, np.float64).reshape(-1)
    facts: dict[str, Any] = {"epsilon": estimator.accountant.total()[0], "delta": estimator.accountant.total()[1]}
    if task.scheme == "linear":
        exact = (np.clip(x, 0, None).astype(np.float64) ** 2).sum(axis=0)
        noisy = np.diag(estimator._obj_coefs[2])  # noqa: SLF001 - the squares that coef_ is computed from
        facts |= {
            "squares_without_noise": int(np.isclose(exact, noisy, rtol=1e-9, atol=0).sum()),
            "squares": len(exact),
        }
    return Outcome([np.zeros_like(coefficients), coefficients], facts=facts)


def repeat(task: Task) -> Outcome:
    """Fit 20 records of zeros and `records` of size `norm` with label 1, and one more of either kind for each coin."""
    x = np.zeros((21 + task.records, 1))
    x[21:] = task.norm
    labels = np.concatenate([np.arange(21) % 2, np.ones(task.records, np.int64)])
    coefficients = []
    for is_included in task.included:
        x[1] = task.norm * is_included
        coefficients.append(float(np.ravel(make_estimator(task).fit(x, labels).coef_)[0]))
    np.save(Path(task.folder) / "coefficients.npy", coefficients)
    return Outcome([np.zeros(task.features + len(task.included), np.float32)] * 2)


if __name__ == "__main__":
    main(train)

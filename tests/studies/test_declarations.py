"""Every declared study from end to end, at sizes of a second or two, and what is particular to one."""

import dataclasses
import math

import numpy as np
import pytest

from deniable.vectors import L2Ball
from studies import STUDIES, adept_sensitivity, sanity_check, tem_utility
from studies.page import build_page
from studies.plotter import describe_figure, draw_figure
from studies.reviews import LAPLACE, ORIGINAL
from studies.rows import Results, find_row
from studies.runner import Context, measure_cells, run_study
from studies.study import Grid

TINY = {
    "adept-sensitivity": Grid(
        tuple(cell for cell in adept_sensitivity.CELLS if cell[-1] in {2, 8, 32}), adept_sensitivity.Sizes(60)
    ),
    "sanity-check": Grid(
        tuple(cell for cell in sanity_check.build_cells((1, 2)) if cell[-1] != 10_000_000),
        sanity_check.Sizes(5_000, 8_000, 300, 300, 300, audits=2, audits_samples=60),
    ),
    "tem-utility": Grid(
        tem_utility.build_cells((2.0, 4.0)), tem_utility.Sizes(2, 20, 8, words=None, dimensions=4, epochs=2)
    ),
}
"""Study -> a small grid."""


@pytest.fixture(scope="module", params=TINY)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def rows(name, study_data, tmp_path_factory):
    """Return the rows of a tiny run, seed 3."""
    return run_study(STUDIES[name], tmp_path_factory.mktemp(name), seed=3, data=study_data, grid=TINY[name]).rows


def measure_tiny(name, data=None, **changes):
    """Return the rows of some cells of a tiny grid."""
    grid = dataclasses.replace(TINY[name], **changes)
    return measure_cells(STUDIES[name], grid, Context(grid.sizes, 3, data))


def test_every_study_is_tried():
    """No declaration is left out here."""
    assert list(TINY) == list(STUDIES)


def test_rows_make_page_and_figure(name, rows):
    """The rows of any grid give a page and a picture; every row has a metric, every outcome is one."""
    study = STUDIES[name]
    facts = {"seed": 3, "version": "0", "seconds": 1.0, "machine": "none"}
    text = build_page(study, Results(rows, facts), "1. Nothing.\n")
    assert f"python -m studies run {name}" in text
    assert draw_figure(describe_figure(study, Results(rows))).startswith(b"\x89PNG")
    assert {row.metric for row in rows} <= set(study.metrics)
    for row in rows:
        assert row.low is None or row.low <= row.value <= row.high


def test_declarations_are_whole(name):
    """Curves and metrics that statements, panels and tables name are declared; the quick grid is a smaller one."""
    study = STUDIES[name]
    lines = [line for panel in study.panels for line in panel.lines]
    assert {line.metric for line in lines} <= set(study.metrics)
    assert {line.curve for line in lines} <= set(study.curves)
    assert {column.partition("|")[0] for table in study.tables for column in table.columns} <= set(study.metrics)
    assert len(study.quick.cells) <= len(study.full.cells)
    assert len(set(study.full.cells)) == len(study.full.cells)


def test_shares_are_those_of_all_pairs():
    """Every share is that of a direct count over all pairs of the same vectors."""
    name = "adept-sensitivity"
    rows = measure_tiny(name)
    for distribution, radius, n in (cell for cell in TINY[name].cells if len(cell) == 3):
        random = np.random.default_rng(Context(None, 3).derive_seed(distribution, n))
        drawn = adept_sensitivity.DRAWS[distribution](random, (60, n))
        clipped = L2Ball(radius).clip(drawn)
        apart = np.abs(clipped[:, None] - clipped[None]).sum(axis=2)[np.triu_indices(60, 1)]
        curve = adept_sensitivity.name_curve(distribution, radius)
        assert find_row(rows, curve, n, "pairs beyond").value == np.mean(apart > 2 * radius)
        touched = np.mean(np.linalg.norm(drawn, axis=1) > radius)
        assert find_row(rows, curve, n, "vectors clipped").value == touched
    assert find_row(rows, "the clip", 8, "sensitivity found").value == pytest.approx(math.sqrt(8), rel=1e-6)


def test_truth_limit_estimate_and_bound_fit_together():
    """Limits lie below the truth, bounds too as far as few samples can tell, and DPText loses all."""
    rows = measure_tiny("sanity-check")
    for row in rows:
        if row.metric == "true loss":
            limit, bound = (find_row(rows, row.curve, row.x, metric).value for metric in ("limit", "lower bound"))
            assert limit <= row.value * (1 + 1e-9)
            assert bound <= max(1.2 * row.value, 0.3)
    for curve in ("copy", "dptext-zero, epsilon 1", "dptext-redraw, epsilon 1"):
        assert find_row(rows, curve, 1, "published estimate").value == math.inf
        assert find_row(rows, curve, 1, "refuted").value == 1
    assert find_row(rows, "adept, epsilon 1", 2, "true loss").value == pytest.approx(math.sqrt(2))
    assert 0.4 < find_row(rows, "half-sum, 10,000 repeats", 1, "accused").value < 0.6
    assert find_row(rows, "read at 1/2, 1,000,000 repeats", 1, "accused").value == 0


def test_cells_do_not_depend_on_each_other():
    """A cell measured alone gives the rows that it gives among others."""
    whole = measure_tiny("sanity-check")
    cell = ("check", "laplace", 1.0, 2)
    assert set(measure_tiny("sanity-check", cells=(cell,))) <= set(whole)


def test_what_is_known_of_each_mechanism(study_data):
    """Every mechanism has what is proved of it, what a guesser names, and means over its trials."""
    rows = measure_tiny("tem-utility", study_data)
    for name in tem_utility.NAMES:
        for epsilon in (2.0, 4.0):
            assert 0 < find_row(rows, name, epsilon, "epsilon proved").value <= epsilon
            assert 0 < find_row(rows, name, epsilon, "words kept").value < 1
            assert find_row(rows, name, epsilon, "accuracy").n == 2
            assert (find_row(rows, name, epsilon, "words named").n > 0) == (name == LAPLACE)
    assert find_row(rows, ORIGINAL, None, "auc, private records") is None

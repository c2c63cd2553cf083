"""All studies from end to end, at tiny sizes: their numbers, tables and figures."""

import dataclasses
import math

import numpy as np
import pytest

from deniable.core.parallel import report_progress_to
from deniable.studies import STUDIES, Setting, adept_sensitivity, sanity_check
from deniable.vectors import L2Ball
from tests.studies.sizes import TINY

RUNS = {name: (STUDIES[name].run, sizes) for name, sizes in TINY.items()}


@pytest.fixture(scope="module")
def results(study_data):
    """Return the results of all studies, seed 3, and what was reported meanwhile."""
    seen = []
    with report_progress_to(lambda done, total: seen.append((done, total))):
        return {"seen": seen, **{name: run(sizes, Setting(3, study_data)) for name, (run, sizes) in RUNS.items()}}


def cells(result):
    return {(c["distribution"], c["C"], c["n"]): c for c in result.data["shares"]}


def points(result):
    return {(p["mechanism"], p["epsilon"], p["n"]): p for p in result.data["points"]}


def rows(result):
    return {row.paper: row.ours for row in result.table}


def test_the_registry():
    """Studies are known by the names that their files get."""
    assert list(STUDIES) == list(RUNS)
    assert all(name == study.name for name, study in STUDIES.items())


def test_a_seed_repeats_the_numbers(results):
    """The same seed gives the same numbers, another one others, whatever else is run."""
    run, sizes = RUNS["adept-sensitivity"]
    assert run(sizes, Setting(3)) == results["adept-sensitivity"]
    assert run(sizes, Setting(4)).data != results["adept-sensitivity"].data
    run, sizes = RUNS["sanity-check"]
    again = points(run(dataclasses.replace(sizes, dimensions=(2,)), Setting(3)))
    assert again == {key: point for key, point in points(results["sanity-check"]).items() if key[2] == 2}


def test_progress(results):
    """Long steps report to whoever watches, from nothing done to all."""
    assert results["seen"].count((0, 27)) == results["seen"].count((27, 27)) == 1
    assert results["seen"].count((0, 14)) == results["seen"].count((14, 14)) == 2


@pytest.mark.parametrize("name", RUNS)
def test_the_figure_draws(results, name, tmp_path):
    """The figure is a picture of its data."""
    path = tmp_path / "figure.png"
    STUDIES[name].draw(results[name].data).savefig(path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_shares_are_those_of_all_pairs(results):
    """Every share is that of a direct count over all pairs of the same vectors."""
    found = cells(results["adept-sensitivity"])
    assert len(found) == 27
    for (name, radius, n), cell in found.items():
        seed = adept_sensitivity.derived(3, name, n)
        drawn = adept_sensitivity._DRAWS[name](np.random.default_rng(seed), (60, n))
        clipped = L2Ball(radius).clip(drawn)
        apart = np.abs(clipped[:, None] - clipped[None]).sum(axis=2)[np.triu_indices(60, 1)]
        assert cell["beyond"] == np.count_nonzero(apart > 2 * radius)
        assert cell["share"] == cell["beyond"] / 1770
        assert cell["clipped"] == np.mean(np.linalg.norm(drawn, axis=1) > radius)


def test_what_the_clip_does(results):
    """At n = 32 nearly all pairs are beyond 2C for C = 1, none of the normal ones for C = 10."""
    found = cells(results["adept-sensitivity"])
    assert found["uniform on [-1, 1]", 1.0, 32]["share"] == 1
    assert found["normal, deviation 0.1", 1.0, 32]["share"] > 0.99
    assert found["normal, deviation 0.1", 1.0, 32]["clipped"] == 0
    assert found["normal, deviation 0.1", 10.0, 32]["share"] == 0
    assert results["adept-sensitivity"].data["l1 clip, pairs beyond"] == 0
    for n, distance in results["adept-sensitivity"].data["searched sensitivity"].items():
        assert distance == pytest.approx(2 * math.sqrt(int(n)), rel=1e-6)


def test_the_sensitivity_table_is_of_this_run(results):
    """The table shows the run's own shares."""
    result = results["adept-sensitivity"]
    share = cells(result)["uniform on [-1, 1]", 10.0, 32]["share"]
    text = " ".join(rows(result).values())
    assert f"C = 10: {100 * share:.4g} %" in text
    assert "5.66" in text
    assert "of all 1,770 pairs" in result.findings[0]


def test_points_of_the_check(results):
    """Truth, limit, estimate and bound of every mechanism fit together."""
    found = points(results["sanity-check"])
    assert len(found) == 14
    assert found["laplace", 1.0, 2]["truth"] == pytest.approx(1)
    assert found["adept-unclipped", 1.0, 2]["truth"] == pytest.approx(2)
    assert found["adept", 1.0, 2]["truth"] == pytest.approx(math.sqrt(2))
    assert found["random", 1.0, 2]["truth"] == 0
    for name in ("copy", "dptext-zero", "dptext-redraw"):
        assert found[name, 1.0, 1]["truth"] == found[name, 1.0, 1]["its limit"] == math.inf
        assert found[name, 1.0, 1]["published estimate"] == math.inf
        assert found[name, 1.0, 1]["audit"] == "refuted"
    for point in found.values():
        assert point["its limit"] <= point["truth"] * (1 + 1e-9)
        assert point["repeats"] == (5_000 if point["n"] == 1 else 4_000)
        assert point["lower bound"] <= max(1.2 * point["truth"], 0.2)


def test_the_check_table_is_of_this_run(results):
    """The table shows the run's own estimates and bounds."""
    result, found = results["sanity-check"], points(results["sanity-check"])
    shown = rows(result)
    highest = max(found["random", 1.0, n]["published estimate"] for n in (1, 2))
    assert f"{highest:.4f}" in shown["Outputs drawn whatever the input have no loss (Figure 1, left)."]
    least = min(found["copy", 1.0, n]["lower bound"] for n in (1, 2))
    assert f"at least {least:.2f} with 300 samples" in shown["Copying has no privacy (Figure 1, left)."]


def test_samples_of_an_audit():
    """Audits of large claims get the samples that these need, up to the most allowed."""
    sizes = sanity_check.Sizes()
    assert [sizes.audited(epsilon) for epsilon in (0.1, 1.0, 5.0)] == [20_000] * 3
    assert 100_000 < sizes.audited(10.0) <= sizes.audit_most
    assert sizes.audited(30.0) == sizes.audit_most
    assert [sizes.repeated(n) for n in (1, 2, 128)] == [10_000_000, 5_000_000, 78_125]

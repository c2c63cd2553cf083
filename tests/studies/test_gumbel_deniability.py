"""The study of deniability from end to end, on a tiny folder of data."""

import dataclasses
import json
import math

import numpy as np
import pytest

import deniable as dn
from deniable.core.errors import InputError
from deniable.studies import Setting, conduct
from deniable.studies.gumbel import bound
from deniable.studies.gumbel.curves import at_half, points
from deniable.studies.gumbel.vocabularies import VECTORS, vocabularies
from deniable.studies.gumbel_deniability import STUDY
from tests.studies.data import KNOWN
from tests.studies.sizes import DENIABILITY as SIZES


@pytest.fixture(scope="module")
def report(study_data, tmp_path_factory):
    """Return the report of a tiny run."""
    return conduct(STUDY, tmp_path_factory.mktemp("out"), Setting(0, study_data), sizes=SIZES)


def test_files(report):
    """The three files are written, with all points, a table of eight statements and the picture."""
    numbers = json.loads(report.numbers.read_text())
    assert len(numbers["results"]["points"]) == 2 * (3 + 2 + 2 + 2 + 1)
    assert len(numbers["table"]) == 8
    assert report.figure.read_bytes().startswith(b"\x89PNG")
    assert "| the paper says | this run | |" in report.table.read_text()


def test_vocabularies(study_data):
    """A vocabulary holds the words of its texts that have a vector; samples are seeded and the rest is counted."""
    imdb, nli = vocabularies(study_data, 8, None, 0)
    assert imdb.space.words == KNOWN["IMDB"]
    assert nli.space.words == KNOWN["NLI"]
    assert imdb.facts["different words in the texts"] == 41
    assert len(set(imdb.sample)) == 8
    assert (
        imdb.sample == vocabularies(study_data, 8, None, 0)[0].sample != vocabularies(study_data, 8, None, 1)[0].sample
    )
    one, other = imdb.facts["nearest words"]
    assert imdb.space.distance(one, other) == pytest.approx(imdb.space.separation) == imdb.facts["Delta0"]
    assert vocabularies(study_data, 8, 5, 0)[0].space.words == KNOWN["IMDB"][:5]


def test_points(report):
    """Every point is within what its runs allow, and its epsilon is known as far as it can be."""
    data = report.result.data
    for point in data["points"]:
        assert 0 <= point["N"]["mean"] <= 60
        assert 1 <= point["S"]["mean"] <= point["largest S"] <= 40
        expected = {"multivariate-laplace": "by theorem"}.get(point["mechanism"], "exact")
        if point["mechanism"] != "truncated-gumbel":
            claim = "proved for ideal arithmetic" if expected == "by theorem" else "proved"
            assert (point["spent is"], point["claim"]) == (expected, claim)
            assert point["spent"] <= point["epsilon"]
        if point["mechanism"] in {"tem", "calibrated", "tight"}:
            assert point["N"]["expected"] == pytest.approx(point["N"]["mean"], abs=12)
            assert point["S"]["expected"] == pytest.approx(point["S"]["mean"], abs=5)
    gumbel = points(data, "IMDB", "truncated-gumbel")
    least = data["vocabularies"][0]["least epsilon"]
    assert [math.log(point["epsilon"]) for point in gumbel] == pytest.approx([math.log(1.01 * least), 12])
    assert gumbel[1]["spent is"] == "exact"


def test_the_table_is_of_this_run(report):
    """The table shows the run's own counts."""
    shown = {row.paper: row.ours for row in report.result.table}
    laplace = points(report.result.data, "NLI", "multivariate-laplace")
    text = next(ours for paper, ours in shown.items() if paper.startswith("Multivariate Laplace: S_w"))
    assert f"S_w from {laplace[0]['S']['mean']:.0f} to {laplace[-1]['S']['mean']:.0f}" in text
    bounds = next(ours for paper, ours in shown.items() if paper.startswith("The mechanism is defined"))
    assert "IMDB 106.7 against 120.3 (their first epsilon 106.7)" in bounds
    assert "NLI 91.6 against 104.9 (their first epsilon 91.8)" in bounds


def test_a_seed_repeats_the_numbers(report, study_data):
    """The same seed gives the same numbers, whatever else is run, and another one others."""
    few = dataclasses.replace(SIZES, gumbel_logs=(12.0,), calibrated=(1.0,), tight=(4.0,), tem=(1.0,))
    again = STUDY.run(few, Setting(0, study_data)).data
    assert len(again["points"]) == 2 * 8
    assert all(point in report.result.data["points"] for point in again["points"])
    assert again["points"] != STUDY.run(few, Setting(1, study_data)).data["points"]


def test_at_half():
    """S_w is interpolated in its logarithm between two points, and left out beyond them."""
    facts = {"vocabulary": "IMDB", "mechanism": "tem"}
    data = {
        "runs": 100,
        "points": [{**facts, "N": {"mean": n}, "S": {"mean": s}} for n, s in ((40, 100.0), (60, 1.0), (90, 1.0))],
    }
    assert at_half(data, "IMDB", "tem") == pytest.approx(10)
    assert at_half({**data, "runs": 60}, "IMDB", "tem") is None


def test_the_bound_is_below_the_truth():
    """What is said to be spent at least is less than the exact loss of the same pairs, and not nothing."""
    random = np.random.default_rng(0)
    space = dn.Space([f"w{number}" for number in range(150)], random.normal(size=(150, 30)))
    least = (5 + 2 * math.log(150)) / space.separation
    mechanism = dn.TruncatedGumbel(space, epsilon=1.01 * least)
    distances = space.distances(range(150))
    law = mechanism.rows(distances.copy())
    np.fill_diagonal(distances, np.inf)
    exact = float(((np.log(np.diagonal(law)) - np.log(law)) / distances).max())
    found = bound.far_output_bound(mechanism)
    assert 0.2 * exact < found <= exact
    assert dn.verify(mechanism).epsilon >= found
    assert bound.far_output_bound(dn.TruncatedGumbel(space, epsilon=1e30)) == 0


def test_large_vocabularies_refute_the_claim():
    """Among many words in many dimensions more is spent than truncated Gumbel claims near its least epsilon."""
    random = np.random.default_rng(0)
    vectors = random.normal(size=(6_000, 100))
    vectors[1] = vectors[0] + 0.2 * random.normal(size=100)
    space = dn.Space([f"w{number}" for number in range(6_000)], vectors)
    least = (5 + 2 * math.log(6_000)) / space.separation
    mechanism = dn.TruncatedGumbel(space, epsilon=1.01 * least)
    assert bound.far_output_bound(mechanism) > mechanism.epsilon


@pytest.mark.parametrize("missing", [None, "snli_dev.parquet", VECTORS])
def test_missing_data(study_data, tmp_path, missing):
    """What data is needed, or missing, is said in one line."""
    place = None
    if missing is not None:
        place = tmp_path
        for path in study_data.iterdir():
            if path.name != missing:
                (tmp_path / path.name).symlink_to(path)
    with pytest.raises(InputError) as caught:
        STUDY.run(SIZES, Setting(0, place))
    assert (missing or "imdb_train.parquet") in str(caught.value)
    assert "--data DIR" in str(caught.value)
    assert "\n" not in str(caught.value)

"""The study of entailment under substituted words from end to end, on sixty words."""

import pytest

from deniable.studies import Setting, conduct
from deniable.studies.robust_nli import ATTENTION, FULL, PAPER, PLAN, QUICK, STUDY
from deniable.studies.substituted.bench import prepared
from deniable.studies.substituted.plan import NORMAL
from deniable.studies.substituted.series import found
from tests.studies.sizes import NLI as SIZES


@pytest.fixture(scope="module")
def report(study_data, tmp_path_factory):
    return conduct(STUDY, tmp_path_factory.mktemp("out"), Setting(0, study_data), sizes=SIZES)


def test_the_stand_in_is_named(report):
    """The title, every finding, every statement and the details say that SNLI's training set has a stand-in."""
    result = report.result
    assert "NLI stand-in" in STUDY.summary
    assert "NLI stand-in" in STUDY.paper
    assert all(line.startswith("NLI stand-in: ") for line in result.findings)
    assert all(row.paper.startswith("NLI stand-in") for row in result.table)
    assert result.details.startswith("NLI stand-in")
    assert any("stand-in for SNLI's 550,152 training pairs" in line for line in result.findings)
    assert report.figure.read_bytes().startswith(b"\x89PNG")


def test_pairs_are_read(study_data):
    """Documents have premises, which are never attacked, and pairs with an empty side are left out and counted."""
    bench = prepared(PLAN, SIZES, Setting(0, study_data), "given")
    assert bench.train.premises is not None
    assert len(bench.train) + bench.facts["training texts left out"] == SIZES.train
    assert bench.train.classes == ("other", "same")
    assert set(bench.train.texts.lengths) <= {3, 20}


def test_the_run(report):
    """Clean accuracy is that of the test pairs, by the network for pairs."""
    data = report.result.data
    held = found(data, NORMAL, "clean")
    assert held.count == data["facts"]["test texts"]
    assert held.percent in report.result.findings[0]


def test_plans():
    """The bag of words is the plan, attention its other network, and schedules keep to the paper's epsilons."""
    assert (PLAN.network, STUDY.name, ATTENTION.name) == ("bow", "robust-nli", "robust-nli")
    for sizes in (FULL, QUICK, PAPER):
        assert set(sizes.gumbel_logs) <= set(PLAN.tables[0].at)
        assert set(sizes.laplace) <= set(PLAN.tables[1].at)
    for published in PLAN.tables:
        for row in (published.clean, published.certified_training, published.augmented):
            assert len(row) == len(published.at) == 10
    assert PAPER.test == PLAN.tested

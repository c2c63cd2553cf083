"""The study of IMDB's classifiers under substituted words from end to end, on sixty words."""

import dataclasses
import json
import subprocess
import sys

import pytest
import torch

from deniable.core.errors import InputError
from deniable.core.parallel import report_progress_to
from deniable.studies import Setting, conduct, robust_imdb
from deniable.studies.robust_imdb import FULL, PAPER, PLAN, QUICK, STUDY
from deniable.studies.substituted import study, training
from deniable.studies.substituted.measuring import KEPT
from deniable.studies.substituted.plan import CALIBRATED, GUMBEL, IBP, LAPLACE, NORMAL, SETS, Point, augmented
from deniable.studies.substituted.series import found, known, own, smoothed
from tests.studies.sizes import IMDB as SIZES

USABLE = (Point(GUMBEL, 10.0), Point(LAPLACE, 1.0), Point(LAPLACE, 200.0), Point(CALIBRATED, 2.0))


@pytest.fixture(scope="module")
def reported(study_data, tmp_path_factory):
    """Return the report of a tiny run, and what was told of progress."""
    seen = []
    with report_progress_to(lambda done, total: seen.append((done, total))):
        return conduct(STUDY, tmp_path_factory.mktemp("out"), Setting(0, study_data), sizes=SIZES), seen


def test_files_and_progress(reported):
    """All three files are written, and progress is told from none to all, of the whole alone."""
    report, seen = reported
    assert report.figure.read_bytes().startswith(b"\x89PNG")
    numbers = json.loads(report.numbers.read_text())
    assert len(numbers["table"]) == len(report.result.table) == 14
    assert [done for done, _ in seen] == list(range(len(seen)))
    assert {total for _, total in seen} == {len(seen) - 1}


def test_every_model_is_measured(reported):
    """All models meet the sets, the first two every mechanism, and the others their own; shares lie in intervals."""
    data = reported[0].result.data
    models = [NORMAL, IBP, augmented(SETS), *map(augmented, USABLE)]
    assert [training_["model"] for training_ in data["trainings"]] == models
    for model in models:
        assert found(data, model, "clean") is not None
        assert all(found(data, model, measure, SETS) for measure in ("certified", "genetic", "greedy"))
    for point in USABLE:
        assert all(found(data, m, "genetic", point.mechanism, point.at) for m in (NORMAL, IBP, augmented(point)))
        assert own(data, point, "genetic").value <= own(data, point, "clean").value
    assert len(data["points"]) == 4 * len(models) + 3 * len(USABLE) + len(KEPT)
    for point in data["points"]:
        assert 0 <= point["low"] <= point["value"] <= point["high"] <= 1
        assert bytes.fromhex(point["texts"]).count(0) <= 2


def test_what_is_proved_no_attack_breaks(reported):
    """Texts that interval bounds hold are right under both attacks by the sets."""
    data = reported[0].result.data
    for training_ in data["trainings"]:
        sure, *attacked = (
            int(found(data, training_["model"], measure, SETS).texts, 16)
            for measure in ("certified", "genetic", "greedy")
        )
        assert all(sure & ~left == 0 for left in attacked)


def test_fewer_substitutes_are_proved_more_often(reported):
    """Without substitutes the proof is the prediction, and a text proved for all of them is proved for any part."""
    result = reported[0].result
    held = [int(found(result.data, IBP, "certified", SETS, kept).texts, 16) for kept in KEPT]
    sure = int(found(result.data, IBP, "certified", SETS).texts, 16)
    assert held[0] == int(found(result.data, IBP, "clean").texts, 16)
    assert all(sure & ~part == 0 and part & ~held[0] == 0 for part in held)
    facts = result.data["facts"]
    assert 0 < facts["substitutes of the test words"] <= facts["substitutes listed for the test words"]
    assert any("For a word of the test texts the file lists" in line for line in result.findings)


def test_an_epsilon_below_the_least(reported):
    """The point without a law is no model, and both files say what its least epsilon is."""
    result = reported[0].result
    about = known(result.data, Point(GUMBEL, 1.0))
    assert about["below"]
    assert about["epsilon"] < about["least"]
    said = f"below the least epsilon of the mechanism, {about['least']:.4g}"
    assert any(said in line for line in result.findings)
    assert said in result.details
    assert known(result.data, Point(CALIBRATED, 2.0))["spent is"] == "exact"


def test_smoothing(reported):
    """The calibrated mechanism's model alone is smoothed, and certifies no more texts for more changes."""
    data = reported[0].result.data
    assert {entry["model"] for entry in data["smoothed"]} == {augmented(Point(CALIBRATED, 2.0))}
    for kind in ("distance", "changes"):
        values = [held.value for held in smoothed(data, Point(CALIBRATED, 2.0), kind).values()]
        assert values == sorted(values, reverse=True)


def test_findings_name_the_data_set(reported):
    """Every finding and every statement begins with the data set, and shows the run's own numbers."""
    result = reported[0].result
    assert all(line.startswith("IMDB: ") for line in result.findings)
    assert all(row.paper.startswith("IMDB") for row in result.table)
    assert found(result.data, NORMAL, "clean").percent in result.findings[0]
    assert "at most 4 draws of each word" in " ".join(result.findings)


def test_the_paper_s_schedule_on_a_gpu(study_data, monkeypatch):
    """Where torch has a GPU the paper's sizes take the place of the full ones, and of no others."""
    used = []

    def stopped(_plan, sizes, _setting, schedule):
        used.append((sizes, schedule))
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "measured", stopped)
    for gpu in (False, True):
        monkeypatch.setattr(torch.cuda, "is_available", lambda gpu=gpu: gpu)
        for sizes in (FULL, QUICK):
            with pytest.raises(KeyboardInterrupt):
                STUDY.run(sizes, Setting(0, study_data))
    assert used == [(FULL, "two cores"), (QUICK, "quick"), (PAPER, "the paper's"), (QUICK, "quick")]


def test_missing(study_data, tmp_path, monkeypatch):
    """What is missing is said in one line: data, or torch."""
    with pytest.raises(InputError, match=r"glove\.840B\.300d\.33860\.npz"):
        STUDY.run(SIZES, Setting(0, tmp_path))
    monkeypatch.setattr(study, "find_spec", lambda _name: None)
    with pytest.raises(InputError, match=r"install deniable\[train\]"):
        STUDY.run(SIZES, Setting(0, study_data))


def test_no_torch_at_import():
    """The studies, these among them, are known without torch."""
    code = "import deniable.studies as s, sys; assert 'robust-imdb' in s.STUDIES; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_numbers_of_the_paper():
    """Rows are as long as their axis, hold percentages, and have the epsilons of every schedule."""
    for published in PLAN.tables:
        for row in (published.clean, published.certified_training, published.augmented):
            assert len(row) == len(published.at)
            assert all(0 < percent < 100 for percent in row)
    for sizes in (FULL, QUICK, PAPER):
        assert set(sizes.gumbel_logs) <= set(PLAN.tables[0].at)
        assert set(sizes.laplace) <= set(PLAN.tables[1].at)
        assert hash(sizes) == hash(dataclasses.replace(sizes))
    assert PAPER.gumbel_logs == robust_imdb.GUMBEL_LOGS
    assert (PAPER.test, PAPER.ibp_epochs, FULL.test, FULL.ibp_epochs) == (1_000, 60, 1_000, 60)

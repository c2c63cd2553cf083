"""The study of DPAL's figures for MNIST from end to end, on small digits in a black frame."""

import dataclasses
import math

import pytest
import torch

from deniable.core.errors import InputError
from deniable.core.parallel import report_progress_to
from deniable.models.images.pixeldp import PixelDP
from deniable.models.images.smoothing import GaussianSmoothing, LaplaceSmoothing
from deniable.models.images.training.fitting import fit_image_model
from deniable.registry.trainers import IMAGE_TRAINERS
from deniable.studies import Setting, conduct, dpal_mnist
from deniable.studies.adversarial import study, training
from deniable.studies.adversarial.attacking import attacked, conventional
from deniable.studies.adversarial.bench import prepared
from deniable.studies.adversarial.certified import sound
from deniable.studies.adversarial.plan import CLEAN, CURVES, DPAL, MEAN, OWN_NOISE
from deniable.studies.adversarial.series import proved
from deniable.studies.dpal_mnist import PLAN, STUDY
from deniable.studies.ledger import Ledger
from tests.studies.adversarial import check_claims, check_files, check_points
from tests.studies.sizes import MNIST as SIZES


@pytest.fixture(scope="module")
def reported(study_data, tmp_path_factory):
    """Return the report of a tiny run, and what was told of progress."""
    seen = []
    with report_progress_to(lambda done, total: seen.append((done, total))):
        return conduct(STUDY, tmp_path_factory.mktemp("out"), Setting(0, study_data), sizes=SIZES), seen


@pytest.fixture(scope="module")
def bench(study_data):
    """Return what all systems share."""
    return prepared(PLAN, SIZES, Setting(0, study_data))


def model(bench, system, budget=1.0):
    """Return a model of a step or two."""
    return fit_image_model(
        IMAGE_TRAINERS[system],
        bench.data,
        IMAGE_TRAINERS[system].choose_options(**training.options(bench, system, budget)),
        seed=1,
    )


def test_the_run(reported):
    """All systems are trained, and every figure has its points; progress is told from none to all."""
    report, seen = reported
    check_files(report, 7)
    check_points(PLAN, SIZES, report.result.data)
    check_claims(report.result.data)
    assert seen == [(done, 15) for done in range(16)]


def test_words(reported):
    """The table and the findings show the run's own numbers and call DPAL's claims refuted."""
    result = reported[0].result
    assert result.table[0].outcome == "does not agree"
    assert "refuted" in result.table[0].ours
    (point,) = [
        p
        for p in result.data["accuracy"]
        if (p["curve"], p["budget"], p["size"], p["attack"]) == (DPAL, 0.2, PLAN.attacked_at, MEAN)
    ]
    assert f"DPAL at a claim of 0.2, refuted: {100 * point['value']:.1f} %" in result.findings[1]
    assert "82.7 % published" in result.findings[1]
    assert result.details.count("| replace one |") == 2 * 3


def test_images_in_the_paper_s_frame(bench, study_data):
    """Smaller images get a black frame, larger ones lose their border; the same are drawn for a seed."""
    assert bench.data.train.pixels.shape[1:] == (1, 28, 28)
    pixels = bench.data.train.pixels.double()
    assert pixels[:, :, 10:18, 10:18].sum() == pytest.approx(float(pixels.sum()))
    assert len(bench.tested) == SIZES.images
    again, other = (prepared(PLAN, SIZES, Setting(seed, study_data)).tested.pixels for seed in (0, 1))
    assert torch.equal(again, bench.tested.pixels)
    assert not torch.equal(other, bench.tested.pixels)


def test_attacks_stay_in_the_ball(bench):
    """An attack of size mu_a for pixels in [-1, 1] moves no pixel of [0, 1] by more than half of it."""
    trained, source = model(bench, "dp-sgd"), bench.source("test")
    for attack in ("i-fgsm", "fgsm", "mim", "pgd"):
        given = attacked(bench, trained, attack, bench.tested, 0.4, source)
        assert (given - bench.tested.pixels).abs().max() == pytest.approx(0.2, abs=1e-6)


def test_own_noise_is_deterministic(bench):
    """Without the noise of inference DPAL gives the same classes whatever is drawn, and more votes change nothing."""
    trained, curve = model(bench, "dpal"), CURVES[OWN_NOISE]
    first, second = (
        conventional(dataclasses.replace(bench, seed=seed), trained, OWN_NOISE, curve, 1.0) for seed in (1, 2)
    )
    same = [p for p in first if p["attack"] in {CLEAN, "fgsm", "i-fgsm", "mim"}]
    assert same == [p for p in second if p["attack"] in {CLEAN, "fgsm", "i-fgsm", "mim"}]


def test_what_is_proved_rests_on_the_noise(bench):
    """The sound certificate of a model is smoothing with its own noise, worth what the first layer makes of it."""
    ours, dpal, secure = (model(bench, name) for name in ("dp-cert", "dpal", "securesgd-agm"))
    assert sound(ours) == GaussianSmoothing(SIZES.noise / 2)
    assert sound(dpal) == LaplaceSmoothing(float(dpal.noises[0].scale))
    found, claimed = sound(secure), secure.certificate
    assert isinstance(found, GaussianSmoothing)
    assert isinstance(claimed, PixelDP)
    assert found.sigma == pytest.approx(claimed.sigma / claimed.sensitivity, rel=1e-6)


def test_what_is_proved_falls(reported):
    """No larger attack is held by more images, and none of the paper's size by so few draws."""
    for name, curve in CURVES.items():
        if "certified" in curve.figures:
            values = [at.value for at in proved(reported[0].result.data, name)]
            assert values == sorted(values, reverse=True)
            assert values[-1] == 0


def test_going_on(study_data, tmp_path, monkeypatch):
    """A run that was interrupted takes up what it has kept, and trains only the rest."""
    trained = []

    def counted(_, system, budget):
        trained.append((system, budget))
        if len(trained) == 4:
            raise KeyboardInterrupt
        return {"system": system, "budget": budget}

    monkeypatch.setattr(training, "_cell", counted)
    path = tmp_path / "kept.jsonl"
    with pytest.raises(KeyboardInterrupt):
        training.measured(PLAN, SIZES, Setting(0, study_data, Ledger(path)), "given")
    found = training.measured(PLAN, SIZES, Setting(0, study_data, Ledger(path)), "given")
    assert [(run["system"], run["budget"]) for run in found] == list(training.cells(SIZES))
    assert len(trained) == 15 + 1
    # Another schedule shares no part of it.
    training.measured(PLAN, SIZES, Setting(0, study_data, Ledger(path)), "the paper's")
    assert len(trained) == 15 + 1 + 15


def test_the_paper_s_schedule_on_a_gpu(study_data, monkeypatch):
    """Where torch has a GPU the paper's sizes take the place of the full ones, and of no others."""
    used = []

    def stopped(_plan, sizes, _setting, schedule):
        used.append((sizes, schedule))
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "measured", stopped)
    for gpu in (False, True):
        monkeypatch.setattr(torch.cuda, "is_available", lambda gpu=gpu: gpu)
        for sizes in (STUDY.full, STUDY.quick):
            with pytest.raises(KeyboardInterrupt):
                STUDY.run(sizes, Setting(0, study_data))
    paper = (dpal_mnist.PAPER, "the paper's")
    assert used == [(STUDY.full, "two cores"), (STUDY.quick, "quick"), paper, (STUDY.quick, "quick")]


def test_missing(study_data, tmp_path, monkeypatch):
    """What is missing is said in one line: data, a budget, or torch."""
    with pytest.raises(InputError, match=r"mnist\.npz"):
        STUDY.run(SIZES, Setting(0, tmp_path))
    with pytest.raises(InputError, match="must have 1, at which a figure is made"):
        STUDY.run(dataclasses.replace(SIZES, budgets=(0.2,)), Setting(0, study_data))
    monkeypatch.setattr(study, "find_spec", lambda _name: None)
    with pytest.raises(InputError, match=r"install deniable\[train\]"):
        STUDY.run(SIZES, Setting(0, study_data))


def test_numbers_of_the_paper():
    """The plan's numbers are percentages of known curves, and the schedules reach the budgets of its figures."""
    for point in PLAN.points:
        assert 0 < point.value < 100
        assert point.place in CURVES[point.curve].figures
    for sizes in (dpal_mnist.FULL, dpal_mnist.QUICK, dpal_mnist.PAPER):
        assert {PLAN.tight, PLAN.certified_at} <= set(sizes.budgets)
    assert dpal_mnist.PAPER.pgd_steps == 40
    assert math.isclose(max(dpal_mnist.PAPER.attack_sizes), 0.6)

"""The study of DPAL's figures for CIFAR-10 from end to end, on coloured digits of 32 x 32 pixels."""

import pytest

from deniable.models.images import pixeldp
from deniable.studies import Setting, conduct, dpal_cifar10
from deniable.studies.adversarial import certified
from deniable.studies.adversarial.bench import prepared
from deniable.studies.dpal_cifar10 import PLAN, STUDY
from tests.studies.adversarial import check_claims, check_files, check_points
from tests.studies.sizes import CIFAR10 as SIZES


@pytest.fixture(scope="module")
def report(study_data, tmp_path_factory):
    """Return the report of a tiny run, without the norms of 2,352 pixels, which take seconds and have own tests."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (certified, pixeldp):
            patch.setattr(module, "gaussian_scale", lambda *_: 1.0)
        return conduct(STUDY, tmp_path_factory.mktemp("out"), Setting(0, study_data), sizes=SIZES)


def test_the_run(report):
    """All systems are trained, and every figure has its points."""
    check_files(report, 7)
    check_points(PLAN, SIZES, report.result.data)
    check_claims(report.result.data)


def test_the_data_set_is_named(report):
    """Wherever the data set is named, it is said to have gone through JPEG."""
    assert report.result.data["data set"] == "CIFAR-10 (JPEG)"
    assert "CIFAR-10 (JPEG)" in STUDY.summary
    assert "CIFAR-10 (JPEG)" in report.result.findings[0]
    title = report.figure.with_suffix(".md").read_text()
    assert "CIFAR-10 (JPEG)" in title


def test_images_are_cropped(study_data):
    """Images lose two pixels at each side, and only some are trained on."""
    bench = prepared(PLAN, SIZES, Setting(0, study_data))
    assert bench.data.train.pixels.shape == (SIZES.train, 3, 28, 28)
    assert bench.tested.pixels.shape[1:] == (3, 28, 28)
    # The digits stand in the middle: 10 pixels from each border of the crop.
    pixels = bench.data.train.pixels.double()
    assert pixels[:, :, 10:18, 10:18].sum() == pytest.approx(float(pixels.sum()))


def test_training_images_are_of_all_classes(study_data):
    """The images of a folder lie class by class; those that are trained on are drawn from all of them, by the seed."""
    first, second = (prepared(PLAN, SIZES, Setting(seed, study_data)).data.train.labels for seed in (0, 1))
    assert len(first.unique()) > 5
    assert first.tolist() != second.tolist()


def test_ours_is_the_small_network(report):
    """The paper's systems use its network, ours the small one."""
    networks = {run["system"]: run["network"] for run in report.result.data["runs"]}
    assert networks.pop("dp-cert") == "small"
    assert set(networks.values()) == {"paper-cifar10"}


def test_schedules():
    """Every schedule reaches the budget of the figures, and the paper's has its axes and whole network."""
    for sizes in (dpal_cifar10.FULL, dpal_cifar10.QUICK, dpal_cifar10.PAPER):
        assert PLAN.tight in sizes.budgets
        assert min(sizes.budgets) >= 2  # DPAL's budget for colour images begins there
    assert (dpal_cifar10.PAPER.width, dpal_cifar10.PAPER.train, dpal_cifar10.PAPER.dpal_attack_steps) == (1.0, None, 3)

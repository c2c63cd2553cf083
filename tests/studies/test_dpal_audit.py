"""The study of DPAL's privacy from end to end, on digits of 8 x 8 pixels."""

import json
import subprocess
import sys

import numpy as np
import pytest

from deniable.core.errors import InputError
from deniable.studies import Setting, conduct, dpal_audit
from deniable.studies.dpal.parts import LABEL_RUNS, unpacked
from deniable.studies.dpal.words import chance, evidence, true_labels
from deniable.studies.dpal_audit import STUDY
from tests.studies.sizes import DPAL as SIZES


@pytest.fixture(scope="module")
def report(study_data, tmp_path_factory):
    """Return the report of a tiny run."""
    return conduct(STUDY, tmp_path_factory.mktemp("out"), Setting(0, study_data), sizes=SIZES)


def test_files(report):
    """The three files are written, with all experiments, a table of six statements and the picture."""
    numbers = json.loads(report.numbers.read_text())
    assert set(numbers["results"]) == {*dpal_audit.PARTS, "budget"}
    assert len(numbers["table"]) == 6
    assert report.figure.read_bytes().startswith(b"\x89PNG")
    assert "| the paper says | this run | |" in report.table.read_text()


def test_every_claim_is_refuted_and_no_control(report):
    """Bounds lie above the claims, and those of the controls below them."""
    found = evidence(report.result.data)
    assert len(found) == 6
    # 8 x 8 pixels and a batch of 200 are too few for float32 and for a black image and a white one.
    for row in found:
        if row.name not in {"first layer, in float32", "independent noise,\nblack image or white"}:
            assert row.bound > row.claim
        assert row.control is None or row.control <= row.claim
        assert row.exact is None or row.exact > max(row.claim, row.bound)
    assert [row.outcome for row in report.result.table][:2] == ["does not agree"] * 2


def test_pictures(report, study_data):
    """The first image of each class is shown as it is, perturbed beyond recognition, and recovered level by level."""
    pictures = report.result.data["recovery"]["pictures"]
    rows = {name: unpacked(pictures, name) for name in ("original", "perturbed", "recovered", "control")}
    assert {len(images) for images in rows.values()} == {10}
    held = np.load(study_data / "mnist.npz")
    first = [int(np.flatnonzero(held["y_train"] == label)[0]) for label in range(10)]
    assert np.array_equal(rows["original"], held["x_train"][first])
    assert np.array_equal(rows["recovered"], rows["original"])
    assert not np.array_equal(rows["control"], rows["original"])
    # What all perturbed images have in common is nearly all there is in them.
    assert np.ptp(rows["perturbed"], axis=0).max() <= 2


def test_labels(report):
    """Every form of noise is run with the true labels, and the bounds rest on labels drawn."""
    data = report.result.data
    assert [(run["noise"], run["over"], run["drawn"]) for run in data["labels"]["runs"]] == list(LABEL_RUNS)
    shares = [run["right"] / run["count"] for run in true_labels(data)]
    assert min(shares[:3]) > 0.95
    assert max(shares[3:]) < 0.3
    assert chance(data) == 0.1


def test_the_table_is_of_this_run(report):
    """The table and the findings show the run's own counts."""
    ours = " ".join(row.ours for row in report.result.table)
    data = report.result.data
    assert "200 of 200 images recovered" in ours
    assert f"at least {data['differences']['shared']['bound']:.2f}" in ours
    assert f"{data['sensitivity']['epsilon']:.3g}-private" in ours
    assert "no published refutation" in report.result.findings[-1]


def test_a_seed_repeats_the_numbers(report, study_data):
    """The same seed gives the same numbers for a part, and another one others."""
    bench = STUDY.run(SIZES, Setting(0, study_data)).data
    assert bench["differences"] == report.result.data["differences"]
    assert bench["parameters"] == report.result.data["parameters"]
    assert STUDY.run(SIZES, Setting(1, study_data)).data["parameters"] != bench["parameters"]


def test_missing_data(tmp_path):
    """What data is needed, or missing, is said in one line."""
    for place in (None, tmp_path):
        with pytest.raises(InputError, match=r"mnist\.npz") as caught:
            STUDY.run(SIZES, Setting(0, place))
        assert "\n" not in str(caught.value)


def test_without_torch(study_data, monkeypatch):
    """Without torch the study names the extra that it needs."""
    monkeypatch.setattr(dpal_audit, "find_spec", lambda _name: None)
    with pytest.raises(InputError, match=r"install deniable\[train\]"):
        STUDY.run(SIZES, Setting(0, study_data))


def test_studies_do_not_import_torch():
    """The registry of studies, and DPAL's among them, imports no torch."""
    code = "import sys, deniable.studies, deniable.cli.audit.zoo; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

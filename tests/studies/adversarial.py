"""What the tests of both studies of DPAL's figures look at."""

import json

from deniable.core.guarantees import PROVED_IDEAL
from deniable.studies.adversarial.plan import ATTACKS, CLEAN, CURVES, MEAN


def check_files(report, statements):
    """All three files are written, with so many statements and the picture."""
    numbers = json.loads(report.numbers.read_text())
    assert len(numbers["table"]) == statements
    assert report.figure.read_bytes().startswith(b"\x89PNG")
    assert "| the paper says | this run | |" in report.table.read_text()


def check_points(plan, sizes, data):
    """Every curve has its points, each a share inside its interval."""
    trained = [name for name, curve in CURVES.items() if "budget" in curve.figures]
    accuracy = {(p["curve"], p["budget"], p["size"], p["attack"]): p for p in data["accuracy"]}
    wanted = {(name, budget, 0.0, CLEAN) for name in trained for budget in sizes.budgets}
    for attack in (*ATTACKS, MEAN):
        wanted |= {(name, budget, plan.attacked_at, attack) for name in trained for budget in sizes.budgets}
        wanted |= {(name, plan.tight, size, attack) for name in trained for size in sizes.attack_sizes}
    assert set(accuracy) == wanted
    certified = {(p["curve"], p["size"], p["attack"]) for p in data["certified"] if p["counted"] == "published"}
    drawn = [name for name, curve in CURVES.items() if "certified" in curve.figures]
    assert certified == {(n, s, a) for n in drawn for s in sizes.attack_sizes for a in (*ATTACKS, MEAN)}
    for point in (*data["accuracy"], *data["certified"]):
        assert 0 <= point["low"] <= point["value"] <= point["high"] <= 1
        assert point["low"] < point["high"]


def check_claims(data):
    """Each system stands as its model says, never better."""
    privacy = {run["system"]: run["privacy"] for run in data["runs"]}
    assert privacy["dpal"] == "refuted"
    assert privacy["adlm"] == "no proof"
    assert privacy["pixeldp"] == "no privacy"
    assert {privacy[name] for name in ("dp-cert", "dp-sgd", "securesgd", "securesgd-agm")} == {PROVED_IDEAL}
    certificates = {run["system"]: run["certificate"] for run in data["runs"]}
    assert certificates["dpal"] == "refuted"
    assert certificates["dp-cert"] == PROVED_IDEAL
    for run in data["runs"]:
        if run["privacy"].startswith("proved"):  # replacing one record is removing one and adding another
            assert run["epsilon, replace one"] > run["epsilon"]
            assert run["adjacency"] == "make one empty"

"""What the study says of its numbers, on results made up for the purpose."""

import copy
import re

import pytest

from deniable.studies.rewriting.findings import details, findings
from deniable.studies.rewriting.plan import PUBLISHED, TRUE
from deniable.studies.rewriting.series import percent, plain, refutations
from deniable.studies.rewriting.words import outcome, table


def share(value, count=1000):
    return {"value": value, "low": 0.9 * value, "high": min(1.1 * value, 1.0), "count": count}


def named(value, *, least, epsilon):
    held = {"first": 1, "candidates": 5000, "permitted": 0.01, "least": least, "refuted": least > epsilon}
    return [{**share(value), **held}]


def cell(method, epsilon, bleu, least):
    vector = named(0.02, least=least, epsilon=epsilon)
    return {
        "method": method, "epsilon": epsilon, "delta": 0.0, "bleu": bleu, "exact": share(0.1),
        "accuracy": share(0.72), "vector": vector, "text": named(0.001, least=0.0, epsilon=epsilon),
    }  # fmt: skip


def grown(n, ratio, bound):
    return {
        "n": n, "ratio": ratio, "median ratio": 0.6 * ratio, "loss": ratio, "share": 0.999, "exact": n**0.5,
        "claim": 1.0, "bound": bound, "pairs": 100, "beyond": 99,
    }  # fmt: skip


def audit(method, status, bound, seen="likelihood"):
    return {
        "method": method, "seen": seen, "status": status, "bound": bound, "claim": 1.0, "loss": 4.0,
        "samples": 20_000, "detectable": 1.5,
    }  # fmt: skip


@pytest.fixture
def data():
    """Return results in which published ADePT is refuted, and nothing else."""
    model = {
        "latent": 64, "candidates": 5000, "training texts": 4000, "test texts": 800, "without noise": {
            "bleu": 60.0, "exact": share(0.3),
        }, "originals": {"accuracy": share(0.9)}, "most frequent intent": share(0.7),
    }  # fmt: skip
    point = {"epsilon": 1.0, "exact": share(0.0), "tokens": share(0.5)}
    return {
        "models": [model],
        "sizes": {"latent": 64, "audited": 1.0},
        "distances": [{"method": PUBLISHED, **grown(64, 6.0, 0.0), "share": 0.999}],
        "audits": [audit(PUBLISHED, "refuted", 1.6), audit(TRUE, "not refuted", 0.1)],
        "grown": [grown(8, 2.5, 1.3), grown(32, 4.5, 1.5), grown(64, 6.0, 1.6)],
        "cells": [cell(PUBLISHED, 3.0, 12.0, 3.6), cell(TRUE, 3.0, 1.0, 0.5)],
        "proposals": [{
            "method": PUBLISHED, "texts": 700, "guesses": 20_000, "reached": share(0.05), "blind": share(0.2),
            "points": [point],
        }],
        "tuned": [{"method": PUBLISHED, "epsilon": 3.0, "bleu": 20.0, "exact": share(0.2), "accuracy": share(0.8)}],
        "inversions": [{
            "method": PUBLISHED, "epsilon": 10.0,
            **{name: {"exact": share(0.1), "tokens": share(at)}
               for name, at in (("public", 0.3), ("trained", 0.4), ("started", 0.41), ("searched", 0.45))},
        }],
    }  # fmt: skip


def row(data, start):
    return next(one for one in table(data) if one.paper.startswith(start))


def test_numbers():
    """Percentages keep two figures where they are small."""
    assert [plain(x) for x in (0.0, 0.0501, 0.5, 1.0, 99.95, 100.0)] == ["0.0", "0.05", "0.5", "1.0", "100.0", "100.0"]
    assert percent({"value": 0.0005, "low": 0.0001, "high": 0.02}) == "0.05 % (0.01 to 2.0)"
    assert [outcome(True, True), outcome(True, False), outcome(False)] == ["agrees", "agrees in part", "does not agree"]


def test_what_is_refuted(data):
    """A refuted claim is named with its epsilon and bound; the attack agrees with the paper if no remedy falls too."""
    assert [(found["epsilon"], top["least"]) for found, top in refutations(data, PUBLISHED)] == [(3.0, 3.6)]
    said = row(data, "With the trained auto-encoder")
    assert "refutes the claim at epsilon 3 (in truth at least 3.6, first 1). It refutes no remedy." in said.ours
    assert said.outcome == "agrees"
    assert any(
        line.startswith("ADePT as published (refuted) at epsilon 3: among the first 1") for line in findings(data)
    )
    assert "of 1 remedies audited alike none is refuted" in findings(data)
    assert row(data, "The transformation from a text").outcome == "does not agree"
    assert row(data, "The sensitivity of the clip").outcome == "agrees"
    assert row(data, "The true sensitivity is higher").outcome == "agrees in part"
    assert row(data, "The amount of utterances").outcome == "agrees"
    assert row(data, "The privacy loss of ADePT").outcome == "agrees"
    assert row(data, "Remedies are").outcome == "agrees"


def test_what_is_trained_and_read(data):
    """Training with the noise stands beside the model without it, and a search beside what it started from."""
    lines = findings(data)
    assert any("trained on with its noise returns BLEU 20.0" in line and "without, BLEU 12.0" in line for line in lines)
    (read,) = (line for line in lines if "a search by gradients" in line)
    assert re.search(r"public decoder reads 30\.0 %.* releases 40\.0 %.* makes 45\.0 %.* of 41\.0 %", read)
    shown = details(data)
    assert "| ADePT as published (refuted), trained on with it | 3 | 20.0 | 20.0 % (18.0 to 22.0) | 80.0 %" in shown
    assert "| read from the vector | epsilon | public decoder: exact |" in shown


def test_what_does_not_stand_out(data):
    """An attack that refutes nothing is said to, and a remedy that is refuted is never passed over."""
    quiet = copy.deepcopy(data)
    quiet["cells"][0]["vector"] = named(0.01, least=1.0, epsilon=3.0)
    quiet["audits"] = [audit(PUBLISHED, "not refuted", 0.5)]
    said = row(quiet, "With the trained auto-encoder")
    assert "It refutes the claim at no epsilon." in said.ours
    assert said.outcome == "agrees in part"
    assert any("refutes no claim at any epsilon" in line for line in findings(quiet))
    assert row(quiet, "The transformation from a text").outcome == "agrees in part"
    wrong = copy.deepcopy(data)
    wrong["cells"][1]["vector"] = named(0.5, least=5.0, epsilon=3.0)
    wrong["audits"][1]["status"] = "refuted"
    assert "It also refutes ADePT, true sensitivity." in row(wrong, "With the trained auto-encoder").ours
    assert "of 1 remedies audited alike ADePT, true sensitivity is refuted" in findings(wrong)


def test_what_a_run_does_not_reach(data):
    """Without an encoder of 32 coordinates, other encoders, or small epsilons, those statements are left out."""
    data["grown"] = data["grown"][-1:]
    for one in data["cells"]:
        one["epsilon"] = 300.0
    starts = [one.paper[:20] for one in table(data)]
    for missing in ("The true sensitivity", "The privacy loss of ", "With the trained aut", "ADePT achieves promi"):
        assert missing not in starts
    assert len(starts) == 5

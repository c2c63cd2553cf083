"""The audit of published trainers: its judgements and tables, without the packages."""

import math
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from tests.refusals import refuses

ROOT = Path(__file__).parents[2] / "studies" / "trainers"


@pytest.fixture
def audit(monkeypatch):
    """Return the modules of the audit, which are scripts and no package."""
    monkeypatch.syspath_prepend(ROOT)
    import audit_trainers
    import subjects

    yield types.SimpleNamespace(main=audit_trainers, cases={case.key: case for case in subjects.CASES})
    for name in ("subjects", "audit_trainers"):
        sys.modules.pop(name, None)


def make_found(**changes):
    """Return what the part train of Opacus could find."""
    row = {
        "package": "opacus",
        "use": "default",
        "part": "train",
        "seconds": 1.0,
        "version": "1.6.0",
        "epsilon": 2.5,
        "delta": 1e-5,
        "facts": {"records": 750, "repeated": 0},
        "scheme": "poisson",
        "scheme_note": "",
        "recomputed": {"lower": 2.4, "upper": 2.5, "ground": ""},
        "canaries": {"lower": 0.1, "detectable": None},
    }
    return {"opacus: default, train": row | changes}


def test_answer_is_the_last_line(audit):
    """What a package prints before the answer is passed over; no answer is an error."""
    assert audit.main.parse_answer('noise\n{"scores": [1.0]}\n') == {"scores": [1.0]}
    for text in ("", "noise\n"):
        with refuses("no answer", ValueError):
            audit.main.parse_answer(text)
    with refuses("no object", TypeError):
        audit.main.parse_answer("[1]")


def test_claim_is_the_larger_of_two(audit):
    """A package that states two epsilons is judged by the larger."""
    assert audit.main.read_claim({"epsilons": [7.1, 3.9], "delta": 1e-5}) == (7.1, 1e-5)
    assert audit.main.read_claim({"epsilon": 2, "delta": 0}) == (2.0, 0.0)


def test_scheme_is_read_from_batches(audit):
    """Batches of two epochs are shuffled; those not seen are as documented."""
    case = audit.cases["opacus: default"]
    places = np.concatenate([np.random.default_rng(seed).permutation(20) for seed in (1, 2)])
    scheme, _ = audit.main.name_scheme(case, {"sizes": np.full(8, 5), "places": places}, 20)
    assert scheme == "shuffled"
    scheme, note = audit.main.name_scheme(audit.cases["jax-privacy: Keras"], {"sizes": np.empty(0)}, 20)
    assert scheme == "shuffled"
    assert "not seen" in note


def test_dropped_records_cost_the_lower_bound_little(audit):
    """An epoch of 94 batches that drops two records of 754 is bounded nearly as one that drops none."""
    facts = {"steps": 94, "noise": 0.7, "clip": 1.0}
    task = {"batch": 8, "epochs": 1}
    whole = audit.main.recompute(task, facts | {"records": 752}, "shuffled", 1e-5)["lower"]
    dropped = audit.main.recompute(task, facts | {"records": 754}, "shuffled", 1e-5)["lower"]
    left_out = audit.main.recompute(task, facts | {"records": 754, "left_out": 2}, "shuffled", 1e-5)["lower"]
    assert whole - 0.1 < dropped < whole
    assert left_out == whole


def test_losses_are_those_of_the_gaussian(audit):
    """At rate 1 the loss is linear; at a low rate an output of no record gains at most -ln(1 - rate)."""
    assert audit.main.compute_losses(np.array([1.5]), 2.0, 1.0) == pytest.approx([0.25])
    assert audit.main.compute_losses(np.array([-50.0]), 1.0, 0.1) == pytest.approx([math.log(0.9)])


def test_event_of_many_runs_is_chosen_on_others(audit):
    """Values that differ refute a small claim, either way round; equal ones show nothing."""
    rng = np.random.default_rng(3)
    coins = rng.random(2000) < 0.5
    apart = audit.main.judge_event(rng.standard_normal(2000) + 4 * coins, coins, 1e-5)
    turned = audit.main.judge_event(rng.standard_normal(2000) + 4 * ~coins, coins, 1e-5)
    same = audit.main.judge_event(rng.standard_normal(2000), coins, 1e-5)
    assert apart["lower"] > 2
    assert turned["lower"] > 2
    assert same["lower"] < 1
    assert [total for _, total in apart["rates"]] == [int(coins[600:].sum()), int((~coins[600:]).sum())]


def test_row_says_what_a_verdict_rests_on(audit):
    """Each ground is named; without one the claim is not refuted."""
    key = "opacus: default, train"
    assert audit.main.make_row(make_found(), key)[-1] == "not refuted"
    shuffled = make_found(recomputed={"lower": 6.6, "upper": 6.7, "ground": ""})
    sums = {"package": "opacus", "part": "sensitivity", "sums": {"texts": {"ratio": 17.2}}}
    seeds = {"package": "opacus", "use": "default", "part": "seeds", "equal": 9, "steps": 9}
    row = audit.main.make_row(shuffled | {"a": sums, "b": seeds}, key)
    assert row[-1] == "refuted: noise repeats, scheme, sum"
    assert len(row) == len(audit.main.HEADER)
    game = {"package": "opacus", "use": "default", "part": "game", "epsilon": 1.0, "lower": 1.5}
    assert audit.main.make_row(make_found() | {"a": game}, key)[-1] == "refuted: many runs"
    unseen = make_found(scheme="shuffled", scheme_note=audit.main.UNSEEN, recomputed={"lower": 6.6, "upper": 6.7})
    assert audit.main.make_row(unseen, key)[5] == "shuffled, as documented"
    assert audit.main.make_row(unseen, key)[-1] == "refuted: scheme, as documented"
    twice = make_found(facts={"records": 750, "repeated": 3}, recomputed=None)
    assert audit.main.make_row(twice, key)[-1].startswith("outside the accounting")
    failed = make_found(error="no wheel")
    assert audit.main.make_row(failed, key)[-1] == "could not be run: no wheel"
    assert len(audit.main.make_row(failed, key)) == len(audit.main.HEADER)


def test_extra_rows(audit):
    """Processes, many fits and sums without noise have rows of one width."""
    head = {"package": "diffprivlib", "use": "default"}
    event = {"epsilon": 1.0, "lower": 3.0, "event": "at least 2", "rates": [[90, 100], [1, 99]]}
    rows = [
        *audit.main.make_extra_rows(head | {"part": "seeds", "equal": 0, "steps": 9}),
        *audit.main.make_extra_rows(
            head | {"part": "repeat", "repeats": {"one": event, "two": event | {"lower": 0.5}}}
        ),
        *audit.main.make_extra_rows(head | {"part": "game"} | event),
    ]
    assert [row[-1] for row in rows] == ["as due", "refuted", "not refuted", "refuted"]
    assert {len(row) for row in rows} == {len(audit.main.EXTRA_HEADER)}


def test_every_way_of_use_has_an_adapter(audit):
    """Adapters exist, names are unique, and each package has a first way of use."""
    for case in audit.cases.values():
        assert (ROOT / f"{case.subject.script}.py").exists()
        assert audit.main.is_due(case, "train")

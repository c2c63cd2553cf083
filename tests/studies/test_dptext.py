"""The study of DPText from end to end on a few enquiries, and its statements on numbers that are made up."""

import dataclasses
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.core.errors import InputError
from deniable.core.intervals import estimate_share
from deniable.studies import Setting, conduct, dptext
from deniable.studies.dptext import FULL, QUICK, STUDY, drawn
from deniable.studies.ledger import Ledger
from deniable.studies.representation import measuring
from deniable.studies.representation.bench import FILES, departure, prepared
from deniable.studies.representation.findings import details, findings
from deniable.studies.representation.plan import FIXED, LEARNED, NOISY, OTHER, PUBLISHED, SILENT, ZEROED, cells
from deniable.studies.representation.words import table
from tests.studies.sizes import DPTEXT

SIZES = dataclasses.replace(DPTEXT, epsilons=(1.0, 100.0))
TESTED = 1_000
MAJORITY = {"task": 0.75, "city": 0.55}
TASK = {PUBLISHED: 0.75, ZEROED: 0.9, FIXED: 0.74, SILENT: 0.95}
CITY = {PUBLISHED: 0.55, ZEROED: 0.55, FIXED: 0.54, SILENT: 0.7}


@pytest.fixture(scope="module")
def report(study_data, tmp_path_factory):
    return conduct(STUDY, tmp_path_factory.mktemp("out"), Setting(0, study_data), sizes=SIZES)


def told(value, count=TESTED):
    found = estimate_share(round(value * count), count)
    return {"value": found.value, "low": found.low, "high": found.high, "count": count}


def point(cell, task=TASK, city=CITY, listed=0.5, *, sound=None):
    """Return results of one training."""
    published = cell.way in LEARNED
    epsilon = None if cell.epsilon is None else cell.epsilon * (0.8 if published else 1.0)
    out = {
        "way": cell.way, "epsilon": cell.epsilon, "adversary": cell.adversary, "spent": epsilon, "scale": 1.0,
        "task": told(task[cell.way]), "city": told(city[cell.way]), "city, law known": told(0.5),
        "below": 0.0 if published else 0.5, "unchanged": 0.5 if cell.way == ZEROED else 0.0,
        "found": {**told(1.0 if cell.way in {ZEROED, SILENT} else 0.0), "permitted": None if epsilon is None else 0.01},
        "found, least": 5.0 if cell.way == ZEROED else 0.0, "city, texts listed": told(listed), "candidates": 900,
    }  # fmt: skip
    if epsilon is not None:
        refuted = published if sound is None else not sound
        exact = {"status": "refuted", "epsilon": math.inf} if refuted else {"status": "proved", "epsilon": epsilon}
        out["exact"] = exact
        least = 3.0 if published else 0.5
        out["audit"] = {"status": "refuted" if least > epsilon else "not refuted", "least": least, "method": "",
                        "detectable": 1.0, "apart": 5.0}  # fmt: skip
    return out


def made_up(**changes):
    """Return data of two epsilons, 1 and 100."""
    facts = {"distinct texts": 5, "encoders are trained on": 2, "classifiers learn from": 2, "tested": 1,
             "majority": MAJORITY}  # fmt: skip
    sizes = {"epsilons": list(SIZES.epsilons), "dimensions": 4}
    draws = {"missing": told(0.5), "negative": 0}
    return {"points": [point(cell, **changes) for cell in cells(SIZES)], "facts": facts, "sizes": sizes, "first": 0.1,
            "draws": draws}  # fmt: skip


def outcomes(data):
    return [row.outcome for row in table(data)]


def test_points(report):
    """There is one point for each noise, epsilon and adversary, and shares are of the texts tested."""
    data = report.result.data
    assert [(p["way"], p["epsilon"], p["adversary"]) for p in data["points"]] == [
        (cell.way, cell.epsilon, cell.adversary) for cell in cells(SIZES)
    ]
    for p in data["points"]:
        for name in ("task", "city", "city, law known"):
            assert 0 <= p[name]["low"] <= p[name]["value"] <= p[name]["high"] <= 1
            assert p[name]["count"] == SIZES.test
        assert p["found"]["count"] == SIZES.identified
        if p["way"] in LEARNED:
            assert 0 < p["spent"] < p["epsilon"]
            assert p["exact"] == {"status": "refuted", "epsilon": math.inf}
            assert p["below"] == 0
        if p["way"] == FIXED:
            assert p["spent"] == p["epsilon"]
            assert p["exact"]["status"] == "proved"
            assert p["found, least"] <= p["spent"]
    assert report.figure.read_bytes().startswith(b"\x89PNG")
    assert report.result.details.count("\n") == len(data["points"]) + 1


def test_what_any_size_shows(report):
    """With zeros every text is found, without noise too, and the support refutes the least claims."""
    held = {(p["way"], p["epsilon"], p["adversary"]): p for p in report.result.data["points"]}
    assert held[SILENT, None, True]["found"]["value"] == held[SILENT, None, True]["city, texts listed"]["value"] == 1
    assert held[ZEROED, 1.0, True]["found"]["value"] > 0.7
    assert held[ZEROED, 1.0, True]["found, least"] > 1
    assert held[ZEROED, 1.0, True]["unchanged"] == pytest.approx(0.5, abs=0.15)


def test_going_on(study_data, tmp_path, monkeypatch):
    """A run cut off after some trainings goes on with the next one, and comes to the same numbers."""
    taken = []

    def cut(_, cell):
        if len(taken) == 3 and None not in taken:
            taken.append(None)
            raise KeyboardInterrupt
        taken.append(cell.name)
        return point(cell)

    monkeypatch.setattr(measuring, "measured", cut)
    path = tmp_path / "study.unfinished.jsonl"
    with pytest.raises(KeyboardInterrupt):
        dptext.run(SIZES, Setting(0, study_data, Ledger(path)))
    found = dptext.run(SIZES, Setting(0, study_data, Ledger(path)))
    names = [cell.name for cell in cells(SIZES)]
    assert taken == [*names[:3], None, *names[3:]]
    assert found.data["points"] == [point(cell) for cell in cells(SIZES)]


def test_a_seed_repeats_a_training(study_data, report):
    """The same seed gives the same numbers of a cell."""
    bench, cell = prepared(SIZES, Setting(0, study_data)), cells(SIZES)[2]
    assert measuring.measured(bench, cell) == report.result.data["points"][2]


@pytest.mark.parametrize(
    ("text", "city"),
    [
        ("show me flights from boston to denver", "boston"),
        ("flights to dallas from san francisco on monday", "san francisco"),
        ("what is the bus from the airport to downtown", None),
        ("from the airport to oakland and from st. louis to tampa", "st. louis"),
        ("which airlines fly", None),
        ("fly from new york city", "new york"),
        ("flights from salt lake city", "salt lake"),
    ],
)
def test_departures(text, city):
    """The departure city is what follows "from", where it is a city."""
    assert departure(text) == city


def test_parts(study_data):
    """No text is in two parts, all are distinct, and classes are numbered by frequency with all others last."""
    bench = prepared(SIZES, Setting(0, study_data))
    parts = [bench.train.texts, bench.known.texts, bench.test.texts]
    assert [len(part) for part in parts] == [SIZES.train, SIZES.known, SIZES.test]
    assert len({text for part in parts for text in part}) == sum(map(len, parts))
    assert bench.facts["intents"] == ["flight", OTHER]
    assert bench.facts["cities"][-1] == OTHER
    for part in (bench.train, bench.known, bench.test):
        for text, task, city in zip(part.texts, part.task, part.city, strict=True):
            assert (task == 0) == any(word in text for word in ("flights", "fly", "planes"))
            name = departure(text)
            assert bench.facts["cities"][city] == (name if name in bench.facts["cities"] else OTHER)
    majority = np.mean(bench.test.task == np.bincount(bench.known.task).argmax())
    assert bench.facts["majority"]["task"] == majority


def test_too_few_texts(tmp_path):
    """A table that is too small, or lacks a column, is refused in one line."""
    for name in FILES:
        pq.write_table(pa.table({"text": ["fly from boston"], "intent": ["atis_flight"]}), tmp_path / name)
    with pytest.raises(InputError, match=r"needs 220 distinct texts\. Got 1: give all of ATIS"):
        prepared(SIZES, Setting(0, tmp_path))
    pq.write_table(pa.table({"query": ["fly"]}), tmp_path / FILES[1])
    with pytest.raises(InputError, match="has no column 'text': it has query"):
        prepared(SIZES, Setting(0, tmp_path))


def test_draws():
    """Half of the uniform numbers have no logarithm, and none of the others gives a negative number."""
    found = drawn(50_000, 1)
    assert found["missing"]["low"] < 0.5 < found["missing"]["high"]
    assert found["negative"] == 0


def test_statements():
    """Habernal's statements agree on numbers that bear them out, and those of Beigi et al. as far as these go."""
    assert outcomes(made_up()) == [
        "agrees",
        "agrees",
        "agrees",
        "agrees in part",  # only with zeros is the task named
        "agrees",
        "agrees",
        "does not agree",
        "agrees",
        "agrees in part",
    ]


def test_statements_change_with_the_numbers():
    """Other numbers have other outcomes."""
    data = made_up(task={**TASK, FIXED: 0.9})
    assert outcomes(data)[3] == "does not agree"
    data = made_up(sound=True)
    assert (outcomes(data)[2], outcomes(data)[6]) == ("does not agree", "agrees")
    assert outcomes(made_up(listed=1.0))[7] == "does not agree"
    data = made_up(city={**CITY, PUBLISHED: 0.7, ZEROED: 0.7})
    assert outcomes(data)[7] == "does not agree"
    data = made_up()
    for p in data["points"]:
        if p["way"] == FIXED:
            p["audit"]["least"] = 2 * p["spent"]
    data["draws"] = {"missing": told(0.4), "negative": 3}
    assert (outcomes(data)[0], outcomes(data)[4]) == ("does not agree", "agrees in part")


def test_findings():
    """Findings tell the numbers of the run, and what Laplace noise leaves."""
    lines = findings(made_up(task={**TASK, FIXED: 0.9}))
    assert "frequent class 75.0 %" in lines[0]
    assert "the intent is named for 95.0 %" in lines[1]
    assert "the intent from epsilon 1 on and the city at no epsilon tried" in lines[3]
    assert all(way in lines[5] for way in NOISY)
    assert details(made_up()).startswith("| noise | adversary |")


def test_sizes():
    """The quick run is a part of the whole one, and both deal no more texts than ATIS has."""
    assert set(QUICK.epsilons) <= set(FULL.epsilons)
    for sizes in (FULL, QUICK):
        assert sizes.train + sizes.known + sizes.test <= 5_473

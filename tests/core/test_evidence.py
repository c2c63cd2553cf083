"""Verdicts and witnesses: what they print, and what JSON can hold of them."""

import dataclasses
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from deniable.core.evidence import limit_status
from deniable.core.guarantees import STATUSES, find_weakest_status

WITNESS = dn.Witness("paris", "london", "tokyo", 1.5, math.log(8))
CLAIM = dn.MetricDP(2.0, "euclidean", "Theorem A")
CLOSE = dn.MetricDP(1.0000003, "euclidean", "Theorem A")
PROVED = dn.Verdict(CLAIM, "proved", 1.5, 1.4, 1.0, 0, WITNESS, "by hand", 0.25)


def verdict(**fields):
    return dataclasses.replace(PROVED, **fields)


def test_records_cannot_be_changed():
    """Both records are frozen, and equal where their fields are."""
    for record, field in ((PROVED, "status"), (WITNESS, "loss")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(record, field, "proved")
    assert verdict() == PROVED
    assert hash(verdict()) == hash(PROVED)


@pytest.mark.parametrize(
    ("loss", "text"),
    [
        (2.0795, "output 'tokyo' is 8 times as likely from 'paris' as from 'london', 1.5 apart"),
        (0.0, "output 'tokyo' is 1 times as likely from 'paris' as from 'london', 1.5 apart"),
        (math.log(999.9), "output 'tokyo' is 999 times as likely from 'paris' as from 'london', 1.5 apart"),
        (46.1, "output 'tokyo' is 10^20.0 times as likely from 'paris' as from 'london', 1.5 apart"),
        (5000.0, "output 'tokyo' is 10^2171.4 times as likely from 'paris' as from 'london', 1.5 apart"),
        (math.inf, "output 'tokyo' comes from 'paris' but never from 'london', 1.5 apart"),
    ],
)
def test_a_witness_in_words(loss, text):
    """A witness tells words, odds and distance in one line, whatever the size of the loss."""
    assert str(dataclasses.replace(WITNESS, loss=loss)) == text


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, "proved: claimed epsilon 2, exact 1.5, 25 % of it unused"),
        ({"epsilon": 2.0}, "proved: claimed epsilon 2, exact 2, 0 % of it unused"),
        (
            {"status": "refuted", "epsilon": 4.0, "lower_bound": 3.9999995},
            "refuted: claimed epsilon 2, true epsilon >= 3.99999",
        ),
        (
            {"status": "refuted", "epsilon": math.inf, "lower_bound": math.inf},
            "refuted: claimed epsilon 2, true epsilon infinite",
        ),
        (
            {"status": "not refuted", "epsilon": math.inf},
            "not refuted: claimed epsilon 2, true epsilon >= 1.4, no upper bound known",
        ),
        ({"status": "undecided", "epsilon": 2.5}, "undecided: claimed epsilon 2, true epsilon from 1.4 to 2.5"),
        ({"epsilon": 1.9999999}, "proved: claimed epsilon 2, exact 2, 5e-06 % of it unused"),
        (
            {"status": "refuted", "epsilon": 4.0, "lower_bound": 2.0000001},
            "refuted: claimed epsilon 2, true epsilon >= 2.0000001",
        ),
        (
            {"status": "refuted", "guarantee": CLOSE, "lower_bound": 1.0000009},
            "refuted: claimed epsilon 1.0000003, true epsilon >= 1.0000009",
        ),
        (
            {"guarantee": CLOSE, "epsilon": 1.0000002},
            "proved: claimed epsilon 1.0000003, exact 1.0000002, 9.99e-06 % of it unused",
        ),
        ({"epsilon": 2.0, "lower_bound": 0.0, "witness": None}, "proved: claimed epsilon 2, nothing computed"),
    ],
)
def test_the_first_line(fields, line):
    """The first line has the status, the claim and what was found."""
    assert str(verdict(**fields)).splitlines()[0] == line


def test_all_lines():
    """A verdict is its finding, its witness if there is one, and its method with the time."""
    lines = str(PROVED).splitlines()
    assert lines[1:] == [f"witness: {WITNESS}", "method: by hand; 0.2 s"]
    assert str(verdict(witness=None)).splitlines()[1:] == ["method: by hand; 0.2 s"]


def test_unused():
    """The unused share is that of the claim, negative where more is spent."""
    assert PROVED.unused_share == 0.25
    assert verdict(epsilon=3.0).unused_share == -0.5
    assert verdict(epsilon=math.inf).unused_share == -math.inf


def test_fields_as_json():
    """A verdict's fields are a plain mapping, in order, the witness a mapping in it."""
    assert PROVED.to_dict() == {
        "guarantee": {"kind": "MetricDP", "epsilon": 2.0, "metric": "euclidean", "source": "Theorem A"}
        | {"status": "proved", "unit": "word", "adjacency": "any two words"},
        "status": "proved",
        "epsilon": 1.5,
        "lower_bound": 1.4,
        "confidence": 1.0,
        "samples": 0,
        "witness": {"input": "paris", "other": "london", "output": "tokyo", "distance": 1.5, "loss": math.log(8)}
        | {"correct_guesses": 0, "guesses": 0},
        "method": "by hand",
        "seconds": 0.25,
        "detectable_epsilon": None,
    }
    assert verdict(witness=None).to_dict()["witness"] is None


def test_a_verdict_on_rounded_outputs():
    """What was found on rounded outputs is a verdict in the verdict, for JSON and, set in, for a person."""
    both = verdict(status="refuted", rounded_verdict=verdict(witness=None))
    assert both.to_dict() == {**verdict(status="refuted").to_dict(), "rounded_verdict": verdict(witness=None).to_dict()}
    assert str(both).splitlines() == [
        *str(verdict(status="refuted")).splitlines(),
        "with rounded outputs:",
        "  proved: claimed epsilon 2, nothing computed",
        "  method: by hand; 0.2 s",
    ]


def test_a_sampled_verdict():
    """Sampled evidence names the guesses behind it, its confidence, and the violation that it would have seen."""
    event = dataclasses.replace(WITNESS, output="attacker 'nearest' names the input", correct_guesses=40, guesses=1000)
    sampled = verdict(status="not refuted", lower_bound=0.5, samples=3000, confidence=0.95, witness=event)
    first, second, third, last = str(dataclasses.replace(sampled, detectable_epsilon=2.5)).splitlines()
    assert first == "not refuted: claimed epsilon 2, true epsilon >= 0.5 with 95 % confidence"
    assert "40 of 1,000 guesses are right; nearest inputs paris and london" in second
    assert third == "power: a true epsilon of 2.5 would have been refuted nine times in ten, by the best attacker"
    assert last == "method: by hand; 3,000 samples, 0.2 s"
    assert "power: none" in str(dataclasses.replace(sampled, detectable_epsilon=math.inf))
    assert "power" not in str(dataclasses.replace(sampled, detectable_epsilon=2.5, status="refuted"))


@given(*[st.floats(allow_nan=True, allow_infinity=True)] * 3)
def test_json_by_the_letter(epsilon, lower_bound, loss):
    """Strict JSON holds any verdict, and gives every finite number back as it was."""
    made = verdict(epsilon=epsilon, lower_bound=lower_bound, witness=dataclasses.replace(WITNESS, loss=loss))
    read = json.loads(json.dumps(made.to_dict(), allow_nan=False))
    found = (read["epsilon"], read["lower_bound"], read["witness"]["loss"])
    for value, kept in zip((epsilon, lower_bound, loss), found, strict=True):
        assert kept == (value if math.isfinite(value) else str(value))


def test_claim_and_delta_are_those_of_the_guarantee():
    """The numbers claimed are read from the guarantee that is judged; delta is 0 where it has none."""
    assert (PROVED.claim, PROVED.delta) == (2.0, 0.0)
    approximate = verdict(guarantee=dn.ApproxDP(3.0, 1e-6, "a theorem"))
    assert (approximate.claim, approximate.delta) == (3.0, 1e-6)
    assert str(approximate).startswith("proved: claimed epsilon 3 and delta 1e-06, ")


@pytest.mark.parametrize("claimed", STATUSES)
@pytest.mark.parametrize("status", STATUSES)
def test_a_guarantee_stands_no_higher_than_its_verdict(claimed, status):
    """The statuses of guarantee and verdict are compared on one scale, and all else of the guarantee stays."""
    for guarantee in (
        dn.PureDP(2.0, "a theorem", claimed),
        dn.ApproxDP(2.0, 1e-6, "a theorem", claimed),
        dn.MetricDP(2.0, "euclidean", "a theorem", claimed),
    ):
        shown = limit_status(guarantee, verdict(guarantee=guarantee, status=status))
        assert shown == dataclasses.replace(guarantee, status=find_weakest_status(claimed, status))
        assert STATUSES.index(shown.status) >= STATUSES.index(claimed)


def test_an_infinite_claim_is_a_text_in_json():
    """Strict JSON has no infinity, also within the guarantee."""
    guarantee = dn.PureDP(math.inf, "no noise", "claimed")
    judged = dn.Verdict(guarantee, "undecided", math.inf, 0.0, 1.0, 0, None, "none", 0.0)
    stored = json.loads(json.dumps(judged.to_dict(), allow_nan=False))
    assert stored["epsilon"] == stored["guarantee"]["epsilon"] == "inf"

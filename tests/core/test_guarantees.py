"""Guarantees and what is known of them: loss, composition, verdicts and witnesses, for people and for programs."""

import dataclasses
import itertools
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.core.guarantees import STATUSES, find_weakest_status, is_proved, limit_status
from tests.refusals import refuses

METRIC = dn.Guarantee.of_words(2.0, "euclidean", "Theorem A")
PURE = dn.Guarantee(12.345678, "Theorem E")
APPROXIMATE = dn.Guarantee(3.0, "Theorem F", delta=1e-6)
KINDS = pytest.mark.parametrize("guarantee", [METRIC, PURE, APPROXIMATE], ids=lambda one: one.kind)


@KINDS
def test_guarantees_are_records(guarantee):
    """They are frozen, proved unless said otherwise, and equal to others with equal fields, which name their kind."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        guarantee.epsilon = 0.1
    assert guarantee.status == "proved"
    assert dataclasses.replace(guarantee) == guarantee
    assert hash(dataclasses.replace(guarantee)) == hash(guarantee)
    is_of_words = guarantee is METRIC
    assert (guarantee.unit, guarantee.adjacency) == (
        ("word", "any two words") if is_of_words else ("record", "any two values")
    )
    for one in (guarantee, dataclasses.replace(guarantee, unit="person")):
        fields = dataclasses.asdict(one)
        stated = {name: fields[name] for name in fields if fields[name] or name not in {"delta", "metric"}}
        assert one.to_dict() == {"kind": one.kind, **stated}


def test_the_kind_follows_from_delta_and_metric():
    """Certificates name the form of differential privacy, and have a delta or a metric where the guarantee has."""
    assert [one.kind for one in (METRIC, PURE, APPROXIMATE)] == ["MetricDP", "PureDP", "ApproxDP"]
    assert list(PURE.to_dict()) == ["kind", "epsilon", "source", "status", "unit", "adjacency"]
    assert APPROXIMATE.to_dict()["delta"] == 1e-6
    assert METRIC.to_dict()["metric"] == "euclidean"


def test_loss_grows_with_distance():
    """The loss of metric DP is epsilon times the distance."""
    assert (METRIC.loss(0), METRIC.loss(1.5)) == (0, 3.0)


@KINDS
def test_composition(guarantee):
    """Epsilons and deltas add up, the source names both theorems, and the status is that of the worse part."""
    both = guarantee.compose(dataclasses.replace(guarantee, epsilon=0.5, source="Theorem G"))
    assert both.epsilon == guarantee.epsilon + 0.5
    assert both.delta == 2 * guarantee.delta
    assert both.source == f"sequential composition of ({guarantee.source}) and (Theorem G)"
    for one, other in itertools.product(("proved", "claimed", "refuted"), repeat=2):
        first, second = (dataclasses.replace(guarantee, status=status) for status in (one, other))
        assert first.compose(second).status == find_weakest_status(one, other)
    for name, value in (("unit", "person"), ("adjacency", "one record removed")):
        changed = dataclasses.replace(guarantee, **{name: value})
        with refuses(repr(value)):  # what is promised of one unit says nothing of another
            guarantee.compose(changed)
        assert getattr(changed.compose(changed), name) == value


def test_composition_over_two_metrics_is_refused():
    """Guarantees about different metrics do not add up."""
    with refuses("'angular'"):
        METRIC.compose(dn.Guarantee.of_words(1.0, "angular", "Theorem D"))


def test_short_forms():
    """The short forms have epsilon in six digits, and metric or delta; bounds are rounded up."""
    assert [str(one) for one in (METRIC, PURE, APPROXIMATE)] == [
        "2-metric-DP (euclidean)",
        "12.3457-DP",
        "(3, 1e-06)-DP",
    ]
    assert str(dn.Guarantee(1.00000001, "T", delta=1.0000001e-6)) == "(1.00001, 1.00001e-06)-DP"
    assert str(dn.Guarantee(1234567.0, "T")) == "1,234,567-DP"


def test_statuses():
    """What rests on several claims is known as its weakest part, in any order; refuted is weakest, proved strongest."""
    assert (STATUSES[0], STATUSES[-1]) == ("proved", "refuted")
    for strong, weak in itertools.combinations(STATUSES, 2):
        assert find_weakest_status(strong, weak) == find_weakest_status(weak, strong) == weak
    assert find_weakest_status(*STATUSES) == "refuted"
    assert [status for status in STATUSES if is_proved(status)] == ["proved", "proved for ideal arithmetic"]


WITNESS = dn.Witness("paris", "london", "tokyo", 1.5, math.log(8))
PROVED = dn.Verdict(METRIC, "proved", "by hand", 1.5, 1.4, witness=WITNESS, seconds=0.25)
CLOSE = dn.Guarantee.of_words(1.0000003, "euclidean", "Theorem A")


def verdict(**fields):
    """Return a verdict with other fields."""
    return dataclasses.replace(PROVED, **fields)


@KINDS
def test_a_guarantee_stands_no_higher_than_its_verdict(guarantee):
    """The statuses of guarantee and verdict are compared on one scale, and all else of the guarantee stays."""
    for claimed, status in itertools.product(STATUSES, repeat=2):
        one = dataclasses.replace(guarantee, status=claimed)
        shown = limit_status(one, verdict(guarantee=one, status=status))
        assert shown == dataclasses.replace(one, status=find_weakest_status(claimed, status))
        assert STATUSES.index(shown.status) >= STATUSES.index(claimed)


@pytest.mark.parametrize(
    ("loss", "odds"),
    [
        (2.0795, "is 8 times as likely from 'paris' as from"),
        (0.0, "is 1 times as likely from 'paris' as from"),
        (math.log(999.9), "is 999 times as likely from 'paris' as from"),
        (46.1, "is 10^20.0 times as likely from 'paris' as from"),
        (math.inf, "comes from 'paris' but never from"),
    ],
)
def test_a_witness_in_words(loss, odds):
    """A witness tells words, odds and distance in one line, whatever the size of the loss; odds are a lower bound."""
    assert str(dataclasses.replace(WITNESS, loss=loss)) == f"output 'tokyo' {odds} 'london', 1.5 apart"


@pytest.mark.parametrize(
    ("status", "fields", "line"),
    [
        ("proved", {}, "claimed epsilon 2, exact 1.5, 25% of it unused"),
        ("proved", {"epsilon": 1.9999999}, "claimed epsilon 2, exact 2"),
        ("proved", {"lower_bound": 0.0, "witness": None}, "claimed epsilon 2, nothing computed"),
        ("refuted", {"epsilon": 4.0, "lower_bound": 3.9999995}, "claimed epsilon 2, true epsilon >= 3.99999"),
        ("refuted", {"epsilon": math.inf, "lower_bound": math.inf}, "claimed epsilon 2, true epsilon infinite"),
        ("refuted", {"guarantee": CLOSE, "lower_bound": 1.0000009},
         "claimed epsilon 1.0000003, true epsilon >= 1.0000009"),
        ("not refuted", {"epsilon": math.inf}, "claimed epsilon 2, true epsilon >= 1.4, no upper bound known"),
        ("undecided", {"epsilon": 2.5}, "claimed epsilon 2, true epsilon from 1.4 to 2.5"),
    ],
)  # fmt: skip
def test_a_verdict_in_words(status, fields, line):
    """The first line has status, claim and finding, bounds rounded to their side; witness and method follow."""
    lines = str(verdict(status=status, **fields)).splitlines()
    witness = [] if fields.get("witness", WITNESS) is None else [f"witness: {WITNESS}"]
    assert lines == [f"{status}: {line}", *witness, "method: by hand; 0.2 s"]


def test_a_verdict_knows_nothing_by_default():
    """Verdicts are frozen; the claim is the guarantee's; what is not known is no bound, no sample and no witness."""
    for record, field in ((PROVED, "status"), (WITNESS, "loss")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(record, field, "proved")
    assert hash(verdict()) == hash(PROVED)
    bare = dn.Verdict(APPROXIMATE, "undecided", "nothing computed")
    assert (bare.claim, bare.epsilon, bare.lower_bound, bare.confidence) == (3.0, math.inf, 0.0, 1.0)
    assert (bare.samples, bare.witness, bare.seconds) == (0, None, 0.0)
    assert str(verdict(guarantee=APPROXIMATE)).startswith("proved: claimed epsilon 3 and delta 1e-06, ")


def test_a_verdict_as_json():
    """Its fields are a plain mapping, the witness and a verdict on rounded outputs mappings in it."""
    fields = PROVED.to_dict()
    assert fields == {
        "guarantee": METRIC.to_dict(),
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
    inner = verdict(witness=None)
    both = verdict(rounded_verdict=inner)
    assert both.to_dict() == {**fields, "rounded_verdict": {**fields, "witness": None}}
    assert str(both).splitlines()[len(str(PROVED).splitlines()) + 1 :] == [
        f"  {one}" for one in str(inner).splitlines()
    ]


def test_a_sampled_verdict():
    """Sampled evidence names the guesses behind it, its confidence, and the violation that it would have seen."""
    event = dataclasses.replace(WITNESS, output="attacker 'nearest' names the input", correct_guesses=40, guesses=1000)
    sampled = verdict(status="not refuted", lower_bound=0.5, samples=3000, confidence=0.95, witness=event)
    first, second, third, last = str(dataclasses.replace(sampled, detectable_epsilon=2.5)).splitlines()
    assert first.endswith("true epsilon >= 0.5 with 95% confidence")
    assert "40 of 1,000 guesses are right" in second
    assert third.startswith("power: a true epsilon of 2.5 ")
    assert "3,000 samples" in last
    assert "power: none" in str(dataclasses.replace(sampled, detectable_epsilon=math.inf))
    assert "power" not in str(dataclasses.replace(sampled, detectable_epsilon=2.5, status="refuted"))


@settings(max_examples=30)
@given(*[st.floats(allow_nan=True, allow_infinity=True)] * 3)
def test_json_by_the_letter(epsilon, lower_bound, loss):
    """Strict JSON holds any verdict, infinite claims too, and gives every finite number back as it was."""
    guarantee = dataclasses.replace(PURE, epsilon=epsilon)
    witness = dataclasses.replace(WITNESS, loss=loss)
    made = verdict(guarantee=guarantee, epsilon=epsilon, lower_bound=lower_bound, witness=witness)
    read = json.loads(json.dumps(made.to_dict(), allow_nan=False))
    found = (read["epsilon"], read["guarantee"]["epsilon"], read["lower_bound"], read["witness"]["loss"])
    for value, kept in zip((epsilon, epsilon, lower_bound, loss), found, strict=True):
        assert kept == (value if math.isfinite(value) else str(value))

"""Guarantees: loss, composition and how they print."""

import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from deniable.core.guarantees import STATUSES, encode_guarantee, find_weakest_status, is_proved

PROVED = dn.MetricDP(2.0, "euclidean", "Theorem A")
CLAIMED = dn.MetricDP(3.0, "euclidean", "Theorem B", "claimed")
REFUTED = dn.MetricDP(0.5, "euclidean", "Theorem C", "refuted")


def test_guarantee_is_proved_unless_said_otherwise():
    """The status is ``proved`` by default."""
    assert PROVED.status == "proved"


def test_guarantee_cannot_be_changed():
    """A guarantee is frozen, and equal to another with equal fields."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        PROVED.epsilon = 0.1
    assert dn.MetricDP(2.0, "euclidean", "Theorem A") == PROVED
    assert hash(dn.MetricDP(2.0, "euclidean", "Theorem A")) == hash(PROVED)


def test_loss_grows_with_distance():
    """The loss is epsilon times the distance."""
    assert PROVED.loss(0) == 0
    assert PROVED.loss(1.5) == 3.0


def test_composition_adds_epsilons():
    """Two releases for one input cost the sum, and the source names both theorems."""
    both = PROVED.compose(PROVED)
    assert (both.epsilon, both.metric, both.status) == (4.0, "euclidean", "proved")
    assert both.source == "sequential composition of (Theorem A) and (Theorem A)"


@pytest.mark.parametrize(
    ("first", "second", "status"),
    [
        (PROVED, CLAIMED, "claimed"),
        (CLAIMED, REFUTED, "refuted"),
        (PROVED, REFUTED, "refuted"),
        (CLAIMED, CLAIMED, "claimed"),
    ],
)
def test_composition_is_as_good_as_its_worse_part(first, second, status):
    """A claim that is not proved is not proved by composing it, in either order."""
    assert first.compose(second).status == status
    assert second.compose(first).status == status


@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=6))
def test_composition_of_many(epsilons):
    """Composing in any grouping gives the sum."""
    guarantees = [dn.MetricDP(epsilon, "angular", "T") for epsilon in epsilons]
    total = guarantees[0]
    for guarantee in guarantees[1:]:
        total = total.compose(guarantee)
    assert total.epsilon == pytest.approx(sum(epsilons))


def test_composition_over_two_metrics_is_refused():
    """Guarantees about different metrics do not add up."""
    with pytest.raises(dn.InputError, match=r"compose over one metric only. Got 'euclidean' and 'angular'"):
        PROVED.compose(dn.MetricDP(1.0, "angular", "Theorem D"))


def test_short_form():
    """The short form has epsilon and metric."""
    assert str(PROVED) == "2-metric-DP (euclidean)"
    assert str(dn.MetricDP(0.125, "angular", "T")) == "0.125-metric-DP (angular)"


PURE = dn.PureDP(12.345678, "Theorem E")
APPROXIMATE = dn.ApproxDP(3.0, 1e-6, "Theorem F")


@pytest.mark.parametrize("guarantee", [PURE, APPROXIMATE])
def test_guarantees_without_a_metric_cannot_be_changed(guarantee):
    """They are frozen, proved unless said otherwise, and equal to others with equal fields."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        guarantee.epsilon = 0.1
    assert guarantee.status == "proved"
    assert dataclasses.replace(guarantee) == guarantee
    assert hash(dataclasses.replace(guarantee)) == hash(guarantee)


def test_composition_adds_deltas():
    """Epsilons add up, deltas add up, and the source names both theorems."""
    both = APPROXIMATE.compose(dn.ApproxDP(0.5, 3e-6, "Theorem G"))
    assert (both.epsilon, both.delta) == (3.5, pytest.approx(4e-6))
    assert both.source == "sequential composition of (Theorem F) and (Theorem G)"
    assert PURE.compose(PURE).epsilon == 2 * PURE.epsilon
    assert PURE.compose(PURE).source == "sequential composition of (Theorem E) and (Theorem E)"


@pytest.mark.parametrize("guarantee", [PURE, APPROXIMATE])
@pytest.mark.parametrize("status", ["claimed", "refuted"])
def test_composition_without_a_metric_is_as_good_as_its_worse_part(guarantee, status):
    """A claim that is not proved is not proved by composing it, in either order."""
    worse = dataclasses.replace(guarantee, status=status)
    assert guarantee.compose(worse).status == worse.compose(guarantee).status == status


def test_short_forms_without_a_metric():
    """The short forms have epsilon in six digits, and delta."""
    assert str(PURE) == "12.3457-DP"
    assert str(dn.PureDP(2.3, "T")) == "2.3-DP"
    assert str(dn.ApproxDP(1.00000001, 1.0000001e-6, "T")) == "(1.00001, 1.00001e-06)-DP"
    assert str(APPROXIMATE) == "(3, 1e-06)-DP"
    assert str(dn.PureDP(1234567.0, "T")) == "1,234,567-DP"


def test_units_and_adjacencies():
    """Metric guarantees protect words and the others records, any two of them unless said otherwise."""
    assert (PROVED.unit, PROVED.adjacency) == ("word", "any two words")
    for guarantee in (PURE, APPROXIMATE):
        assert (guarantee.unit, guarantee.adjacency) == ("record", "any two values")


@pytest.mark.parametrize("guarantee", [PROVED, PURE, APPROXIMATE])
@pytest.mark.parametrize(("name", "value"), [("unit", "person"), ("adjacency", "one record removed")])
def test_composition_over_two_units_or_adjacencies_is_refused(guarantee, name, value):
    """What is promised of one unit says nothing of another; equal ones stay as they are."""
    changed = dataclasses.replace(guarantee, **{name: value})
    with pytest.raises(dn.InputError, match=f"compose over one {name} only. Got .* and {value!r}"):
        guarantee.compose(changed)
    assert getattr(changed.compose(changed), name) == value


@pytest.mark.parametrize("guarantee", [PROVED, PURE, APPROXIMATE, dataclasses.replace(PURE, unit="person")])
def test_a_guarantee_as_plain_fields(guarantee):
    """The plain fields of a guarantee name its kind."""
    fields = encode_guarantee(guarantee)
    assert fields == {"kind": type(guarantee).__name__, **dataclasses.asdict(guarantee)}


def test_the_weakest_status_of_several():
    """What rests on several claims is known as its weakest part, in any order; refuted is weakest, proved strongest."""
    assert (STATUSES[0], STATUSES[-1]) == ("proved", "refuted")
    for strong, weak in itertools.combinations(STATUSES, 2):
        assert find_weakest_status(strong, weak) == find_weakest_status(weak, strong) == weak
    assert find_weakest_status(*STATUSES) == "refuted"
    assert [status for status in STATUSES if is_proved(status)] == ["proved", "proved for ideal arithmetic"]

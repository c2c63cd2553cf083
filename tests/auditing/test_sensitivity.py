"""Sensitivities: pairs that exceed a claim, and functions that are no functions."""

import math

import numpy as np
import pytest

import deniable as dn
from tests.refusals import refuses


@pytest.mark.parametrize(
    ("domain", "norm", "expected"),
    [
        (dn.L2Ball(1.0), "l1", 2 * math.sqrt(16)),
        (dn.L2Ball(1.0), "l2", 2.0),
        (dn.L1Ball(1.0), "l1", 2.0),
        (dn.Box(-0.5, 0.5), "max", 1.0),
        (dn.Box(-0.5, 0.5), "l1", 16.0),
    ],
    ids=str,
)
def test_a_search_finds_the_sensitivity_that_is_proved(domain, norm, expected):
    """Clips of this package, of 16 coordinates: a pair nearly as far apart as proved, and none farther."""
    found = dn.audit_sensitivity(domain.clip, batched=True, claim=expected, norm=norm, dimension=16)
    assert found.status == "not refuted"
    assert expected * 0.999 < found.pair.distance <= expected * (1 + 1e-9)
    outputs = domain.clip(np.stack([found.pair.x, found.pair.other]))
    assert np.linalg.norm(outputs[0] - outputs[1], ord={"l1": 1, "l2": 2, "max": np.inf}[norm]) == pytest.approx(
        found.pair.distance
    )


def test_adept_s_claim_is_refuted_by_its_factor():
    """Of the l2 clip in l1 twice the radius is claimed: the pair is sqrt(n) times as far apart, also one at a time."""
    clip = dn.L2Ball(1.0).clip
    found = dn.audit_sensitivity(lambda x: clip(x[None])[0], claim=2.0, dimension=4, starts=4)
    assert found.status == "refuted"
    assert found.factor == pytest.approx(2.0, rel=1e-3)
    assert "refuted: claimed sensitivity 2 in l1, at least 3.99" in str(found)
    assert found.to_dict()["factor"] == found.factor
    assert len(found.to_dict()["witness"]["input"]) == 4


def test_all_pairs_of_inputs_are_compared():
    """Of given texts the farthest pair is named, and pairs beyond the claim are counted; equal ones are 0 apart."""
    texts = ["a", "bb", "cccc", "dd"]
    found = dn.audit_sensitivity(lambda text: [len(text), 0], texts, claim=1.5)
    assert (found.pair.x, found.pair.other, found.pair.distance) == ("a", "cccc", 3.0)
    assert (found.pair_count, found.violation_count, found.factor) == (6, 3, 2.0)
    assert "3 of 6" in str(found)
    same = dn.audit_sensitivity(len, ["one", "two"])
    assert (same.pair.distance, same.status, same.factor) == (0.0, "not refuted", None)
    assert (same.pair.x, same.pair.other) == ("one", "two")
    rows = np.arange(6.0).reshape(3, 2)
    found = dn.audit_sensitivity(lambda given: given * 2, list(rows), batched=True, norm="max", claim=8.0)
    assert (found.pair.distance, found.status) == (8.0, "not refuted")


def test_outputs_are_kept_apart():
    """A function that writes every output into one array is judged by what it returned each time."""
    kept = np.zeros(1)
    assert dn.audit_sensitivity(lambda x: np.multiply(x, 2.0, out=kept), [[0.0], [3.0]]).pair.distance == 6.0


def test_rounding_refutes_nothing():
    """A pair that only floats take beyond the claim is none."""
    assert dn.audit_sensitivity(lambda _: 0.1 + 0.2, [1, 2], claim=1.0).status == "not refuted"
    assert dn.audit_sensitivity(lambda x: 0.3 * (1 + 1e-15) * x, [0, 1], claim=0.3).status == "not refuted"


def shouts(_):
    raise ValueError("too loud")


def prints(_):
    print("secret")  # noqa: T201 - that is the fault
    return [1.0]


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (shouts, "too loud"),
        (prints, "secret"),
        (lambda _: "text", "'text'"),
        (lambda _: [math.nan], "nan"),
        (lambda text: [1.0] * len(text), "one length"),
        (lambda _: None, "None"),
        (lambda _: np.zeros((2, 2)), "a vector (m,)"),
        (3, "'function'"),
    ],
)
def test_functions_that_are_none_are_refused(function, value):
    """What raises, prints, or returns anything but vectors of one length is refused by one line."""
    with refuses(value):
        dn.audit_sensitivity(function, ["a", "bb"])
    with refuses("None"):  # what is masked is no number
        dn.audit_sensitivity(lambda texts: np.ma.masked_all((len(texts), 2)), ["a", "bb"], batched=True)


def test_noise_is_no_part_of_a_sensitivity():
    """A function that gives another vector again is refused, with both distances."""
    random = np.random.default_rng(0)
    with refuses("noise"):
        dn.audit_sensitivity(lambda x: x + random.normal(size=len(x)), dimension=2, starts=1)


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ({"claim": 0.0}, "'claim'"),
        ({"claim": math.nan}, "'claim'"),
        ({"norm": "l3"}, "'norm'"),
        ({"dimension": 0}, "'dimension'"),
        ({"starts": 0}, "'starts'"),
        ({"seed": -1}, "'seed'"),
        ({"inputs": ["one"]}, "2 inputs"),
    ],
)
def test_bad_options_are_refused(options, value):
    """Each is named."""
    with refuses(value):
        dn.audit_sensitivity(lambda x: x, **options)


def test_functions_in_float32_are_not_refuted_by_their_own_rounding():
    """A true clip of float32, as networks compute it, keeps its claim, and may round otherwise in another batch."""

    def clip(rows):
        rows = np.asarray(rows, dtype=np.float32)
        clipped = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1))
        return clipped * np.float32(1 + 1e-7 * (len(rows) > 2))

    vectors = 5 * np.random.default_rng(0).normal(size=(200, 8))
    found = dn.audit_sensitivity(clip, [*vectors, *-vectors], batched=True, norm="l2", claim=2.0)
    assert found.pair.distance > 2 * (1 + 1e-8)
    assert (found.status, found.violation_count) == ("not refuted", 0)
    assert dn.audit_sensitivity(clip, batched=True, norm="l2", claim=1.999, dimension=8).status == "refuted"

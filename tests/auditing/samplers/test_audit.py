"""Audits of next-token samplers: verdicts with witnesses, what is public, rounding, and refusals."""

import itertools
import math

import numpy as np
import pytest

import deniable as dn
from tests.refusals import refuses

PAIRS = [(["ab", "c"], ["ab", "cc"])]
PURE = {"claim": "pure", "epsilon": 1.0, "tokens": 10}


def soft(records, prefix, scale=0.1):
    """Return a law over 8 tokens in which all records move a score by their lengths."""
    scores = np.zeros(8)
    for record in records:
        scores[len(record)] += scale
    scores[len(prefix) % 8] += 1
    weights = np.exp(scores)
    return weights / weights.sum()


def test_within_the_claim():
    """A law whose losses are below the share of a token is not refuted, at the exact largest loss."""
    found = dn.audit_language_model(lambda r, x: soft(r, x, 0.04), PAIRS, steps=5, seed=1, **PURE)
    assert found.verdict.status == "not refuted"
    assert found.verdict.samples == 0
    assert found.facts.compared == 5
    p, q = (soft(records, (), 0.04) for records in PAIRS[0])
    least = max(np.log(p / q).max(), np.log(q / p).max())
    assert found.verdict.lower_bound >= least - 1e-9
    assert found.facts.loss == found.verdict.lower_bound
    assert found.facts.composed == (10 * found.verdict.lower_bound, 0)


@pytest.mark.parametrize(
    "claim",
    [
        PURE,
        {"claim": "zcdp", "epsilon": 1.0, "delta": 1e-5, "tokens": 100},
        {"claim": "approx", "epsilon": 0.1, "delta": 1e-5, "tokens": 100},
    ],
)
def test_beyond_the_claim(claim):
    """A law that loses more is refuted, by the pair, prefix and token that can be computed again."""
    pairs = [(["ab"], ["ba"], (3,)), (["ab"], ["abc"], (4, 2))]
    found = dn.audit_language_model(lambda r, x: soft(r, x, 0.3), pairs, **claim)
    verdict = found.verdict
    assert verdict.status == "refuted"
    assert verdict.lower_bound > verdict.claim
    assert verdict.rounded_verdict is None
    assert "[4, 2]" in verdict.witness.output
    token = int(verdict.witness.output.split()[1])
    first, second = (soft(records, (4, 2), 0.3)[token] for records in (["ab"], ["abc"]))
    assert verdict.witness.loss == pytest.approx(abs(math.log(first / second)))
    assert found.facts.one_sided_mass == 0


def test_tokens_of_one_side():
    """A token that only one side gives is an infinite loss, reported with its probability."""

    def law(records, *_):
        return np.array([len(records[1]) - 1, 1, 98])

    found = dn.audit_language_model(law, PAIRS, **PURE)
    assert found.verdict.status == "refuted"
    assert found.verdict.lower_bound == math.inf
    assert found.facts.one_sided_mass == pytest.approx(0.01)
    assert found.facts.one_sided_tokens == 1
    assert "never from" in str(found)
    as_read = found.to_report().to_dict()
    assert as_read["found"]["largest loss of a token that both sides give"] == pytest.approx(math.log(100 / 99))
    assert as_read["found"]["a text of 10 tokens like the worst"]["epsilon"] == "inf"


def test_weights_are_exact():
    """Integer weights beyond 2^53 keep a claim that they spend to the last bit."""
    least = round(2**60 * math.exp(-0.1)) + 2**10

    def law(records, *_):
        return [2**60, least] if len(records[1]) == 1 else [least, 2**60]

    assert dn.audit_language_model(law, PAIRS, **PURE).verdict.status == "not refuted"
    assert dn.audit_language_model(law, PAIRS, **PURE | {"epsilon": 0.99}).verdict.status == "refuted"


def test_rounding_is_said_apart():
    """What refutes by less than softmaxes in float32 may err has a second verdict without that rounding."""

    def law(records, *_):
        scores = np.linspace(0, 3, 50, dtype=np.float32) + np.float32(len(records[1]) / 3e6)
        weights = np.exp(scores)
        return weights / weights.sum()

    found = dn.audit_language_model(law, PAIRS, claim="pure", epsilon=1e-9)
    assert found.verdict.status == "refuted"
    assert found.verdict.rounded_verdict.status == "not refuted"
    assert "with rounded outputs" in str(found)


def test_what_is_public():
    """A public part that a neighbour, the length, order or number of records moves is reported with its change."""

    def move(records, *_):
        return np.array([len(records), 0.0 if records[0] == "ab" else -math.inf, max(map(len, records))])

    found = dn.audit_language_model(lambda r, x: soft(r, x, 0.01), PAIRS, public=move, **PURE)
    assert found.facts.public_changes == {"a neighbour": 0, "length": 1, "order": math.inf, "number of records": 1}
    assert "by up to 1" in str(found)
    assert "a token is masked, or not" in str(found)
    found = dn.audit_language_model(lambda r, x: soft([r], x, 0.01), [("ab", "abc")], public=soft_nothing, **PURE)
    assert found.facts.public_changes == {"a neighbour": 0, "length": 0}


def soft_nothing(_, prefix):
    """Return a law that no record moves."""
    return soft([], prefix)


def test_what_is_public_is_read_before_it_changes():
    """A public part that writes into one array is compared as it was; NaN for both is no change."""
    buffer = np.zeros(2)

    def move(records, *_):
        buffer[:] = len(records), math.nan
        return memoryview(buffer)

    found = dn.audit_language_model(lambda *_: [1, 2], [("ab", "c")], public=move, **PURE)
    assert found.facts.public_changes == {"a neighbour": 1, "length": 3}
    assert found.verdict.witness.loss == 0


def test_what_is_public_must_not_change_by_itself():
    """A public part that draws is refused: it would seem to move with private input."""
    random = np.random.default_rng(1)
    with refuses("returned different numbers than before"):
        dn.audit_language_model(lambda *_: [1, 2], PAIRS, public=lambda *_: random.random(3), **PURE)


@pytest.mark.parametrize("first", [np.float32, np.float64])
def test_rounding_is_that_of_the_least_precise_numbers(first):
    """Where one side answers in float32 the rounding of float32 is granted, whichever side it is."""

    def law(records, *_):
        return np.array([0.3, 0.7], dtype=first if records == "a" else np.float32)

    found = dn.audit_language_model(law, [("a", "b"), ("b", "a")], claim="pure", epsilon=1e-9)
    assert found.facts.arithmetic == "float32"
    if found.verdict.status == "refuted":
        assert found.verdict.rounded_verdict.status == "not refuted"


def test_records_of_arrays():
    """Records may be arrays, which do not say whether they are equal."""
    pairs = [([np.arange(3)], [np.arange(3) + 1])]
    found = dn.audit_language_model(lambda records, _: [1, 1 + int(records[0][0])], pairs, **PURE)
    assert found.verdict.status == "refuted"
    assert "record 1 of 1: [0, 1, 2]" in str(found)


@pytest.mark.parametrize(
    "law", [np.ma.array([0.5, 0.5], mask=[0, 1]), np.array([0.5, 0.5], np.longdouble), [True, False], [2**70, 1], "ab"]
)
def test_what_is_no_law(law):
    """Numbers that would be changed as they are read, and what is no number, are refused."""
    with refuses("of at most 64 bits"):
        dn.audit_language_model(lambda *_: law, PAIRS, **PURE)


def test_prefixes_grow_from_the_law():
    """Prefixes are tokens that both laws can give; the seed repeats them."""

    def law(records, prefix):
        seen.append(prefix)
        return np.array([0.0, 0.5, 0.5]) if len(records[1]) == 1 else np.array([0.25, 0.25, 0.5])

    walks = []
    for seed in (1, 1, 2):
        seen = []
        dn.audit_language_model(law, PAIRS, steps=12, seed=seed, **PURE)
        walks.append(seen)
    assert walks[0] == walks[1] != walks[2]
    assert max(map(len, walks[0])) == 11
    assert 0 not in set(itertools.chain(*walks[0]))


@pytest.mark.parametrize(("lie", "status"), [(0.0, "not refuted"), (0.9, "refuted")])
def test_draws(lie, status):
    """A sampler that draws tokens is audited as a black box."""
    random = np.random.default_rng(5)

    def draw(records, *_):
        return len(records[1]) if random.random() < lie else int(random.integers(4))

    found = dn.audit_language_model(draw, PAIRS, samples=600, seed=1, **PURE)
    assert found.verdict.status == status
    assert found.verdict.samples == 600
    assert found.facts is None
    assert "claim of a text" in found.to_report().to_dict()


def test_laws_that_remember_are_refused():
    """A law that changes between calls is refused, whether it draws or counts."""
    random, calls = np.random.default_rng(3), itertools.count()

    def drawn(*_):
        weights = random.random(4)
        return weights / weights.sum()

    def counted(*_):
        return [1000, 1000 + next(calls)]

    for law in (drawn, counted):
        with refuses("returned a different law than before"):
            dn.audit_language_model(law, PAIRS, **PURE)


def test_arguments_are_copies():
    """A law may change what it is given: no other call sees that."""

    def law(records, prefix):
        records.append("x")
        return soft(records[:2], prefix)

    dn.audit_language_model(law, PAIRS, **PURE)
    assert PAIRS == [(["ab", "c"], ["ab", "cc"])]


@pytest.mark.parametrize(
    ("pairs", "value"),
    [
        ([], "[]"),
        (None, "None"),
        ([("a",)], "a"),
        ([("a", "b", 3)], "3"),
        ([("a", "b", (1, -1))], "-1"),
        (5, "5"),
        (["ab"], "ab"),
        ([{"records": "a", "other": "b"}], "records"),
        ([("a", "b"), ("c", "c")], "Pair 2"),
    ],
)
def test_pairs_are_checked(pairs, value):
    """What is no list of pairs with prefixes of tokens is refused."""
    with refuses(value):
        dn.audit_language_model(soft, pairs, **PURE)


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ({"claim": "renyi"}, "renyi"),
        ({"epsilon": -1}, "-1"),
        ({"delta": 0.5}, "0.5"),
        ({"tokens": 2.5}, "2.5"),
        ({"tokens": 10**20}, "1,000,000,000"),
        ({"epsilon": 5e-324}, "e-324"),
        ({"steps": 0}, "0"),
        ({"public": 3}, "3"),
        ({"confidence": 2}, "2"),
        ({"samples": 100, "steps": 2}, "steps"),
        ({"samples": 100, "public": soft}, "public"),
        ({"seed": -1}, "-1"),
    ],
)
def test_options_are_checked(options, value):
    """Options out of range are refused before the law is called."""

    def law(*_):
        raise AssertionError

    with refuses(value):
        dn.audit_language_model(law, PAIRS, **PURE | options)


def test_what_is_no_function():
    """The law must be callable, and records must be values that can be copied."""
    with refuses("law"):
        dn.audit_language_model(3, PAIRS, **PURE)
    with refuses("copied"):
        dn.audit_language_model(soft, [((x for x in "ab"), "b")], **PURE)

"""The samplers of the zoo: the exact law refutes each and not its twin; controls keep their claims on many pairs."""

import math

import numpy as np
import pytest
from scipy import special

import deniable as dn
from deniable.accounting.renyi import compute_zcdp_rho
from deniable.published.samplers import fusion, prediction, rewriting, toy
from deniable.published.samplers.private_prediction import PrivatePrediction
from deniable.registry import ZOOS
from tests.refusals import refuses

ENTRIES = [entry for entries in ZOOS["samplers"].values() for entry in entries]
FLAWS = {"shared-padding", "default-seed", "single-order", "stop-words-kept", "shared-noise-of-tokens"}
WORDS = tuple("the patient came back with pain and left a letter for another doctor".split())  # noqa: SIM905 - read as a text
PAIRS = 200


def test_every_flaw_has_its_twin():
    """Each sampler stands before its mended twin; the tilted model is a control."""
    names = [entry.name for entry in ENTRIES]
    assert {entry.name for entry in ENTRIES if entry.flaw} == FLAWS
    assert {*names} == FLAWS | {f"{name}-mended" for name in FLAWS} | {"tilted"}
    assert all(names[names.index(name) + 1] == f"{name}-mended" for name in FLAWS)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_verdicts_are_as_expected(entry):
    """The exact law refutes what has a flaw, with a witness, and nothing else."""
    found = entry.examine(0)
    assert found.is_as_expected
    assert found.exact_verdict.status == ("refuted" if entry.flaw else "not refuted")
    assert found.exact_verdict.witness is not None
    assert found.exact_verdict.rounded_verdict is None


def write_text(random, most=12):
    return " ".join(random.choice(WORDS, int(random.integers(1, most))))


def audit(law, pairs, **claim):
    return dn.audit_language_model(law, pairs, seed=1, **claim).verdict


def test_controls_on_many_pairs():
    """Of 200 pairs of neighbours none refutes the token law, the tilted model or private prediction."""
    random = np.random.default_rng(4)

    def draw_prefix():
        return tuple(random.integers(1, toy.VOCABULARY, int(random.integers(4))).tolist())

    texts = [(write_text(random), write_text(random), draw_prefix()) for _ in range(PAIRS)]
    found = audit(rewriting.draw_each_token, texts, **rewriting.STOP_WORDS_KEPT.claim)
    assert found.status == "not refuted"
    assert 0.2 * found.claim < found.lower_bound
    sets = [[write_text(random) for _ in range(int(random.integers(1, 9)))] for _ in range(PAIRS)]
    removed = [(records, records[1:], draw_prefix()) for records in sets]
    assert audit(prediction.draw_from_tilted, removed, **prediction.SHARED_PADDING.claim).lower_bound == 0
    found = audit(prediction.REFERENCE.law, removed, **prediction.SHARED_PADDING.claim)
    assert found.status == "not refuted"
    assert 0.5 * found.claim < found.lower_bound


def test_the_worst_rows_of_private_prediction():
    """Rows at the clip, of opposite signs, keep the claim."""

    def compute_row(record, _):
        signs = {"up": 1.0, "down": -1.0}
        return np.array([signs.get(record, 0.0) * 50, 0.0, 0.0])

    for epsilon, places in ((1.0, 8), (4.0, 3), (10.0, 1)):
        reference = PrivatePrediction(compute_row, epsilon, 1e-5, 100, places, key=bytes(32))
        claim = {"claim": "zcdp", "epsilon": epsilon, "delta": 1e-5, "tokens": 100}
        found = dn.audit_language_model(reference.law, [(["up"], []), (["down"], [])], **claim)
        assert found.verdict.status == "not refuted"
        # One record alone moves one token by half of the interval.
        assert 0.3 < found.facts.loss / reference.token_epsilon < 1


def test_the_table_of_private_prediction():
    """The largest ratio of the table, found anew over all pairs of sums, is just within the token's epsilon."""
    reference = PrivatePrediction(toy.compute_one, 1.0, 1e-5, 100, places=2)
    factors, steps = reference.factors.astype(float), 256
    assert len(factors) == 2 * 2 * steps + 1
    largest = max(
        abs(math.log(factors[i] / factors[j])) for i in range(len(factors)) for j in range(max(i - steps, 0), i)
    )
    assert 0.99 < 2 * largest / reference.token_epsilon <= 1
    assert reference.token_epsilon**2 / 8 * 100 == pytest.approx(compute_zcdp_rho(1.0, 1e-5))


def test_places_do_not_depend_on_others():
    """A record that comes or goes changes one place of one text, whatever its order; equal records share a place."""
    reference = prediction.REFERENCE
    records = [f"record {number}" for number in range(40)]
    before = reference.arrange(records, texts=20)
    assert before == reference.arrange(records[::-1], texts=20)
    assert 20 < sum(map(len, before)) < 40
    for left_out in records:
        after = reference.arrange([record for record in records if record != left_out], texts=20)
        changed = [(set(one), set(two)) for one, two in zip(before, after, strict=True) if one != two]
        assert len(changed) <= 1
        assert all(len(one ^ two) == 1 for one, two in changed)
    assert reference.arrange(["a", "a"]) == [[]]


def test_texts_follow_the_key():
    """The same key writes the same texts, another key others; each has at most T tokens and no end."""
    records = [f"the patient number {number} came back" for number in range(30)]

    def write(key):
        return PrivatePrediction(toy.compute_one, 10.0, 1e-5, 12, key=bytes([key]) * 32).write(records, texts=3)

    texts = write(1)
    assert texts == write(1) != write(2)
    assert len(texts) == 3
    assert all(len(text) <= 12 and 0 not in text for text in texts)


def test_draws_follow_the_weights():
    """First tokens of many texts without records have the frequencies of the public law."""
    reference = PrivatePrediction(toy.compute_one, 1.0, 1e-5, 1, key=bytes(32))
    drawn = [text[0] if text else 0 for text in reference.write([], texts=4_000)]
    expected = 4_000 * special.softmax(toy.compute_one(None, ()))
    counts = np.bincount(drawn, minlength=toy.VOCABULARY)
    common = expected > 5
    assert ((counts - expected)[common] ** 2 / expected[common]).sum() < 2 * common.sum()


def test_padding_moves_the_public_row():
    """In one batch the public row depends on the width; alone it does not."""
    short, long = toy.read_tokens("a b c"), toy.read_tokens("a b c d e f g h")
    public = toy.make_prompt(None, ())
    rows = [toy.compute_logits([public + other, public])[1] for other in (short, long)]
    assert 0 < np.abs(rows[0] - rows[1]).max() < 0.5


def test_bfloat16():
    """Values are rounded to 8 bits, ties to even."""
    values = np.array([1.0, 1 + 2**-8, 1 + 3 * 2**-8, -3.14159, 0.0])
    assert toy.round_to_bfloat16(values).tolist() == [1.0, 1.0, 1 + 2**-6, -3.140625, 0.0]


def test_delta_of_one_order():
    """Two laws within order 2 of the public one differ by hundreds of times the delta; bounded losses do not."""
    found = dn.audit_language_model(
        fusion.draw_within_one_order, fusion.SINGLE_ORDER.pairs, **fusion.SINGLE_ORDER.claim
    )
    assert found.facts.delta > 500 * 1e-5
    mended = dn.audit_language_model(
        fusion.draw_within_all_orders, fusion.SINGLE_ORDER.pairs, **fusion.SINGLE_ORDER.claim
    )
    assert mended.facts.delta == 0
    assert 0.5 * 13.52 < mended.facts.loss <= 13.52


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ({"epsilon": 0}, "0"),
        ({"delta": 0}, "0"),
        ({"tokens": 0}, "0"),
        ({"places": 1.5}, "1.5"),
        ({"temperature": -1}, "-1"),
    ],
)
def test_numbers_out_of_range(changes, value):
    """Parameters outside their domain are refused."""
    with refuses(value):
        PrivatePrediction(toy.compute_one, **{"epsilon": 1.0, "delta": 1e-5, "tokens": 10} | changes)

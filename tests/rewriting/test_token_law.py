"""The law of one token: no two rows of logits lose more than epsilon, in integers, all rounding in it."""

import decimal
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.rewriting.token_law import (
    DRAW_TOTAL,
    ExponentialTokenLaw,
    MixedTokenLaw,
    compute_log_ratio,
    count_draw_values,
    draw_tokens,
)
from tests.refusals import refuses
from tests.rewriting.untrained import untrained

LAWS = (ExponentialTokenLaw, MixedTokenLaw)
START, END, UNKNOWN = 1, 2, 3
finite = st.floats(allow_nan=False, allow_infinity=False)
logits = st.one_of(finite, st.floats(-40, 40), st.sampled_from([0.0, -10.0, 10.0, 1e308, -1e308]))
epsilons = st.one_of(st.floats(1e-9, 60), st.sampled_from([1e-12, 0.1, 1.0, 5.0, 30.0, 1e6]))
tables = st.integers(1, 7).flatmap(
    lambda count: st.lists(st.lists(logits, min_size=count, max_size=count), min_size=2, max_size=4)
)


def power(epsilon):
    """Return a rational number just above e^epsilon, by arithmetic of its own."""
    with decimal.localcontext(decimal.Context(prec=90)):
        return Fraction(decimal.Decimal(min(epsilon, 100.0)).exp()) * (1 + Fraction(1, 10**80))


def worst(counts):
    """Return the largest quotient of two rows' chances of one token."""
    pairs = itertools.permutations(counts, 2)
    return max(Fraction(a, b) for one, other in pairs for a, b in zip(one, other, strict=True))


def check_that_no_two_rows_lose_more(made, rows, epsilon):
    law = made(len(rows[0]), epsilon)
    counts = count_draw_values(law.compute_weights(np.array(rows)))
    assert all(sum(row) == DRAW_TOTAL and min(row) > 0 for row in counts)
    assert worst(counts) <= law.ratio <= power(epsilon)


@settings(max_examples=30)
@given(made=st.sampled_from(LAWS), rows=tables, epsilon=epsilons)
def test_no_two_rows_lose_more_than_epsilon(made, rows, epsilon):
    """Whatever the logits, no token is more than e^epsilon times as likely for one row as for another, exactly."""
    check_that_no_two_rows_lose_more(made, rows, epsilon)


@pytest.mark.deep
@settings(max_examples=300)
@given(made=st.sampled_from(LAWS), rows=tables, epsilon=epsilons)
def test_no_two_of_many_rows_lose_more_than_epsilon(made, rows, epsilon):
    """The same, of many more."""
    check_that_no_two_rows_lose_more(made, rows, epsilon)


@settings(max_examples=30)
@given(
    st.integers(2, 6).flatmap(lambda k: st.tuples(st.just(k), st.lists(st.floats(0, 1), min_size=k, max_size=k))),
    epsilons,
)
def test_the_bound_needs_nothing_of_floating_point(drawn_, epsilon):
    """Any integer weights between the bounds, however they came about, keep the claim against the worst of them."""
    count, shares = drawn_
    law = ExponentialTokenLaw(count, epsilon)
    top = int(law.compute_weights(np.zeros((1, count))).max())
    rows = [[law.min_weight + int(share * (top - law.min_weight)) for share in shares]]
    rows += [[one, *[other] * (count - 1)] for one, other in ((top, law.min_weight), (law.min_weight, top))]
    assert worst(count_draw_values(np.array(rows, dtype=np.int64))) <= law.ratio <= power(epsilon)


@pytest.mark.parametrize("made", LAWS)
@pytest.mark.parametrize("count", [2, 900, pytest.param(20_001, marks=pytest.mark.deep)])
@pytest.mark.parametrize("epsilon", [0.01, 6.0, pytest.param(15.0, marks=pytest.mark.deep)])
def test_the_claim_is_spent(made, count, epsilon):
    """Rows that favour one token, and all others over it, lose epsilon but for a millionth: less noise would not do."""
    law = made(count, epsilon)
    reach = getattr(law, "reach", 1e4)
    rows = np.stack([np.where(np.arange(count) == 0, 0.0, -reach), np.where(np.arange(count) == 0, -reach, 0.0)])
    if made is MixedTokenLaw:
        rows[1, :] = 0.0
        rows[1, 1] = 1e4  # certain of another token
    lost = compute_log_ratio(worst(count_draw_values(law.compute_weights(rows))), round_down=True)
    assert epsilon * (1 - 1e-6) <= lost <= epsilon


@pytest.mark.parametrize("epsilon", [0.01, 6.0, 25.0])
def test_the_theorem_is_beaten(epsilon):
    """The temperature is below the theorem's 2 R / epsilon, and solves the formula of the docstring."""
    law = ExponentialTokenLaw(900, epsilon)
    slope = law.reach / law.temperature
    assert slope >= epsilon / 2
    loss = slope + math.log((1 + 899 * math.exp(slope)) / (math.exp(slope) + 899))
    assert loss == pytest.approx(epsilon, rel=1e-6)
    if epsilon == 25.0:
        assert slope == pytest.approx(epsilon - math.log(899), abs=1e-3)


def test_the_laws_are_a_softmax_and_a_mixture():
    """Logits within the reach are drawn by a softmax of the temperature; or by a softmax and, as told, uniformly."""
    law = ExponentialTokenLaw(4, 3.0)
    rows = np.array([[2.0, 0.0, -8.0, -50.0], [102.0, 100.0, 92.0, 92.0]])
    found = np.array(count_draw_values(law.compute_weights(rows))) / DRAW_TOTAL
    wanted = np.exp(np.array([0.0, -2.0, -10.0, -10.0]) / law.temperature)
    np.testing.assert_allclose(found, [wanted / wanted.sum()] * 2, rtol=1e-9)
    law, shares = MixedTokenLaw(3, 2.0), np.array([0.5, 0.3, 0.2])
    assert law.uniform_share == pytest.approx(3 / (math.exp(2) + 2), rel=1e-12)
    found = np.array(count_draw_values(law.compute_weights(np.log([shares])))[0]) / DRAW_TOTAL
    np.testing.assert_allclose(found, law.uniform_share / 3 + (1 - law.uniform_share) * shares, rtol=1e-12)


@pytest.mark.parametrize(("made", "followed"), [(ExponentialTokenLaw, 0.157), (MixedTokenLaw, 0.962)])
def test_how_often_a_certain_decoder_is_followed(made, followed):
    """Of 868 tokens at epsilon 10 a sure one comes in 16 % of draws by the exponential law, in 96 % by the mixed."""
    weights = made(868, 10.0).compute_weights(np.where(np.arange(868) == 3, 0.0, -1e6)[None])[0]
    assert weights[3] / weights.sum() == pytest.approx(followed, abs=5e-4)


@pytest.mark.parametrize("made", LAWS)
def test_draws_follow_the_chances(made):
    """A token is drawn for the first and the last of its values of the 62 bits, and for none beside them."""
    weights = made(5, 2.5).compute_weights(np.array([[0.3, -7.0, 2.0, 1.99, -300.0]]))
    starts = [0, *itertools.accumulate(count_draw_values(weights)[0])]
    for token, (first, end) in enumerate(itertools.pairwise(starts)):
        words = np.array([first << 2, ((end - 1) << 2) | 3], dtype=np.uint64)
        assert draw_tokens(np.repeat(weights, 2, axis=0), words).tolist() == [token, token]


def test_each_row_has_its_own_word():
    """Rows are drawn independently: the word of one decides nothing of another."""
    weights = np.array([[1, 1], [1, 3]], dtype=np.int64)
    words = np.array([[0, 0], [2**63, 2**62], [2**64 - 1, 2**62 - 1]], dtype=np.uint64)
    assert [draw_tokens(weights, pair).tolist() for pair in words] == [[0, 0], [1, 1], [1, 0]]


@torch.inference_mode()
def compute_whole_law(method, text):
    """Return the probability of every row of tokens that can come out for a text, from the chances of each draw."""
    network = method.model.network
    given_vector = torch.from_numpy(method.model.encode([text]).astype(np.float32))
    law = {}

    def extend(row, chance, previous, state):
        if len(row) == method.draw_limit:
            law[row] = chance
            return
        scores, state = network.step(torch.tensor([previous]), given_vector, state)
        drawable = [END, *range(UNKNOWN + 1, scores.shape[1])]
        counts = count_draw_values(method.law.compute_weights(scores[:, drawable].numpy().astype(np.float64)))[0]
        for token, count in zip(drawable, counts, strict=True):
            if token == END:
                law[row] = chance * (count / DRAW_TOTAL)
            else:
                extend((*row, token), chance * (count / DRAW_TOTAL), token, state)

    extend((), 1.0, START, network.make_initial_state(given_vector))
    return law


@pytest.mark.parametrize("kind", ["tokens", "tokens-mixed"])
@pytest.mark.parametrize("epsilon", [4.0, *(pytest.param(epsilon, marks=pytest.mark.deep) for epsilon in (0.5, 30.0))])
def test_whole_texts_keep_epsilon(kind, epsilon):
    """Over all texts that can come out, of every length, no two private texts lose more than epsilon in all.

    The network's weights are blown up, so that its logits lie far apart and the loss is not lost in noise.
    """
    method = dn.rewriting_method(kind, untrained(["show", "me"], limit=3, sharp=40.0), epsilon=epsilon)
    laws = [compute_whole_law(method, text) for text in ("", "show", "me me", "show me show", "zork")]
    for law in laws:
        assert sum(law.values()) == pytest.approx(1.0, abs=1e-9)
        assert len(law) == 1 + 2 + 4 + 8
    lost = max(math.log(one[text] / other[text]) for one, other in itertools.permutations(laws, 2) for text in one)
    assert 0.2 * epsilon < lost <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize("kind", ["tokens", "tokens-mixed"])
def test_texts_follow_the_law(kind):
    """Texts come out as often as the law of whole texts says, within what 3,000 draws show, and not 30 % more often."""
    model = untrained(["show", "me"], limit=2, sharp=20.0)
    method, count = dn.rewriting_method(kind, model, epsilon=4.0, seed=1), 3_000
    law = compute_whole_law(method, "show me")
    texts = method.rewrite(["show me"] * count)
    for row, chance in law.items():
        deviation = math.sqrt(count * chance * (1 - chance))
        assert abs(texts.count(model.vocabulary.to_text(row)) - count * chance) <= 5.5 * deviation + 1
    row, chance = max(law.items(), key=lambda entry: entry[1])
    apart = texts.count(model.vocabulary.to_text(row)) - 1.3 * count * chance
    assert abs(apart) > 4 * math.sqrt(count * chance * (1 - chance))


@pytest.mark.parametrize("made", LAWS)
@pytest.mark.parametrize(
    ("count", "epsilon", "value"),
    [
        *((10, epsilon, epsilon) for epsilon in (0, -1.0, math.nan, math.inf, None, True)),
        *((count, 1.0, count) for count in (0, -1, 2.0, True, 1 << 17)),
        (1000, 1e-17, "62-bit"),
    ],
)
def test_laws_that_cannot_be(made, count, epsilon, value):
    """An epsilon that is no positive number or that integers cannot keep, and too many tokens, are refused."""
    with refuses(value):
        made(count, epsilon)
    with refuses(0.0):
        ExponentialTokenLaw(10, 1.0, reach=0.0)


@settings(max_examples=30)
@given(st.fractions(1, 10**6))
def test_losses_are_rounded_the_right_way(ratio):
    """A logarithm is rounded up, and down where a lower bound is asked for, and by little."""
    above, below = compute_log_ratio(ratio), compute_log_ratio(ratio, round_down=True)
    with decimal.localcontext(decimal.Context(prec=40)):
        true = (decimal.Decimal(ratio.numerator) / decimal.Decimal(ratio.denominator)).ln()
    assert below <= true <= above
    assert above - below <= 1e-15 * (1 + above)

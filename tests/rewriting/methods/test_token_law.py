"""The law of one token: no two rows of logits lose more than epsilon, in integers, all rounding in it."""

import decimal
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from deniable.rewriting.methods.token_law import (
    DRAW_TOTAL,
    ExponentialTokenLaw,
    MixedTokenLaw,
    compute_log_ratio,
    count_draw_values,
    draw_tokens,
)

LAWS = (ExponentialTokenLaw, MixedTokenLaw)
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


def extremes(count, law):
    """Return rows that favour the first token over all others, and all others over it."""
    reach = getattr(law, "reach", 1e4)
    favoured = np.where(np.arange(count) == 0, 0.0, -reach)
    return np.stack([favoured, -reach - favoured])


@pytest.mark.parametrize("made", LAWS)
@given(rows=tables, epsilon=epsilons)
def test_no_two_rows_lose_more_than_epsilon(made, rows, epsilon):
    """Whatever the logits, no token is more than e^epsilon times as likely for one row as for another, exactly."""
    law = made(len(rows[0]), epsilon)
    counts = count_draw_values(law.compute_weights(np.array(rows)))
    assert all(sum(row) == DRAW_TOTAL and min(row) > 0 for row in counts)
    assert worst(counts) <= law.ratio <= power(epsilon)


@given(
    st.integers(2, 6).flatmap(lambda k: st.tuples(st.just(k), st.lists(st.floats(0, 1), min_size=k, max_size=k))),
    epsilons,
)
def test_the_bound_needs_nothing_of_floating_point(drawn_, epsilon):
    """Any integer weights between the bounds, however they came about, keep the claim against the worst of them."""
    count, shares = drawn_
    law = ExponentialTokenLaw(count, epsilon)
    top = int(law.compute_weights(np.zeros((1, count))).max())
    any_weights = [law.min_weight + int(share * (top - law.min_weight)) for share in shares]
    rows = [
        any_weights,
        *(
            np.where(np.eye(count, dtype=bool)[0], *pair).tolist()
            for pair in ((top, law.min_weight), (law.min_weight, top))
        ),
    ]
    assert worst(count_draw_values(np.array(rows, dtype=np.int64))) <= law.ratio <= power(epsilon)


@pytest.mark.parametrize("made", LAWS)
@pytest.mark.parametrize("count", [2, 30, 900, 20_001])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 6.0, 15.0])
def test_the_claim_is_spent(made, count, epsilon):
    """Rows that favour one token, and all others over it, lose epsilon but for a millionth: less noise would not do."""
    law = made(count, epsilon)
    rows = extremes(count, law)
    if made is MixedTokenLaw:
        rows[1, :] = 0.0
        rows[1, 1] = 1e4  # certain of another token
    lost = compute_log_ratio(worst(count_draw_values(law.compute_weights(rows))), round_down=True)
    assert epsilon * (1 - 1e-6) <= lost <= epsilon


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 6.0, 15.0, 25.0])
def test_the_theorem_is_beaten(epsilon):
    """The temperature is below the theorem's 2 R / epsilon, and solves the formula of the docstring."""
    law = ExponentialTokenLaw(900, epsilon)
    slope = law.reach / law.temperature
    assert slope >= epsilon / 2
    loss = slope + math.log((1 + 899 * math.exp(slope)) / (math.exp(slope) + 899))
    assert loss == pytest.approx(epsilon, rel=1e-6)
    if epsilon == 25.0:
        assert slope == pytest.approx(epsilon - math.log(899), abs=1e-3)


def test_the_exponential_law_is_a_softmax():
    """Logits within the reach are drawn by a softmax of the temperature; those below count as if at its end."""
    law = ExponentialTokenLaw(4, 3.0)
    rows = np.array([[2.0, 0.0, -8.0, -50.0], [102.0, 100.0, 92.0, 92.0]])
    found = np.array(count_draw_values(law.compute_weights(rows))) / DRAW_TOTAL
    wanted = np.exp(np.array([0.0, -2.0, -10.0, -10.0]) / law.temperature)
    np.testing.assert_allclose(found, [wanted / wanted.sum()] * 2, rtol=1e-9)


def test_the_mixed_law_is_a_mixture():
    """A token is drawn by the softmax, or uniformly with the share that is told."""
    law = MixedTokenLaw(3, 2.0)
    assert law.uniform_share == pytest.approx(3 / (math.exp(2) + 2), rel=1e-12)
    found = np.array(count_draw_values(law.compute_weights(np.log([[0.5, 0.3, 0.2]])))[0]) / DRAW_TOTAL
    np.testing.assert_allclose(
        found, law.uniform_share / 3 + (1 - law.uniform_share) * np.array([0.5, 0.3, 0.2]), rtol=1e-12
    )


@pytest.mark.parametrize("epsilon", [0.5, 4.0, 10.0])
def test_the_mixed_law_follows_a_certain_decoder_more_often(epsilon):
    """A decoder that is certain is followed as often as randomized response allows, and more than exponentially."""
    row = np.array([[0.0, *[-1e4] * 899]])
    followed = [count_draw_values(made(900, epsilon).compute_weights(row))[0][0] / DRAW_TOTAL for made in LAWS]
    assert followed[1] == pytest.approx(math.exp(epsilon) / (math.exp(epsilon) + 899), rel=1e-9)
    assert followed[0] < followed[1]


@pytest.mark.parametrize(("law", "followed"), [(ExponentialTokenLaw, 0.157), (MixedTokenLaw, 0.962)])
def test_how_often_a_certain_decoder_is_followed(law, followed):
    """Of 868 tokens at epsilon 10 a sure one comes in 16 % of draws by the exponential law, in 96 % by the mixed."""
    sure = np.full((1, 868), -1e6)
    sure[0, 3] = 0.0
    weights = law(868, 10.0).compute_weights(sure)[0]
    assert weights[3] / weights.sum() == pytest.approx(followed, abs=5e-4)


@pytest.mark.parametrize("made", LAWS)
def test_draws_follow_the_chances(made):
    """A token is drawn for the first and the last of its values of the 62 bits, and for none beside them."""
    law = made(5, 2.5)
    weights = law.compute_weights(np.array([[0.3, -7.0, 2.0, 1.99, -300.0]]))
    counts = count_draw_values(weights)[0]
    starts = [0, *itertools.accumulate(counts)]
    for token, (first, end) in enumerate(itertools.pairwise(starts)):
        words = np.array([first << 2, ((end - 1) << 2) | 3], dtype=np.uint64)
        assert draw_tokens(np.repeat(weights, 2, axis=0), words).tolist() == [token, token]


def test_each_row_has_its_own_word():
    """Rows are drawn independently: the word of one decides nothing of another."""
    weights = np.array([[1, 1], [1, 3]], dtype=np.int64)
    words = np.array([[0, 0], [2**63, 2**62], [2**64 - 1, 2**62 - 1]], dtype=np.uint64)
    assert [draw_tokens(weights, pair).tolist() for pair in words] == [[0, 0], [1, 1], [1, 0]]


@pytest.mark.parametrize("made", LAWS)
@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, math.inf, "1", None, True])
def test_bad_epsilon(made, epsilon):
    """An epsilon that is no positive number is refused."""
    with pytest.raises(dn.InputError, match="'epsilon' parameter of tokens"):
        made(10, epsilon)


@pytest.mark.parametrize("made", LAWS)
def test_an_epsilon_below_all_bits(made):
    """An epsilon that integer weights cannot keep is refused in one line, not granted more."""
    with pytest.raises(dn.InputError, match="below what 62 bits can tell: choose a larger one"):
        made(1000, 1e-17)


@pytest.mark.parametrize("made", LAWS)
@pytest.mark.parametrize("count", [0, -1, 2.0, True, 1 << 17])
def test_bad_count(made, count):
    """Only so many tokens can be drawn from."""
    with pytest.raises(dn.InputError, match="'count' parameter of tokens"):
        made(count, 1.0)


def test_bad_reach():
    """The reach of the exponential law is a positive number."""
    with pytest.raises(dn.InputError, match="'reach' parameter of tokens"):
        ExponentialTokenLaw(10, 1.0, reach=0.0)


@given(st.fractions(1, 10**6))
def test_losses_are_rounded_the_right_way(ratio):
    """A logarithm is rounded up, and down where a lower bound is asked for, and by little."""
    above, below = compute_log_ratio(ratio), compute_log_ratio(ratio, round_down=True)
    with decimal.localcontext(decimal.Context(prec=40)):
        true = (decimal.Decimal(ratio.numerator) / decimal.Decimal(ratio.denominator)).ln()
    assert below <= true <= above
    assert above - below <= 1e-15 * (1 + above)

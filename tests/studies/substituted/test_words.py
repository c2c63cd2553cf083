"""Tables and comparisons: they say what the data say, and change when the data do."""

import numpy as np
import pytest
from scipy.stats import binomtest

from deniable.studies import robust_imdb
from deniable.studies.substituted.findings import _ahead, _epsilons
from deniable.studies.substituted.plan import GUMBEL, IBP, LAPLACE, NORMAL
from deniable.studies.substituted.series import Found, compared, found, near
from deniable.studies.substituted.words import table
from tests.studies.substituted.results import TEXTS, known, results

PLAN = robust_imdb.PLAN


def rows(data):
    return {row.paper: row for row in table(PLAN, data)}


def row(data, words):
    (only,) = [one for paper, one in rows(data).items() if words in paper]
    return only


@pytest.mark.parametrize(("right", "outcome"), [(179, "agrees"), (120, "does not agree"), (200, "does not agree")])
def test_a_level_agrees_where_the_intervals_meet(right, outcome):
    """Normal training's 89.5 % of 1,000 texts agrees with 179 of 200 texts, and not with 120 or all of them."""
    held = row(results(LAPLACE, {}, clean=(right, 162)), "Normal training")
    assert held.outcome == outcome
    assert f"{right / 2:.1f} %" in held.ours


def test_near_is_two_sided():
    """A share agrees with percentages whose own interval meets its own, from below and from above."""
    ours = Found(0.5, 0.4, 0.6, 100)
    assert [near(ours, percent, 1_000) for percent in (36.0, 38.0, 62.0, 64.0)] == [False, True, True, False]


def test_models_are_compared_on_the_same_texts():
    """Of two models the one that is right on more of the texts on which they differ is ahead, by an exact test."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        hits = rng.random((2, 64)) < rng.uniform(0.3, 0.9, (2, 1))
        first, second = (Found(0.0, 0.0, 1.0, 64, np.packbits(one).tobytes().hex()) for one in hits)
        wins, losses = int((hits[0] & ~hits[1]).sum()), int((~hits[0] & hits[1]).sum())
        sure = binomtest(wins, wins + losses).pvalue < 0.05
        expected = "undecided" if not sure else "ahead" if wins > losses else "behind"
        assert compared(first, second) == expected
    assert compared(first, first) == "undecided"


@pytest.mark.parametrize(
    ("shares", "outcome", "told"),
    [
        ({20.0: (60, 20), 200.0: (140, 178)}, "agrees", "ahead at 200, behind at 20"),
        ({20.0: (20, 60), 200.0: (178, 140)}, "does not agree", "ahead at 20, behind at 200"),
        ({20.0: (60, 20), 200.0: (178, 140)}, "agrees in part", "behind at 20, 200"),
        ({200.0: (150, 151)}, "agrees in part", "undecided at 200"),
    ],
)
def test_a_claim_is_checked_by_the_data(shares, outcome, told):
    """That augmented training is ahead only above 150 agrees where it is ahead above, and not ahead below."""
    data = results(LAPLACE, shares)
    held = row(data, "only when epsilon > 150")
    assert held.outcome == outcome
    assert told in held.ours
    assert any(told in line for line in _ahead(data))


def test_an_epsilon_below_the_least_one():
    """A point without a law is named with the least epsilon, in the table and in the findings, and is no error."""
    data = results(GUMBEL, {10.0: (70, 70)}, mechanisms=[known(GUMBEL, 2.0, below=True)])
    (line,) = _epsilons(data)
    assert "2 is below the least epsilon of the mechanism, 30" in line
    data = results(GUMBEL, {10.0: (70, 70)}, mechanisms=[known(GUMBEL, 4.67, below=True)])
    assert "4.67: below the least epsilon of the mechanism, 30" in row(data, "IBP under the genetic attack").ours


@pytest.mark.parametrize(
    ("claims", "outcome"),
    [(("proved",), "agrees"), (("proved", "not refuted"), "agrees in part"), (("refuted",), "does not agree")],
)
def test_the_theorem_stands_as_the_verdicts_say(claims, outcome):
    """Theorem 1 agrees where every claim is proved, not where one is refuted, and what is spent is shown."""
    facts = [known(GUMBEL, 10.0 + at, claim=claim, spent=7.25) for at, claim in enumerate(claims)]
    held = row(results(GUMBEL, {}, mechanisms=facts), "Theorem 1")
    assert held.outcome == outcome
    assert "7.25 spent where 2.203e+04 is claimed" in held.ours


def test_what_was_not_measured_has_no_row():
    """Statements that a run does not reach are left out."""
    papers = rows(results(LAPLACE, {}))
    assert not any("Table 2" in paper or "Table 3" in paper for paper in papers)
    assert found(results(LAPLACE, {}), IBP, "genetic", LAPLACE, 20.0) is None
    assert found(results(LAPLACE, {}), NORMAL, "clean").count == TEXTS

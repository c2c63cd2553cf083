"""Rows and statements: what is selected, how it is judged, and how numbers are kept and shown."""

import itertools
import math
import re

import pytest

from deniable.measure.intervals import as_exact_estimate, estimate_share
from studies import STUDIES
from studies.rows import Results, Row, at, find_row, format_rows, read_results, row_of, rows_of
from studies.study import Metric, Statement, above, below, between, combine_outcomes, infinite, near
from tests.refusals import refuses

ROWS = (
    Row("a", 1.0, "m", 0.5, 0.4, 0.6, 10),
    Row("a", 2.0, "m", 0.9, 0.85, 0.95, 10),
    Row("b", 1.0, "m", 0.55, 0.45, 0.65, 10),
    Row("b", 2.0, "m", 0.7, 0.6, 0.8, 10),
    Row("a", 1.0, "other", math.inf),
    Row("whole", None, "m", 0.25),
)


def judge(selection, expectation, also=()):
    return Statement("", selection, expectation, also).judge(ROWS)


@pytest.mark.parametrize(
    ("expectation", "outcome"),
    [
        (near(0.5), "agrees"),
        (near(0.58, 0.1), "agrees"),
        (near(0.7, 0.1), "undecided"),
        (near(0.8, 0.1), "does not agree"),
        (above(0.3), "agrees"),
        (above(0.45), "undecided"),
        (above(0.55), "undecided"),
        (above(0.6), "does not agree"),
        (above(0.3, by=0.15), "undecided"),
        (below(0.7), "agrees"),
        (below(0.55), "undecided"),
        (below(0.45), "undecided"),
        (below(0.4), "does not agree"),
        (between(0.3, 0.7), "agrees"),
        (between(0.45, 0.7), "undecided"),
        (between(0.55, 0.7), "undecided"),
        (between(0.61, 0.7), "does not agree"),
        (infinite(), "does not agree"),
    ],
)
def test_outcomes_follow_from_intervals(expectation, outcome):
    """A number agrees where its whole interval is as expected, does not where none of it is, else is undecided."""
    assert judge(at("a", 1, "m"), expectation) == outcome


def test_comparisons_are_made_place_by_place():
    """A row is compared with the row beside it; one of two places decides nothing alone."""
    assert judge(at("a", 2, "m"), above(at("b"))) == "agrees"
    assert judge(at("a", 1, "m"), above(at("b"))) == "undecided"
    assert judge(at("a", metric="m"), above(at("b"))) == "agrees in part"
    assert judge(at("b", 1, "m"), near(at("a"), 0.06)) == "agrees"
    assert judge(at("whole"), above(at("nobody"))) == "not measured"


def test_a_universal_statement_falls_with_one_row():
    """A statement about every case agrees where all rows do, and does not agree where one row is against it."""
    assert Statement("", at("a", metric="m"), above(at("b")), is_universal=True).judge(ROWS) == "undecided"
    assert Statement("", at("a", metric="m"), above(0.6), is_universal=True).judge(ROWS) == "does not agree"
    assert Statement("", at("a", metric="m"), above(0.3), is_universal=True).judge(ROWS) == "agrees"
    assert Statement("", at("a", 1, "m"), above(0.45), is_universal=True).judge(ROWS) == "undecided"


@pytest.mark.parametrize("is_universal", [False, True])
@pytest.mark.parametrize(
    "outcomes", list(itertools.product(("agrees", "undecided", "does not agree"), repeat=3)), ids=" ".join
)
def test_one_rule_for_all_outcomes(outcomes, is_universal):
    """A statement agrees where all rows do, in part only where one does, and a universal one never in part."""
    outcome = combine_outcomes(outcomes, is_universal=is_universal)
    assert (outcome == "agrees") == (set(outcomes) == {"agrees"})
    in_part = not is_universal and "agrees" in outcomes and set(outcomes) != {"agrees"}
    assert (outcome == "agrees in part") == in_part
    if not in_part:
        assert (outcome == "does not agree") == ("does not agree" in outcomes)


@pytest.mark.parametrize("study", STUDIES.values(), ids=lambda study: study.name)
def test_theorems_and_guarantees_are_universal(study):
    """What a paper proves, guarantees or says of any case is declared so, and so never agrees in part."""
    for statement in study.statements:
        if re.search(r"Theorem|Lemma|-DP\b|-private\b|differentially private|only when|any mechanism", statement.text):
            assert statement.is_universal, statement.text


def test_infinite_numbers():
    """Infinite numbers equal themselves alone."""
    assert judge(at("a", 1, "other"), infinite()) == "agrees"
    assert judge(at("a", 1, "other"), above(1e9)) == "agrees"
    assert judge(at("a", 1, "other"), near(1e9, 1.0)) == "does not agree"


def test_several_checks_are_one_outcome():
    """A statement agrees where all of its checks do; nothing measured is no outcome."""
    assert judge(at("a", 1, "m"), above(0.3), also=((at("b", 1, "m"), above(0.3)),)) == "agrees"
    assert judge(at("a", 1, "m"), above(0.3), also=((at("b", 1, "m"), above(0.9)),)) == "agrees in part"
    assert judge(at("nobody"), above(0.3)) == "not measured"
    assert combine_outcomes([]) == "not measured"


def test_selections():
    """What is not named selects all, and places are the same up to rounding."""
    assert len(at().select(ROWS)) == len(ROWS)
    assert [row.curve for row in at(("a", "b"), 2 * (1 + 1e-9), "m").select(ROWS)] == ["a", "b"]
    assert at(x=(1.0, 2.0)).select(ROWS) == list(ROWS[:5])
    assert find_row(ROWS, "whole", None, "m") == ROWS[-1]
    assert find_row(ROWS, "whole", 1.0, "m") is None


@pytest.mark.parametrize(
    ("spec", "value", "shown"),
    [
        (".1%", 0.756, "75.6%"),
        (".1%", 1.0, "100.0%"),
        (".1%", 0.99999, "99.999%"),
        (".1%", 1e-6, "0.0001%"),
        (".1%", 0.0, "0.0%"),
        (".3f", 0.5, "0.500"),
        (",.0f", 12345, "12,345"),
        (".4g", math.inf, "infinite"),
    ],
)
def test_numbers_are_shown(spec, value, shown):
    """A share never looks like all or nothing unless it is."""
    assert Metric("m", spec).show(value) == shown


def test_estimates_become_rows():
    """An estimate keeps its interval and count, an exact number has neither."""
    assert row_of("a", 1.0, "m", as_exact_estimate(0.5)) == Row("a", 1.0, "m", 0.5)
    measured = row_of("a", 1.0, "m", estimate_share(3, 10))
    assert (measured.value, measured.n) == (0.3, 10)
    assert measured.low < 0.3 < measured.high
    assert rows_of("a", 2.0, true_loss=1, refuted=True) == [
        Row("a", 2.0, "true loss", 1.0),
        Row("a", 2.0, "refuted", 1.0),
    ]


def test_rows_are_read_back(tmp_path):
    """A file of rows says what was written, infinite numbers and missing places included."""
    (tmp_path / "x.csv").write_text(format_rows(ROWS))
    (tmp_path / "x.json").write_text('{"seed": 3}')
    assert read_results(tmp_path, "x") == Results(ROWS, {"seed": 3})


def test_one_row_for_each_number():
    """Two rows with one curve, place and metric are a mistake of the study."""
    with refuses("'m'", ValueError):
        format_rows([ROWS[0], ROWS[0]])


@pytest.mark.parametrize(
    "table",
    [
        None,
        "a,b\n1,2\n",
        "curve,x,metric,value,low,high,n\na,1,m\n",
        "curve,x,metric,value,low,high,n\na,1,m,word,,,0\n",
        "",
    ],
)
def test_damaged_rows(tmp_path, table):
    """A file that is missing or damaged is named in one line."""
    (tmp_path / "x.json").write_text("{}")
    if table is not None:
        (tmp_path / "x.csv").write_text(table)
    with refuses("x.csv"):
        read_results(tmp_path, "x")

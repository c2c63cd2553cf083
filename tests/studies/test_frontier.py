"""The study of the frontier from end to end, and its table and figure on numbers that are made up."""

import pytest

from deniable.core.errors import InputError
from deniable.studies import Setting, conduct, frontier
from deniable.studies.frontiers import figure, words
from deniable.studies.utility.bench import BASELINE, LAPLACE
from tests.studies.sizes import FRONTIER

LEVEL = (0.6, 0.7, 0.8)
"""Accuracies at epsilons of 1, 3 and 6, where 15, 50 and 90 % of words are named."""
_CLAIMED = {"tem": 1.5}
"""What TEM claims of what it spends."""


def cell(name, accuracy, *, epsilon, success, status="proved"):
    """Return one point as the study gives it."""
    found = {"mean": accuracy, "low": accuracy - 0.01, "high": accuracy + 0.01, "trials": [accuracy]}
    facts = {"status": status, "proven epsilon": epsilon, "attacker": {"value": success}}
    claimed = _CLAIMED.get(name, 1.0) * epsilon
    return {"mechanism": name, "epsilon": claimed, "accuracy": found, **facts}


def made_up(**gains):
    """Return data in which each mechanism is ahead of `HALF_GREY_LEVEL` by its gain; those without one are left out."""
    points = [{"mechanism": BASELINE, "epsilon": None, "accuracy": {"mean": 0.88, "low": 0.87, "high": 0.89}}]
    for name, gain in gains.items():
        status = "claimed" if name == "truncated_gumbel" else "proved"
        for accuracy, epsilon, success in zip(LEVEL, (1.0, 3.0, 6.0), (0.15, 0.5, 0.9), strict=True):
            known = {"epsilon": epsilon, "success": success, "status": status}
            points.append(cell(name.replace("_", "-"), accuracy + gain, **known))
    return {"points": points, "vocabulary": 60, "trials": 1}


def outcomes(**gains):
    """Return the outcomes of the seven statements."""
    return [row.outcome for row in words.table(made_up(**gains))]


@pytest.fixture(scope="module")
def run(study_data, tmp_path_factory):
    """Return the report of a tiny run."""
    return conduct(frontier.STUDY, tmp_path_factory.mktemp("out"), Setting(0, study_data), sizes=FRONTIER)


def test_points(run):
    """There is a baseline and one point for each cell of the grid, in its order, with accuracies of all trials."""
    points = run.result.data["points"]
    cells = [(name, epsilon) for name, epsilons in FRONTIER.grid for epsilon in epsilons]
    assert [(point["mechanism"], point["epsilon"]) for point in points] == [(BASELINE, None), *cells]
    for point in points:
        assert len(point["accuracy"]["trials"]) == 2
        assert 0 <= point["accuracy"]["low"] <= point["accuracy"]["mean"] <= point["accuracy"]["high"] <= 1
    shares = {(point["mechanism"], point["epsilon"]): point["attacker"]["value"] for point in points[1:]}
    assert shares["tem", 2.0] < shares["tem", 6.0]
    assert run.result.data["words"]["TR1"] == 20 * 21
    assert len(run.result.table) == 7
    assert all(f"| {row.ours} |" in run.table.read_text() for row in run.result.table)


def test_a_seed_repeats_the_numbers(run, study_data):
    """The same seed gives the same numbers without anything kept, and another one others."""
    assert frontier.run(FRONTIER, Setting(0, study_data)) == run.result
    assert frontier.run(FRONTIER, Setting(1, study_data)).data != run.result.data


def test_a_setting_without_data():
    """What data is needed is said in one line."""
    with pytest.raises(InputError, match=r"^This study needs imdb_train\.parquet: [^\n]*--data DIR\.$"):
        frontier.run(FRONTIER, Setting(0))


def test_between_points():
    """Between two points an accuracy is read off a straight line, at a point it is its own, beyond them unknown."""
    data = made_up(tem=0.0, truncated_gumbel=0.0)
    assert words.at(data, "tem", "epsilon", 1.0) == pytest.approx(0.6)
    assert words.at(data, "tem", "epsilon", 2.0) == pytest.approx(0.65)
    assert words.at(data, "tem", "claim", 3.0) == pytest.approx(0.65)
    assert words.at(data, "tem", "success", 0.7) == pytest.approx(0.75)
    for axis, places in (("epsilon", (0.99, 6.01)), ("success", (0.1, 0.91))):
        assert [words.at(data, "tem", axis, place) for place in places] == [None, None]
    assert words.at(data, "truncated-gumbel", "epsilon", 2.0) is None
    assert words.at(data, "truncated-gumbel", "success", 0.5) == pytest.approx(0.7)
    assert words.at(data, "calibrated", "success", 0.5) is None


def test_points_in_any_order():
    """An accuracy between points does not depend on the order in which these were found."""
    data = made_up(tem=0.0)
    back = {**data, "points": data["points"][::-1]}
    assert words.at(back, "tem", "epsilon", 2.0) == words.at(data, "tem", "epsilon", 2.0)


AHEAD = {"multivariate_laplace": -0.1, "tem": 0.0, "truncated_gumbel": 0.0, "calibrated": 0.01, "tight": 0.01}
YES, NO = "agrees", "does not agree"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, [YES, YES, YES, YES, YES, NO, YES]),
        ({"calibrated": 0.05}, [YES, YES, YES, YES, NO, NO, NO]),
        ({"calibrated": -0.1}, [YES, YES, YES, NO, NO, YES, NO]),
        ({"tem": -0.1}, [NO, NO, YES, YES, NO, NO, YES]),
        ({"truncated_gumbel": -0.2}, [YES, YES, NO, YES, YES, NO, YES]),
        ({"tight": 0.06}, [YES, YES, YES, YES, YES, YES, NO]),
    ],
)
def test_outcomes(changed, expected):
    """Each outcome follows who is ahead by more than two points, and who is within them."""
    assert outcomes(**{**AHEAD, **changed}) == expected


def test_ahead_at_some_places():
    """A mechanism that is ahead at some places agrees in part."""
    data = made_up(tem=0.05, multivariate_laplace=0.0)
    last = max((p for p in data["points"] if p["mechanism"] == LAPLACE), key=lambda p: p["epsilon"])
    last["accuracy"]["mean"] = 0.99
    assert words.table(data)[1].outcome == "agrees in part"


def test_nothing_to_compare():
    """Where two mechanisms have no point in common the table says so, and agrees with nothing."""
    rows = words.table(made_up(calibrated=0.0))
    assert all("no point at which both are known" in row.ours for row in rows)
    assert [row.outcome for row in rows] == ["does not agree"] * 7
    assert len(words.findings(made_up(calibrated=0.0))) == 1 + 4 + 4


def test_the_table_shows_the_numbers():
    """Table and findings have this run's accuracies at the places named."""
    data = made_up(**AHEAD)
    assert "61.7 against 55.0 % at epsilon 2" in words.table(data)[0].ours
    assert "at 40 % named" in words.table(data)[1].ours
    lines = words.findings(data)
    assert lines[0] == "Trained on the original text the classifier is right on 88.0 %."
    assert "At a proven epsilon of 2, by straight lines between points: " in lines[2]
    assert "truncated-gumbel" not in lines[2]
    assert "tem 65.0 %, calibrated 66.0 %" in lines[2]


@pytest.mark.parametrize("gains", [AHEAD, {"tem": 0.0}, {"truncated_gumbel": 0.0}, {}])
def test_the_figure(gains):
    """The figure draws whatever mechanisms there are, the baseline in both panels, claims without proof in one."""
    drawn = figure.draw(made_up(**gains))
    left, right = drawn.axes
    assert len(right.get_lines()) == 2 + len(gains)
    assert len(left.get_lines()) == 2 + len([name for name in gains if name != "truncated_gumbel"])
    assert [axes.get_lines()[0].get_ydata()[0] for axes in (left, right)] == [0.88, 0.88]
    drawn.canvas.draw()

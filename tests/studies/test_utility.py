"""The study of utility from end to end, and its table and figure on numbers that are made up."""

import itertools
import json
import math

import numpy as np
import pytest

import deniable as dn
from deniable.core.errors import InputError
from deniable.core.intervals import estimate_mean
from deniable.studies import Setting, conduct, tem_utility
from deniable.studies.corpora import Corpus
from deniable.studies.laplace import QuickLaplace
from deniable.studies.ledger import Ledger
from deniable.studies.utility import bench, figure, words
from tests.studies.sizes import UTILITY

MECHANISMS = tem_utility.MECHANISMS


def share(value, half=0.01):
    """Return what a summary tells of one share."""
    return {"mean": value, "low": value - half, "high": value + half, "trials": [value]}


def cell(name, epsilon, accuracy, auc=0.5, private=0.6):
    """Return one point as the study gives it."""
    found = {"mechanism": name, "epsilon": epsilon, "accuracy": share(accuracy), "AUC": share(auc)}
    if epsilon is None:
        return found
    spent = {"called": name, "words kept": 0.25, "status": "proved", "proven epsilon": epsilon / 2}
    return {**found, **spent, "AUC, private records": share(private), "attacker": {"value": 0.3}}


def made_up(madlib=(0.52, 0.60), tem=(0.75, 0.80), auto=(0.85, 0.86), baseline=0.88, aucs=((0.5, 0.5), (0.5, 0.6))):
    """Return data of two epsilons, 2 and 4: accuracies of each mechanism, AUCs of Madlib and TEM."""
    points = [cell(bench.BASELINE, None, baseline, 0.55)]
    for number, epsilon in enumerate((2.0, 4.0)):
        points.append(cell(bench.LAPLACE, epsilon, madlib[number], aucs[0][number]))
        points.append(cell("tem", epsilon, tem[number], aucs[1][number], 0.7 + number / 10))
        points.append(cell("auto", epsilon, auto[number]))
    return {"points": points, "vocabulary": 60, "trials": 1}


def outcomes(data):
    """Return the outcomes of the six statements."""
    return [row.outcome for row in words.table(data)]


@pytest.fixture(scope="module")
def run(study_data, tmp_path_factory):
    """Return the report of a tiny run."""
    return conduct(tem_utility.STUDY, tmp_path_factory.mktemp("out"), Setting(0, study_data), sizes=UTILITY)


def test_points(run):
    """There is a baseline and one point for each mechanism and epsilon, with shares and what is proved of each."""
    points = run.result.data["points"]
    expected = [(bench.BASELINE, None), *((name, epsilon) for epsilon in (2.0, 4.0) for name in MECHANISMS)]
    assert [(point["mechanism"], point["epsilon"]) for point in points] == expected
    for point in points:
        shares = [point["accuracy"], point["AUC"], *([point["AUC, private records"]] if point["epsilon"] else [])]
        assert all(0 <= found["low"] <= found["mean"] <= found["high"] <= 1 for found in shares)
        assert all(len(found["trials"]) == 2 for found in shares)
        if point["epsilon"]:
            simulated = point["mechanism"] == "multivariate-laplace"
            assert point["status"] == ("proved for ideal arithmetic" if simulated else "proved")
            assert 0 < point["words kept"] < 1
            assert 0 < point["proven epsilon"] <= point["epsilon"]
    assert run.result.data["unknown"]["TR1"] == pytest.approx(1 / 21)
    assert len(json.loads(run.numbers.read_text())["table"]) == 6


def test_a_seed_repeats_the_numbers(run, study_data):
    """The same seed gives the same numbers without anything kept, and another one others."""
    assert tem_utility.run(UTILITY, Setting(0, study_data)) == run.result
    assert tem_utility.run(UTILITY, Setting(1, study_data)).data != run.result.data


def test_going_on(study_data, tmp_path, monkeypatch, run):
    """A run that was interrupted in its last cell trains only what is missing, and ends with the same numbers."""
    ledger, trained, count = Ledger(tmp_path / "x.jsonl", {}), bench.train, itertools.count()

    def stopping(*given, **options):
        if next(count) == 12:
            raise KeyboardInterrupt
        return trained(*given, **options)

    monkeypatch.setattr(tem_utility, "train", stopping)
    with pytest.raises(KeyboardInterrupt):
        tem_utility.run(UTILITY, Setting(0, study_data, ledger))
    kept = len(ledger)
    count = itertools.count(100)
    done = tem_utility.run(UTILITY, Setting(0, study_data, Ledger(tmp_path / "x.jsonl", {})))
    assert done.data == run.result.data
    # Two shadow models, two baselines, and two trials at two epsilons of three mechanisms.
    assert kept > 8
    assert 100 + 16 > next(count) > 100 + 2


def test_a_setting_without_data():
    """What data is needed is said in one line."""
    with pytest.raises(InputError, match=r"^This study needs glove\.840B\.300d\.33860\.npz: [^\n]*--data DIR\.$"):
        tem_utility.run(UTILITY, Setting(0))


def test_statements_that_agree():
    """Numbers as the paper has them agree with all six statements."""
    assert outcomes(made_up()) == ["agrees"] * 6


@pytest.mark.parametrize(
    ("changed", "row", "outcome"),
    [
        ({"baseline": 0.82}, 0, "does not agree"),
        ({"madlib": (0.65, 0.60)}, 1, "does not agree"),
        ({"tem": (0.84, 0.80)}, 2, "does not agree"),
        ({"aucs": ((0.5, 0.5), (0.52, 0.6))}, 3, "does not agree"),
        ({"madlib": (0.52, 0.85)}, 4, "agrees in part"),
        ({"madlib": (0.80, 0.85)}, 4, "does not agree"),
        ({"aucs": ((0.5, 0.7), (0.5, 0.6))}, 5, "does not agree"),
    ],
)
def test_statements_that_do_not_agree(changed, row, outcome):
    """Each outcome follows its own numbers."""
    assert outcomes(made_up(**changed))[row] == outcome


def test_the_table_shows_the_numbers():
    """The table has this run's means and intervals, and how many epsilons a statement holds at."""
    data = made_up(madlib=(0.52, 0.85))
    shown = [row.ours for row in words.table(data)]
    assert shown[0] == "88.0 % (87.0 to 89.0); AUC 0.550 (0.540 to 0.560)."
    assert shown[1] == "52.0 % (51.0 to 53.0); 25 % of words are kept."
    assert shown[4] == "TEM is ahead, by intervals that do not touch, at 1 of 2, by 23.0 points at most."
    assert shown[5] == "It is below at 1 of 1 such epsilons."
    assert "it reaches 0.800 (0.790 to 0.810) (tem, epsilon 4)." in words.findings(data)[2]


def test_no_epsilon_of_four_or_more():
    """Where no epsilon is large enough for the last statement it is not said to agree."""
    data = made_up()
    data["points"] = [point for point in data["points"] if point["epsilon"] != 4.0]
    assert outcomes(data)[5] == "does not agree"


def test_the_figure():
    """The figure has four panels, the baseline in three of them and a curve for each mechanism."""
    drawn = figure.draw(made_up())
    (left, right, below, corner) = drawn.axes
    assert [len(axes.get_lines()) for axes in (left, right, below, corner)] == [5, 9, 5, 5]
    curve = left.get_lines()[2]
    assert (curve.get_xdata().tolist(), curve.get_ydata().tolist()) == ([2.0, 4.0], [0.52, 0.6])
    assert below.get_lines()[2].get_xdata().tolist() == [1.0, 2.0]
    assert left.get_legend().get_texts()[0].get_text() == "original text"
    drawn.canvas.draw()


def test_summary():
    """Means over trials have Student's intervals, cut off where a share ends; one trial alone says nothing."""
    found = bench.summary([{"accuracy": 0.9}, {"accuracy": 0.98}, {"accuracy": 0.97}])["accuracy"]
    expected = estimate_mean([0.9, 0.98, 0.97])
    assert (found["mean"], found["low"]) == (expected.value, expected.low)
    assert found["high"] == 1.0 < expected.high
    alone = bench.summary([{"accuracy": 0.9}])["accuracy"]
    assert (alone["low"], alone["high"]) == (0.0, 1.0)


@pytest.mark.parametrize("name", ["auto", "tem", "calibrated", "tight", "truncated-gumbel", "multivariate-laplace"])
def test_build_and_about(name, small_space):
    """Every mechanism is built by name; what is proved of it and guessed after it is plain JSON."""
    mechanism = bench.build(name, small_space, 40.0)
    assert mechanism.epsilon == 40.0
    assert isinstance(mechanism, QuickLaplace) == (name == "multivariate-laplace")
    facts = json.loads(json.dumps(bench.about(mechanism, 0)))
    verdict = dn.verify(mechanism)
    assert (facts["status"], facts["by"]) == (verdict.status, verdict.method)
    assert facts["proven epsilon"] == verdict.epsilon or math.isinf(verdict.epsilon)
    assert 0 < facts["attacker"]["low"] <= facts["attacker"]["value"] <= facts["attacker"]["high"] <= 1


def test_train_and_accuracy(small_space):
    """A classifier learns from one form of the texts and is right on the original ones, or not where labels lie."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 120)
    numbers = (rng.integers(0, 30, (120, 8)) + 30 * codes[:, None]).astype(np.int32)
    offsets = np.arange(0, 961, 8)
    corpus = Corpus("TR1", numbers.ravel(), offsets, np.zeros(960, dtype=bool), codes)
    net = bench.train(corpus, corpus.words, offsets, small_space, seed=0, dimensions=8, epochs=60)
    assert bench.accuracy(net, corpus) > 0.95
    liar = Corpus("TR1", corpus.words, offsets, corpus.stand_ins, 1 - codes)
    assert bench.accuracy(net, liar) < 0.05

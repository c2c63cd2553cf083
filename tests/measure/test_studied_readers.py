"""What is said of readers without a model at hand: only of the space and the mechanism that were studied."""

import dataclasses

import pytest

import deniable as dn
from deniable.measure.studied_readers import STUDIED, find_studied_reader
from studies import language_model_attacker as study
from studies.page import RESULTS
from studies.rows import find_row, read_results


def test_only_what_was_studied(small_space):
    """The nearest epsilon counts in the default space; nothing is said of other spaces, metrics and mechanisms."""
    default = dn.Space.glove()
    for epsilon, nearest in ((1.0, 0), (2.7, 0), (2.8, 1), (5.0, 1)):
        assert find_studied_reader(dn.CalibratedExponential(default, epsilon=epsilon)) == STUDIED[nearest]
    assert find_studied_reader(dn.TEM(default, epsilon=2.8)) is None
    for space in (dn.Space.glove(hide=()), dn.Space.glove(40_000), small_space):
        assert find_studied_reader(dn.CalibratedExponential(space, epsilon=2.8)) is None


def test_the_shares_are_those_of_the_study():
    """The shares are those of the kept rows, to a percent."""
    if not (RESULTS / f"{study.STUDY.stem}.csv").is_file():
        pytest.skip("the study's rows are not kept")
    rows = read_results(RESULTS, study.STUDY.stem).rows
    for one, (target, epsilon) in zip(STUDIED, study.EPSILONS[study.STEPS].items(), strict=True):
        assert one.epsilon == epsilon
        for what, share in dataclasses.asdict(one).items():
            if what != "epsilon":
                metric = study.name_metric("before", study.ALL_WORDS, what)
                assert find_row(rows, f"{study.IMDB}/{study.STEPS}", target, metric).value == pytest.approx(
                    share / 100, abs=0.005
                )

"""Certification by a word mechanism: what is printed and recorded of every row, and the distances shown."""

import dataclasses

import pytest

from deniable.cli.certify.smoothing import _choose_distances, certify_rows_by_smoothing
from deniable.words.calibrated_exponential import CalibratedExponential
from deniable.words.tem import TEM
from tests.cli.certify.reviews import OPTIONS, make_model, make_rows, make_sets, make_space
from tests.cli.text_models import lines

ROWS = [("", "good"), *lines(4, 2)]


@pytest.mark.parametrize(
    ("distances", "expected"),
    [
        ([], [0.0]),
        ([0.0, 0.0], [0.0]),
        ([1.0, 0.2], [0.0, 0.2, 0.4, 0.6, 0.8]),
        ([0.01234], [0.0, 0.0025, 0.0049, 0.0074, 0.0099]),
    ],
)
def test_distances_are_round_and_below_the_largest(distances, expected):
    """Five steps from 0, of two digits each; 0 alone where nothing is certified."""
    assert _choose_distances(distances) == expected


def test_every_row_is_recorded_and_nothing_true_is_refuted():
    """Rows keep their numbers and classes; certificates that are proved withstand the attacks."""
    mechanism = CalibratedExponential(make_space(), epsilon=3.0)
    result = certify_rows_by_smoothing(make_model(), make_rows(ROWS), mechanism, make_sets(), OPTIONS)
    assert [text["row"] for text in result.record["texts"]] == [2, 3, 4, 5]
    assert {text["label"] for text in result.record["texts"]} <= {None, "bad", "good"}
    assert result.record["rows left out"] == 1
    assert result.record["draws"] == 200
    assert not result.is_refuted
    assert "200 draws each, alpha 0.05" in result.lines[0]
    assert result.lines[1].startswith("no word moved: ")
    assert "noise: seed 0; alpha holds for models that were made without knowledge of the seed" in result.lines
    assert any(line.startswith("1 word replaced, by likes") for line in result.lines)
    assert set(result.record["attack"]) <= {"distance", "changes"}


def test_nothing_is_attacked_where_nothing_is_asked():
    """Without texts to attack there is no line and no record of an attack."""
    options = dataclasses.replace(OPTIONS, attack_count=0)
    result = certify_rows_by_smoothing(make_model(), make_rows(ROWS), TEM(make_space(), epsilon=3.0), None, options)
    assert "attack" not in result.record
    assert not any(line.startswith("attack") for line in result.lines)

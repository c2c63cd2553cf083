"""Certification by interval bounds: shares of all rows, and attacks that refute a false certificate."""

import dataclasses

import numpy as np

from deniable.cli.certify.intervals import certify_rows_by_intervals
from deniable.models.text import model as model_module
from deniable.models.text.substitutions import Substitutions
from tests.cli.certify.reviews import OPTIONS, make_model, make_rows, make_sets
from tests.cli.text_models import WORDS, lines

ROWS = [("", "good"), *lines(6, 2)]


def test_every_usable_row_is_recorded_by_its_number():
    """Rows are numbered as in the table, those left out are counted, and true certificates are not refuted."""
    result = certify_rows_by_intervals(make_model(), make_rows(ROWS), make_sets(), OPTIONS)
    assert not result.is_refuted
    assert [text["row"] for text in result.record["texts"]] == [2, 3, 4, 5, 6, 7]
    assert [text["class"] for text in result.record["texts"]] == [label for _, label in ROWS[1:]]
    assert result.record["rows left out"] == 1
    certified = sum(text["certified"] for text in result.record["texts"])
    assert certified > 0
    assert result.record["certified accuracy"]["value"] == certified / 6
    assert result.record["attack"]["texts"] == min(4, certified)
    assert not any(result.record["attack"]["flipped"].values())
    assert "attack: not refuted" in result.lines[-1]


def test_a_false_certificate_is_refuted(monkeypatch):
    """Where everything is called certified and any word may stand for any other, a search finds another class."""
    monkeypatch.setattr(model_module, "certify_by_intervals", lambda *_: np.ones(6, dtype=bool))
    size = len(WORDS)
    anything = Substitutions("any", ((np.arange(size)[:, None] + np.arange(size)) % size).astype(np.int32))
    result = certify_rows_by_intervals(make_model(), make_rows(ROWS), anything, OPTIONS)
    assert result.is_refuted
    assert "attack: refuted" in result.lines[-1]


def test_nothing_is_attacked_where_nothing_is_asked():
    """Without texts to attack there is no line and no record of an attack."""
    options = dataclasses.replace(OPTIONS, attack_count=0)
    result = certify_rows_by_intervals(make_model(), make_rows(ROWS), make_sets(), options)
    assert "attack" not in result.record
    assert len(result.lines) == 3
    assert not result.is_refuted

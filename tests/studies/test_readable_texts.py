"""Texts of a tilted language model: rows of a study on a tiny model."""

import pytest

from deniable.language.model import LanguageModel
from studies import readable_texts as study
from studies.rows import find_row
from studies.runner import Context, measure_cells
from studies.study import Grid
from tests.small_llama import build_word_tokenizer, save_llama
from tests.studies.data import WORDS

pytestmark = pytest.mark.deep
SIZES = study.Sizes(trials=1, rows=60, few_rows=40, students=(200,), judged=5)


@pytest.fixture
def context(study_data, tmp_path, monkeypatch):
    """Return a context in which writer and judge are a tiny model."""
    model = LanguageModel.load(save_llama(tmp_path / "llama", build_word_tokenizer(WORDS)))
    monkeypatch.setattr(study, "load_writer", lambda _: model)
    monkeypatch.setattr(study, "load_judge", lambda: model)
    monkeypatch.setattr(study, "cut", lambda _, text: text[:200])  # the tiny model knows few words
    for curve, count in study.RECORDS.items():
        monkeypatch.setitem(study.RECORDS, curve, count // 500)
    return Context(SIZES, 3, study_data)


def test_every_curve_has_rows(context):
    """Each way to write gives texts, with their distance from real words and perplexity; a fit is told where one is."""
    rows = measure_cells(study.STUDY, Grid(study.build_cells(), SIZES), context)
    assert {row.metric for row in rows} <= {*study.STUDY.metrics}
    for curve, epsilon in study.build_cells():
        assert 0 <= find_row(rows, curve, epsilon, "divergence").value <= 1
        assert find_row(rows, curve, epsilon, "perplexity").value > 1
        is_fitted = curve not in {*study.GENERATORS, study.REAL, study.ENQUIRIES_REAL}
        assert (find_row(rows, curve, epsilon, "agreement") is not None) is is_fitted
    assert len(study.load_texts(context, study.BOTH, 4.0, 0).texts) == SIZES.rows
    assert len(study.load_texts(context, study.BOTH, 1.0, 0).texts) == SIZES.few_rows


def test_persons_have_all_their_rows():
    """Rows that follow each other are of one person."""
    assert study.name_persons([0, 2, 3]) == ["person 0", "person 0", "person 1"]

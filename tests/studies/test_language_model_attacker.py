"""Readers with a language model: rows of a study on a tiny model."""

import pytest

import deniable as dn
from deniable.language.model import LanguageModel
from studies import language_model_attacker as study
from studies.rows import find_row
from studies.runner import Context, measure_cells
from studies.study import Grid
from tests.small_llama import build_word_tokenizer, save_llama
from tests.studies.data import WORDS

SIZES = study.Sizes(words=300, texts=6, length=10, around=8, beam=2, learned=12)


@pytest.fixture
def context(study_data, tmp_path, monkeypatch):
    """Return a context in which each model is a tiny one."""
    model = LanguageModel.load(save_llama(tmp_path / "llama", build_word_tokenizer(WORDS)))
    monkeypatch.setattr(study, "load_model", lambda *_: model)
    return Context(SIZES, 3, study_data)


def test_readers_and_use(context):
    """Every reader has rows for all words, a wider beam its own, and use is measured beside them."""
    cells = study.build_cells(((study.IMDB, study.STEPS), (study.ATIS, "calibrated")), study.COMPARED)
    rows = measure_cells(study.STUDY, Grid(cells, SIZES), context)
    assert {row.metric for row in rows} <= {*study.STUDY.metrics}
    assert {row.curve for row in rows} <= {*study.STUDY.curves}
    for curve in ("IMDB/steps", "ATIS/calibrated"):
        for knowledge in study.KNOWLEDGE:
            found = {
                what: find_row(rows, curve, 0.2, study.name_metric(knowledge, study.ALL_WORDS, what))
                for what in ("words", *study.MEASURED)
            }
            assert found["words"].value == (SIZES.around if knowledge == "around" else found["words"].value) > 0
            assert found["added"].value == pytest.approx(found["guessed"].value - found["blind"].value)
        assert 0 < find_row(rows, curve, 0.2, "unchanged").value < 1
        assert 0 <= find_row(rows, curve, 0.2, "accuracy").value <= 1
    for width in study.WIDTHS:
        assert find_row(rows, "IMDB/steps/width", width, study.name_metric("release", study.ALL_WORDS, "guessed"))


def test_the_larger_model_is_left_out_where_it_is_not(context):
    """Without its file a cell of the larger model has no rows."""
    assert study.measure(context, "read", study.SECOND_MODEL, study.IMDB, study.STEPS, 0.2) == []


def test_texts_are_cut_and_counted(context):
    """Texts that are read end after so many words, and frequencies are those of the texts that are known."""
    corpus = study.load_corpus(context, study.IMDB)
    assert len(corpus.private) == len(corpus.learned) == len(corpus.public) == len(corpus.tested) == SIZES.learned
    assert all(len(text.split()) <= SIZES.length for text in corpus.read)
    assert len(corpus.read) == SIZES.texts
    space = dn.Space.glove(300)
    frequencies = study.count_words(space, ["the the of", "zork the"])
    assert frequencies.argmax() == space.index_of("the")
    assert frequencies.sum() == pytest.approx(1)

"""Readers with a language model on the page of a survey: counts of guesses, and no guessed word."""

import dataclasses
import json

import pytest

import deniable as dn
from deniable.language.model import LanguageModel
from deniable.measure.reading import KNOWLEDGE, build_reader
from deniable.survey.page import render_page
from deniable.survey.survey import Bench, survey_table
from deniable.survey.table import build_table
from deniable.survey.words import Words
from deniable.words.prior import build_prior
from tests.conftest import SMALL_WORDS
from tests.small_llama import build_word_tokenizer, save_llama
from tests.survey.conftest import PLAN, TEXTS


@pytest.fixture(scope="module")
def bench(small_space, tmp_path_factory):
    """Return a table, and a reader with a tiny model."""
    model = LanguageModel.load(save_llama(tmp_path_factory.mktemp("llama"), build_word_tokenizer(SMALL_WORDS)))
    plan = dataclasses.replace(PLAN, attacked=6)
    table = build_table(TEXTS, None, plan)
    reader = build_reader(model, small_space)
    return Bench(table, plan, small_space, build_prior(small_space, None), reader, {SMALL_WORDS[0], SMALL_WORDS[31]})


def test_what_readers_guess_is_on_the_page(bench, small_space):
    """Each reader has a table of its own, with what the output adds, in figures and on the page."""
    survey = survey_table(bench, [Words(dn.TEM(small_space, epsilon=epsilon)) for epsilon in (1.0, 9.0)])
    figures = json.loads(json.dumps(survey.to_dict(), allow_nan=False))
    for result in figures["results"]:
        groups = result["reading"]["groups"]
        assert {*groups} == {*KNOWLEDGE}
        assert {one["name"] for one in groups["before"]} >= {"all words", "watched words"}
        assert all({"blind", "guessed", "added"} <= {*one} for one in groups["before"])
    added = [one["reading"]["groups"]["before"][0]["added"]["value"] for one in figures["results"]]
    assert added[0] < added[1]
    page = render_page(survey)
    assert all(f"A reader who {title}" in page for title in KNOWLEDGE.values())
    assert "the output adds" in page


def test_the_release_counts_for_advice(bench, small_space):
    """A reader who sees only the release is one of the attackers by which protection is judged."""
    (result,) = survey_table(bench, [Words(dn.TEM(small_space, epsilon=9.0))]).results
    share = result.reading.groups["release"][0].guessed
    assert result.guessed.high >= share.high


def test_without_a_model_nobody_reads(bench, small_space):
    """A survey without a model has no such figures, and its page does not speak of readers."""
    plain = dataclasses.replace(bench, reader=None)
    survey = survey_table(plain, [Words(dn.TEM(small_space, epsilon=1.0))])
    assert survey.results[0].reading is None
    assert "A reader who" not in render_page(survey)

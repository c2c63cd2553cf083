"""``deniable model check``: what is said of a model."""

import json
import math
import shutil

import numpy as np
import pytest

from deniable.language import check as checking
from deniable.language.check import SAMPLE_TEXTS, check_model, read_texts
from deniable.language.writing import WritingOptions
from tests.commands import run
from tests.refusals import refuses

QUICK = WritingOptions(max_tokens=8, batch=4)


def test_the_perplexity_of_a_word(model):
    """It is the exponential of all losses by all words: a word counts the same in a long text and in a short one."""
    texts = ["a film was good", "the plot", "very dull and i was not fine"]
    totals, counts = model.sum_losses(texts)
    reading = read_texts(model, texts)
    assert (reading.texts, reading.words, reading.tokens) == (3, 13, counts.sum())
    assert reading.perplexity == pytest.approx(math.exp(totals.sum() / 13))
    assert read_texts(model, [*texts, ""]) == reading


def test_words_of_cut_texts(model):
    """Of a text beyond the context the words that were read count."""
    assert read_texts(model, ["a film " * 300]).words == model.card.context


def test_texts_without_words(model):
    """Where no text has a token with a probability, there is no perplexity."""
    with refuses("2"):
        read_texts(model, ["", "a"])


def test_the_estimate_of_time(model, monkeypatch):
    """The time of a run is that of its batches: of a prompt and each token, by the times of two batches."""
    seconds = {1: 1.0, 4: 4.0}
    monkeypatch.setattr(checking, "_time_batch", lambda _model, _prompt, options: seconds[options.max_tokens])
    speed = check_model(model, options=QUICK).speed
    assert speed.step_seconds == pytest.approx(1.0)
    assert speed.prompt_seconds == pytest.approx(0.0)
    assert speed.tokens_per_second == pytest.approx(QUICK.batch)
    assert speed.estimate_seconds(9) == pytest.approx(3 * 8)


def test_the_command(model, model_folder, tmp_path):
    """What a model is, knows and costs, for people and as JSON; public texts are a table or lines."""
    result = run("model", "check", model_folder, "--rows", 2_000)
    assert result.code == 0
    for fact in (model.card.sha256, "apache-2.0", "120 tokens", "as a heading", "2,000 texts of 64 tokens", "--public"):
        assert fact in result.text
    table = tmp_path / "reviews.csv"
    table.write_text("body\na film was good\nthe plot was dull\n" * 2)
    lines = tmp_path / "lines.txt"
    lines.write_text("a film was good\nthe plot was dull\nfine\n")
    figures = [
        json.loads(run("model", "check", model_folder, "--json", *options).text)
        for options in (("--public", table, "-c", "body", "--limit", 2), ("--public", lines, "--limit", 2))
    ]
    assert figures[0]["what it knows"] == figures[1]["what it knows"]
    assert figures[0]["what it knows"]["words"] == 8
    assert figures[0]["how fast it writes here"]["tokens a second"] > 0


def test_a_licence_that_is_not_stated(model_folder, tmp_path):
    """The command says what a missing licence means."""
    copy = shutil.copytree(model_folder, tmp_path / "copy")
    (copy / "README.md").unlink()
    text = run("model", "check", copy).text
    assert "not stated" in text
    assert "ask who made the model" in text


def test_sample_texts():
    """The texts on board are several, of plain words."""
    assert len(SAMPLE_TEXTS) == 5
    assert 100 < sum(len(text.split()) for text in SAMPLE_TEXTS) < 300
    assert np.all(["  " not in text for text in SAMPLE_TEXTS])

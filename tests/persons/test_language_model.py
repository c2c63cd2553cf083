"""Texts of a tilted language model: what is measured for them, how they are fitted, and what is written anew."""

import contextlib
import copy
import dataclasses
import itertools
import types

import numpy as np
import pytest
from randomgen import AESCounter

import deniable as dn
from deniable.language.options import WritingOptions
from deniable.persons import noisy_sums
from deniable.persons.budget import Budget
from deniable.persons.collection import group_rows
from deniable.persons.generators import language_model
from deniable.persons.generators.knowledge import ReleasedKnowledge
from deniable.persons.generators.language_model import LanguageModelTexts, Writing, is_usable, measure_divergence
from deniable.persons.histograms import LENGTH_EDGES
from deniable.persons.options import SynthesisOptions, build_request
from deniable.persons.style import (
    STYLE_MEASUREMENT,
    WINDOW,
    count_style,
    estimate_style,
    list_style_bins,
    measure_style,
    plan_style_measurement,
)
from tests.language.conftest import WORDS
from tests.refusals import refuses
from tests.small_llama import build_word_tokenizer, save_llama

OPTIONS = WritingOptions(max_tokens=12, batch=32, round_texts=96)
PROMPT = "a {label} review"
WEIGHTS = {"good": 1.0, "fine": 0.7, "bad": -1.0, "dull": -0.7}


class ReviewClassifier:
    """Adds the weights of the words of a text; in place of a `LinearClassifier`."""

    classes = ("negative", "positive")
    feature_map = types.SimpleNamespace(words=tuple(WEIGHTS))
    word_weights = np.array([[-weight, weight] for weight in WEIGHTS.values()])

    @staticmethod
    def predict_probabilities(texts):
        """See `LinearClassifier`."""
        scores = np.array([sum(weight * text.count(word) for word, weight in WEIGHTS.items()) for text in texts])
        return np.stack([1 / (1 + np.exp(scores)), 1 / (1 + np.exp(-scores))], axis=1)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A tiny llama."""
    from deniable.language.model import LanguageModel

    folder = save_llama(tmp_path_factory.mktemp("llama"), build_word_tokenizer(WORDS), add_prefix_space=True)
    return LanguageModel.load(folder)


def make_knowledge(style=None):
    """Return what was released of reviews."""
    shares = np.full(len(LENGTH_EDGES) - 1, 1 / (len(LENGTH_EDGES) - 1))
    return ReleasedKnowledge(ReviewClassifier(), np.array([0.5, 0.5]), shares, style)


def write(model, knowledge, writing=None, count=64, seed=1):
    """Return drafts, and how they were written."""
    writing = Writing() if writing is None else writing
    return LanguageModelTexts(model, PROMPT, OPTIONS, writing).write_drafts(knowledge, count, seed), writing


def test_a_record_counts_each_of_its_tokens_once(model):
    """The first token is an opening, others count once, a short text its end; what spells a special token does not."""
    texts = ["good film good plot film", " ".join(["the", "film"] * 50), "", "</s> bad"]
    bins, offsets = list_style_bins(model, texts)
    tokens = {word: token for token, word in model.words.items()}
    size = model.card.vocabulary
    parts = [bins[first:last].tolist() for first, last in itertools.pairwise(offsets)]
    expected = sorted([model.end_token, *(tokens[word] for word in ("good", "film", "plot"))])
    assert parts[0] == [*expected, size + tokens["good"]]
    assert parts[1] == [*sorted([tokens["the"], tokens["film"]]), size + tokens["the"]]
    assert parts[2] == [model.end_token]
    assert tokens["bad"] in parts[3]
    np.testing.assert_array_equal(count_style(model, texts), np.bincount(bins, minlength=2 * size))


def test_many_records_are_counted_in_parts(model, monkeypatch):
    """How many texts are in memory at a time changes no count; half of a character in one stops nothing."""
    texts = ["good film", "", "the plot is bad", "\ud800 bad", "it is fine"]
    whole = list_style_bins(model, texts)
    monkeypatch.setattr("deniable.persons.style._ENCODED_TEXTS", 2)
    for part, expected in zip(list_style_bins(model, texts), whole, strict=True):
        np.testing.assert_array_equal(part, expected)


class NumberModel:
    """Reads each number as the token of that number; in place of a `LanguageModel` with many tokens."""

    card = types.SimpleNamespace(vocabulary=500)
    end_tokens, end_token = frozenset({0}), 0

    @staticmethod
    def encode(texts):
        """See `LanguageModel`."""
        return [[*map(int, text.split())] for text in texts]


@pytest.mark.parametrize("records", [1, 3, 200])
def test_a_person_adds_at_most_the_bound(monkeypatch, records):
    """The integer sum of one person, with one long record or many, has a norm just within the bound."""
    budget = Budget(1.0, 1e-6, "person", (plan_style_measurement(NumberModel),))
    bound = budget.compute_norm_bound(STYLE_MEASUREMENT)
    sums = []
    monkeypatch.setattr(noisy_sums, "add_noise", lambda one, _: sums.append(one.copy()) or one)
    texts = [" ".join(map(str, range(1 + record, 101 + record))) for record in range(records)]
    measure_style(budget, texts, group_rows(records, ["one"] * records), NumberModel, AESCounter(1))
    (measured,) = sums
    norm = sum(int(one) ** 2 for one in measured) ** 0.5
    assert 0.999 * bound < norm <= bound
    assert len(list_style_bins(NumberModel, texts[:1])[0]) == WINDOW


def test_measured_shares_are_those_of_the_records(model):
    """With next to no noise the shares are those of the texts; with much, what is not seen is 0 and has a limit."""
    texts = ["good film is fine", "the film is bad", "the plot is dull", "the film"] * 100
    exact = estimate_style(count_style(model, texts))
    for epsilon, is_close in ((500.0, True), (0.05, False)):
        budget = Budget(epsilon, 1e-6, "record", (plan_style_measurement(model),))
        noisy = measure_style(budget, texts, group_rows(len(texts)), model, AESCounter(3))
        assert np.allclose(noisy.token_shares, exact.token_shares, atol=0.02) is is_close
        assert (noisy.opening_shares.sum() == pytest.approx(1.0)) or not noisy.opening_shares.any()
        assert noisy.limit > exact.limit == 0


def test_rounds_bring_the_style_nearer(model):
    """Texts fitted to records are nearer to their tokens and openings than texts of the model alone."""
    records = ["the film is fine and the plot is good", "the plot is dull and the film is bad"] * 50
    released = estimate_style(count_style(model, records))
    plain, _ = write(model, make_knowledge())
    fitted, writing = write(model, make_knowledge(released))
    distances = []
    for texts in (plain, fitted):
        counts = count_style(model, texts)[: model.card.vocabulary]
        distances.append(measure_divergence(counts, released.token_shares))
    assert distances[1] < 0.7 * distances[0]
    assert writing.fit.divergence == pytest.approx(distances[1], abs=0.1)
    assert all(text.startswith("the") for text in fitted)


def test_texts_say_their_class(model):
    """Labels agree with the classes that texts were written for as often as is stated; they go by the classifier."""
    texts, writing = write(model, make_knowledge(), count=192)
    generator = LanguageModelTexts(model, PROMPT, OPTIONS, Writing())
    knowledge = make_knowledge()
    labelled, codes = generator.write_texts(knowledge, 100, seed=1)
    scores = ReviewClassifier.predict_probabilities(labelled)[:, 1]
    assert len(labelled) == 100
    assert 0.2 < np.mean(codes) < 0.8
    assert scores[codes == 1].min() > scores[codes == 0].max()
    assert 0.6 < writing.fit.agreement <= 1
    assert writing.fit.strength > 0
    assert len({*texts}) > 100


def ignore(*_):
    """Do nothing."""


def test_a_run_that_stopped_goes_on(model):
    """From any point on that is kept, the same texts are written as without a stop; another seed writes others."""
    style = estimate_style(count_style(model, ["the film is good", "the plot is bad"] * 9))
    kept = []
    writing = Writing()
    writing.report = lambda done, total: kept.append(
        (done, total, copy.deepcopy(dataclasses.replace(writing, report=print)))
    )
    texts, _ = write(model, make_knowledge(style), writing)
    total = OPTIONS.rounds * OPTIONS.round_texts + 64
    assert [one[0] for one in kept] == sorted(one[0] for one in kept)
    assert {one[1] for one in kept} == {total}
    assert kept[-1][0] == total
    for _, _, earlier in kept[:: len(kept) // 4]:
        assert write(model, make_knowledge(style), earlier)[0] == texts
    assert write(model, make_knowledge(style), seed=2)[0] != texts


REQUEST = build_request(PROMPT, "positive")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The film was good, and I would see it again.", True),
        ("I am sorry, but the film was bad.", False),
        ("As an AI I have not seen it.", False),
        ("I'd be happy to assist. This film is set in the Caribbean.", False),
        ("I was happy to see it again.", True),
        ("Here is a short review of the film: good.", False),
        ("Here is what I thought of it: good.", True),
        ("You should write a positive review of it.", False),
        ("", False),
        ("...", False),
        ("Good", False),
    ],
)
def test_usable_texts(text, expected):
    """A text that is empty, repeats its request or speaks as an assistant is not usable."""
    assert is_usable(text, REQUEST) is expected


def test_too_few_usable_texts_are_an_error(model, monkeypatch):
    """Where nearly no text is usable, the run ends with a remark on the prompt, and texts written anew are counted."""
    monkeypatch.setattr(language_model, "is_usable", lambda text, _: len(text) % 2 == 0)
    texts, writing = write(model, make_knowledge())
    assert all(len(text) % 2 == 0 for text in texts)
    facts = LanguageModelTexts(model, PROMPT, OPTIONS, writing).describe()["language model"]
    assert facts["texts written anew"] == writing.written - len(writing.texts) > 0
    assert (facts["model"]["sha256"], facts["prompt"]) == (model.card.sha256, PROMPT)
    monkeypatch.setattr(language_model, "is_usable", lambda *_: False)
    with refuses("another prompt"):
        write(model, make_knowledge())


def test_prompts_are_tried(model, monkeypatch):
    """A prompt is refused where fewer than a sixth of its texts are usable, before records are looked at."""
    options = SynthesisOptions(
        epsilon=1, delta=1e-6, classes=("negative", "positive"), rows=9, model=model, prompt=PROMPT, writing=OPTIONS
    )
    for usable, is_refused in ((5, True), (6, False)):
        answers = iter([True] * usable + [False] * 32)
        monkeypatch.setattr(language_model, "is_usable", lambda *_, answers=answers: next(answers))
        with refuses("another prompt") if is_refused else contextlib.nullcontext():
            language_model.try_prompt(options)
    monkeypatch.setattr(language_model, "is_usable", lambda *_: False)
    with refuses("another prompt"):
        dn.synthesize(None, None, options, public=dn.PublicTexts(["a film"], ["positive"]))


@pytest.mark.parametrize(
    ("prompt", "label", "named"),
    [
        (" ", "good", "blank"),
        ("a {name} review", "good", "{label}"),
        ("a review {", "good", "braces"),
        ("a {label} review", "1", "'1'"),
    ],
)
def test_prompts_that_cannot_be_used(prompt, label, named):
    """A prompt that is blank, holds other braces, or a label that is no word, is refused."""
    with refuses(named):
        build_request(prompt, label)
    assert build_request("a review", "1") == "Write a review."

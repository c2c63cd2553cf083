"""Texts of a tilted language model: the law of a draw, and what a text depends on."""

import dataclasses

import numpy as np
import pytest

from deniable.language.options import WritingOptions
from deniable.language.writing import TextRequest, draw_tokens, write_texts
from tests.refusals import refuses

KEY = bytes(range(32))
PLAIN = WritingOptions(max_tokens=6, min_tokens=2, temperature=1.0, top_p=1.0, top_k=10**6, batch=4)


def compute_law(logits, options):
    """Return the law (V,) of a token in float64, token by token."""
    scaled = np.asarray(logits, dtype=np.float64) / options.temperature
    law = np.exp(scaled - scaled.max())
    law /= law.sum()
    order = np.argsort(-law, kind="stable")[: options.top_k]
    kept = np.zeros_like(law)
    before = 0.0
    for token in order:
        if before < options.top_p:
            kept[token] = law[token]
        before += law[token]
    return kept / kept.sum()


@pytest.mark.parametrize(
    "options",
    [PLAIN, WritingOptions(temperature=0.7, top_p=0.8), WritingOptions(temperature=2.0, top_p=1.0, top_k=3)],
    ids=["whole law", "top p", "top k"],
)
@pytest.mark.parametrize("scale", [1.0, 1.3])
def test_draws_follow_the_law(options, scale):
    """Draws at evenly spaced numbers have the law's shares; the shares of logits 30 % larger are others."""
    import torch

    logits = np.random.default_rng(1).normal(0, 2, 40).astype(np.float32)
    count = 20_000
    uniforms = (np.arange(count) + 0.5) / count
    tokens = draw_tokens(torch.tensor(logits * np.float32(scale)).repeat(count, 1), uniforms, options)
    shares = np.bincount(tokens, minlength=40) / count
    error = np.abs(shares - compute_law(logits, options)).max()
    assert (error < 2 / count * 3) == (scale == 1.0)


def test_extreme_numbers_draw_possible_tokens():
    """The ends of the unit interval draw tokens of positive probability."""
    import torch

    logits = torch.full((2, 5), -torch.inf)
    logits[:, 2], logits[:, 4] = 0.0, -1.0
    tokens = draw_tokens(logits, np.array([0.0, np.nextafter(1.0, 0.0)]), PLAIN)
    assert tokens.tolist() == [2, 4]


def write(model, prompts, codes=None, biases=None, options=PLAIN, key=KEY):
    """Return all texts."""
    biases = np.zeros((2, model.card.vocabulary)) if biases is None else biases
    requests = [
        TextRequest(f"text {number}", tuple(prompt), 0 if codes is None else codes[number])
        for number, prompt in enumerate(prompts)
    ]
    batches = write_texts(model, requests, biases, key, options)
    return [model.decode(tokens) for batch in batches for tokens in batch]


def test_a_text_follows_from_its_name_and_key(model):
    """The same key gives the same texts, whoever else is in the batch; another key or name gives others."""
    prompts = [model.build_prompt("write a review", opening) for opening in ("i", "the", "a film was")] * 2
    texts = write(model, prompts)
    assert texts == write(model, prompts)
    assert texts[:5] == write(model, [*prompts[:5], prompts[3]])[:5]
    assert texts != write(model, prompts, key=bytes(32))
    assert len({*write(model, prompts[:1] * 6)}) > 1


def test_a_bias_is_of_its_class(model):
    """A token that only one class favours comes out in its texts, and at the place where a text may not end."""
    (token,) = (token for token, word in model.words.items() if word == "dull")
    biases = np.zeros((2, model.card.vocabulary))
    biases[1, token] = 1e3
    texts = write(model, [model.build_prompt("write", "i")] * 4, [0, 1, 0, 1], biases)
    assert all(text.split() == ["dull"] * PLAIN.max_tokens for text in texts[1::2])
    assert all(text.split() != ["dull"] * PLAIN.max_tokens for text in texts[::2])


def test_texts_end(model):
    """A text ends with a special token, not before the least number of tokens, and holds none."""
    biases = np.zeros((2, model.card.vocabulary))
    biases[:, sorted(model.end_tokens)] = 1e3
    (text,) = write(model, [model.build_prompt("write", "i")], biases=biases)
    assert 0 < len(model.encode([text])[0]) <= PLAIN.max_tokens
    any_length = dataclasses.replace(PLAIN, min_tokens=0)
    assert write(model, [model.build_prompt("write", "i")], biases=biases, options=any_length) == [""]


def test_too_long_texts_are_refused(model):
    """Prompt and text fit the context, or nothing is written."""
    with refuses("128"):
        write(model, [model.build_prompt("write", "i")], options=dataclasses.replace(PLAIN, max_tokens=200))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("temperature", 0.0),
        ("temperature", float("nan")),
        ("top_p", 0.0),
        ("top_p", 1.5),
        ("max_tokens", 0),
        ("batch", 0),
        ("min_tokens", -1),
    ],
)
def test_options_out_of_range(option, value):
    """A value out of range is named."""
    with refuses(option):
        WritingOptions(**{option: value})

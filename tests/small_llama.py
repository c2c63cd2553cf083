"""Llamas of two layers with tokenizers of their own, made here: nothing is downloaded."""

import importlib.util

import pytest

CONTEXT = 128


def require_package(name):
    """Skip a test where a package is not installed; it need not load."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")


def save_llama(folder, tokenizer, context=CONTEXT, **settings):
    """Write a tiny llama for a tokenizer of the library tokenizers, as transformers writes one."""
    transformers, torch = pytest.importorskip("transformers"), pytest.importorskip("torch")
    wrapped = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>", **settings
    )
    wrapped.save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context,
        bos_token_id=0,
        eos_token_id=1,
        initializer_range=0.5,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n# A toy\n")
    return folder


def build_word_tokenizer(words):
    """Return a tokenizer in which each of some words is one token after a space, and other signs one each."""
    tokenizers = pytest.importorskip("tokenizers")
    pieces = ["<s>", "</s>", "<unk>", *(f"\u0120{word}" for word in words)]
    pieces += [*map(chr, range(33, 127)), "\u0120", "\u010a"]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    return tokenizer


def build_piece_tokenizer(words, size):
    """Return a tokenizer of so many byte pairs, learned from some words, of which many are several tokens."""
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<s>", "</s>", "<unk>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([f" {word}" for word in words] + [*words], trainer)
    return tokenizer


def build_marking_tokenizer(words):
    """Return a tokenizer of Llama 2's kind, which puts a space before each text, and takes it away again."""
    tokenizers = pytest.importorskip("tokenizers")
    pieces = [*(f"\u2581{word}" for word in words), *map(chr, range(33, 127)), "\u2581", "\n"]
    vocabulary = [(piece, -float(len(pieces))) for piece in dict.fromkeys(["<s>", "</s>", "<unk>", *pieces])]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram(vocabulary, unk_id=2))
    normalizers, decoders = tokenizers.normalizers, tokenizers.decoders
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    return tokenizer

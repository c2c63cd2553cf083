"""A llama of two layers with a tokenizer of its own."""

import numpy as np
import pytest

from tests.small_llama import build_word_tokenizer, save_llama

WORDS = (
    *("a", "film", "was", "good", "bad", "the", "plot", "and", "i", "you", "it"),
    *("is", "not", "very", "dull", "fine", "write", "review", "of", "negative", "positive"),
)


SPECIAL = ("<s>", "</s>", "<unk>")
PIECES = (*SPECIAL, *(f"\u0120{word}" for word in WORDS), *map(chr, range(33, 127)), "\u0120", "\u010a")


def write_gguf(path, *, layers=2, width=32, vocabulary=0, left_out=(), license_name="apache-2.0"):
    """Write a llama of two layers as a GGUF file, which may say of itself what is not so; return the path."""
    gguf = pytest.importorskip("gguf")
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_license(license_name)
    writer.add_context_length(128)
    writer.add_embedding_length(width)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(64)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(8)
    writer.add_vocab_size(vocabulary or len(PIECES))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(PIECES)
    writer.add_token_types([3] * len(SPECIAL) + [1] * (len(PIECES) - len(SPECIAL)))
    writer.add_token_merges(["\u0120 a", "\u0120 i"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_unk_token_id(2)
    shapes = {"token_embd": (len(PIECES), 32), "output": (len(PIECES), 32), "output_norm": (32,)}
    for layer in range(2):
        for name, shape in {
            "attn_q": (32, 32),
            "attn_k": (16, 32),
            "attn_v": (16, 32),
            "attn_output": (32, 32),
            "ffn_gate": (64, 32),
            "ffn_up": (64, 32),
            "ffn_down": (32, 64),
            "attn_norm": (32,),
            "ffn_norm": (32,),
        }.items():
            shapes[f"blk.{layer}.{name}"] = shape
    generator = np.random.default_rng(0)
    for name, shape in shapes.items():
        weights = generator.normal(0, 0.5, shape) if len(shape) > 1 else np.ones(shape)
        if name not in left_out:
            writer.add_tensor(f"{name}.weight", weights.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory):
    """A folder with a tiny llama, as transformers writes it."""
    return save_llama(tmp_path_factory.mktemp("llama"), build_word_tokenizer(WORDS), add_prefix_space=True)


@pytest.fixture(scope="session")
def model(model_folder):
    """The tiny model."""
    from deniable.language.model import LanguageModel

    return LanguageModel.load(model_folder)

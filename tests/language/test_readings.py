"""Readings: texts that are read side by side, in parts and from each other's beginnings, as if each were read alone."""

import numpy as np
import pytest

from deniable.language.readings import Readings, prepare_readings

KINDS = {
    "LlamaConfig": {},
    "MistralConfig": {"sliding_window": 4},
    "Gemma3TextConfig": {"head_dim": 8, "sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"]},
    "GPTNeoXConfig": {},
}
SIZES = {
    "vocab_size": 50,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 400,
    "initializer_range": 0.3,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 2,
}


def make_network(kind, **settings):
    """Return a network of two layers with random weights, in float32."""
    transformers, torch = pytest.importorskip("transformers"), pytest.importorskip("torch")
    torch.manual_seed(0)
    config = getattr(transformers, kind)(**SIZES, **KINDS.get(kind, {}), **settings)
    return transformers.AutoModelForCausalLM.from_config(config).eval()


def read_alone(network, tokens):
    """Return the logits (n, V) after each token of one text, by transformers alone."""
    import torch

    with torch.inference_mode():
        return network(input_ids=torch.tensor([tokens]), use_cache=False).logits[0].numpy()


@pytest.mark.parametrize("kind", KINDS)
def test_texts_are_read_as_if_alone(kind):
    """Logits are those of each text by itself, whatever is read beside it and wherever it is cut or goes on."""
    network, generator = make_network(kind), np.random.default_rng(0)
    prepare_readings(network)
    texts: list[list[int]] = [[] for _ in range(3)]
    readings = Readings(network, 3)
    for step in range(8):
        parts = [generator.integers(3, 50, size).tolist() for size in generator.integers(0, 60, len(texts))]
        parts[step % len(parts)] = [7]
        texts = [[*text, *part] for text, part in zip(texts, parts, strict=True)]
        everywhere = step % 2 == 0
        found = readings.read(parts, after=np.arange(sum(map(len, parts))) if everywhere else None).numpy()
        alone = [read_alone(network, text)[-len(part) :] for text, part in zip(texts, parts, strict=True) if part]
        wanted = np.concatenate(alone) if everywhere else np.stack([one[-1] for one in alone])
        assert found == pytest.approx(wanted, abs=1e-4)
        rows = generator.integers(0, len(texts), 1 + step % 4).tolist()
        readings, texts = readings.choose(rows), [texts[row] for row in rows]


def test_other_texts_have_other_logits():
    """Logits depend on all of a text: the test above can tell."""
    network = make_network("LlamaConfig")
    prepare_readings(network)
    first, second = Readings(network, 2).read([[5, 6, 7], [9, 6, 7]]).numpy()
    assert np.abs(first - second).max() > 0.01


def test_long_parts_are_read_in_pieces():
    """A part of more tokens than look back at a time has the same logits."""
    network, tokens = make_network("LlamaConfig"), np.random.default_rng(1).integers(3, 50, 300).tolist()
    prepare_readings(network)
    found = Readings(network, 2).read([tokens, tokens[:5]], after=np.arange(305)).numpy()
    assert found == pytest.approx(
        np.concatenate([read_alone(network, tokens), read_alone(network, tokens[:5])]), abs=1e-4
    )
    after = np.array([0, 130, 299, 302])
    assert Readings(network, 2).read([tokens, tokens[:5]], after=after).numpy() == pytest.approx(found[after], abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_branches_are_read_as_if_alone(kind):
    """Branches see the beginning of their own text and themselves, and leave what was read as it was."""
    network, generator = make_network(kind), np.random.default_rng(0)
    prepare_readings(network)
    texts = [generator.integers(3, 50, size).tolist() for size in (40, 7, 1, 90)]
    readings = Readings(network, len(texts))
    readings.read(texts)
    for _ in range(6):
        rows = sorted(generator.choice(len(texts), generator.integers(1, 12)).tolist())
        lengths = [int(generator.integers(1, len(texts[row]) + 1)) for row in rows]
        branches = [generator.integers(3, 50, generator.integers(1, 9)).tolist() for _ in rows]
        found = readings.read_branches(rows, lengths, branches).numpy()
        alone = [
            read_alone(network, [*texts[row][:length], *branch])[length:]
            for row, length, branch in zip(rows, lengths, branches, strict=True)
        ]
        assert found == pytest.approx(np.concatenate(alone), abs=1e-4)
    found = readings.read([[7]] * len(texts)).numpy()
    assert found == pytest.approx(np.stack([read_alone(network, [*text, 7])[-1] for text in texts]), abs=1e-4)


def test_what_is_read_is_kept_apart():
    """Reading on from a choice changes nothing for the others."""
    network = make_network("LlamaConfig")
    prepare_readings(network)
    readings = Readings(network, 1)
    readings.read([[5, 6, 7]])
    readings.choose([0, 0]).read([[8], [9, 10]])
    assert readings.read([[11]]).numpy()[0] == pytest.approx(read_alone(network, [5, 6, 7, 11])[-1], abs=1e-4)


def test_networks_may_return_the_logits_of_all_tokens():
    """Some of transformers do not know the request for a few, and pass over it."""
    network = make_network("LlamaConfig")
    prepare_readings(network)
    tokens = [[*range(3, 23)], [5, 6]]
    wanted = Readings(network, 2).read(tokens).numpy()
    forward = network.forward
    network.forward = lambda **settings: forward(**settings | {"logits_to_keep": 0})
    assert Readings(network, 2).read(tokens).numpy() == pytest.approx(wanted, abs=1e-5)


def test_networks_that_look_back_in_their_own_way_are_refused():
    """A network that asks no attention of transformers cannot be told to ask another one."""
    transformers = pytest.importorskip("transformers")
    network = transformers.AutoModelForCausalLM.from_config(
        transformers.BloomConfig(vocab_size=50, hidden_size=32, n_layer=2, n_head=4)
    )
    with pytest.raises(ValueError, match="smollm2"):
        prepare_readings(network)

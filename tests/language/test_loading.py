"""Networks: which are read, and that reading one fetches nothing, runs nothing and prints nothing."""

import json
import shutil
import socket
import sys
import warnings

import pytest

from deniable.language.model import LanguageModel
from tests.language.conftest import PIECES, write_gguf
from tests.refusals import refuses

transformers = pytest.importorskip("transformers")
SIZES = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
SHARED = {"vocab_size": len(PIECES), "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}


def save(model_folder, tmp_path, kind, **settings):
    """Return a folder with an untrained network of a kind, such as ``GPT2LMHead``, and the tokenizer of the llama."""
    import torch

    folder = tmp_path / "network"
    network = getattr(transformers, f"{kind}")
    torch.manual_seed(0)
    network(network.config_class(**SHARED, **settings)).save_pretrained(folder)
    for file in model_folder.glob("token*"):
        shutil.copy(file, folder)
    return folder


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("GPT2LMHeadModel", {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "initializer_range": 0.5}),
        ("Qwen2ForCausalLM", {**SIZES, "num_key_value_heads": 2, "max_position_embeddings": 64}),
        ("GPTNeoXForCausalLM", {**SIZES, "max_position_embeddings": 64}),
    ],
)
def test_kinds_that_are_read(model_folder, tmp_path, kind, settings):
    """Other kinds of causal models are read too, by whatever name they have their context."""
    model = LanguageModel.load(save(model_folder, tmp_path, kind, **settings))
    assert model.card.context == 64
    assert model.card.license is None


@pytest.mark.parametrize(
    ("kind", "settings", "value"),
    [
        ("BertForMaskedLM", {**SIZES, "initializer_range": 0.5}, "from left to right"),
        ("BertLMHeadModel", {**SIZES, "initializer_range": 0.5}, "from left to right"),
        ("T5ForConditionalGeneration", {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}, "'t5'"),
        ("MambaForCausalLM", {"hidden_size": 32, "num_hidden_layers": 2, "initializer_range": 0.5}, "network"),
        ("BloomForCausalLM", {"hidden_size": 32, "n_layer": 2, "n_head": 4}, "network"),
    ],
)
def test_kinds_that_are_not_read(model_folder, tmp_path, kind, settings, value):
    """Encoders, and whatever else does not read from left to right token by token, are refused in one line."""
    folder = save(model_folder, tmp_path, kind, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of networks whose fast kernels are missing
        with refuses(value):
            LanguageModel.load(folder)


def make_foreign(folder, kind, tmp_path):
    """Return a folder with something wrong in it."""
    copy = shutil.copytree(folder, tmp_path / "foreign")
    config = json.loads((copy / "config.json").read_text())
    weights = copy / "model.safetensors"
    changed = {
        "an unknown kind": {**config, "model_type": "own", "auto_map": {"AutoModelForCausalLM": "code.Model"}},
        "code": {**config, "auto_map": {"AutoConfig": "code.Config", "AutoModelForCausalLM": "code.Model"}},
        "no context": {**config, "max_position_embeddings": "many"},
        "other shapes": {**config, "hidden_size": 64},
        "more layers": {**config, "num_hidden_layers": 3},
        "layers": {**config, "num_hidden_layers": 10**7},
        "a list": [config],
        "no JSON": "{",
    }
    if kind in changed:
        content = changed[kind]
        (copy / "config.json").write_text(content if isinstance(content, str) else json.dumps(content))
        (copy / "code.py").write_text("raise SystemExit('ran')")
    elif kind == "corrupt weights":
        weights.write_bytes(weights.read_bytes()[:1000])
    elif kind == "a huge header":
        weights.write_bytes((2**62).to_bytes(8, "little") + weights.read_bytes()[8:])
    elif kind == "no tokenizer":
        for file in copy.glob("token*"):
            file.unlink()
    elif kind == "another tokenizer":
        tokenizer = json.loads((copy / "tokenizer.json").read_text())
        tokenizer["model"]["vocab"] |= {f"more{number}": len(PIECES) + number for number in range(9)}
        (copy / "tokenizer.json").write_text(json.dumps(tokenizer))
    elif kind == "a token that texts have":
        tokenizer = json.loads((copy / "tokenizer.json").read_text())
        more = {"id": len(PIECES), "content": "film!", "special": False}
        settings = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        tokenizer["added_tokens"].append({**more, **settings})
        (copy / "tokenizer.json").write_text(json.dumps(tokenizer))
    elif kind == "pickles":
        weights.rename(copy / "pytorch_model.bin")
    elif kind == "no weights":
        weights.unlink()
    return copy


@pytest.mark.parametrize(
    "kind",
    [
        *("an unknown kind", "no context", "other shapes", "more layers", "layers", "a list", "corrupt weights"),
        *(
            "a huge header",
            "no tokenizer",
            "another tokenizer",
            "a token that texts have",
            "pickles",
            "no weights",
            "no JSON",
        ),
    ],
)
def test_foreign_folders_are_refused(model_folder, tmp_path, kind):
    """Whatever is no causal model with its tokenizer is refused in one line that names it."""
    path = make_foreign(model_folder, kind, tmp_path)
    with refuses(path):
        LanguageModel.load(path)


def test_code_beside_a_model_is_not_run(model_folder, tmp_path):
    """A kind that transformers knows is read by its own class, whatever code the folder names."""
    assert LanguageModel.load(make_foreign(model_folder, "code", tmp_path)).card.vocabulary == len(PIECES)


def test_weights_that_are_no_numbers_are_refused(model_folder, tmp_path):
    """A model that expects nothing in particular of any token is refused."""
    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(model_folder, tmp_path / "broken")
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"] = weights["model.norm.weight"] * float("nan")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with refuses("finite"):
        LanguageModel.load(folder)


@pytest.mark.parametrize("package", ["torch", "transformers", "accelerate", "gguf"])
def test_a_missing_package_is_named(tmp_path, monkeypatch, package):
    """Each package of the extra is named where it is missing, with the extra."""
    path = write_gguf(tmp_path / "llama.gguf")
    monkeypatch.setitem(sys.modules, package, None)
    with refuses(f"needs {package}, which is missing: install deniable[lm]"):
        LanguageModel.load(path)


@pytest.mark.parametrize("device", ["nowhere", "cuda:99"])
def test_devices(model_folder, device):
    """A device that torch cannot use is named."""
    with refuses(device):
        LanguageModel.load(model_folder, device=device)


@pytest.mark.parametrize("is_file", [False, True], ids=["folder", "GGUF"])
def test_nothing_is_fetched_or_printed(model_folder, tmp_path, monkeypatch, capfd, is_file):
    """No connection is opened, and neither bars nor remarks of libraries are shown."""

    def refuse(*_):
        raise AssertionError("a connection")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    source = write_gguf(tmp_path / "llama.gguf") if is_file else model_folder
    capfd.readouterr()
    model = LanguageModel.load(source)
    model.encode(["a film " * 500])
    assert capfd.readouterr() == ("", "")
    assert transformers.utils.logging.is_progress_bar_enabled()

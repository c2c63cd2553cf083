"""Targets for every other reader: whatever the bytes are, there is a result or an error made for people."""

import contextlib
import functools
import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import deniable as dn
from tests.learning.stored import read_stored, write_members, write_stored

_SECRET = "zyxsecretum"


@contextlib.contextmanager
def hold_folder() -> Iterator[Path]:
    """Give a folder in memory, where there is one."""
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="deniable-fuzz-", dir=memory) as folder:
        yield Path(folder)


@contextlib.contextmanager
def hold_file(data: bytes, name: str) -> Iterator[Path]:
    """Give a file with some content."""
    with hold_folder() as folder:
        path = folder / name
        path.write_bytes(data)
        yield path


@contextlib.contextmanager
def refusals(kind: type[Exception] = dn.InputError) -> Iterator[None]:
    """Let errors pass that are made for people, of one line."""
    try:
        yield
    except kind as error:
        _expect_one_line(error)


def _expect_one_line(error: Exception) -> None:
    assert "\n" not in str(error), "an error of several lines"


def _load_space(data: bytes, name: str) -> None:
    with hold_file(data, name) as path, refusals():
        dn.Space.load(str(path))


def fuzz_glove(data: bytes) -> None:
    """Read words and vectors as text."""
    _load_space(data, "space.txt")


def fuzz_word2vec(data: bytes) -> None:
    """Read words and vectors in word2vec's binary format."""
    _load_space(data, "space.bin")


def fuzz_npz(data: bytes) -> None:
    """Read words and vectors as arrays: the file itself, or where the first byte is even the member ``words.npy``."""
    if data[:1] and not data[0] % 2:
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for name, content in zip(("words.npy", "vectors.npy"), data[1:].split(b"\n|\n"), strict=False):
                archive.writestr(name, content)
        data = b"1" + stream.getvalue()
    _load_space(data[1:], "space.npz")


@functools.cache
def _get_space() -> dn.Space:
    return dn.Space(list("abcdefgh"), [[float(row * row % 7), float(row)] for row in range(8)])


@functools.cache
def _list_readers() -> tuple[Callable[[Path], object], ...]:
    """Return what reads each kind of model."""
    return (
        dn.rewriting.load_rewriter,
        lambda path: dn.texts.load_text_model(path, _get_space()),
        dn.images.load_image_model,
        dn.texts.load_linear_classifier,
    )


@functools.cache
def _list_base_models() -> tuple[bytes, ...]:
    """Return models that are read: a rewriter, a classifier of texts, and one of images."""
    import numpy as np

    texts = dn.texts.tokenize_texts(_get_space(), ["a b", "c d"]).texts
    documents = dn.texts.Documents(texts, np.array([0, 1]), ("x", "y"))
    options = dn.texts.TextTrainingOptions(epochs=1, learning_rate=0.05)
    small = dn.rewriting.RewriterOptions(latent=4, hidden=4, embedding=4, epochs=1, max_tokens=12)
    plain = dn.images.IMAGE_TRAINERS["plain"]
    pixels, labels = np.zeros((4, 16, 16), np.uint8), np.arange(4) % 2
    with hold_folder() as folder:
        np.savez(folder / "i.npz", x_train=pixels, y_train=labels, x_test=pixels, y_test=labels)
        images = dn.images.read_images(folder / "i.npz")
        models: tuple[Any, ...] = (
            dn.rewriting.fit_rewriter(["show me all"] * 10, ["show me"], small, seed=1),
            dn.texts.fit_text_model("bow", _get_space(), documents, options, seed=1),
            dn.images.fit_image_model(plain, images, plain.choose_options(steps=1, width=0.1), seed=1),
        )
        for number, model in enumerate(models):
            dn.texts.save_model(model, folder / f"{number}.model")
        return tuple((folder / f"{number}.model").read_bytes() for number in range(len(models)))


def _load_models(data: bytes) -> None:
    with hold_file(data, "m.model") as path:
        for read in _list_readers():
            with refusals():
                read(path)


def fuzz_model(data: bytes) -> None:
    """Read a model: the file itself, or for a first byte below 3 a good one with its description replaced."""
    if data[:1] and data[0] < len(_list_base_models()):
        with zipfile.ZipFile(io.BytesIO(_list_base_models()[data[0]])) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        data = b"." + write_members({**members, "model.json": data[1:]}.items())
    _load_models(data[1:])


def fuzz_artifact(data: bytes) -> None:
    """Read a good model of which parts are replaced: the first byte names the model, two more each part and value."""
    if not data:
        return
    content = read_stored(_pick(list(_list_base_models()), data[0]))
    for part, value in zip(data[1:7:2], data[2:7:2], strict=False):
        holder, name = _pick(list(_walk(content)), part)
        holder[name] = _pick(_list_odd_values(), value)
    _load_models(write_stored(content))


def _list_odd_values() -> list[Any]:
    """Return what no model holds where it is put."""
    import torch

    numbers = [-1, 0, 1, 3, 2**20, 2**40, 2**62, 10**30, 1e-300, 1e308, float("nan"), float("inf"), True]
    texts = ["", "x", "a\nb", "\0", "x" * 5_000, "bow", "cnn", "small", "paper-cifar10"]
    tensors = [torch.zeros(0), torch.zeros(3), torch.tensor(1.0), torch.ones(2, 2).int()]
    return [None, *numbers, *texts, [], {}, [1], {"x": 1}, [[1, 2], "x"], *tensors]


def _walk(content: Any) -> Iterator[tuple[Any, Any]]:
    """Yield everything that can be replaced in nested objects and lists: what holds it, and its name there."""
    for name in list(content) if isinstance(content, dict) else range(len(content)):
        yield content, name
        if isinstance(content[name], dict | list):
            yield from _walk(content[name])


def _pick(choices: list[Any], byte: int) -> Any:
    return choices[byte % len(choices)]


def fuzz_certificate(data: bytes) -> None:
    """Parse a certificate that anybody may have written, and check it."""
    with refusals():
        check = dn.check_certificate(dn.parse_certificate(data), _get_space())
        check.make_report().to_text()
        check.to_json()


def fuzz_body(data: bytes) -> None:
    """Parse the body of a request."""
    from pydantic import ValidationError

    from deniable.serve import routes
    from deniable.serve.problems import Problem, describe_validation

    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        return
    for model in (routes.PrivatizeBody, routes.ChoiceBody, routes.ExplainBody, routes.CheckBody, routes.MeasureBody):
        try:
            model.model_validate(content)
        except ValidationError as error:
            problem = Problem(422, describe_validation(error.errors()[0]))
            _expect_one_line(problem)
            if _SECRET in problem.detail:
                raise ValueError("a problem shows what was sent") from error


def fuzz_tallies(data: bytes) -> None:
    """Merge a folder of tallies whose files are split at a line of ``|``."""
    from deniable.engines.tallies import make_certificate, merge_tallies

    with hold_folder() as folder:
        run, *tasks = data.split(b"\n|\n")
        (folder / "run.json").write_bytes(run)
        for number, task in enumerate(tasks[:4]):
            (folder / f"task-{number}.json").write_bytes(task)
        release = dn.Release(dn.TEM(_get_space(), epsilon=1.0))
        for read in (merge_tallies, functools.partial(make_certificate, release)):
            with refusals():
                read(str(folder))


def fuzz_key(data: bytes) -> None:
    """Read a file as a noise key, a signing key, a public key and a signature; no message shows it."""
    from deniable.core.keys import read_key_file
    from deniable.core.signatures import check_signature, read_public_key, read_signing_key

    with hold_file(data, "key") as path:
        for read in (read_key_file, read_signing_key, read_public_key):
            with refusals():
                read(path)
    check_signature(data, b"{}", _get_public_key())


@functools.cache
def _get_public_key() -> Any:
    from deniable.core.signatures import read_public_key, write_signing_key

    with hold_folder() as folder:
        return read_public_key(write_signing_key(folder / "key"))


def fuzz_entities(data: bytes) -> None:
    """Read labelled spans, or for an odd first byte a list of words, and find them in a text."""
    from deniable.measure.entities.sources import read_entity_file

    with hold_file(data[1:], "e.txt" if data[:1] and data[0] % 2 else "e.jsonl") as path, refusals():
        source = read_entity_file(str(path))
        source.check_columns(["text"])
        for row in range(2):
            source.find_spans(row, "text", "The food &amp; London were great", "html")
        source.check_complete()

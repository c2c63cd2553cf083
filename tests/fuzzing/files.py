"""Targets for every other reader: whatever the bytes are, there is a result or an error made for people."""

import contextlib
import functools
import io
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from deniable.core.errors import InputError
from deniable.space import Space
from tests.learning.stored import read_stored, write_members, write_stored

_SECRET = "zyxsecretum"


@contextlib.contextmanager
def _hold_file(data: bytes, name: str) -> Iterator[Path]:
    """Give a file with some content."""
    with tempfile.TemporaryDirectory(prefix="deniable-fuzz-", dir=_find_memory()) as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        yield path


@functools.cache
def _find_memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _expect_one_line(error: Exception) -> None:
    assert "\n" not in str(error), "an error of several lines"


def _load_space(data: bytes, name: str) -> None:
    with _hold_file(data, name) as path:
        try:
            Space.load(str(path))
        except InputError as error:
            _expect_one_line(error)


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
def _list_base_models() -> tuple[bytes, ...]:
    """Return models that are read: a rewriter, a classifier of texts, and one of images."""
    import numpy as np

    from deniable.learning.artifact import serialize_model
    from deniable.models.images.model import ImageModel
    from deniable.models.images.networks import ImageArchitecture
    from deniable.models.text.documents import Documents, tokenize_texts
    from deniable.models.text.model import fit_text_model
    from deniable.models.text.training import TextTrainingOptions
    from tests.rewriting.untrained import untrained

    documents = Documents(tokenize_texts(_get_space(), ["a b", "c d"]).texts, np.array([0, 1]), ("x", "y"))
    options = TextTrainingOptions(epochs=1, learning_rate=0.05)
    text_model = fit_text_model("bow", _get_space(), documents, options, seed=1)
    architecture = ImageArchitecture("small", (1, 16, 16), 2, width=0.1)
    image_model = ImageModel("plain", architecture, architecture.build(0), (), None, None, None, {})
    return tuple(map(serialize_model, (untrained(), text_model, image_model)))


@functools.cache
def _get_space() -> Space:
    return Space(list("abcdefgh"), [[float(row * row % 7), float(row)] for row in range(8)])


def fuzz_model(data: bytes) -> None:
    """Read a model: the file itself, or for a first byte below 3 a good one with its description replaced."""
    from deniable.registry.models import load_model

    if data[:1] and data[0] < len(_list_base_models()):
        data = b"." + _replace_description(_list_base_models()[data[0]], data[1:])
    with _hold_file(data[1:], "m.model") as path:
        try:
            load_model(path, space=_get_space())
        except InputError as error:
            _expect_one_line(error)


def fuzz_artifact(data: bytes) -> None:
    """Read a good model of which parts are replaced: the first byte names the model, two more each part and value."""
    from deniable.registry.models import load_model

    if not data:
        return
    base = _list_base_models()[data[0] % len(_list_base_models())]
    content = read_stored(base)
    for part, value in zip(data[1:7:2], data[2:7:2], strict=False):
        holder, name = _pick(list(_walk(content)), part)
        holder[name] = _pick(_list_odd_values(), value)
    with _hold_file(write_stored(content), "m.model") as path:
        try:
            load_model(path, space=_get_space())
        except InputError as error:
            _expect_one_line(error)


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


def _replace_description(model: bytes, description: bytes) -> bytes:
    """Return a model's file with another description, and checksums that are right."""
    with zipfile.ZipFile(io.BytesIO(model)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return write_members({**members, "model.json": description}.items())


def fuzz_certificate(data: bytes) -> None:
    """Parse a certificate that anybody may have written, and check it."""
    from deniable.checking.certificate_check import check_certificate
    from deniable.checking.document import parse_certificate

    try:
        check = check_certificate(parse_certificate(data), _get_space())
        check.make_report().to_text()
        check.to_json()
    except InputError as error:
        _expect_one_line(error)


def fuzz_body(data: bytes) -> None:
    """Parse the body of a request."""
    from deniable.serve.bodies import ChoiceBody, ExplainBody, PrivatizeBody, TuneBody, parse_body
    from deniable.serve.checks import CheckBody
    from deniable.serve.measurements import MeasureBody
    from deniable.serve.problems import Problem

    for model in (PrivatizeBody, ChoiceBody, ExplainBody, TuneBody, CheckBody, MeasureBody):
        try:
            parse_body(data, model, 5)
        except Problem as problem:
            _expect_one_line(problem)
            if _SECRET in str(problem.detail):
                raise ValueError("a problem shows what was sent") from problem


def fuzz_tallies(data: bytes) -> None:
    """Merge a folder of tallies whose files are split at a line of ``|``."""
    from deniable import TEM, Release
    from deniable.engines.tallies import make_certificate, merge_tallies

    with tempfile.TemporaryDirectory(prefix="deniable-fuzz-", dir=_find_memory()) as folder:
        run, *tasks = data.split(b"\n|\n")
        Path(folder, "run.json").write_bytes(run)
        for number, task in enumerate(tasks[:4]):
            Path(folder, f"task-{number}.json").write_bytes(task)
        for read in (merge_tallies, functools.partial(make_certificate, Release(TEM(_get_space(), epsilon=1.0)))):
            try:
                read(folder)
            except InputError as error:
                _expect_one_line(error)


def fuzz_key(data: bytes) -> None:
    """Read a file as a noise key, a signing key, a public key and a signature; no message shows it."""
    from deniable.core.keys import read_key_file
    from deniable.core.signatures import check_signature, read_public_key, read_signing_key

    with _hold_file(data, "key") as path:
        for read in (read_key_file, read_signing_key, read_public_key):
            try:
                read(path)
            except InputError as error:
                _expect_one_line(error)
    check_signature(data, b"{}", _get_public_key())


@functools.cache
def _get_public_key() -> Any:
    from deniable.core.signatures import read_public_key, write_signing_key

    with tempfile.TemporaryDirectory() as folder:
        return read_public_key(write_signing_key(Path(folder, "key")))


def fuzz_entities(data: bytes) -> None:
    """Read labelled spans, or for an odd first byte a list of words, and find them in a text."""
    from deniable.measure.entities.sources import SourceCell
    from deniable.measure.entities.span_files import read_entity_file

    with _hold_file(data[1:], "e.txt" if data[:1] and data[0] % 2 else "e.jsonl") as path:
        try:
            source = read_entity_file(str(path))
            source.check_table(["text"], has_ids=True)
            for row in range(2):
                source.find_spans(SourceCell(row, str(row), "text", "The food &amp; London were great"))
            source.check_complete()
        except InputError as error:
            _expect_one_line(error)

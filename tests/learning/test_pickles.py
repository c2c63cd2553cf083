"""Pickles are looked at before torch reads them."""

import io
import pickle
import time
import warnings
import zipfile

import pytest
import torch

from deniable.learning.artifact import read_tensor_file
from deniable.learning.pickles import check_pickle

START = b"\x80\x02"


def make_deep_list(depth):
    """Return instructions for a list whose text has 2^depth parts, and that are short."""
    return b"]" + b"".join(b"q\x01]h\x01ah\x01a" for _ in range(depth))


def put_pickle(path, content):
    """Write a file of tensors with this pickle in the place of its own."""
    buffer = io.BytesIO()
    torch.save({"weight": torch.zeros(2)}, buffer)
    with zipfile.ZipFile(buffer) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            target.writestr(name, content if name.endswith("data.pkl") else source.read(name))


def test_files_of_torch_pass():
    """Tensors of several types, parameters, numbers, texts and containers."""
    values = {
        "half": torch.zeros(3, dtype=torch.float16),
        "view": torch.arange(6).reshape(2, 3).T,
        "parameter": torch.nn.Parameter(torch.ones(1)),
        "facts": [1, 2.5, None, True, "text", (1, "two"), {"nested": b"bytes"}, 10**30],
        "state": torch.nn.Linear(2, 2).state_dict(),
    }
    buffer = io.BytesIO()
    torch.save(values, buffer)
    with zipfile.ZipFile(buffer) as archive:
        check_pickle(archive.read(next(name for name in archive.namelist() if name.endswith("data.pkl"))))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (START + make_deep_list(60) + b")R.", "not callable"),
        (START + make_deep_list(60) + b")\x81.", "type"),
        (START + b"(X\x07\x00\x00\x00storage" + make_deep_list(60) + b"K\x01K\x01K\x01tQ.", "no storage"),
        (START + make_deep_list(60) + b"Q.", "no storage"),
        (START + b"c" + b"a" * 300_000 + b"\nname\n.", "a name of unusual length"),
        (START + b"cos\nsystem\n(X\x02\x00\x00\x00lstR" + make_deep_list(60) + b"R.", "callable"),
        (START + b"K\x01r\xff\xff\xff\xff.", None),
        (b"\x96" + (1 << 34).to_bytes(8, "little"), "150"),
        (b"(", r"^$"),
    ],
)
def test_hostile_pickles_are_answered_at_once(tmp_path, content, message):
    """Texts of 2^60 parts, long names, huge indices: an error at once, or nothing at all, and nothing is executed."""
    start = time.process_time()
    if message is None:
        check_pickle(content)
    else:
        with pytest.raises(Exception, match=message) as raised:
            check_pickle(content)
        assert len(str(raised.value)) < 300
    if message is not None:
        put_pickle(tmp_path / "a.model", content)
        with pytest.raises((pickle.UnpicklingError, TypeError, EOFError, LookupError, AttributeError)):
            read_tensor_file(tmp_path / "a.model")
    assert time.process_time() - start < 2


def test_every_member_of_one_name_is_looked_at(tmp_path):
    """Readers of archives differ in which of two members of one name they take."""
    put_pickle(tmp_path / "a.model", START + make_deep_list(60) + b")R.")
    with zipfile.ZipFile(tmp_path / "a.model", "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of zipfile, about the name
        name = next(name for name in archive.namelist() if name.endswith("data.pkl"))
        archive.writestr(name, START + b"}.")
    with pytest.raises(TypeError, match="not callable"):
        read_tensor_file(tmp_path / "a.model")

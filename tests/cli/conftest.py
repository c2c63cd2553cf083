"""A folder with a small vector file and a table, and the command line called in it."""

import dataclasses
import io
import re
import types

import numpy as np
import pytest
import typer

from deniable.cli.main import app, main
from tests.text.helpers import SPACE

TABLE = 'id,text,note\r\na1,"The food, in London, was great",007\r\nb2,zork and the dog,"x ""y"""\r\n'


@dataclasses.dataclass(frozen=True)
class Result:
    """What a command did."""

    code: int
    out: bytes
    err: str

    @property
    def text(self):
        return self.out.decode()

    @property
    def prose(self):
        """The text of a help page without its boxes and line breaks."""
        return " ".join(re.sub(r"[│╭╮╰╯─]", " ", self.text).split()).replace("- ", "-")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return the working folder: space.npz, in.csv, and nothing else."""
    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "space.npz", words=np.array(SPACE.words), vectors=SPACE.vectors)
    (tmp_path / "in.csv").write_bytes(TABLE.encode())
    return tmp_path


@pytest.fixture(scope="session")
def command_line():
    """Return the command line as typer builds it, which takes longer than most commands on small tables."""
    return typer.main.get_command(app)


@pytest.fixture
def call(place, monkeypatch, command_line):  # noqa: ARG001 - commands run in the folder
    """Return a function that calls a command in the folder, with bytes for its standard input."""

    monkeypatch.setattr("typer.main.get_command", lambda _: command_line)
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", 100)
    monkeypatch.setattr("deniable.cli.progress.read_clock", lambda: 0.0)  # no line is due, however slow the machine

    def calling(*arguments, stdin=b""):
        out, err = io.BytesIO(), io.StringIO()
        with monkeypatch.context() as patch:
            stdout = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
            patch.setattr("sys.stdout", stdout)
            patch.setattr("sys.stderr", err)
            patch.setattr("sys.stdin", types.SimpleNamespace(buffer=io.BytesIO(stdin)))
            code = main([str(argument) for argument in arguments])
            return Result(code, out.getvalue(), err.getvalue())

    return calling


@pytest.fixture
def privatize(call):
    """Return a function that privatizes in.csv to out.csv, unless told otherwise."""

    def privatizing(*options, source="in.csv", output="out.csv", epsilon="2", stdin=b""):
        basic = [source, "--space", "space.npz", "--epsilon", epsilon, "--output", output]
        return call("privatize", *basic, *options, stdin=stdin)

    return privatizing


@pytest.fixture
def refused(place):
    """Return a function that checks that a command failed as it should, and gives its message."""
    before = snapshot(place)

    def checking(result, *, new=()):
        assert result.code == 2
        assert result.out == b""
        lines = result.err.splitlines()
        assert len(lines) == 1
        assert lines[0].startswith("deniable: ")
        assert "Traceback" not in result.err
        after = snapshot(place)
        assert after == {**{name: after[name] for name in new}, **before}
        return lines[0].removeprefix("deniable: ")

    def prepare(**files):
        for name, data in files.items():
            path = place / name.replace("__", ".")
            path.write_bytes(data if isinstance(data, bytes) else data.encode())
        before.update(snapshot(place))

    checking.given = prepare
    return checking


def snapshot(folder):
    """Return the files of a folder, hidden ones too, with what they hold."""
    return {path.name: path.read_bytes() if path.is_file() else None for path in sorted(folder.iterdir())}

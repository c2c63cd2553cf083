"""A folder with a small vector file and a table, and the command line called in it."""

import csv
import io

import numpy as np
import pytest

import deniable as dn
from tests.commands import run

WORDS = ["the", "and", "london", "paris", "tokyo", "food", "good", "great", "bad", "was", "red", "blue", "dog", "cat"]
TABLE = 'id,text,note\r\na1,"The food, in London, was great",007\r\nb2,zork and the dog,"x ""y"""\r\n'
REQUESTS = [
    f"show me all {what} from {where} to dallas" for what in ("flights", "fares") for where in ("boston", "rome")
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return the working folder: space.npz, in.csv, and nothing else."""
    monkeypatch.chdir(tmp_path)
    vectors = np.random.default_rng(5).normal(size=(len(WORDS), 3))
    np.savez(tmp_path / "space.npz", words=np.array(WORDS), vectors=vectors)
    (tmp_path / "in.csv").write_bytes(TABLE.encode())
    return tmp_path


@pytest.fixture
def call(place):  # noqa: ARG001 - commands run in the folder
    """Return the function that calls a command in the folder, with bytes for its standard input."""
    return run


@pytest.fixture
def privatize(call):
    """Return a function that privatizes in.csv to out.csv, unless told otherwise."""

    def privatizing(*options, source="in.csv", output="out.csv", epsilon="2", stdin=b""):
        basic = [source, "--space", "space.npz", "--epsilon", epsilon, "--output", output]
        return call("privatize", *basic, *options, stdin=stdin)

    return privatizing


@pytest.fixture(scope="session")
def rewriter(tmp_path_factory):
    """Return the file of a model that rewrites texts of up to 12 tokens, trained for a moment."""
    options = dn.rewriting.RewriterOptions(latent=8, hidden=12, embedding=6, epochs=1, max_tokens=12)
    model = dn.rewriting.fit_rewriter(REQUESTS * 3, REQUESTS, options, seed=3)
    path = tmp_path_factory.mktemp("rewriter") / "model.pt"
    dn.texts.save_model(model, path)
    return path.read_bytes()


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


def read_rows(data):
    """Return the rows of a csv, its header too."""
    return list(csv.reader(io.StringIO(data.decode(), newline="")))

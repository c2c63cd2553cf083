"""The three files of a study: whole or not at all, and never over what is there."""

import dataclasses
import json
import math
import sys

import pytest

from deniable.errors import InputError
from deniable.studies import Comparison, Result, Setting, Study, conduct, report
from deniable.studies.style import blank

NAMES = ["tiny.json", "tiny.md", "tiny.png"]


@dataclasses.dataclass(frozen=True)
class Sizes:
    count: int = 3
    steps: tuple[int, ...] = (1, 2)


def run(sizes, setting):
    row = Comparison("so | said", f"{sizes.count} found with seed {setting.seed}", "agrees")
    return Result({"loss": math.inf, "seed": setting.seed}, (row,), ("first", "second"))


def draw(data):
    assert math.isinf(data["loss"])
    return blank(1, 1, 2, 2)[0]


STUDY = Study("tiny", "a tiny study", "Somebody 1999, Figure 1", Sizes(), Sizes(count=1), run, draw)


def listed(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_files(tmp_path):
    """Numbers, figure and table are written, with what a reader needs to judge and repeat them."""
    done = conduct(STUDY, tmp_path / "a" / "b", Setting(7))
    assert listed(tmp_path / "a" / "b") == NAMES
    numbers = json.loads(done.numbers.read_text(), parse_constant=pytest.fail)
    about = numbers["about"]
    assert (about["seed"], about["sizes"], about["size count"], about["size steps"]) == (7, "full", 3, [1, 2])
    assert about["cores"] >= 1
    assert about["seconds"] >= 0
    assert numbers["results"] == {"loss": "inf", "seed": 7}
    assert done.figure.read_bytes().startswith(b"\x89PNG")
    table = done.table.read_text()
    assert "| so \\| said | 3 found with seed 7 | agrees |" in table
    assert "- first\n- second\n" in table
    assert "seed 7; sizes full; size count 3; size steps 1, 2" in table


def test_sizes(tmp_path):
    """Quick sizes and given ones are taken, and said."""
    quick = conduct(STUDY, tmp_path / "q", Setting(0), quick=True)
    given = conduct(STUDY, tmp_path / "g", Setting(0), quick=True, sizes=Sizes(count=9))
    read = [json.loads(done.numbers.read_text())["about"] for done in (quick, given)]
    assert [(about["sizes"], about["size count"]) for about in read] == [("quick", 1), ("given", 9)]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_overwritten(tmp_path, name):
    """A file that is there stays as it is, unless overwriting is asked for; that is found before the run."""
    (tmp_path / name).write_text("mine")
    late = dataclasses.replace(STUDY, run=lambda *_: pytest.fail("ran"))
    with pytest.raises(InputError, match="exists"):
        conduct(late, tmp_path, Setting(0))
    assert listed(tmp_path) == [name]
    conduct(STUDY, tmp_path, Setting(0), force=True)
    assert listed(tmp_path) == NAMES
    assert (tmp_path / name).read_bytes() != b"mine"


@pytest.mark.parametrize("step", ["run", "draw"])
def test_an_interrupt_leaves_nothing(tmp_path, step):
    """Ctrl-C in a run or a drawing leaves no file and no folder."""

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        conduct(dataclasses.replace(STUDY, **{step: stop}), tmp_path / "out", Setting(0))
    assert listed(tmp_path) == []


def test_a_failure_while_writing_leaves_nothing(tmp_path, monkeypatch):
    """If the last file cannot be written, none appears, and old ones stay."""
    conduct(STUDY, tmp_path, Setting(1))
    before = {name: (tmp_path / name).read_bytes() for name in NAMES}

    class Unwritable:
        def encode(self):
            return 1

    monkeypatch.setattr(report, "_markdown", lambda *_: Unwritable())
    with pytest.raises(TypeError):
        conduct(STUDY, tmp_path, Setting(2), force=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_folders_that_cannot_be(tmp_path):
    """A file in the place of the folder is named before the run."""
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "deeper"):
        with pytest.raises(InputError, match="is a file"):
            conduct(STUDY, folder, Setting(0))


def test_without_matplotlib(tmp_path, monkeypatch):
    """Without matplotlib one line says what to install, before the run."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    late = dataclasses.replace(STUDY, run=lambda *_: pytest.fail("ran"))
    with pytest.raises(InputError, match=r"install deniable\[plot\]\.$"):
        conduct(late, tmp_path, Setting(0))
    assert listed(tmp_path) == []

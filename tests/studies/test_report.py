"""The three files of a study: whole or not at all, and never over what is there."""

import dataclasses
import json
import math
import sys

import pytest

from deniable.core.errors import InputError
from deniable.studies import Comparison, Result, Setting, Study, conduct, report, unfinished
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


def _stop(*_):
    raise KeyboardInterrupt


@dataclasses.dataclass
class Parts:
    """A run in three parts, which counts those that it computes and can be interrupted before one of them."""

    stop: int | None = None
    computed: list[int] = dataclasses.field(default_factory=list)

    def __call__(self, sizes, setting):
        found = [setting.ledger.remember(f"part {part}", lambda part=part: self.part(part)) for part in range(3)]
        return Result({"loss": math.inf, "parts": found}, run(sizes, setting).table, ("first",))

    def part(self, part):
        if part == self.stop:
            raise KeyboardInterrupt
        self.computed.append(part)
        return {"part": part}

    def conduct(self, folder, setting=Setting(0), **options):  # noqa: B008 - frozen
        return conduct(dataclasses.replace(STUDY, run=self), folder, setting, **options)


@pytest.fixture
def interrupted(tmp_path):
    """Return the folder of a run with seed 0 that kept two of its three parts."""
    with pytest.raises(KeyboardInterrupt):
        Parts(stop=2).conduct(tmp_path / "out")
    assert listed(tmp_path / "out") == ["tiny.unfinished.jsonl"]
    return tmp_path / "out"


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
    with pytest.raises(KeyboardInterrupt):
        conduct(dataclasses.replace(STUDY, **{step: _stop}), tmp_path / "out", Setting(0))
    assert listed(tmp_path) == []


def test_going_on(interrupted):
    """The same run goes on: what was kept is not computed again, and the numbers are those of one sitting."""
    again = Parts()
    done = again.conduct(interrupted)
    assert again.computed == [2]
    assert listed(interrupted) == NAMES
    read = json.loads(done.numbers.read_text())
    assert read["about"]["results of earlier sittings"] == 2
    whole = json.loads(Parts().conduct(interrupted / "whole").numbers.read_text())
    assert "results of earlier sittings" not in whole["about"]
    assert read["results"] == whole["results"]


def test_going_on_more_than_once(interrupted):
    """A run that is interrupted again keeps all parts of all sittings."""
    with pytest.raises(KeyboardInterrupt):
        conduct(dataclasses.replace(STUDY, run=Parts(), draw=_stop), interrupted, Setting(0))
    third = Parts()
    third.conduct(interrupted)
    assert third.computed == []
    assert listed(interrupted) == NAMES


@pytest.mark.parametrize(
    ("setting", "options", "message"),
    [
        (Setting(5), {}, "with seed 0. Got 5"),
        (Setting(0), {"sizes": Sizes(count=4)}, "with size count 3. Got 4"),
        (Setting(0), {"quick": True}, "with size count 3. Got 1"),
    ],
)
def test_another_run_loses_nothing(interrupted, setting, options, message):
    """A run with another seed, data or sizes is refused before it computes anything, and the first can go on."""
    other = Parts()
    with pytest.raises(InputError, match=message):
        other.conduct(interrupted, setting, **options)
    assert other.computed == []
    first = Parts()
    first.conduct(interrupted)
    assert first.computed == [2]


def test_other_data_are_another_run(tmp_path):
    """Data sets are known by their content: a copy elsewhere goes on, and another set is refused by name."""
    folders = [tmp_path / name for name in ("data", "copy", "other")]
    for folder, content in zip(folders, (b"one", b"one", b"two"), strict=True):
        folder.mkdir()
        (folder / "d.npz").write_bytes(content)
        (folder / "notes.txt").write_text(folder.name)
    with pytest.raises(KeyboardInterrupt):
        Parts(stop=2).conduct(tmp_path / "out", Setting(0, folders[0]))
    with pytest.raises(InputError, match=r"with file d\.npz [0-9a-f]{16}\. Got [0-9a-f]{16}: "):
        Parts().conduct(tmp_path / "out", Setting(0, folders[2]))
    again = Parts()
    again.conduct(tmp_path / "out", Setting(0, folders[1]))
    assert again.computed == [2]


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
def test_no_data_set_is_overwritten(tmp_path, link):
    """With force too a study writes to no name of a file in its data folder."""
    data, output = tmp_path / "data", tmp_path / "output"
    data.mkdir()
    output.mkdir()
    (data / "a.parquet").write_text("mine")
    getattr(output / f"{STUDY.name}.json", link)(data / "a.parquet")
    with pytest.raises(InputError, match=r"is a file that is read, as '.*a\.parquet': choose another name"):
        conduct(STUDY, output, Setting(0, data), force=True)
    assert (data / "a.parquet").read_text() == "mine"
    assert [path.name for path in output.iterdir()] == [f"{STUDY.name}.json"]


def test_force_begins_anew(interrupted):
    """With force nothing that was kept counts, and the unfinished file is gone at the end."""
    anew = Parts()
    anew.conduct(interrupted, Setting(5), force=True)
    assert anew.computed == [0, 1, 2]
    assert listed(interrupted) == NAMES


def test_a_failure_while_writing_keeps_the_parts(tmp_path, monkeypatch):
    """If the files cannot be written, what was found is still kept."""
    with monkeypatch.context() as patch:
        patch.setattr(report, "_markdown", _stop)
        with pytest.raises(KeyboardInterrupt):
            Parts().conduct(tmp_path)
    assert [tmp_path / name for name in listed(tmp_path)] == [unfinished("tiny", tmp_path)]
    again = Parts()
    again.conduct(tmp_path)
    assert again.computed == []


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

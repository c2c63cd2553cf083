"""The names of word mechanisms, as they are read from the source."""

import subprocess
import sys

import pytest

import deniable as dn
from deniable.registry import names
from tests.refusals import refuses


def test_names_are_those_of_the_classes(small_space):
    """What is read from the source are the names of the public classes of mechanisms, each of which it builds."""
    found = names.read_word_mechanism_names()
    public = [cls for cls in vars(dn).values() if isinstance(cls, type) and issubclass(cls, dn.WordMechanism)]
    assert {cls.name for cls in public if cls is not dn.WordMechanism} <= set(found)
    assert [dn.mechanism(name, small_space, epsilon=300.0).name for name in found] == list(found)


def test_reading_names_loads_no_mechanism():
    """Help and completion list the mechanisms without importing one, or the compiled loops behind it."""
    program = "import sys; import deniable.cli.choices as c; print(list(c.MechanismName)); print(*sys.modules)"
    shown, loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert "'truncated-gumbel'" in shown
    assert not {"numba", "numpy", "deniable.words", "deniable.registry.word_mechanisms"} & set(loaded.split())


def test_a_class_without_a_name_is_refused(tmp_path, monkeypatch):
    """A class whose name is no text in its body is told how to write it."""
    monkeypatch.setattr(names, "_PACKAGE", tmp_path)
    (tmp_path / "words").mkdir()
    for name in ("calibrated_exponential", "tem"):
        (tmp_path / "words" / f"{name}.py").write_text('class TEM:\n    scale = 1\n    name = "t" + "em"\n')
    with refuses("deniable.words.", TypeError):
        names.read_word_mechanism_names.__wrapped__()


@pytest.mark.parametrize(
    "given",
    [["tem", "tight", "tem"], ["tem", "auto"], ["best"], ["my_tem"], ["TEM"], ["t\u00e9m"], ["tem\n"], ["-tem"], [""]],
)
def test_no_name_stands_for_two_laws(given):
    """A mechanism with the name of another, or one that no command line takes, is refused and replaces none."""
    with refuses(repr(given[-1]), TypeError):
        names.check_mechanism_names(given)

"""The names of word mechanisms, as they are read from the source."""

import importlib
import subprocess
import sys

import pytest

import deniable as dn
from deniable.registry import names, word_mechanisms, words
from deniable.registry.names import read_word_mechanism_names
from deniable.registry.words import WORD_MECHANISMS


def test_names_are_those_of_the_classes():
    """What is read from the source is what the registry holds, in its order."""
    assert read_word_mechanism_names() == tuple(WORD_MECHANISMS)


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
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "odd.py").write_text('class Odd:\n    scale = 1\n    name = "o" + "dd"\n')
    monkeypatch.setattr(names, "_PACKAGE", tmp_path)
    with pytest.raises(TypeError, match=r'^deniable\.words\.odd\.Odd must set its name as a text: write name = "'):
        names._read_name("deniable.words.odd", "Odd")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["tem", "tight", "tem"], "The mechanism name 'tem' is taken"),
        (["tem", "auto"], "The mechanism name 'auto' is taken"),
        (["best"], "The mechanism name 'best' is taken"),
        (["my_tem"], "The mechanism name 'my_tem' must be lower-case words joined by hyphens"),
        (["TEM"], "The mechanism name 'TEM' must be"),
        (["t\u00e9m"], "must be lower-case words"),
        (["tem\n"], "must be lower-case words"),
        (["-tem"], "must be lower-case words"),
        ([""], "must be lower-case words"),
    ],
)
def test_no_name_stands_for_two_laws(given, message):
    """A mechanism with the name of another, or one that no command line takes, is refused and replaces none."""
    with pytest.raises(TypeError, match=message):
        names.check_mechanism_names(given)


def test_an_inherited_name_is_refused(monkeypatch):
    """Where a registered class leaves its parent's name, the registry does not put it in the parent's place."""

    class Other(dn.TEM):
        pass

    monkeypatch.setattr(word_mechanisms, "Other", Other, raising=False)
    with pytest.raises(TypeError, match="The mechanism name 'tem' is taken"):
        importlib.reload(words)

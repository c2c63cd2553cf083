"""The names of word mechanisms, as they are read from the source."""

import subprocess
import sys

import pytest

from deniable.registry import names
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

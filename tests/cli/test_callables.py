"""Callables that an argument names."""

import sys

import pytest

from deniable.cli.callables import import_callable
from deniable.core.errors import InputError


def test_a_callable_of_the_current_folder(tmp_path, monkeypatch, capsys):
    """A module beside the data is imported, what it prints goes to standard error, and the path is as before."""
    (tmp_path / "own_callables.py").write_text(
        "print('hello')\nclass A:\n    @staticmethod\n    def f():\n        return 3\n"
    )
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)
    assert import_callable("own_callables:A.f")() == 3
    assert capsys.readouterr() == ("", "hello\n")
    assert sys.path == path
    sys.modules.pop("own_callables")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("no_such_module_here:f", "No module named 'no_such_module_here'"),
        ("json:nothing", "has no callable 'nothing'"),
        ("json", "has no callable ''"),
        ("json:decoder", "has no callable 'decoder'"),
        (":f", "cannot be imported"),
    ],
)
def test_what_is_no_callable(target, message):
    """Whatever cannot be imported or called is refused in one line."""
    with pytest.raises(InputError, match=message) as refused:
        import_callable(target)
    assert "\n" not in str(refused.value)

"""Optional packages: imported where they are, named with their extra where they are not."""

import json
import sys

import pytest

from deniable import InputError
from deniable.core.extras import import_extra


def test_an_installed_module_is_returned():
    """A module that is installed is returned itself."""
    assert import_extra("json", "This", "measure") is json


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    """The message names the package as it is installed, and the extra."""
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.delitem(sys.modules, "sklearn.svm", raising=False)
    for module in ("sklearn", "sklearn.svm"):
        with pytest.raises(
            InputError, match=r"^A survey needs scikit-learn, which is missing: install deniable\[measure\]\.$"
        ):
            import_extra(module, "A survey", "measure")


def test_a_broken_package_is_not_called_missing(tmp_path, monkeypatch):
    """Where the package is there and one of its own dependencies is not, the error is the original one."""
    (tmp_path / "broken_package.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency"):
        import_extra("broken_package", "This", "measure")

"""What is refused, in one line with the value: parameters, calls, and packages that are missing."""

import functools
import inspect
import math
import pickle
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import deniable as dn
from deniable.core.classes import WriteOnce, get_picklable_state, is_builtin_class
from deniable.core.errors import (
    check_count,
    check_fraction,
    check_number_within,
    check_positive,
    escape_unprintable,
    import_extra,
    is_interruption,
    make_parameter_error,
)
from tests.refusals import refuses


def test_all_errors_are_of_one_family():
    """Both kinds can be caught as one, and a bad input also as a ValueError."""
    assert issubclass(dn.InputError, dn.DeniableError)
    assert issubclass(dn.InputError, ValueError)
    assert issubclass(dn.NotTractable, dn.DeniableError)
    assert not issubclass(dn.NotTractable, ValueError)


def test_interruptions():
    """A Ctrl-C is known as one, and so is what was raised because of it, however far back; nothing else is."""
    caused, handled = SystemError("an exception set"), dn.InputError("failed")
    caused.__cause__ = KeyboardInterrupt()
    handled.__context__ = caused
    assert all(map(is_interruption, (KeyboardInterrupt(), caused, handled)))
    assert not any(map(is_interruption, (None, SystemError("an exception set"), SystemExit(1))))


def test_a_refusal_is_one_short_line():
    """It names parameter, owner, domain and value; line breaks in a value become spaces, and a long value is cut."""
    error = make_parameter_error("TEM", "epsilon", "a float in (0, inf)", -1)
    assert error.args == ("The 'epsilon' parameter of TEM must be a float in (0, inf). Got -1.",)
    assert isinstance(error, dn.InputError)
    (line,) = make_parameter_error("TEM", "epsilon", "a float", np.zeros((40, 40))).args
    assert "\n" not in line
    assert line.endswith("shape=(40, 40)).")
    assert "Got array([[0., 0., " in line
    assert " ... " in line
    assert len(line) < 300


def test_what_moves_the_cursor_is_escaped():
    """Control characters, changes of direction, line ends and halves of pairs are shown as codes; letters stay."""
    assert escape_unprintable("日本 é\x1b[2J") == "日本 é\\u001b[2J"
    assert escape_unprintable("a\u202eb\n\ud800") == "a\\u202eb\\u000a\\ud800"


check_epochs = functools.partial(check_count, maximum=3)
check_unit = functools.partial(check_number_within, lower=0, upper=1)
check_delta = functools.partial(check_positive, upper=1.0)


def test_numbers_of_any_type():
    """Integers, fractions and numpy's numbers within the domain pass, as float or as int."""
    for check, values in (
        (check_positive, (1, 0.5, np.float32(0.25), np.int64(3), Fraction(1, 3), 5e-324)),
        (check_delta, (0.999,)),
        (check_epochs, (1, 3, np.int64(2))),
        (check_count, (10**12,)),
        (check_unit, (0, 0.5, 1)),
        (check_fraction, (0,)),
    ):
        for value in values:
            found = check("TEM", "epsilon", value)
            assert found == value or found == float(value)
            assert type(found) is (int if check in (check_epochs, check_count) else float)


@pytest.mark.parametrize(
    ("check", "domain", "values"),
    [
        (check_positive, "a float in (0, inf)", [0, -1, math.nan, math.inf, True, "1", None, Decimal(1), 1j, [1.0]]),
        (check_positive, "a float in (0, inf)", [10**400, Fraction(1, 10**400)]),
        (check_delta, "a float in (0, 1)", [1.0, 1.5]),
        (check_epochs, "an int from 1 to 3", [0, 4, True, 2.0, "2", None]),
        (functools.partial(check_count, minimum=2), "an int of at least 2", [1]),
        (check_unit, "a float in [0, 1]", [-1e-9, 1.1, math.nan, True, "0.5", 10**400]),
        (check_fraction, "a float in [0, 1)", [1, -0.1, math.nan, None]),
    ],
)
def test_what_is_no_such_number_is_refused(check, domain, values):
    """Values outside the domain, truth values and other types are refused, with the domain."""
    for value in values:
        with refuses(f"'epsilon' parameter of TEM must be {domain}. Got "):
            check("TEM", "epsilon", value)


def test_optional_packages(tmp_path, monkeypatch):
    """A module is imported where it is; a missing one is named with its extra, a broken one is not called missing."""
    assert import_extra("inspect", "This", "measure") is inspect
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.delitem(sys.modules, "sklearn.svm", raising=False)
    for module in ("sklearn", "sklearn.svm"):
        with refuses("scikit-learn, which is missing: install deniable[measure]."):
            import_extra(module, "A survey", "measure")
    (tmp_path / "broken_package.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(tmp_path)
    with refuses("no_such_dependency", ModuleNotFoundError):
        import_extra("broken_package", "This", "measure")


class Point(WriteOnce):
    """A point of a line."""

    def __init__(self, x):
        self.x = x

    @functools.cached_property
    def square(self):
        """The square."""
        return self.x**2

    def norm(self):
        """Return the norm."""
        return abs(self.x)


def test_attributes_are_set_once():
    """What the constructor set stays, no method can be replaced on an object; what was computed does not pickle."""
    point = Point(3)
    for name, value in (("x", 4), ("norm", lambda: 0)):
        with refuses(f"'{name}'", AttributeError):
            setattr(point, name, value)
    with refuses("'x'", AttributeError):
        del point.x
    assert (point.x, point.norm(), point.square) == (3, 3, 9)
    assert get_picklable_state(point) == {"x": 3}
    assert pickle.dumps(point) == pickle.dumps(Point(3))
    assert pickle.loads(pickle.dumps(point)).square == 9


def test_a_name_of_this_package_makes_no_class_its_own():
    """Neither a module nor a whole name that looks like the package's own makes another's class so."""
    assert is_builtin_class(dn.TEM)
    for name, module in (("TEM", "deniable.words.tem"), ("X", "deniable.words.tem"), ("X", "deniable.x"), ("X", "x")):
        assert not is_builtin_class(type(name, (dn.TEM,), {"__module__": module}))

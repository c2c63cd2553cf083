"""Classes that a proof can rest on: objects that are written once, and code that is the package's own."""

import functools
import pickle

import pytest

import deniable as dn
from deniable.core.classes import WriteOnce, get_picklable_state, is_builtin_class


class Point(WriteOnce):
    def __init__(self, x):
        self.x = x

    @functools.cached_property
    def square(self):
        return self.x**2

    def norm(self):
        return abs(self.x)


def test_attributes_are_set_once():
    """What the constructor set stays, and no method can be replaced on one object."""
    point = Point(3)
    with pytest.raises(AttributeError, match="'x' of this Point cannot change: make a new Point instead"):
        point.x = 4
    with pytest.raises(AttributeError, match="'norm' of this Point cannot change"):
        point.norm = lambda: 0
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del point.x
    assert (point.x, point.norm()) == (3, 3)


def test_what_was_computed_does_not_pickle():
    """A pickle holds what was set, whether or not anything was computed from it."""
    used = Point(3)
    assert used.square == 9
    assert get_picklable_state(used) == {"x": 3}
    assert pickle.dumps(used) == pickle.dumps(Point(3))
    assert pickle.loads(pickle.dumps(used)).square == 9


def test_a_name_of_this_package_makes_no_class_its_own():
    """Neither a module nor a whole name that looks like the package's own makes another's class so."""
    assert is_builtin_class(dn.TEM)
    for name, module in (("TEM", "deniable.words.tem"), ("X", "deniable.words.tem"), ("X", "deniable.x"), ("X", "x")):
        assert not is_builtin_class(type(name, (dn.TEM,), {"__module__": module}))

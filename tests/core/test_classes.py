"""Whose code a class is."""

import deniable as dn
from deniable.core.classes import is_builtin_class


def test_a_name_of_this_package_makes_no_class_its_own():
    """Neither a module nor a whole name that looks like the package's own makes another's class so."""
    assert is_builtin_class(dn.TEM)
    for name, module in (("TEM", "deniable.words.tem"), ("X", "deniable.words.tem"), ("X", "deniable.x"), ("X", "x")):
        assert not is_builtin_class(type(name, (dn.TEM,), {"__module__": module}))

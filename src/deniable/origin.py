"""Whose code a class is: what is proved of this package's classes is not proved of others under their names."""

import sys


def is_builtin_class(cls: type) -> bool:
    """Say whether a class is one that this package defines, whatever module it says it comes from."""
    module = sys.modules.get(cls.__module__)
    return cls.__module__.startswith("deniable.") and getattr(module, cls.__qualname__, None) is cls

"""Whose code a class is: what is proved of this package's classes is not proved of others under their names."""

import sys


def is_own(kind: type) -> bool:
    """Say whether a class is one that this package defines, whatever module it says it comes from."""
    home = sys.modules.get(kind.__module__)
    return kind.__module__.startswith("deniable.") and getattr(home, kind.__qualname__, None) is kind

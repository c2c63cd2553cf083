"""Classes that a proof can rest on: their objects never change, and their code is this package's own.

What is proved of a class of this package is not proved of a subclass, or of another class under its name.
"""

import functools
import sys
from typing import Any


def get_picklable_state(instance: object) -> dict[str, Any]:
    """Return the attributes of an object without what `functools.cached_property` computed from the others.

    It is what pickles, so that a pickle neither grows nor changes when an object is used.
    """
    kind = type(instance)
    return {
        name: value
        for name, value in vars(instance).items()
        if not isinstance(getattr(kind, name, None), functools.cached_property)
    }


class WriteOnce:
    """Base of classes whose attributes are set once, by the constructor, and whose methods stay the class's own.

    Raises:
        AttributeError: an attribute is set again or deleted, or a method is replaced on one object.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if name in vars(self) or hasattr(type(self), name):
            raise AttributeError(
                f"{name!r} of this {type(self).__name__} cannot change: make a new {type(self).__name__} instead."
            )
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{name!r} of this {type(self).__name__} cannot be deleted: make a new one instead.")

    def __getstate__(self) -> dict[str, Any]:
        """Return what pickles: nothing that was computed from the rest."""
        return get_picklable_state(self)


def is_builtin_class(cls: type) -> bool:
    """Return whether this package defines a class, whatever module the class claims to come from."""
    module = sys.modules.get(cls.__module__)
    return cls.__module__.startswith("deniable.") and getattr(module, cls.__qualname__, None) is cls

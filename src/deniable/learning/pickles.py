"""A first look at the pickle in a file of tensors, before torch reads it.

torch executes nothing that it does not know, but shows it in its message. The text of a value that is shared within
itself can be exponentially long, and torch searches it in quadratic time: a file of one kilobyte would occupy a reader
for ever. So the instructions are followed here first, with inert objects in the place of whatever they name.
"""

import io
import pickle
from typing import Any, ClassVar

_MAX_NAME = 200
_STORAGE = "storage"
_LATER_CODES = (*pickle.BYTEARRAY8, *pickle.NEXT_BUFFER, *pickle.READONLY_BUFFER)


class _Inert(dict[Any, Any]):
    """Stands for a class, a function or what they make: takes everything, and does nothing."""

    def __init__(self, *_arguments: object, **_named: object) -> None:
        super().__init__()

    def __setstate__(self, _state: object) -> None:
        """Ignore a state."""


class _InertUnpickler(pickle._Unpickler):  # noqa: SLF001 - its memo grows with what is put there, that of the compiled one with the largest index
    """Follows the instructions of a pickle, and makes nothing of them.

    Without those that torch does not know either, and that take memory before they are read.
    """

    dispatch: ClassVar[dict[int, Any]] = {
        code: follow
        for code, follow in pickle._Unpickler.dispatch.items()  # noqa: SLF001 - see above
        if code not in _LATER_CODES
    }

    def find_class(self, module: str, name: str) -> type:
        """Return an inert class for any name of usual length."""
        if len(module) + len(name) > _MAX_NAME:
            raise pickle.UnpicklingError("a name of unusual length")
        return _Inert

    def persistent_load(self, saved_id: Any) -> _Inert:  # noqa: ANN401 - whatever is on the stack
        """Return an inert storage for a tuple as torch writes it: kind, class, key, place, size."""
        is_storage = (
            isinstance(saved_id, tuple)
            and len(saved_id) == 5  # noqa: PLR2004 - see above
            and saved_id[0] == _STORAGE
            and saved_id[1] is _Inert
            and all(isinstance(part, str) and len(part) <= _MAX_NAME for part in saved_id[2:4])
            and isinstance(saved_id[4], int)
        )
        if not is_storage:
            raise pickle.UnpicklingError("a reference to no storage")
        return _Inert()


def check_pickle(content: bytes) -> None:
    """Raise for a pickle that calls or names anything but by a short name; nothing in it is executed.

    Raises:
        Exception: of many kinds, each with a short message.
    """
    _InertUnpickler(io.BytesIO(content)).load()

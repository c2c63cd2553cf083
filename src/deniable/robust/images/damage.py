"""Damaged files: whatever a decoder raises becomes one line that names the file."""

from collections.abc import Iterator
from contextlib import contextmanager

from deniable.errors import InputError


@contextmanager
def reraise_decoder_errors(file_text: str, expected: str) -> Iterator[None]:
    """Raise what a decoder raises within the block as `InputError`.

    Args:
        file_text: the file, as the message calls it.
        expected: what it should be, such as ``a whole .npz archive``.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - damaged bytes make zip, numpy, Pillow and zlib raise errors of any kind
        reason = " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
        raise InputError(f"{file_text} cannot be read as {expected}: {reason}.") from None

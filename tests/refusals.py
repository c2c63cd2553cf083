"""What every refusal of bad input is: one line that names the value; the wordings stand in one catalogue."""

import contextlib

import pytest

import deniable as dn


@contextlib.contextmanager
def refuses(value, kind=dn.InputError):
    """Expect an error of that kind, in one line with the value in it."""
    with pytest.raises(kind) as caught:
        yield
    line = str(caught.value)
    assert line
    assert "\n" not in line
    assert str(value) in line

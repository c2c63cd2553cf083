"""How values of the options of training commands are read."""

import pytest

from deniable.cli.train.options import parse_classes
from deniable.core.errors import InputError


def test_class_names():
    """Names stand between commas, one with a comma in quotes; an empty or repeated one is refused by its option."""
    assert parse_classes(' a, b c ,"d, e"') == ("a", "b c", "d, e")
    assert parse_classes(None) is None
    for text in ("", "a,", "a,,b"):
        with pytest.raises(InputError, match="--classes must list names"):
            parse_classes(text)
    with pytest.raises(InputError, match="--classes names 'a' twice"):
        parse_classes("a,b,a")

"""What options stand for: mechanisms, substitutions and lists of words."""

import json

import pytest

from deniable.cli import building
from deniable.core.errors import InputError
from deniable.words.calibrated_exponential import CalibratedExponential
from deniable.words.tight_exponential import TightExponential


def test_auto_is_a_mechanism(small_space):
    """auto stands for tight or calibrated, every other name for its own mechanism."""
    assert isinstance(building.build_word_mechanism(small_space, "auto", 3.0), CalibratedExponential | TightExponential)
    assert building.build_word_mechanism(small_space, "tem", 3.0).name == "tem"


@pytest.mark.parametrize(("name", "owner"), [("auto", "the mechanism"), ("tem", "TEM")])
def test_an_epsilon_that_is_none(name, owner):
    """An epsilon that no mechanism takes is refused before a space is read."""
    with pytest.raises(InputError, match=f"The 'epsilon' parameter of {owner} must be"):
        building.check_mechanism_epsilon(name, -1.0)


def test_optional_mechanisms(small_space):
    """Name and epsilon come together, or not at all."""
    assert building.build_optional_mechanism(small_space, None, None) is None
    assert building.build_optional_mechanism(small_space, "tem", 2.0).epsilon == 2.0
    for name, epsilon in (("tem", None), (None, 2.0)):
        with pytest.raises(InputError, match="belong together"):
            building.build_optional_mechanism(small_space, name, epsilon)


def test_where_substitutes_come_from(small_space, tmp_path):
    """Substitutes come from a file or from a mechanism, not from both; what was left out of a file is told."""
    path = tmp_path / "sets.json"
    first, second = small_space.words[:2]
    path.write_text(json.dumps({first: [second, "zork"]}))
    source = building.build_substitute_source(small_space, path, None, None)
    assert building.describe_substitutions(path, source)[0].startswith(f"{path}: 1 of 2 substitutes have no vector")
    assert building.build_substitute_source(small_space, None, "tem", 2.0).name == "tem"
    assert building.build_substitute_source(small_space, None, None, None) is None
    assert building.describe_substitutions(None, None) == []
    with pytest.raises(InputError, match="--substitutions excludes --mechanism"):
        building.build_substitute_source(small_space, path, "tem", 2.0)


def test_lists_of_words(tmp_path):
    """Blank lines and a byte order mark are no words."""
    path = tmp_path / "words"
    path.write_bytes(b"\xef\xbb\xbfthe\n\n  food \n")
    assert building.read_word_list(path) == ["the", "food"]
    assert building.read_word_list(None) == []

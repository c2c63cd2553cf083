"""Certificates of the schemas before are checked in full: their words are replaced, and nothing else."""

import json
from pathlib import Path

import pytest

import deniable as dn
from tests.checking.mutations import get_status, list_wrong, mutate
from tests.checking.test_words import HIDDEN_SPACE
from tests.text.helpers import SPACE

EARLIER = {path.stem: json.loads(path.read_text("utf-8")) for path in (Path(__file__).parent / "earlier").iterdir()}
"""Certificates that versions before have written."""
SPACES = {"words": HIDDEN_SPACE, "words_masked": SPACE}


def check(name, document=None):
    return dn.check_certificate(EARLIER[name] if document is None else document, SPACES.get(name))


@pytest.mark.parametrize("name", EARLIER)
def test_an_earlier_certificate_holds(name):
    """Nothing of it is contradicted, its guarantee is recomputed, and it reads as one that is written today."""
    result = check(name)
    assert (list_wrong(result), result.overall) == ([], "recomputed")
    assert get_status(result, "meaning[0]") == "recomputed"
    assert list_wrong(dn.check_certificate(EARLIER[name])) == []  # without its space
    assert result.document["schema"] != EARLIER[name]["schema"]
    assert " %" not in str(result.document["meaning"])


@pytest.mark.parametrize(
    ("name", "field", "text", "changed"),
    [
        ("words", "meaning", "at most 6.6-fold", "at most 6.5-fold"),
        ("words_simulated", "most_exposed", "not known", "now known"),
        ("words_masked", "attacker", "is right for 33.5", "is right for 23.5"),
        ("synthesis", "meaning", "of anything at most 10^8.7-fold", "of anything at most 2-fold"),
        ("rewriting", "meaning", "at most 149-fold", "at most 14-fold"),
    ],
)
def test_its_figures_are_checked(name, field, text, changed):
    """A figure that was edited in it is contradicted as ever."""
    value = EARLIER[name][field]
    lines = value if isinstance(value, list) else [value]
    [place] = [number for number, line in enumerate(lines) if text in line]
    steps = [field, place] if isinstance(value, list) else [field]
    result = check(name, mutate(EARLIER[name], steps, lines[place].replace(text, changed)))
    assert result.overall == "contradicted"


def test_words_of_one_schema_do_not_hold_under_another():
    """What an earlier schema said is contradicted where today's is named."""
    assert check("words", {**EARLIER["words"], "schema": "deniable-certificate/10"}).overall == "contradicted"

"""``deniable audit zoo``: the table, JSON and exit codes."""

import dataclasses
import importlib.util
import json

import pytest

from deniable.cli.commands.audit import zoo
from tests.cli.commands.train.helpers import fails


@pytest.fixture
def keep(monkeypatch):
    """Return a function that leaves a few entries in the zoo, changed or not."""
    load = zoo.load_installed_entries

    def keeping(*names, **changes):
        def load_few(kind):
            entries = [entry for entry in load(kind) if entry.name in names]
            return tuple(dataclasses.replace(entry, **changes) for entry in entries)

        monkeypatch.setattr(zoo, "load_installed_entries", load_few)

    return keeping


def hide(monkeypatch, missing):
    """Let a package seem not to be installed."""
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == missing else find(name, *more))


def test_the_zoo(call, keep):
    """The table has a row for each entry, and the exit code is 1 unless every verdict is as expected."""
    names = ["adept-unclipped", "copy"]
    keep(*names)
    result = call("audit", "zoo")
    assert result.code == 0
    rows = result.text.splitlines()
    assert [row.split()[0] for row in rows[2:4]] == names
    assert rows[-1] == "every verdict is as expected"
    keep("adept-unclipped", exact_status="proved")
    result = call("audit", "zoo", "--json")
    assert result.code == 1
    (read,) = json.loads(result.text)
    assert (read["mechanism"], read["expected"], read["exact"]["status"]) == ("adept-unclipped", False, "refuted")
    fails(call("audit", "zoo", "birds"), "trainers")


def test_the_zoo_of_trainers(call, keep):
    """The argument names the collection: a row for each trainer and twin, in the table and in JSON."""
    names = ["private-vocabulary", "private-vocabulary-mended"]
    keep(*names)
    first, second = json.loads(call("audit", "zoo", "trainers", "--json").text)
    assert (first["trainer"], first["sampled"]["status"]) == (names[0], "refuted")
    assert (second["trainer"], second["sampled"]["status"]) == (names[1], "not refuted")


@pytest.mark.parametrize(
    ("missing", "kind", "name", "left_out"),
    [
        ("torch", "mechanisms", "copy", "10 entries need torch"),
        ("dp_accounting", "trainers", "private-vocabulary-mended", "trainers need dp-accounting"),
    ],
)
def test_without_an_extra(call, keep, monkeypatch, missing, kind, name, left_out):
    """What is installed suffices for the other entries, and one line says how many are left out and what they need."""
    hide(monkeypatch, missing)
    keep(name)
    result = call("audit", "zoo", kind)
    assert result.code == 0
    assert left_out in result.err

"""``deniable audit zoo``: the table, JSON and exit codes."""

import dataclasses
import importlib.util
import json
import subprocess
import sys

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


def test_the_zoo(call, keep):
    """The table has a row for each entry, and the exit code is 1 unless every verdict is as expected."""
    names = ["adept-unclipped", "copy"]
    keep(*names)
    result = call("audit", "zoo")
    assert result.code == 0
    rows = result.text.splitlines()
    assert [row.split()[0] for row in rows[2:4]] == names
    assert rows[-1] == "every verdict is as expected"
    keep("adept-unclipped", expected_of_law="proved")
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


def test_without_torch():
    """What is installed suffices for the other entries, and one line names what is left out and what it needs."""
    program = (
        "import sys; sys.modules['torch'] = None; from deniable.cli.commands.audit import zoo; "
        "print(*(entry.name for entry in zoo.load_installed_entries('mechanisms')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert {"copy", "tem"} <= {*done.stdout.split()}
    assert done.stderr == "dpal and adept-texts need torch, and were left out: install deniable[train].\n"


def test_without_dp_accounting(call, keep, monkeypatch):
    """Trainers are judged by samples only, and one line says how many have facts besides."""
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "dp_accounting" else find(name))
    keep("private-vocabulary-mended")
    result = call("audit", "zoo", "trainers", "--json")
    assert result.code == 0
    assert "trainers need dp-accounting" in result.err
    assert result.err.startswith("This takes minutes")
    assert json.loads(result.text)[0]["exact"] is None

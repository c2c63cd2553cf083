"""``deniable study``: the list, a study from end to end, and errors."""

import dataclasses
import json

import pytest

from deniable.studies import STUDIES
from tests.studies.sizes import CHECK, SENSITIVITY

TINY = {"adept-sensitivity": SENSITIVITY, "sanity-check": CHECK}


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """Make every study tiny, and quick ones tinier."""
    for name, sizes in TINY.items():
        quick = dataclasses.replace(sizes, dimensions=sizes.dimensions[-1:])
        monkeypatch.setitem(STUDIES, name, dataclasses.replace(STUDIES[name], full=sizes, quick=quick))


def test_list(call):
    """The list has every study with one line of its own."""
    result = call("study", "--list")
    assert (result.code, result.err) == (0, "")
    lines = result.text.splitlines()
    assert [line.split(maxsplit=1) for line in lines] == [[s.name, s.summary] for s in STUDIES.values()]


@pytest.mark.parametrize("name", TINY)
def test_a_study(call, place, name):
    """A study writes its three files and prints findings and the table's path, whatever it finds."""
    result = call("study", name, "--output", "out", "--quick", "--seed", "5", "--data", "nowhere")
    assert (result.code, result.err) == (0, "")
    assert sorted(path.name for path in (place / "out").iterdir()) == [f"{name}.{e}" for e in ("json", "md", "png")]
    about = json.loads((place / "out" / f"{name}.json").read_text())["about"]
    assert (about["study"], about["seed"], about["sizes"]) == (name, 5, "quick")
    *findings, last = result.text.splitlines()
    assert last == f"table: out/{name}.md"
    assert all(f"- {line}\n" in (place / "out" / f"{name}.md").read_text() for line in findings)


def test_full_hyphens_and_force(call, place):
    """Without --quick the full sizes are run; hyphens will do; --force overwrites."""
    assert call("study", "adept-sensitivity", "--output", "out").code == 0
    assert json.loads((place / "out" / "adept-sensitivity.json").read_text())["about"]["sizes"] == "full"
    again = call("study", "adept-sensitivity", "--output", "out")
    assert again.code == 2
    assert "exists" in again.err
    assert call("study", "adept-sensitivity", "--output", "out", "--force").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Name a study: adept-sensitivity, sanity-check"),
        (["sanity-chek", "--output", "out"], "Unknown study 'sanity-chek'. Did you mean 'sanity-check'?"),
        (["zzz", "--output", "out"], "Unknown study 'zzz'. Known: adept-sensitivity, sanity-check"),
        (["sanity-check"], "deniable study sanity-check --output DIR"),
        (["sanity-check", "--output", "in.csv"], "is a file"),
        (["sanity-check", "--output", "out", "--seed", "x"], "--seed"),
        (["sanity-check", "--output", "out", "--fast"], "No such option"),
    ],
)
def test_what_cannot_be_run(call, refused, arguments, message):
    """Wrong options are one line and exit code 2, and nothing is written."""
    assert message in refused(call("study", *arguments))


def test_help(call):
    """The help names the options."""
    text = call("study", "--help").text
    assert [o for o in ("--output", "--data", "--list", "--quick", "--force", "--seed") if o not in text] == []

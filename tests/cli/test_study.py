"""``deniable study``: the list, a study from end to end, and errors."""

import dataclasses
import json

import pytest

from deniable.studies import STUDIES, Result
from deniable.studies.style import blank
from tests.studies.sizes import TINIER, TINY


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """Make every study tiny, and quick ones tinier."""
    for name, sizes in TINY.items():
        monkeypatch.setitem(STUDIES, name, dataclasses.replace(STUDIES[name], full=sizes, quick=TINIER[name]))


@pytest.fixture
def interrupting(monkeypatch):
    """Return a function that makes a study stop once it has kept so many of its two parts."""

    def interrupt(name, stop):
        def run(_, setting):
            for part in range(2):
                if part == stop:
                    raise KeyboardInterrupt
                setting.ledger.remember(f"part {part}", lambda part=part: part)
            return Result({}, (), ("found",))

        changed = dataclasses.replace(STUDIES[name], run=run, draw=lambda _: blank(1, 1, 2, 2)[0])
        monkeypatch.setitem(STUDIES, name, changed)

    return interrupt


def test_list(call):
    """The list has every study with one line of its own."""
    result = call("study", "--list")
    assert (result.code, result.err) == (0, "")
    lines = result.text.splitlines()
    assert [line.split(maxsplit=1) for line in lines] == [[s.name, s.summary] for s in STUDIES.values()]


@pytest.mark.parametrize("name", TINY)
def test_a_study(call, place, name, study_data):
    """A study writes its three files and prints findings and the table's path, whatever it finds."""
    result = call("study", name, "--output", "out", "--quick", "--seed", "5", "--data", study_data)
    assert result.code == 0
    # On a slow machine a pass says how long it takes.
    assert [line for line in result.err.splitlines() if not line.endswith(" for this pass")] == []
    files = sorted(path.name for path in (place / "out").iterdir() if path.name != "corpora")
    assert files == [f"{name}.{e}" for e in ("json", "md", "png")]
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


def test_going_on(call, place, interrupting):
    """An interrupted study says in one line how it goes on; the same command does, and says so."""
    command = ["study", "sanity_check", "--output", "out"]
    interrupting("sanity-check", 1)
    kept = "out/sanity-check.unfinished.jsonl"
    stopped = call(*command)
    assert (stopped.code, stopped.out) == (2, b"")
    assert stopped.err == f"deniable: interrupted: the same command goes on from what is kept in {kept!r}.\n"
    assert (place / kept).is_file()
    interrupting("sanity-check", None)
    other = call(*command, "--seed", "1")
    assert other.code == 2
    assert "unfinished run with seed 0. Got 1" in other.err
    done = call(*command)
    assert (done.code, done.err) == (0, f"going on with the unfinished run in {kept}\n")
    assert done.text == "found\ntable: out/sanity-check.md\n"
    assert not (place / kept).exists()


def test_force_begins_anew(call, place, interrupting):
    """With --force an unfinished run is not gone on with, and nothing says so."""
    interrupting("sanity-check", 1)
    assert call("study", "sanity-check", "--output", "out").code == 2
    interrupting("sanity-check", None)
    done = call("study", "sanity-check", "--output", "out", "--seed", "1", "--force")
    assert (done.code, done.err) == (0, "")
    assert "results of earlier sittings" not in json.loads((place / "out" / "sanity-check.json").read_text())["about"]


def test_interrupted_before_anything_is_kept(call, place, interrupting):
    """Without any part kept an interrupt is told as everywhere else, and nothing is left."""
    interrupting("sanity-check", 0)
    stopped = call("study", "sanity-check", "--output", "out")
    assert (stopped.code, stopped.err) == (2, "deniable: interrupted: nothing was written.\n")
    assert not (place / "out").exists()


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
        (["tem-utility", "--output", "out"], "name the folder that holds it with --data DIR"),
        (["frontier", "--output", "out", "--data", "none"], "The data folder 'none' has no file 'imdb_train.parquet'"),
    ],
)
def test_what_cannot_be_run(call, refused, arguments, message):
    """Wrong options are one line and exit code 2, and nothing is written."""
    assert message in refused(call("study", *arguments))


def test_help(call):
    """The help names the options."""
    text = call("study", "--help").text
    assert [o for o in ("--output", "--data", "--list", "--quick", "--force", "--seed") if o not in text] == []

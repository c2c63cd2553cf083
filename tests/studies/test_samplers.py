"""The audit of published language-model packages: its pipe to adapters, judgements and table, without the packages."""

import dataclasses
import json
import math
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import deniable as dn

ROOT = Path(__file__).parents[2] / "studies" / "samplers"
TOY = """
import sys
sys.path.insert(0, {root!r})
import numpy as np
from law_protocol import main


def open_sources(folder):
    print("what a package prints")
    def law(records, prefix):
        if records == "fails":
            raise ValueError("no\\nlaw")
        return np.array([len(records), 1.0, len(prefix)])
    return {{"law": law}}, {{"epsilon": 1.0}}


if __name__ == "__main__":
    main("numpy", open_sources)
"""


@pytest.fixture(scope="module")
def study():
    """Return the modules of the study, which its scripts import by name."""
    sys.path.insert(0, str(ROOT))
    import adapter
    import audit_samplers
    import packages

    yield types.SimpleNamespace(adapter=adapter, main=audit_samplers, packages=packages)
    sys.path.remove(str(ROOT))
    for name in ("adapter", "audit_samplers", "packages"):
        sys.modules.pop(name, None)


@pytest.fixture
def toy(study, tmp_path, monkeypatch):
    """Return a package whose adapter is a toy that runs in this environment."""
    (tmp_path / "toy_sampler.py").write_text(TOY.format(root=str(ROOT)))
    monkeypatch.setattr(study.adapter, "HERE", tmp_path)
    monkeypatch.setattr(study.adapter, "find_environment", lambda *_: Path(sys.executable))
    return study.packages.Package("toy", "1", "a claim", "any two texts")


def test_laws_come_over_a_pipe(study, toy, tmp_path):
    """Laws, errors and facts come from a process of its own, whatever the package prints."""
    with study.adapter.opened(toy, tmp_path, 60) as adapter:
        assert adapter.facts == {"version": np.__version__, "epsilon": 1.0}
        assert adapter.ask("law", "abc", (1, 2)).tolist() == [3, 1, 2]
        with pytest.raises(ValueError, match="ValueError: no law"):
            adapter.ask("law", "fails")
        assert adapter.source("law")("ab", ()).tolist() == [2, 1, 0]
    assert not list((tmp_path / "toy-files").glob("*.npy"))


def test_an_adapter_that_ends(study, toy, tmp_path):
    """What an adapter said last is the reason."""
    (tmp_path / "toy_sampler.py").write_text("raise RuntimeError('no such model')")
    with pytest.raises(ValueError, match="no such model"), study.adapter.opened(toy, tmp_path, 60):
        pass


def test_every_package_has_an_adapter_and_a_judge(study):
    """Each is installed in its version, in an environment of its own."""
    for name, package in study.packages.PACKAGES.items():
        assert (ROOT / f"{package.script}.py").is_file()
        assert f"{name}=={package.version}" in package.requirements
    assert {*study.main.JUDGES} == {*study.packages.PACKAGES}
    old = dataclasses.replace(package, python=(9, 9))
    with pytest.raises(FileNotFoundError, match=r"python9\.9"):
        _ = old.interpreter


def test_rows(study, capsys):
    """A row has verdict, losses and witness; the table shows infinity in words, and no bar within a cell."""

    def law(records, prefix):
        return np.array([len(records) - 1, 1 + len(prefix), 1]) / (len(records) + 1 + len(prefix))

    found = dn.audit_language_model(
        law, [("a", "b|c")], claim="approx", epsilon=1.0, delta=1e-5, public=lambda r, _: [len(r)]
    )
    row = {"package": "toy", "version": "1", "seconds": 1.2} | study.main.describe(found, "a token", "two | texts")
    assert (row["verdict"], row["loss"], row["delta"], row["one-sided"]) == (
        "refuted",
        pytest.approx(math.log(2)),
        0.5,
        0.5,
    )
    assert row["public"] == {"a neighbour": 2.0, "length": 2.0}
    assert json.loads(json.dumps(row)) == row
    study.main.show_table([row, {"package": "x", "version": "2", "tried": "run", "verdict": "-", "seconds": 0}])
    table = capsys.readouterr().out.splitlines()[2:]
    assert {line.count("|") for line in table} == {len(study.main.HEADER) + 1}
    assert "loss 0.693" in table[2]


def test_a_package_that_fails_is_a_row(study, monkeypatch, tmp_path, capsys):
    """What cannot be run says why; rows of other packages that a file holds stay."""
    file = tmp_path / "rows.json"
    file.write_text(json.dumps([{"package": "dpmlm", "version": "0", "tried": "t", "verdict": "v", "seconds": 1}]))

    def refuse(*_):
        raise ValueError("no | environment")

    monkeypatch.setattr(study.main, "opened", refuse)
    study.main.main(["--packages", "privfill", "--environments", str(tmp_path), "--json", str(file)])
    rows = json.loads(file.read_text())
    assert [row["package"] for row in rows] == ["dpmlm", "privfill"]
    assert rows[1]["verdict"] == "could not be run"
    assert rows[1]["found"] == "no / environment"
    assert "could not be run" in capsys.readouterr().out


def test_the_page_shows_the_rows(study, capsys):
    """The table of the page is that of the rows that are kept, and what they say reaches what the page says of them."""
    rows = json.loads((ROOT / "rows.json").read_text())
    assert {(row["package"], row["version"]) for row in rows} == {
        (package.name, package.version) for package in study.packages.PACKAGES.values()
    }
    study.main.show_table(rows)
    table = capsys.readouterr().out.split("\n\n", 1)[1]
    assert table in (ROOT.parents[1] / "docs" / "language_packages.md").read_text()
    assert rows[0]["loss"] > 6 * rows[0]["epsilon of a token"]
    assert max(row.get("delta", 0) for row in rows if row["package"] == "dp-fusion-lib") > 890e-5

"""Files of a synthetic table: their names, what is refused, and their contents by path."""

import dataclasses
import json
import stat
import types

import pytest

from deniable.cli.synthesis_files import SynthesisTables, encode_synthesis, name_synthesis_files
from deniable.core.errors import InputError
from deniable.core.intervals import estimate_share
from deniable.persons.synthesis import SyntheticTable

TABLES = SynthesisTables(
    SyntheticTable(["a film", "b"], ["good", "bad"], {"stars": [5, 1]}), SyntheticTable(["c"], ["bad"], {})
)


def test_names():
    """Files stand beside the table, the baseline with the whole of its ending, where there is one."""
    files = name_synthesis_files("a.b/o.csv.gz", None, "n.csv", has_baseline=True)
    assert files.paths == [
        "a.b/o.csv.gz",
        "a.b/o.csv.gz.certificate.json",
        "a.b/o.csv.gz.classifier.model",
        "a.b/o.csv.gz.baseline.csv.gz",
        "n.csv",
        "a.b/o.csv.gz.owner.json",
    ]
    assert name_synthesis_files("o.csv", "c.json", None, has_baseline=False).paths == [
        "o.csv",
        "c.json",
        "o.csv.classifier.model",
        "o.csv.owner.json",
    ]
    with pytest.raises(InputError, match="name it with --output FILE"):
        name_synthesis_files("-", None, None, has_baseline=True)


def test_what_cannot_be_written_is_refused(tmp_path):
    """Another ending, a file that exists, and one that is read are refused before anything is measured."""
    files = name_synthesis_files(str(tmp_path / "o.csv"), None, None, has_baseline=False)
    files.check([None], force=False)
    with pytest.raises(InputError, match="must end in"):
        name_synthesis_files("o.doc", None, None, has_baseline=False).check([], force=False)
    (tmp_path / "o.csv.owner.json").write_text("mine")
    with pytest.raises(InputError, match=r"o\.csv\.owner\.json"):
        files.check([], force=False)
    files.check([], force=True)
    with pytest.raises(InputError, match="is a file that is read"):
        files.check([tmp_path / "o.csv.owner.json"], force=True)


@pytest.mark.parametrize("has_baseline", [True, False])
def test_contents(tmp_path, monkeypatch, has_baseline):
    """Each path has its content, in the order of the paths; nobody but the owner opens the owner's file."""
    monkeypatch.setattr("deniable.learning.artifact.serialize_model", lambda _: b"weights")
    files = name_synthesis_files(str(tmp_path / "o.csv"), None, None, has_baseline=has_baseline)
    measured = types.SimpleNamespace(classifier=None, counts=None)
    certificate = types.SimpleNamespace(to_json=lambda: '"\ud800"')
    figures = {"student": estimate_share(3, 4)}
    contents = encode_synthesis(files, measured, certificate, TABLES, figures, ("text", "kind"))
    assert {*contents} == {*files.paths}
    assert contents[files.table] == b"text,kind,stars\r\na film,good,5\r\nb,bad,1\r\n"
    assert contents[files.certificate] == b'"\\ud800"'
    assert contents[files.classifier] == b"weights"
    assert json.loads(contents[files.owner])["student"] == dataclasses.asdict(figures["student"])
    if has_baseline:
        assert contents[files.baseline] == b"text,kind\r\nc,bad\r\n"
    files.write(contents, force=False)
    for path, content in contents.items():
        written = tmp_path / path
        assert written.read_bytes() == content
        assert (stat.S_IMODE(written.stat().st_mode) == 0o600) is (path == files.owner)


def test_a_signature_of_earlier_files_is_refused_early(tmp_path):
    """A signature whose certificate is gone is told of before anything is measured."""
    name = str(tmp_path / "o.csv")
    content = {"schema": "deniable-signature/1", "files": {"table": "0" * 64}, "signature": "0" * 128}
    (tmp_path / "o.csv.certificate.json.sig").write_text(json.dumps(content, indent=2) + "\n")
    files = name_synthesis_files(name, None, None, has_baseline=False)
    with pytest.raises(InputError, match=r"certificate\.json\.sig' exists"):
        files.check([], force=False)
    files.check([], force=True)

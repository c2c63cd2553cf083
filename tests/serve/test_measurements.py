"""Tables measured over HTTP, in memory."""

import json
import os

import pytest

from tests.serve.helpers import save_space, serve

MARKER = "zanzibarine"
TEXTS = [f"the {('dog', 'cat')[row % 2]} was {('red', 'blue', 'bad')[row % 3]} {MARKER}" for row in range(24)]
LABELS = [f"kind{row % 2}" for row in range(24)]


def test_a_table_is_measured_in_lines_and_reaches_no_disk(tmp_path, cache_folder, monkeypatch):
    """Each line names a part of the work, the last one holds page and figures; no file holds any of the texts."""
    for name in ("TMPDIR", "HOME", "XDG_CACHE_HOME", "JOBLIB_TEMP_FOLDER", "my space"):
        (tmp_path / name).mkdir(mode=0o700)
        monkeypatch.setenv(name.replace(" ", "_"), str(tmp_path / name))
    monkeypatch.chdir(tmp_path)
    save_space(tmp_path / "my space")
    client = serve("--space", "my space/space.npz", "--hide", "none", "--mechanism", "tem", "--epsilon", "2")
    body = {"texts": TEXTS, "labels": LABELS, "table": "a.csv", "column": "note", "label": "kind"}
    response = client.post("/v1/measure", body)
    assert (response.status_code, response.headers["cache-control"]) == (200, "no-store")
    *stages, last = [json.loads(line) for line in response.text.splitlines()]
    assert len(stages) > 2
    assert stages[0]["stage"] == "calibrating and verifying epsilon 2"
    assert len(last["result"]["figures"]["results"]) == 1
    command = "deniable measure a.csv --column note --label kind --mechanism tem --epsilons 2 --limit 2000"
    given = "--space &#39;my space/space.npz&#39; --hide none --output measure.html"
    assert f"{command} {given}" in last["result"]["page"]
    assert MARKER in last["result"]["page"]
    assert "<b>note</b>: the texts" in last["result"]["summary"]
    assert MARKER not in last["result"]["summary"]
    files = [path for folder in (tmp_path, cache_folder) for path in folder.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if MARKER.encode() in path.read_bytes() or MARKER in path.name]
    assert os.listdir(tmp_path / "TMPDIR") == []  # noqa: PTH208 - the names alone


@pytest.mark.deep
def test_what_shows_later_is_the_last_line(fixed):
    """A table without a known word is refused when its words are read: in the last line, which holds no text."""
    response = fixed.post("/v1/measure", {"texts": [MARKER]})
    assert json.loads(response.text.splitlines()[-1])["problem"]["status"] == 422
    assert MARKER not in response.text

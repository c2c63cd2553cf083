"""Tables measured over HTTP, in memory."""

import asyncio
import json
import os

import httpx2 as httpx
import pytest

from deniable import TEM, Release
from deniable.measure.report.inputs import SurveyPlan
from deniable.serve.app import create_app
from deniable.serve.jobs import JobSlot
from deniable.serve.measurements import MeasurementRequest, measure_table
from deniable.serve.page import PAGE_PATHS
from tests.text.helpers import SPACE

MARKER = "zanzibarine"
TEXTS = [f"the {('dog', 'cat')[row % 2]} was {('red', 'blue', 'bad')[row % 3]} {MARKER}" for row in range(24)]
LABELS = [f"kind{row % 2}" for row in range(24)]


def post(app, path, /, **body):
    """Return the response of an application in this process."""

    async def send():
        async with app.router.lifespan_context(app):
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=120) as client:
                headers = {"content-type": "application/json"}
                return await client.post(path, content=json.dumps(body), headers=headers)

    return asyncio.run(send())


def test_a_table_is_measured_in_lines():
    """Each line names a part of the work; the last one holds the page, with the command, and the figures."""
    app = create_app(Release(TEM(SPACE, epsilon=2.0)), command_options=["--space", "my space.npz"])
    response = post(app, "/v1/measure", texts=TEXTS, labels=LABELS, table="a.csv", column="note", label="kind")
    assert response.status_code == 200
    assert response.headers["cache-control"] == "no-store"
    *stages, last = [json.loads(line) for line in response.text.splitlines()]
    assert [stage["stage"] for stage in stages][:2] == [
        "calibrating and verifying epsilon 2",
        "attacking membership of the originals",
    ]
    assert {"originals", "readings"} <= set(last["result"]["figures"])
    assert len(last["result"]["figures"]["readings"]) == 1
    command = "deniable measure a.csv --column note --label kind --mechanism tem --epsilons 2 --limit 2000"
    assert f"{command} --space &#39;my space.npz&#39; --output measure.html" in last["result"]["page"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"texts": []}, "texts"),
        ({"texts": [MARKER], "epsilons": [3.0]}, "epsilon: it must be one of 2"),
        ({"texts": [MARKER], "epsilons": []}, "epsilons"),
        ({"texts": [MARKER], "labels": ["a"]}, "at least 2 classes"),
        ({"texts": ["the dog"], "file": "/etc/passwd"}, "a field that is not known"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_a_line(body, said):
    """A refusal is a problem with one line, which holds no text."""
    response = post(create_app(Release(TEM(SPACE, epsilon=2.0))), "/v1/measure", **body)
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"
    assert said in response.json()["detail"]
    assert MARKER not in response.text


def test_what_shows_later_is_the_last_line():
    """A table without a known word is refused when its words are read: in the last line, which holds no text."""
    response = post(create_app(Release(TEM(SPACE, epsilon=2.0))), "/v1/measure", texts=[MARKER])
    last = json.loads(response.text.splitlines()[-1])
    assert last["problem"]["status"] == 422
    assert "None of the 1 words" in last["problem"]["detail"]
    assert MARKER not in response.text


def test_no_text_reaches_a_disk(tmp_path, monkeypatch):
    """A measurement writes nothing of the texts: not to the folder for temporary files, the cache, home or its own."""
    for name in ("TMPDIR", "HOME", "DENIABLE_CACHE", "XDG_CACHE_HOME", "JOBLIB_TEMP_FOLDER"):
        (tmp_path / name).mkdir(mode=0o700)
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.chdir(tmp_path)
    plan = SurveyPlan(folds=2, shadows=6)
    request = MeasurementRequest(SPACE, "calibrated", (2.0,), tuple(TEXTS), tuple(LABELS), "", plan)

    async def run():
        return [event async for event in JobSlot("A measurement", 120).run(measure_table, request)]

    assert MARKER in asyncio.run(run())[-1].result["page"]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if MARKER.encode() in path.read_bytes() or MARKER in path.name]
    assert os.listdir(tmp_path / "TMPDIR") == []  # noqa: PTH208 - the names alone


def test_static_files_need_no_token():
    """The files of the page hold nothing of anybody; everything else keeps asking for the token."""
    from deniable.serve.guard import Access

    app = create_app(Release(TEM(SPACE, epsilon=2.0)), access=Access.of("0123456789" * 4))

    async def send():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            paths = [*sorted(PAGE_PATHS), "/page.json", "/v1/options", "/openapi.json"]
            return {path: await client.get(path) for path in paths}

    answers = asyncio.run(send())
    assert {path for path, answer in answers.items() if answer.status_code == 200} == PAGE_PATHS
    for path in PAGE_PATHS:
        assert answers[path].headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answers[path].headers["content-security-policy"]
        assert answers[path].headers["cache-control"] == "no-store"
    assert answers["/page.js"].headers["content-type"] == "text/javascript; charset=utf-8"

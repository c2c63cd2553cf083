"""``deniable serve``: what it offers, and one run as a process."""

import json
import os
import signal
import urllib.request

import pytest

from tests.cli.programs import PROGRAM, finish, start

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'deniable[serve]'")
from starlette.testclient import TestClient

TOKEN = "0123456789abcdef" * 2
SPACE = ("--space", "space.npz", "--hide", "none")


@pytest.fixture
def serve(call, monkeypatch):
    """Return a function that starts a service with options, and gives what calls it in this process."""
    served = []
    monkeypatch.setattr("uvicorn.Server.run", lambda server, **_: served.append(server.config.app))

    def serving(*options):
        result = call("serve", "--port", "0", *options)
        assert (result.code, result.err.splitlines()[-1]) == (0, "stopped")
        return TestClient(served[-1], base_url="http://localhost")

    return serving


def test_a_missing_package(call, monkeypatch):
    """Without the extra one line says what to install."""
    monkeypatch.setitem(__import__("sys").modules, "uvicorn", None)
    result = call("serve", "--port", "0", *SPACE)
    assert (result.code, "install deniable[serve]" in result.err) == (2, True)


def test_a_served_model(serve, place, rewriter):
    """A rewriting model is served with its method."""
    (place / "m.pt").write_bytes(rewriter)
    options = ("--method", "adept-gaussian", "--delta", "1e-5", "--epsilon", "5")
    with serve("--model", "m.pt", *options) as client:
        release = client.post("/v1/privatize", json={"texts": ["show me all"]}).json()["release"]
    assert (release["mechanism"], release["epsilon"]) == ("adept-gaussian", 5)


def test_what_requests_may_choose(serve):
    """Without epsilon requests choose it, and the mechanism too unless it is named; with both they choose nothing."""
    choices = {"texts": ["food"], "mechanism": "calibrated", "epsilon": 3.0}
    for options, status in (((), 200), (("--mechanism", "tem"), 422), (("--mechanism", "tem", "--epsilon", "2"), 422)):
        with serve(*SPACE, *options) as client:
            assert client.post("/v1/privatize", json=choices).status_code == status


def test_limits_that_are_chosen(serve):
    """Every option of a limit reaches the service."""
    with serve(*SPACE, "--epsilon", "2", "--mechanism", "tem", "--max-texts", "2", "--max-body", "1") as client:
        answers = [client.post("/v1/privatize", json={"texts": ["food"] * count}) for count in (2, 3, 200_000)]
    assert [answer.status_code for answer in answers] == [200, 422, 413]


@pytest.mark.parametrize("fixed", [("--epsilon", "2", "--mechanism", "tem"), ("--mechanism", "tem")])
def test_options_of_the_release(serve, place, fixed):
    """--unknown, --case and --keep mean what they mean to privatize, and its command on the page has them."""
    (place / "public.txt").write_text("food\n")
    with serve(*SPACE, *fixed, "--unknown", "mask", "--case", "copy", "--keep", "public.txt") as client:
        shown = client.get("/page.json").json()["command_options"]
        text = client.post("/v1/privatize", json={"texts": ["Food zork"]}).json()["texts"][0]
    assert shown[-6:] == ["--unknown", "mask", "--case", "copy", "--keep", "public.txt"]
    assert text.startswith("Food ")
    assert "zork" not in text


@pytest.mark.parametrize("is_compiled", [False, True])
def test_an_end_before_it_serves(call, monkeypatch, is_compiled):
    """Told to stop while it prepares, also within compiled code, the service ends as well as later."""
    error = SystemError() if is_compiled else KeyboardInterrupt()
    error.__cause__ = KeyboardInterrupt() if is_compiled else None

    def interrupt(*_, **__):
        raise error

    monkeypatch.setattr("uvicorn.Config.__init__", interrupt)
    assert call("serve", "--port", "0", *SPACE, "--epsilon", "2").code == 0


@pytest.mark.deep
def test_a_run(place):
    """The program shows the proof, serves with a token, and ends well on SIGTERM."""
    options = ("--port", "0", "--epsilon", "2", "--mechanism", "tem", "--token-env", "SERVICE_TOKEN")
    process = start([PROGRAM, "serve", *SPACE, *options], place, env={**os.environ, "SERVICE_TOKEN": TOKEN})
    try:
        lines = []
        while not (lines and lines[-1].startswith("serving on ")):
            lines.append(process.stderr.readline())
            assert lines[-1], lines
        assert any("verification   proved" in line for line in lines)
        address = lines[-1].split()[2].rstrip(";")
        request = urllib.request.Request(
            f"{address}/v1/privatize",
            json.dumps({"texts": ["food"]}).encode(),
            {"content-type": "application/json", "authorization": f"Bearer {TOKEN}"},
        )
        with urllib.request.urlopen(request, timeout=600) as response:
            assert json.load(response)["release"]["mechanism"] == "tem"
    finally:
        process.send_signal(signal.SIGTERM)
    assert finish(process) == (0, "", "stopped\n")

"""``deniable serve``: what it refuses, what it shows, and one run as a process."""

import json
import os
import signal
import subprocess
import urllib.request

import pytest

from tests.cli.programs import PROGRAM

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'deniable[serve]'")
from starlette.testclient import TestClient

TOKEN = "0123456789abcdef" * 2
SPACE = ("--space", "space.npz", "--hide", "none", "--port", "0")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--host", "0.0.0.0"), "give a token"),
        (("--host", "192.168.0.1"), "give a token"),
        (("--token-env", "NO_SUCH"), "'NO_SUCH', which should hold the token, is not set"),
        (("--token-file", "missing"), "'missing' cannot be read"),
        (("--token-file", "short"), "at least 32 printable ASCII characters"),
        (("--token-file", "odd"), "must hold ASCII characters alone"),
        (("--token-file", "short", "--token-env", "X"), "not both"),
        (("--token-file", "three"), "a line NAME TOKEN for each caller"),
        (("--token-file", "twice"), "names the caller 'ann' twice"),
        (("--token-file", "shared"), "Two callers have one token"),
        (("--ledger", "l.db"), "There is no ledger"),
        (("--key-file", "l.key"), "--key-file is for --ledger"),
        (("--method", "adept-true"), "belong to --model"),
        (("--model", "m.pt"), "needs --method and --epsilon"),
        (("--model", "m.pt", "--mechanism", "tem"), "exclude each other"),
        (("--model", "m.pt", "--method", "adept", "--epsilon", "5", "--case", "copy"), "are about words"),
        (("--keep", "missing"), "The list 'missing' cannot be read"),
        (("--max-body", "0"), "--max-body"),
        (("--max-texts", "-1"), "--max-texts"),
        (("--max-waiting", "none"), "--max-waiting"),
        (("--time-limit", "1e9"), "--time-limit"),
        (("--epsilon", "-1"), "must be a float in (0, inf)"),
        (("--epsilon", "3", "--space", "missing.npz"), "missing.npz"),
        (("--epsilon", "3", "--host", "no.such.host.invalid", "--token-file", "good"), "cannot be used"),
    ],
    ids=str,
)
def test_what_is_refused(call, refused, options, message):
    """Every wrong option is one line, and no line shows a token."""
    lines = {"three": f"ann {TOKEN} x\n", "twice": f"ann {TOKEN}\nann {TOKEN}1\n"}
    lines["shared"] = f"ann {TOKEN}\nbob {TOKEN}\n"
    refused.given(short="abc-secret", odd="é" * 40, good=TOKEN, **lines)
    line = refused(call("serve", *SPACE, *options))
    assert message in line
    assert "abc-secret" not in line
    assert TOKEN not in line


def test_a_missing_package(call, refused, monkeypatch):
    """Without the extra one line says what to install."""
    monkeypatch.setitem(__import__("sys").modules, "uvicorn", None)
    assert "install deniable[serve]" in refused(call("serve", *SPACE))


def test_a_served_model(call, place, monkeypatch):
    """A rewriting model is served with its method, after its certificate was shown."""
    pytest.importorskip("torch", reason="torch is not installed")
    from deniable.learning.artifact import serialize_model
    from tests.rewriting.untrained import untrained

    served = []
    monkeypatch.setattr("deniable.serve.server.run_server", lambda app, *_: served.append(app))
    (place / "m.pt").write_bytes(serialize_model(untrained()))
    result = call("serve", "--model", "m.pt", "--method", "adept-gaussian", "--delta", "1e-5", "--epsilon", "5")
    assert result.code == 0, result.err
    assert "0 records, 0 texts, by adept-gaussian" in result.err
    options = served[0].state.service.catalogue
    assert options.is_fixed
    assert options.mechanisms == ("adept-gaussian",)


def test_what_requests_may_choose(call, monkeypatch):
    """Without epsilon requests choose it, and the mechanism too unless it is named."""
    served = []
    monkeypatch.setattr("deniable.serve.server.run_server", lambda app, *_: served.append(app))
    for options in ((), ("--mechanism", "tem")):
        assert call("serve", *SPACE, *options).code == 0
    catalogues = [app.state.service.catalogue for app in served]
    assert [one.mechanisms for one in catalogues] == [("calibrated", "tem", "tight"), ("tem",)]
    assert {one.is_fixed for one in catalogues} == {False}


@pytest.fixture
def serve(call, monkeypatch):
    """Return a function that starts a service with options, and gives its application instead of serving it."""
    served = []
    monkeypatch.setattr("deniable.serve.server.run_server", lambda app, *_: served.append(app))

    def serving(*options):
        result = call("serve", *SPACE, *options)
        assert result.code == 0, result.err
        return served[-1]

    return serving


def test_limits_are_those_of_the_package_unless_chosen(serve):
    """Every option of a limit reaches the service; those that are not given are the defaults."""
    from deniable.serve.limits import Limits

    assert serve().state.service.limits == Limits()
    chosen = serve("--max-body", "32", "--max-texts", "7", "--max-waiting", "5", "--time-limit", "90")
    expected = Limits(body_bytes=32 << 20, pending_bytes=128 << 20, texts=7, waiting=5, work_seconds=90)
    assert chosen.state.service.limits == expected


@pytest.mark.parametrize(
    "fixed", [("--epsilon", "2", "--mechanism", "tem"), ("--mechanism", "tem")], ids=["fixed", "free"]
)
def test_options_of_the_release(serve, place, fixed):
    """--unknown, --case and --keep mean what they mean to privatize, and its command on the page has them."""
    (place / "public.txt").write_text("food\n")
    app = serve(*fixed, "--unknown", "mask", "--case", "copy", "--keep", "public.txt")
    catalogue = app.state.service.catalogue
    release = catalogue.prepare(catalogue.default).release
    assert (release.unknown, release.case, [*release.keep]) == ("mask", "copy", ["food"])
    assert release.noise == "random"
    with TestClient(app, base_url="http://localhost") as client:
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

    def interrupt(*_):
        raise error

    monkeypatch.setattr("deniable.cli.serve._offer_words", interrupt)
    result = call("serve", *SPACE, "--epsilon", "2")
    assert (result.code, result.err) == (0, "stopped\n")


def test_a_run(place):
    """The program shows the proof, serves with a token, and ends well on SIGTERM."""
    command = [PROGRAM, "serve", *SPACE, "--epsilon", "2", "--mechanism", "tem", "--token-env", "SERVICE_TOKEN"]
    environment = {**os.environ, "SERVICE_TOKEN": TOKEN}
    with subprocess.Popen(command, cwd=place, env=environment, stderr=subprocess.PIPE, text=True) as process:
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
            with urllib.request.urlopen(request, timeout=10) as response:
                assert json.load(response)["release"]["mechanism"] == "tem"
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.stderr.read() == "stopped\n"
        assert process.wait(10) == 0

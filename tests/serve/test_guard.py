"""What every request passes: hosts, origins, tokens, and failures that show nothing."""

import asyncio
import logging

import pytest

import deniable as dn
from tests.cli.commands.train.helpers import fails
from tests.commands import run
from tests.serve.helpers import SECRET, TOKEN, assert_problem, serve

BODY = {"texts": ["food"]}
FOREIGN_HEADERS = [
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"},
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "same-origin, cross-site"},
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://localhost:9999"},
    {"origin": "http://[::1"},
    {"origin": "capacitor://localhost"},
    {"origin": "//localhost"},
    {"sec-fetch-site": "same-origin", "origin": "https://evil.example"},
]
"""What browsers send for pages of other sites and of other ports."""


def list_paths(client):
    """Return the paths of an application, and of those the ones that anybody may read."""
    paths = {*client.app.openapi()["paths"], *(route.path for route in client.app.routes if hasattr(route, "path"))}
    return paths, {path for path in paths if client.get(path).status_code == 200}


def test_names_of_this_machine(fixed, words):
    """The service answers to the names of this machine and those that the operator allows, on any port; to no other."""
    for host in ("localhost", "LOCALHOST:8000", "127.0.0.1", "127.0.0.1:1", "[::1]:8000", "[::1]"):
        assert fixed.get("/v1/health", headers={"host": host}).status_code == 200
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.", "", "[::2]", "127.0.0.1@evil"):
        assert_problem(fixed.get("/v1/health", headers={"host": host}), 421)
    assert_problem(fixed.get("/v1/health", headers=[("host", "localhost"), ("host", "localhost")]), 421)
    allowed = serve(*words, "--mechanism", "tem", "--allow-host", "MY.host")
    assert allowed.get("/v1/health", headers={"host": "my.host:1"}).status_code == 200


def test_no_route_answers_other_sites(guarded):
    """Every route but health and the page refuses pages of other sites, whatever the method; new routes too."""
    paths, public = list_paths(guarded)
    assert public >= {"/v1/health", "/", "/page.css", "/page.js", "/icon.svg"}
    private = paths - public
    assert private >= {"/v1/privatize", "/v1/measure", "/openapi.json"}
    requests = [
        (method, path, {"headers": headers})
        for path in (*sorted(private), "/nowhere")
        for method in ("GET", "HEAD", "POST", "OPTIONS", "DELETE")
        for headers in FOREIGN_HEADERS
    ]
    # Who asks for a token first would tell that the site is not the reason.
    assert {response.status_code for response in guarded.gather(requests)} == {403}


def test_other_sites_start_no_computation(words):
    """A page of another site makes the service compute no law, and neither does any GET."""
    client = serve(*words, "--mechanism", "tem")
    path = "/v1/certificate?mechanism=tem&epsilon=2"
    assert_problem(client.get(path, headers={"sec-fetch-site": "cross-site"}), 403)
    for _ in range(2):
        assert "send texts with it first" in assert_problem(client.get(path), 409)


def test_two_values_of_a_header(fixed):
    """A second header of the same name does not hide behind the first."""
    for name, own, foreign in (
        ("sec-fetch-site", "same-origin", "cross-site"),
        ("origin", "http://localhost", "https://evil.example"),
    ):
        for values in ((own, foreign), (foreign, own)):
            assert_problem(fixed.get("/v1/options", headers=[(name, value) for value in values]), 403)


def test_links_to_the_page(guarded):
    """A page of another site may link to this one's page, and a monitor read its health; neither needs a token."""
    for path in list_paths(guarded)[1]:
        response = guarded.get(path, headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"})
        assert response.status_code == 200
        assert_problem(guarded.post(path, BODY, headers={"origin": "https://evil.example"}), 403)
        assert_problem(guarded.post(path, BODY), 401)


def test_programs_and_the_own_page(fixed):
    """Scripts, which send neither header, and the service's own page are answered."""
    own = ({}, {"sec-fetch-site": "none"}, {"sec-fetch-site": "same-origin", "origin": "http://localhost"})
    for headers in own:
        for path in ("/v1/options", "/v1/metrics", "/openapi.json", "/page.json"):
            assert fixed.get(path, headers=headers).status_code == 200
        assert fixed.post("/v1/privatize", BODY, headers=headers).status_code == 200


def test_every_route_is_http(fixed):
    """A web socket that is asked for is closed."""
    sent = []

    async def send(event):
        sent.append(event)

    asyncio.run(fixed.app({"type": "websocket", "path": "/v1/options", "headers": []}, None, send))
    assert sent == [{"type": "websocket.close"}]


def test_a_token(guarded):
    """With a token every path but health and the page needs it, whole and right; it shows nowhere."""
    for value in (None, "", TOKEN, f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"Basic {TOKEN}", "Bearer é"):
        headers = {} if value is None else {"authorization": value.encode("latin-1")}
        for path in ("/v1/options", "/v1/metrics", "/openapi.json", "/v1/certificate", "/page.json", "/nowhere"):
            response = guarded.get(path, headers=headers)
            assert TOKEN not in assert_problem(response, 401)
            assert response.headers["www-authenticate"] == "Bearer"
        assert_problem(guarded.post("/v1/privatize", BODY, headers=headers), 401)
    right = {"authorization": f"Bearer {TOKEN}"}
    assert guarded.post("/v1/privatize", BODY, headers=right).status_code == 200
    for values in ((f"Bearer {TOKEN}", "Bearer other"), (f"Bearer {TOKEN}", f"Bearer {TOKEN}")):
        assert_problem(guarded.get("/v1/options", headers=[("authorization", value) for value in values]), 401)
    assert_problem(guarded.get("/nowhere", headers=right), 404)


@pytest.mark.parametrize("token", ["short", "x" * 31, "é" * 32, "a b" * 20, "a\n" + "b" * 40])
def test_weak_tokens(token, words, monkeypatch):
    """A token that is short or cannot stand in a header is refused, and not shown."""
    monkeypatch.setenv("WEAK_TOKEN", token)
    result = run("serve", *words, "--port", "0", "--token-env", "WEAK_TOKEN")
    fails(result, "32")
    assert token not in str(result)


def test_headers_of_every_response(fixed):
    """Nothing is stored, sniffed, framed or sent on; answers and problems alike."""
    for path, headers in (("/v1/options", {}), ("/nowhere", {}), ("/v1/options", {"host": "x"})):
        response = fixed.get(path, headers=headers)
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize(("error", "status"), [(RuntimeError, 500), (dn.InputError, 422)])
def test_failures_show_no_text(tem, caplog, error, status):
    """A bug is answered with 500, and logged by type and place; no error's words are passed on, which tell of texts."""
    client = serve(*tem)
    catalogue = client.app.state.service.catalogue

    def fail(texts):
        raise error(str(texts))

    catalogue.get(catalogue.default).privatize = fail
    with caplog.at_level(logging.DEBUG):
        assert_problem(client.privatize([SECRET]), status)
    if status == 500:
        assert "/v1/privatize RuntimeError at " in caplog.text
        assert "test_guard.py:" in caplog.text
    assert SECRET not in caplog.text
    assert "deniable_open_requests 1.0\n" in client.get("/v1/metrics").text  # this one

"""What every request passes: hosts, origins, tokens, and failures that show nothing."""

import asyncio
import logging

import pytest
from starlette.routing import Route

import deniable as dn
from deniable.serve.app import create_app
from deniable.serve.guard import HEALTH_PATH, Access, check_host, check_token
from deniable.serve.page import PAGE_PATHS
from deniable.serve.problems import Problem
from tests.serve.helpers import SECRET, TOKEN, Client, assert_problem, build_choices, build_fixed

BODY = {"texts": ["food"]}
PUBLIC_PATHS = {HEALTH_PATH, *PAGE_PATHS}
PRIVATE_PATHS = sorted({route.path for route in create_app(build_fixed()).routes} - PUBLIC_PATHS)
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


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1", "127.0.0.1:1", "[::1]:8000", "[::1]"])
def test_names_of_this_machine(host):
    """The service answers to the names of this machine, on any port."""
    assert Client().get("/v1/health", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.", "", "[::2]", "127.0.0.1@evil"]
)
def test_other_names(host):
    """Under any other name it refuses, so that no page can reach it by rebinding its own name; health too."""
    assert_problem(Client().get("/v1/health", headers={"host": host}), 421)


def test_one_host():
    """No host, or two of them, are refused."""
    for values in ([], ["localhost", "localhost"]):
        with pytest.raises(Problem, match="Host header"):
            check_host(values, Access().hosts)
    assert check_host(["my.host:1"], Access.of(None, ["MY.host"]).hosts) == "my.host:1"


@pytest.mark.parametrize("headers", FOREIGN_HEADERS, ids=str)
def test_pages_of_other_sites(headers):
    """A page of another site, or of another port, may not post."""
    assert_problem(Client().post("/v1/privatize", BODY, headers=headers), 403)


@pytest.mark.parametrize("path", [*PRIVATE_PATHS, "/nowhere"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS", "DELETE"])
def test_no_route_answers_other_sites(method, path):
    """Every route but health and the page refuses pages of other sites, whatever the method; new routes too."""
    client = Client(token=TOKEN)  # who asks for a token first would tell that the site is not the reason
    requests = [(method, path, {"headers": headers}) for headers in FOREIGN_HEADERS]
    assert {response.status_code for response in client.gather(requests)} == {403}


def test_other_sites_start_no_computation():
    """A page of another site makes the service compute no law, and neither does any GET."""
    client = Client(build_choices())
    path = "/v1/certificate?mechanism=calibrated&epsilon=3"
    assert_problem(client.get(path, headers={"sec-fetch-site": "cross-site"}), 403)
    assert "send texts with it first" in assert_problem(client.get(path), 409)
    catalogue = client.service.catalogue
    assert catalogue.get(catalogue.choose("calibrated", 3.0)) is None


def test_two_values_of_a_header():
    """A second header of the same name does not hide behind the first."""
    for name, own, foreign in (
        ("sec-fetch-site", "same-origin", "cross-site"),
        ("origin", "http://localhost", "https://evil.example"),
    ):
        for values in ((own, foreign), (foreign, own)):
            assert_problem(Client().get("/v1/options", headers=[(name, value) for value in values]), 403)


def test_links_to_the_page():
    """A page of another site may link to this one's page, and a monitor read its health; neither needs a token."""
    client = Client(token=TOKEN)
    for path in PUBLIC_PATHS:
        response = client.get(path, headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"})
        assert response.status_code == 200
        assert_problem(client.post(path, BODY, headers={"origin": "https://evil.example"}), 403)
        assert_problem(client.post(path, BODY), 401)


def test_programs_need_no_header():
    """Curl and scripts send neither header, and are answered."""
    client = Client(build_choices())
    for path in ("/v1/options", "/v1/metrics", "/openapi.json", "/page.json"):
        assert client.get(path).status_code == 200
        assert client.get(path, headers={"sec-fetch-site": "same-origin"}).status_code == 200


def test_every_route_is_http():
    """There are no web sockets and no mounted applications, and one that is asked for is closed."""
    app = create_app(build_fixed())
    assert all(isinstance(route, Route) for route in app.routes)
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(app({"type": "websocket", "path": "/v1/options", "headers": []}, None, send))
    assert sent == [{"type": "websocket.close"}]


@pytest.mark.parametrize(
    "headers", [{"sec-fetch-site": "same-origin", "origin": "http://localhost"}, {"sec-fetch-site": "none"}], ids=str
)
def test_its_own_page(headers):
    """The service's own page may post."""
    assert Client().post("/v1/privatize", BODY, headers=headers).status_code == 200


def test_a_token():
    """With a token every path but health needs it, whole and right."""
    client = Client(token=f" {TOKEN}\n")
    assert client.get("/v1/health").status_code == 200
    for value in (None, "", TOKEN, f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"Basic {TOKEN}", "Bearer é"):
        headers = {} if value is None else {"authorization": value.encode("latin-1")}
        for path in ("/v1/options", "/v1/metrics", "/openapi.json", "/v1/certificate", "/nowhere"):
            response = client.get(path, headers=headers)
            assert TOKEN not in assert_problem(response, 401)
            assert response.headers["www-authenticate"] == "Bearer"
        assert_problem(client.post("/v1/privatize", BODY, headers=headers), 401)
    right = {"authorization": f"Bearer {TOKEN}"}
    assert client.post("/v1/privatize", BODY, headers=right).status_code == 200
    assert_problem(client.get("/nowhere", headers=right), 404)


@pytest.mark.parametrize("token", ["", "short", "x" * 31, "é" * 32, "a b" * 20, "a\n" + "b" * 40])
def test_weak_tokens(token):
    """A token that is short or cannot stand in a header is refused, and not shown."""
    with pytest.raises(dn.InputError) as caught:
        check_token(token)
    assert not token or token not in str(caught.value)


def test_a_token_shows_nowhere():
    """The access keeps a digest, and shows not even that."""
    access = Access.of(TOKEN)
    assert TOKEN not in repr(vars(access))
    assert "digest" not in repr(access)


def test_headers_of_every_response():
    """Nothing is stored, sniffed, framed or sent on; answers and problems alike."""
    client = Client()
    for response in (
        client.get("/v1/options"),
        client.get("/nowhere"),
        client.get("/v1/options", headers={"host": "x"}),
    ):
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert "access-control-allow-origin" not in response.headers


def test_failures_show_no_text(monkeypatch, caplog):
    """A bug is answered with 500, and logged by type and place: never with what the error says."""
    client = Client()
    offer = client.service.catalogue.prepare(client.service.catalogue.default)

    def fail(texts):
        raise RuntimeError(texts)

    monkeypatch.setattr(offer, "privatize", fail)
    with caplog.at_level(logging.DEBUG):
        assert_problem(client.post("/v1/privatize", {"texts": [SECRET]}), 500)
    assert "/v1/privatize RuntimeError at " in caplog.text
    assert "test_guard.py:" in caplog.text
    assert SECRET not in caplog.text
    assert client.service.open_requests == 0


def test_draining():
    """While the service stops, requests and health get 503."""
    client = Client()
    client.service.is_draining = True
    response = client.post("/v1/privatize", BODY)
    assert_problem(response, 503)
    assert response.headers["connection"] == "close"
    assert_problem(client.get("/v1/health"), 503)

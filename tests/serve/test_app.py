"""The application as a whole: what it refuses to be made of, its paths, and what it publishes about itself."""

import asyncio

import pytest

import deniable as dn
from deniable.serve.app import create_app
from deniable.serve.service import Service
from tests.serve.helpers import SECRET, Client, assert_problem, build_fixed
from tests.text.helpers import SPACE


@pytest.mark.parametrize("key", ["seed:1", bytes(range(32))])
def test_noise_is_never_keyed(key):
    """A release with a key or a public seed is refused: strangers could confirm a guess."""
    release = dn.Release(dn.TEM(SPACE, epsilon=2.0), key=key)
    with pytest.raises(dn.InputError, match="fresh noise for every request"):
        create_app(release)


def test_what_is_served_must_be_a_release():
    """Anything but a release or a catalogue is refused in one line that does not show it."""
    with pytest.raises(dn.InputError, match="a Release or a Catalogue"):
        create_app(SECRET)


def test_a_release_is_served_as_it_is():
    """An application of a release prepares it when it starts, and closes its threads at the end."""
    app = create_app(dn.Release(dn.TEM(SPACE, epsilon=2.0)))

    async def live():
        async with app.router.lifespan_context(app):
            return app.state.service

    service = asyncio.run(live())
    assert isinstance(service, Service)
    assert service.catalogue.get(service.catalogue.default).is_quick


def test_no_page_of_others():
    """There are no documentation pages that load scripts from elsewhere; openapi.json is there."""
    client = Client()
    for path in ("/docs", "/redoc", "/v1/", "/static/"):
        assert_problem(client.get(path), 404)
    assert client.get("/openapi.json").status_code == 200


def test_every_path_is_described():
    """The description names every path, and a body for every POST."""
    paths = create_app(build_fixed()).openapi()["paths"]
    assert {*paths} >= {
        "/v1/health",
        "/v1/options",
        "/v1/metrics",
        "/v1/certificate",
        "/v1/privatize",
        "/v1/explain",
        "/v1/tune",
        "/v1/verify",
    }
    assert all("requestBody" in methods["post"] for methods in paths.values() if "post" in methods)


def test_wrong_methods_and_paths():
    """A path that does not exist and a method that is not taken are problems, and do not show what was sent."""
    client = Client()
    assert_problem(client.get(f"/{SECRET}"), 404)
    assert_problem(client.get("/v1/privatize"), 405)
    assert_problem(client.request("BREW", "/v1/health"), 405)
    assert "epsilon" in assert_problem(client.get(f"/v1/certificate?epsilon={SECRET}"), 422)

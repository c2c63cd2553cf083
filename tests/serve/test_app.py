"""Applications of releases and mechanisms of somebody's own, which no command serves."""

import asyncio

import pytest

import deniable as dn
from deniable.serve.app import create_app
from tests.refusals import refuses
from tests.serve.helpers import SECRET, SPACE, Client


def make(**options):
    return dn.Release(dn.TEM(SPACE, epsilon=2.0), **options)


@pytest.mark.parametrize(
    ("make_offered", "value"),
    [
        (lambda: make(key="seed:1"), "fresh noise"),
        (lambda: make(key=bytes(range(32))), "fresh noise"),
        (lambda: SECRET, "'str'"),
    ],
)
def test_noise_is_never_keyed(make_offered, value):
    """A release with a key or a public seed is refused: strangers could confirm a guess; so is what is no release."""
    with refuses(value):
        create_app(make_offered())


def test_a_release_is_served_as_it_is():
    """An application of a release prepares it when it starts, and closes its threads at the end."""
    app = create_app(make())
    client = Client(app)
    assert client.get("/v1/options").json()["release"] is None

    async def live():
        async with app.router.lifespan_context(app):
            return await asyncio.to_thread(lambda: client.privatize(["food", "zork"]).json())

    assert asyncio.run(live())["release"]["fingerprint"] == make().fingerprint


def test_an_offer_is_described_and_charged_by_its_guarantee(tmp_path):
    """What a service says of a mechanism of somebody's own, and charges for a word, is what it guarantees."""
    claim = dn.Guarantee.of_words(6.0, SPACE.metric_name, "Theorem 1 of my paper")
    own = type("Own", (dn.TEM,), {"guarantee": claim})
    dn.create_ledger(str(tmp_path / "c.db"), 13.0, delta=1e-6, unit="caller", secret=bytes(32))
    ledger = dn.Ledger(str(tmp_path / "c.db"), bytes(32))
    client = Client(create_app(dn.Release(own(SPACE, epsilon=2.0)), ledger=ledger))
    assert [client.privatize(["food"]).status_code for _ in range(3)] == [200, 200, 429]
    release = client.get("/v1/options").json()["release"]
    assert release["epsilon"] == release["guarantee"]["epsilon"] == 6.0


def test_a_guarantee_stands_no_higher_than_its_verdict():
    """What a service says of a mechanism that its law refutes is that it is refuted."""

    class Broken(dn.TEM):
        def build_law(self):
            return dn.laws.ExponentialLaw(self.space, dn.laws.ExponentialKernel(4 * self.epsilon, self.cutoff))

    client = Client(create_app(dn.Release(Broken(SPACE, epsilon=2.0))))
    assert client.privatize(["food"]).json()["release"]["guarantee"]["status"] == "refuted"

"""Callers of a service pay for what leaves, and are refused when their budget is spent."""

import asyncio
import json
import threading

import httpx2 as httpx
import pytest

import deniable as dn
from tests.commands import run
from tests.serve.helpers import SECONDS, TOKEN, Client, assert_problem, serve

TEXT = "the food was good"
TOKENS = {"ann": TOKEN, "bob": TOKEN[::-1]}


class Callers:
    """A service with a ledger, and its callers."""

    def __init__(self, folder, tem, budget="20", *, named=True):
        self.ledger = str(folder / "callers.db")
        made = run("ledger", "create", self.ledger, "--budget", budget, "--delta", "1e-6", "--unit", "caller")
        assert made.code == 0, made.err
        (folder / "tokens").write_text("".join(f"{name} {token}\n" for name, token in TOKENS.items()))
        tokens = ("--token-file", folder / "tokens") if named else ()
        self.app = serve(*tem, "--ledger", self.ledger, *tokens).app
        self.ann, self.bob = (Client(self.app, token if named else None) for token in TOKENS.values())

    def spent(self, name):
        """Return what a caller has spent, in epsilons."""
        shown = json.loads(run("ledger", "show", self.ledger, "--json", "--person", name).text)
        return sum(account["largest"] for account in shown["accounts"] if account["name"].startswith("metric"))


@pytest.fixture
def callers(tmp_path, tem):
    return Callers(tmp_path, tem)


def count_released(client):
    """Return the numbers of records and words in a caller's certificate."""
    certificate = client.get("/v1/certificate").json()
    return certificate["records"], certificate["words"]


def test_each_request_of_a_caller_pays(callers):
    """Epsilon 2 a word and 4 words: a budget of 20 covers two requests, repeats of one text included."""
    assert callers.ann.get("/v1/options").json()["budget"].startswith("per caller: metric epsilon 20")
    assert [callers.ann.privatize([TEXT]).status_code for _ in range(2)] == [200, 200]
    assert_problem(callers.ann.privatize([TEXT]), 429)
    assert callers.spent("ann") == 16
    assert callers.ann.privatize(["", None, "..."]).status_code == 200  # only words are charged
    assert callers.spent("ann") == 16
    assert callers.ann.privatize(["the dog"]).status_code == 200
    assert callers.spent("ann") == 20


def test_callers_have_budgets_and_counts_of_their_own(callers):
    """What one caller spends leaves another's budget and certificate as they are."""
    callers.ann.privatize([TEXT])
    assert (callers.spent("ann"), callers.spent("bob")) == (8, 0)
    assert count_released(callers.bob) == (0, 0)
    callers.bob.privatize(["food", None])
    assert (callers.spent("ann"), callers.spent("bob")) == (8, 2)
    assert (count_released(callers.ann), count_released(callers.bob)) == ((1, 4), (2, 1))
    assert_problem(Client(callers.app, "x" * 32).privatize([TEXT]), 401)


def test_what_is_refused_does_not_leave(callers):
    """A refusal shows nothing that was drawn, and is not counted as released."""
    for _ in range(2):
        callers.ann.privatize([TEXT])
    response = callers.ann.privatize(["good great bad " * 20])
    assert_problem(response, 429)
    assert "good" not in response.text
    assert count_released(callers.ann) == (2, 8)


def test_words_are_paid_ahead(tmp_path, tem):
    """With a large budget a caller pays for some words ahead, and not every request waits for the disk."""
    callers = Callers(tmp_path, tem, "100000", named=False)
    for _ in range(5):
        assert callers.ann.privatize([TEXT]).status_code == 200
    assert callers.spent("anybody") == 2.0 * 500
    assert json.loads(run("ledger", "show", callers.ledger, "--json").text)["releases"][0]["cells"] == 1


def test_nothing_leaves_without_the_ledger(tmp_path, callers):
    """Where the ledger cannot be reached, no text leaves."""
    for path in tmp_path.glob("callers.db*"):
        path.write_bytes(b"x" * 5000)
    assert_problem(callers.ann.privatize([TEXT]), 503)


def test_what_cannot_be_counted_is_refused(tmp_path, tem, words, callers):
    """A ledger of persons, a service whose requests choose an epsilon, and measurements, which show private texts."""
    assert run("ledger", "create", tmp_path / "p.db", "--budget", "20").code == 0
    assert run("serve", *tem, "--port", "0", "--ledger", tmp_path / "p.db").code == 2
    assert run("serve", *words, "--port", "0", "--ledger", callers.ledger).code == 2
    assert_problem(callers.ann.post("/v1/measure", {"texts": [TEXT] * 20, "labels": ["a", "b"] * 10}), 422)


def test_requests_at_once_spend_one_budget(callers):
    """Payments of forty requests at once are charged exactly: those that the budget covers leave."""
    requests = [("POST", "/v1/privatize", {"json": {"texts": ["food"]}})] * 40
    statuses = [answer.status_code for answer in callers.ann.gather(requests)]
    assert (statuses.count(200), statuses.count(429)) == (10, 30)
    assert callers.spent("ann") == 20


def test_a_caller_who_has_paid_waits_for_nobody(tmp_path, tem, monkeypatch):
    """While one caller's charge waits for the disk, another's words that are paid for leave at once."""
    callers = Callers(tmp_path, tem, "100000")
    assert callers.bob.privatize(["food"]).status_code == 200
    waiting, release, charge = threading.Event(), threading.Event(), dn.Ledger.charge_afresh

    def wait(*arguments):
        waiting.set()
        assert release.wait(120)
        return charge(*arguments)

    monkeypatch.setattr(dn.Ledger, "charge_afresh", wait)

    async def ask():
        """Ask for both in one event loop, as a server does."""
        options = {
            "transport": httpx.ASGITransport(app=callers.app),
            "base_url": "http://localhost",
            "timeout": SECONDS,
        }
        async with httpx.AsyncClient(**options) as client:

            def privatize(token):
                headers = {"authorization": f"Bearer {token}"}
                return client.post("/v1/privatize", json={"texts": ["food"]}, headers=headers)

            ann = asyncio.create_task(privatize(callers.ann.token))
            assert await asyncio.to_thread(waiting.wait, SECONDS)
            bob = await privatize(callers.bob.token)
            is_waiting = not ann.done()
            release.set()
            return bob.status_code, is_waiting, (await ann).status_code

    assert asyncio.run(ask()) == (200, True, 200)

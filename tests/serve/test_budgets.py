"""Callers of a service pay for what leaves, and are refused when their budget is spent."""

import threading

import pytest

import deniable as dn
from deniable.core.errors import InputError
from deniable.ledger.accounts import EPSILON_UNITS
from deniable.serve.app import create_app
from deniable.serve.budgets import CallerBudgets
from tests.contracts.store import SECRET, spent
from tests.serve.helpers import TOKEN, Client, assert_problem, build_choices, build_fixed

OTHER_TOKEN = TOKEN[::-1]
TEXT = "the food was good"


def make_ledger(folder, budget=20.0, unit="caller"):
    location = str(folder / "callers.db")
    dn.create_ledger(location, budget, delta=1e-6, unit=unit, secret=SECRET)
    return dn.Ledger(location, SECRET)


@pytest.fixture
def ledger(tmp_path):
    return make_ledger(tmp_path)


@pytest.fixture
def client(ledger):
    return Client(token={"ann": TOKEN, "bob": OTHER_TOKEN}, ledger=ledger)


def send(client, token=TOKEN, texts=(TEXT,)):
    headers = {"authorization": f"Bearer {token}"}
    return client.post("/v1/privatize", {"texts": list(texts)}, headers=headers)


def count_released(client, token=TOKEN):
    """Return the numbers of records and words in a caller's certificate."""
    certificate = client.get("/v1/certificate", headers={"authorization": f"Bearer {token}"}).json()
    return certificate["records"], certificate["words"]


def test_each_request_of_a_caller_pays(client, ledger):
    """Epsilon 2 a word and 4 words: a budget of 20 covers two requests, repeats of one text included."""
    assert [send(client).status_code for _ in range(2)] == [200, 200]
    line = assert_problem(send(client), 429)
    assert "The budget of this caller is spent: the ledger allows per caller: metric epsilon 20" in line
    assert spent(ledger, "ann") == 16
    assert send(client, texts=["the dog"]).status_code == 200
    assert spent(ledger, "ann") == 20


def test_callers_have_budgets_of_their_own(client, ledger):
    """What one caller spends leaves another's budget as it is."""
    send(client)
    assert (spent(ledger, "ann"), spent(ledger, "bob")) == (8, 0)
    send(client, OTHER_TOKEN)
    assert (spent(ledger, "ann"), spent(ledger, "bob")) == (8, 8)
    assert_problem(send(client, "x" * 32), 401)


def test_what_is_refused_does_not_leave(client):
    """A refusal shows nothing that was drawn, and is not counted as released."""
    before = count_released(client)
    for _ in range(2):
        send(client)
    response = send(client, texts=["good great bad " * 20])
    assert "good" not in response.text
    assert count_released(client) == (before[0] + 2, before[1] + 8)


def test_callers_have_counts_of_their_own(client):
    """The certificate of one caller counts nothing of another's texts."""
    before = count_released(client, OTHER_TOKEN)
    send(client)
    assert count_released(client, OTHER_TOKEN) == before
    send(client, OTHER_TOKEN, ["food", None])
    assert count_released(client, OTHER_TOKEN) == (before[0] + 2, before[1] + 1)


def test_texts_without_words_are_free(client, ledger):
    """Only words are charged."""
    assert send(client, texts=["", None, "..."]).status_code == 200
    assert list(ledger.list_units()) == []


def test_words_are_paid_ahead(tmp_path):
    """With a large budget a caller pays for some words ahead, and not every request waits for the disk."""
    ledger = make_ledger(tmp_path, 100_000.0)
    client = Client(ledger=ledger)
    for _ in range(5):
        assert client.post("/v1/privatize", {"texts": [TEXT]}).status_code == 200
    assert spent(ledger, "anybody") == 2.0 * 500
    assert [units.cells for units in ledger.list_units()] == [1]


def test_nothing_leaves_without_the_ledger(tmp_path):
    """Where the ledger cannot be reached, no text leaves."""
    ledger = make_ledger(tmp_path)
    client = Client(ledger=ledger)
    for path in tmp_path.glob("callers.db*"):
        path.write_bytes(b"x" * 5000)
    response = client.post("/v1/privatize", {"texts": [TEXT]})
    assert "no text may leave" in assert_problem(response, 503)


def test_what_cannot_be_counted_is_refused(tmp_path, ledger):
    """A ledger of persons, and a service whose requests choose an epsilon."""
    persons = tmp_path / "persons"
    persons.mkdir()
    with pytest.raises(InputError, match="--unit caller"):
        create_app(build_fixed(), ledger=make_ledger(persons, unit="person"))
    with pytest.raises(InputError, match="counts one release"):
        create_app(build_choices(), ledger=ledger)


def test_options_tell_the_budget(client):
    """The options of the service say what a caller may spend."""
    options = client.get("/v1/options", headers={"authorization": f"Bearer {TOKEN}"}).json()
    assert options["budget"].startswith("per caller: metric epsilon 20")
    assert Client().get("/v1/options").json()["budget"] is None


def test_threads_spend_one_budget(ledger):
    """Payments from several threads are charged exactly."""
    from concurrent.futures import ThreadPoolExecutor

    from deniable.serve.problems import Problem

    budgets = CallerBudgets(ledger, build_fixed().prepare(build_fixed().default).compute_cost())

    def pay(_):
        try:
            budgets.pay("ann", 1)
        except Problem:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(pay, range(40))) == 10
    assert spent(ledger, "ann") == 20
    assert ledger.facts.caps["metric"] == (20 * EPSILON_UNITS,)


def test_a_caller_who_has_paid_waits_for_nobody(tmp_path, monkeypatch):
    """While one caller's charge waits for the disk, another's words that are paid for leave at once."""
    ledger = make_ledger(tmp_path, 100_000.0)
    catalogue = build_fixed()
    budgets = CallerBudgets(ledger, catalogue.prepare(catalogue.default).compute_cost())
    budgets.pay("bob", 1)
    waiting, release = threading.Event(), threading.Event()

    def wait(*_):
        waiting.set()
        release.wait(10)

    monkeypatch.setattr(type(ledger), "charge_afresh", wait)
    thread = threading.Thread(target=budgets.pay, args=("ann", 1))
    thread.start()
    assert waiting.wait(10)
    assert budgets.spend_paid("bob", 1)
    assert not budgets.spend_paid("ann", 1)
    release.set()
    thread.join()


def test_measurements_are_refused(client):
    """Their page shows private texts, for which nobody would have paid."""
    headers = {"authorization": f"Bearer {TOKEN}"}
    body = {"texts": [TEXT] * 20, "labels": ["a", "b"] * 10}
    assert "deniable measure" in assert_problem(client.post("/v1/measure", body, headers=headers), 422)

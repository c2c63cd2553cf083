"""Services that all tests of this folder share, and a browser for the tests of the page."""

import contextlib
import csv
import shutil

import pytest

from tests.commands import run
from tests.serve.browser import Watch
from tests.serve.helpers import SECONDS, TOKEN, run_service, save_space, serve

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'deniable[serve]'")

ROWS = [
    ("1", "The food, in London, was great", "red"),
    ("2", 'the dog said "good"\nand was bad', "blue"),
    ("3", "שלום paris food 👩‍👩‍👧 great", "red"),
    ("4", "<img src=x onerror=alert(1)> the cat", "blue"),
    ("5", "", "red"),
]


@pytest.fixture(scope="session")
def words(tmp_path_factory):
    """Return the options that name the small space."""
    return ("--space", str(save_space(tmp_path_factory.mktemp("space"))), "--hide", "none")


@pytest.fixture(scope="session")
def tem(words):
    """Return the options of a service of one release."""
    return (*words, "--mechanism", "tem", "--epsilon", "2")


@pytest.fixture(scope="session")
def fixed(tem):
    """Return a client of a service of one release."""
    return serve(*tem)


@pytest.fixture(scope="session")
def choices(words):
    """Return a client of a service whose requests choose."""
    return serve(*words)


@pytest.fixture(scope="session")
def guarded(tem, tmp_path_factory):
    """Return a client, without the token, of a service that asks for one."""
    path = tmp_path_factory.mktemp("token") / "token"
    path.write_text(f" {TOKEN}\n")
    return serve(*tem, "--token-file", path)


@pytest.fixture(scope="session")
def rewriting(tmp_path_factory):
    """Return a client of a service that rewrites whole texts."""
    pytest.importorskip("torch", reason="torch is not installed")
    import deniable as dn

    path = tmp_path_factory.mktemp("model") / "m.pt"
    texts = [f"show {number} flights from boston to dallas" for number in range(12)]
    options = dn.rewriting.RewriterOptions(latent=4, hidden=8, embedding=4, batch_size=8, epochs=1)
    dn.images.save_model(dn.rewriting.fit_rewriter(texts[2:], texts[:2], options, seed=1), path)
    return serve("--model", path, "--method", "adept-true", "--epsilon", "5")


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Return the folder in which services for browsers run, with a table."""
    folder = tmp_path_factory.mktemp("service")
    with (folder / "letters.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("id", "letter", "colour"), *ROWS])
    return folder


@pytest.fixture(scope="module")
def browser():
    """Return Chromium; as long as it is there, this thread has an event loop and can run no other."""
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    from playwright.sync_api import expect, sync_playwright

    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        pytest.skip("no Chromium is installed")
    expect.set_options(timeout=1000 * SECONDS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def address(folder):
    """Return the address of a service whose requests choose."""
    with run_service(folder, "--hide", "places") as (_, address):
        yield address


@pytest.fixture
def watch(address):
    """Return what fails the test where the browser does what it must not do."""
    watch = Watch(address)
    yield watch
    assert watch.faults == []


@pytest.fixture
def open_page(browser, watch):
    """Return a function that opens the page at a width, in a colour scheme."""
    contexts = []

    def opening(fragment="", width=1280, scheme="light", **settings):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **settings)
        contexts.append(context)
        context.set_default_timeout(1000 * SECONDS)
        page = context.new_page()
        watch.listen(page)
        page.goto(f"{watch.address}/{fragment}")
        return page

    yield opening
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def certificate(folder, address):  # noqa: ARG001 - writes the space
    """Return the certificate of a signed release, beside which table, signature and keys lie."""
    (folder / "released.csv").write_text("text\n" + "the good dog in london\n" * 3)
    release = ("privatize", "released.csv", "--epsilon", "2", "--space", "space.npz", "--hide", "places")
    with contextlib.chdir(folder):
        assert run("key", "--sign", "owner.key").code == 0
        assert run(*release, "--output", "out.csv", "--sign-key", "owner.key").code == 0
    return folder / "out.csv.certificate.json"

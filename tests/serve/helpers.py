"""Applications over a small space, called in this process or served by one of their own."""

import asyncio
import contextlib
import functools
import json
import socket
import subprocess
import sys
import textwrap

import httpx2 as httpx

import deniable as dn
from deniable.serve.app import create_app
from deniable.serve.catalogue import Catalogue
from deniable.serve.guard import Access
from deniable.serve.offers import WordOffer
from tests.text.helpers import SPACE

TOKEN = "0123456789abcdef" * 2
SECRET = "zebra-crossing"
"""A text that must show nowhere."""


@functools.lru_cache(maxsize=1)
def build_fixed():
    """Return the catalogue of one prepared release."""
    offer = WordOffer(dn.Release(dn.TEM(SPACE, epsilon=2.0)))
    catalogue = Catalogue.fix(offer)
    catalogue.prepare(catalogue.default)
    return catalogue


@functools.lru_cache(maxsize=1)
def build_choices():
    """Return a catalogue of two mechanisms at three epsilons, of which the default is prepared."""
    catalogue = Catalogue.of_space(SPACE, ["tem", "calibrated"], [1.0, 2.0, 3.0])
    catalogue.prepare(catalogue.default)
    return catalogue


class Client:
    """Calls an application in this process; a method for each of HTTP."""

    def __init__(self, catalogue=None, *, token=None, limits=None, ledger=None):
        access = Access() if token is None else Access.of(token)
        self.app = create_app(catalogue or build_fixed(), access=access, limits=limits, ledger=ledger)
        self.service = self.app.state.service

    def request(self, method, path, **options):
        """Return the response to one request."""
        return self.gather([(method, path, options)])[0]

    def gather(self, requests):
        """Return the responses to several requests that are sent at once."""

        async def send():
            transport = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return await asyncio.gather(*(client.request(method, path, **more) for method, path, more in requests))

        return asyncio.run(send())

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, content, **options):
        """Post a JSON value, or bytes as they are."""
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        headers = {"content-type": "application/json", **options.pop("headers", {})}
        return self.request("POST", path, content=data, headers=headers, **options)


def assert_problem(response, status):
    """Check that a response is one line about a problem, and return the line."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert {*problem} == {"type", "title", "status", "detail"}
    assert problem["status"] == status
    assert "\n" not in problem["detail"]
    assert SECRET not in response.text
    return problem["detail"]


SERVER = """
    import sys
    from deniable.serve.app import create_app
    from deniable.serve.limits import Limits
    from deniable.serve.server import bind_address, run_server
    from tests.serve.helpers import build_fixed, slow_down
    catalogue = build_fixed()
    slow_down(catalogue)
    app = create_app(catalogue, limits=Limits(**{limits}))
    run_server(app, bind_address("127.0.0.1", 0), lambda url: print(url, flush=True))
    print("ended", flush=True)
"""


def slow_down(catalogue):
    """Let texts that begin with "slow" take a second."""
    import time

    offer = catalogue.prepare(catalogue.default)
    privatize = offer.privatize

    def privatize_slowly(texts):
        if any((text or "").startswith("slow") for text in texts):
            time.sleep(1)
        if any((text or "").startswith("fail") for text in texts):
            raise RuntimeError(texts)
        return privatize(texts)

    offer.privatize = privatize_slowly


@contextlib.contextmanager
def start_server(**limits):
    """Run a server in a process of its own, and yield the process and its port."""
    program = textwrap.dedent(SERVER).replace("{limits}", repr(limits))
    command = [sys.executable, "-W", "error", "-c", program]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), process.stderr.read()
        yield process, int(address.rpartition(":")[2])
    finally:
        process.kill()
        process.communicate()


def send_bytes(port, data, *, seconds=5, end=False):
    """Send bytes to a server, and return all that it answers until it closes the connection or falls silent."""
    with socket.create_connection(("127.0.0.1", port), seconds) as connection:
        connection.sendall(data)
        if end:
            connection.shutdown(socket.SHUT_WR)
        return receive_all(connection)


def receive_all(connection):
    """Return what a connection receives until its end, or its timeout."""
    received = b""
    with contextlib.suppress(TimeoutError, ConnectionResetError):
        while chunk := connection.recv(1 << 16):
            received += chunk
    return received


def format_request(body, *headers, path="/v1/privatize", method="POST"):
    """Return the bytes of a request."""
    lines = [f"{method} {path} HTTP/1.1", "host: 127.0.0.1", *headers]
    if body is not None:
        lines += ["content-type: application/json", f"content-length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")

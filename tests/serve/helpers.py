"""Services as ``deniable serve`` makes them over a small space: called in this process, or in one of their own."""

import asyncio
import contextlib
import json
import os
import re
import socket
import subprocess
import sys
from unittest import mock

import httpx2 as httpx
import numpy as np
import pytest

import deniable as dn
from tests.commands import run

WORDS = ["the", "and", "london", "paris", "tokyo", "food", "good", "great", "bad", "was", "red", "blue", "dog", "cat"]
SPACE = dn.Space(WORDS, np.random.default_rng(5).normal(size=(len(WORDS), 3)))
STEPS = dn.Space(SPACE.words, SPACE.vectors, metric="steps")
"""What the service reads where no metric is named."""
TOKEN = "0123456789abcdef" * 2
SECRET = "zebra-crossing"  # a text that must show nowhere
SECONDS = 120  # that anything may take on a busy machine
PATIENT = ("--time-limit", "3600")
HASTY = {"body_seconds": 1.0, "idle_seconds": 1.0}  # limits that no option sets


def save_space(folder):
    """Write the space, and return its path."""
    np.savez(folder / "space.npz", words=np.array(SPACE.words), vectors=SPACE.vectors)
    return folder / "space.npz"


class Client:
    """Calls an application in this process; a method for each of HTTP."""

    def __init__(self, app, token=None):
        self.app, self.token = app, token

    def request(self, method, path, **options):
        """Return the response to one request."""
        return self.gather([(method, path, options)])[0]

    def gather(self, requests):
        """Return the responses to several requests that are sent at once."""
        headers = {"authorization": f"Bearer {self.token}"} if self.token else {}

        async def send():
            transport = httpx.ASGITransport(app=self.app)
            options = {"base_url": "http://localhost", "headers": headers, "timeout": SECONDS}
            async with httpx.AsyncClient(transport=transport, **options) as client:
                return await asyncio.gather(*(client.request(method, path, **more) for method, path, more in requests))

        return asyncio.run(send())

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, content, **options):
        """Post a JSON value, or bytes as they are."""
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        headers = {"content-type": "application/json", **options.pop("headers", {})}
        return self.request("POST", path, content=data, headers=headers, **options)

    def privatize(self, texts, **options):
        """Return the response to a request for private texts."""
        return self.post("/v1/privatize", {"texts": list(texts), **options})


def serve(*options):
    """Return a client of what ``deniable serve`` would run with those options."""
    apps = []
    with mock.patch("deniable.serve.app.run_server", lambda app, *_: apps.append(app)):
        result = run("serve", "--port", "0", *PATIENT, *options)
    assert result.code == 0, result.err
    return Client(apps[0])


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


PROGRAM = """
import os, sys, time
from deniable.cli.start import run
from deniable.serve import service
from deniable.serve.offers import WordOffer
limits, privatize = {limits}, WordOffer.privatize
def watch(offer, texts):
    while any((text or "").startswith("slow") for text in texts) and not os.path.exists("go"):
        time.sleep(0.01)
    if any((text or "").startswith("fail") for text in texts):
        raise RuntimeError(texts)
    return privatize(offer, texts)
if limits:
    WordOffer.privatize = watch
    initialize = service.Limits.__init__
    service.Limits.__init__ = lambda self, **_: initialize(self, **{"work_seconds": 3600.0, **limits})
run()
"""
"""The command, with other limits: a text that begins with "slow" then waits for a file "go", "fail" is a bug."""


@contextlib.contextmanager
def run_service(folder, *options, limits=None, variables=()):
    """Run ``deniable serve`` in a folder as a process, and yield it and its address."""
    save_space(folder)
    command = [sys.executable, "-W", "error", "-c", PROGRAM.replace("{limits}", repr(limits)), "serve", "--port", "0"]
    environment = {**os.environ, **dict(variables)}
    with subprocess.Popen(
        [*command, "--space", "space.npz", *PATIENT, *options],
        cwd=folder,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        lines = []
        for line in process.stderr:
            lines.append(line)
            address = re.search(r"serving on (http://\S+);", line)
            if address:
                break
        else:
            pytest.fail("".join(lines))
        try:
            yield process, address[1]
        finally:
            process.terminate()
            (folder / "go").touch()
            process.stderr.read()


def connect(port):
    return socket.create_connection(("127.0.0.1", port), SECONDS)


def send_bytes(port, data, *, end=False):
    """Send bytes to a server, and return all that it answers until it closes the connection."""
    with connect(port) as connection:
        connection.sendall(data)
        if end:
            connection.shutdown(socket.SHUT_WR)
        return receive_all(connection)


def receive_all(connection):
    """Return what a connection receives until the server closes it."""
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := connection.recv(1 << 16):
            received += chunk
    return received


def format_request(content=None, *headers, path="/v1/privatize"):
    """Return the bytes of a request: a POST of a JSON value, or a GET."""
    method = "GET" if content is None else "POST"
    lines = [f"{method} {path} HTTP/1.1", "host: 127.0.0.1", *headers]
    body = b"" if content is None else content if isinstance(content, bytes) else json.dumps(content).encode()
    lines += [] if content is None else ["content-type: application/json", f"content-length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body

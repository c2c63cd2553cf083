"""A real service and a real browser, for the tests of the page."""

import contextlib
import dataclasses
import os
import re
import shutil
import subprocess
import sys
import urllib.parse

import numpy as np
import pytest

from tests.text.helpers import SPACE

TOKEN = "a-token-for-the-tests-of-the-page-0123456789"
SECONDS = 60
"""How long a step may take on a busy machine."""


def find_browser():
    """Return the path of an installed Chromium, or skip with the reason."""
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip("no Chromium is installed")
    return path


@contextlib.contextmanager
def run_service(folder, *options, variables=()):
    """Run ``deniable serve`` on a small space in a folder, and yield its address."""
    np.savez(folder / "space.npz", words=np.array(SPACE.words), vectors=SPACE.vectors)
    command = [sys.executable, "-m", "deniable", "serve", "--port", "0", "--space", "space.npz", "--hide", "places"]
    environment = {**os.environ, **dict(variables)}
    with subprocess.Popen([*command, *options], cwd=folder, env=environment, stderr=subprocess.PIPE) as process:
        lines = []
        for line in process.stderr:
            lines.append(line.decode())
            address = re.search(r"serving on (http://\S+);", lines[-1])
            if address:
                break
        else:
            pytest.fail("".join(lines))
        try:
            yield address[1]
        finally:
            process.terminate()
            process.stderr.read()


@dataclasses.dataclass
class Watch:
    """What a browser did that it must not do.

    Attributes:
        address: of the service.
        allowed: pattern of console errors that a test expects.
        faults: requests to other hosts, console errors, among them violations of the policy, and exceptions.
    """

    address: str
    allowed: str = "$^"
    faults: list = dataclasses.field(default_factory=list)

    def listen(self, page):
        """Listen to a page."""
        page.on("request", self._check_request)
        page.on("console", self._check_console)
        page.on("pageerror", lambda error: self.faults.append(f"exception: {error}"))

    def _check_request(self, request):
        url = urllib.parse.urlsplit(request.url)
        is_own = f"{url.scheme}://{url.netloc}" == self.address or url.scheme in {"blob", "data", "about"}
        if not is_own or url.query:
            self.faults.append(f"request: {request.url}")

    def _check_console(self, message):
        if message.type in {"error", "warning"} and not re.search(self.allowed, message.text):
            self.faults.append(f"{message.type}: {message.text}")

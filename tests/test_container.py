"""The container: the steps of its Dockerfile in a fresh environment, and what Dockerfile and compose.yaml promise."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from tests.text.helpers import SPACE

ROOT = Path(__file__).parents[1]
DOCKERFILE = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
COMPOSE = (ROOT / "compose.yaml").read_text(encoding="utf-8")
TOKEN = "a-token-of-the-test-that-is-long-enough"
USER = 10001
LIMIT = 240
"""Seconds in which the service must be ready, on a busy machine."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the container's steps are POSIX shell scripts")


def read_instructions(name):
    """Return the arguments of each instruction of a kind, in order."""
    return re.findall(rf"^{name} (.*)$", DOCKERFILE, flags=re.MULTILINE)


def copy_build_context(folder):
    """Copy to a folder what the Dockerfile's first stage copies to the image, and nothing else."""
    for arguments in read_instructions("COPY"):
        if not arguments.startswith("--from"):
            *sources, target = arguments.split()
            for source in sources:
                copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
                copy(
                    ROOT / source,
                    folder / target / ("" if copy is shutil.copy else "."),
                    **(
                        {"dirs_exist_ok": True, "ignore": shutil.ignore_patterns("__pycache__")}
                        if copy is shutil.copytree
                        else {}
                    ),
                )


def has_index():
    """Return whether pip can get what a build needs."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "hatchling"]
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def image():
    """Return a folder that others can read, with /opt/deniable as the Dockerfile's first stage leaves it, read-only."""
    if not has_index():
        pytest.skip("pip can install nothing here")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        context = folder / "context"
        context.mkdir()
        copy_build_context(context)
        [install] = [shlex.split(line) for line in read_instructions("RUN") if "docker/install.sh" in line]
        *_, shell, script, target = install
        assert (shell, script, target) == ("sh", "docker/install.sh", "/opt/deniable")
        # A fresh environment of the interpreter behind the one that runs the tests.
        path = f"{Path(sys.executable).resolve().parent}{os.pathsep}{os.defpath}"
        environment = {**os.environ, "PATH": path, "PYTHONPATH": ""}
        done = subprocess.run(
            [shell, script, folder / "deniable"],
            cwd=context,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        shutil.rmtree(context)
        for path in (folder / "deniable").rglob("*"):
            if not path.is_symlink():
                path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o222)
        yield folder / "deniable"
        for path in (folder / "deniable").rglob("*"):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)


@pytest.fixture
def state(image):
    """Return a volume: an empty folder of the container's user, with the token and a small space beside it."""
    folder = image.parent / "volume"
    folder.mkdir(mode=0o700)
    (image.parent / "token").write_text(TOKEN, encoding="ascii")
    np.savez(image.parent / "space.npz", words=np.array(SPACE.words), vectors=SPACE.vectors)
    if os.geteuid() == 0:
        for path in (folder, image.parent / "token"):
            os.chown(path, USER, USER)
    (image.parent / "token").chmod(0o400)
    return folder


def find_user(image):
    """Return the container's user where the tests may become it and it can run Python, otherwise nobody."""
    if os.geteuid() != 0:
        return {}
    user = {"user": USER, "group": USER, "extra_groups": []}
    try:
        subprocess.run([image / "bin" / "python", "-c", ""], check=True, capture_output=True, **user)
    except (OSError, subprocess.CalledProcessError):
        return {}  # its interpreter lies in a folder of root's
    return user


class Container:
    """The service, started as the image starts it."""

    def __init__(self, image, state):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = listener.getsockname()[1]
        [[shell, script]] = map(json.loads, read_instructions("ENTRYPOINT"))
        self.environment = {
            "PATH": f"{image / 'bin'}{os.pathsep}{os.defpath}",
            "DENIABLE_STATE": str(state),
            "DENIABLE_HOST": "127.0.0.1",
            "DENIABLE_PORT": str(self.port),
            "DENIABLE_TOKEN_FILE": str(image.parent / "token"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.image, self.user = image, find_user(image)
        options = ["--epsilon", "2.3", "--space", str(image.parent / "space.npz"), "--hide", "none"]
        self.process = subprocess.Popen(
            [shell, self.place(script), *options],
            cwd="/",
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            **self.user,
        )

    def place(self, path):
        """Return where a file of the image lies here."""
        return str(self.image / Path(path).relative_to("/opt/deniable"))

    def is_healthy(self):
        """Run the command of the health check."""
        [check] = re.findall(r"CMD (\[.*\])$", read_instructions("HEALTHCHECK")[0])
        shell, script = json.loads(check)
        command = [shell, self.place(script)]
        return (
            subprocess.run(command, env=self.environment, capture_output=True, check=False, **self.user).returncode == 0
        )

    def wait_for_health(self):
        """Wait until the health check passes."""
        limit = time.monotonic() + LIMIT
        while not self.is_healthy():
            assert self.process.poll() is None, self.process.stdout.read().decode()
            assert time.monotonic() < limit, "not ready in time"
            time.sleep(0.5)

    def post(self, token):
        """Send one text and return the status and the answer."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/v1/privatize",
            json.dumps({"texts": ["the food in london"]}).encode(),
            {"content-type": "application/json", **({"authorization": f"Bearer {token}"} if token else {})},
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=20) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, None

    def stop(self):
        """Stop the service as a container runtime does, and return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        with self.process.stdout:
            self.process.stdout.read()
        return self.process.wait(30)


def list_times(folder):
    """Return when each file of a folder was written."""
    return {path.relative_to(folder): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_the_image_serves_and_its_volume_is_used_again(image, state):
    """Installed and started by the Dockerfile's own steps, with a read-only package: health, token, stop, restart."""
    files = list_times(image)
    first = Container(image, state)
    try:
        assert not first.is_healthy()
        first.wait_for_health()
        assert first.post(None)[0] == 401
        status, answer = first.post(TOKEN)
        assert status == 200
        assert len(answer["texts"]) == 1
        assert answer["release"]["epsilon"] == 2.3
    finally:
        assert first.stop() == 0
    times = list_times(state)
    assert any(path.suffix == ".facts" for path in times)
    assert any(path.suffix == ".nbi" for path in times)
    second = Container(image, state)
    try:
        second.wait_for_health()
        assert second.post(TOKEN)[0] == 200
    finally:
        assert second.stop() == 0
    assert list_times(state) == times, "the second start computed something anew"
    assert list_times(image) == files, "something was written beside the volume"


def test_what_the_dockerfile_promises():
    """Two stages, a user without rights, one volume that is his, a health check, and the build context's own files."""
    assert len(read_instructions("FROM")) == 2
    assert read_instructions("USER") == [f"{USER}:{USER}"]
    assert read_instructions("VOLUME") == ['["/var/lib/deniable"]']
    assert "DENIABLE_STATE=/var/lib/deniable" in read_instructions("ENV")[0]
    assert len(read_instructions("HEALTHCHECK")) == 1
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")}
    copied = {name for line in read_instructions("COPY") if "--from" not in line for name in line.split()[:-1]}
    assert copied == allowed


@pytest.mark.parametrize(
    "line",
    [
        'ports: ["127.0.0.1:8000:8000"]',
        "read_only: true",
        "cap_drop: [ALL]",
        'security_opt: ["no-new-privileges:true"]',
        "secrets: [deniable_token]",
        'volumes: ["state:/var/lib/deniable"]',
        "mem_limit: 4g",
        "cpus: 2",
    ],
)
def test_what_compose_promises(line):
    """The service is reachable from this machine alone, and can write to its volume and a bounded /tmp alone."""
    assert f"\n    {line}\n" in COMPOSE
    assert "tmpfs:" in COMPOSE
    assert "privileged: true" not in COMPOSE

"""The container: the lines of its Dockerfile, run in folders of the test's own, and what compose.yaml promises."""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'deniable[serve]'")
ROOT = Path(__file__).parents[1]
TOKEN = "a-token-of-the-test-that-is-long-enough"
USER = "10001"
SECONDS = 300
"""In which the first start must be ready, on a busy machine."""
INSTRUCTION = re.compile(r"^([A-Z]+) (.*)$", flags=re.MULTILINE)


def read_instructions():
    """Return the Dockerfile's instructions with their arguments, in order."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    return INSTRUCTION.findall(re.sub(r"\\\n\s*", "", text))


def list_arguments(name):
    """Return the arguments of each instruction of a name, in order."""
    return [arguments for instruction, arguments in read_instructions() if instruction == name]


def list_times(folder):
    """Return when each file of a folder was written."""
    return {path.relative_to(folder): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def find_python():
    """Return a Python that the container's user can run: the one that runs the tests, else the system's."""
    for path in (Path(sys.executable).resolve(), Path("/usr/bin/python3")):
        is_open = os.geteuid() != 0 or all(folder.stat().st_mode & stat.S_IXOTH for folder in path.parents)
        command = [path, "-c", "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))"]
        if path.exists() and is_open and subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return path
    pytest.skip("there is no Python of 3.11 or newer with venv that other users can run")


class Image:
    """What the Dockerfile makes, in a folder in place of the root folder.

    Args:
        root: a folder that every user can read.
    """

    def __init__(self, root):
        self.root = root
        self.user = int(USER) if os.geteuid() == 0 else os.geteuid()
        python = find_python()
        (root / "python").mkdir()
        (root / "python" / "python3").symlink_to(python)
        self.path = f"{root / 'python'}{os.pathsep}{os.defpath}"
        for folder in ("opt", "var/lib", "run/secrets", "source"):
            (root / folder).mkdir(parents=True)
        for name, arguments in read_instructions():
            if name == "COPY" and not arguments.startswith("--from"):
                self.copy(*arguments.split())
            elif name == "RUN":
                self.run(arguments)

    def copy(self, *names):
        """Copy what the build's first stage copies: files to a folder, or one folder to another."""
        *sources, target = names
        for source in sources:
            if (ROOT / source).is_dir():
                ignore = shutil.ignore_patterns("__pycache__")
                shutil.copytree(ROOT / source, self.root / "source" / target, ignore=ignore)
            else:
                shutil.copy(ROOT / source, self.root / "source" / target)

    def place(self, text):
        """Return a text of the Dockerfile with its folders below this root, and its user where there is no other."""
        text = re.sub(r"(?<![\w/])/(?=opt/|var/|run/)", f"{self.root}/", text)
        return re.sub(rf"\b{USER}\b", str(self.user), text)

    def run(self, line):
        """Run a line of the shell, as the image is built."""
        environment = {**os.environ, "PATH": self.path}
        environment.pop("PYTHONPATH", None)
        done = subprocess.run(
            ["sh", "-c", self.place(line)],
            cwd=self.root / "source",
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout

    @property
    def environment(self):
        """The variables of the container's processes, and no others."""
        [variables] = list_arguments("ENV")
        pairs = (pair.split("=", 1) for pair in self.place(variables).split())
        return {name: value.replace("$PATH", self.path) for name, value in pairs}

    def start_process(self, command, **options):
        """Start a command as the container's user."""
        if os.geteuid() == 0:
            options |= {"user": self.user, "group": self.user, "extra_groups": []}
        environment = self.environment
        program = shutil.which(command[0], path=environment["PATH"])
        return subprocess.Popen([program, *command[1:]], cwd="/", env=environment, **options)


class Container:
    """The service, started as the image starts it, at a free port of this machine alone."""

    def __init__(self, image):
        self.image = image
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = listener.getsockname()[1]
        [entry], [options] = list_arguments("ENTRYPOINT"), list_arguments("CMD")
        command = [*json.loads(image.place(entry)), *json.loads(options), "--host", "127.0.0.1", "--port"]
        with (image.root / "log").open("w") as log:
            self.process = image.start_process([*command, str(self.port)], stdout=log, stderr=subprocess.STDOUT)
        self.deadline = time.monotonic() + SECONDS

    def read_log(self):
        """Return all that the service printed."""
        return (self.image.root / "log").read_text(encoding="utf-8")

    def wait_for(self, condition):
        """Wait until a condition holds."""
        while not condition():
            assert self.process.poll() is None, self.read_log()
            assert time.monotonic() < self.deadline, self.read_log()
            time.sleep(0.2)

    def is_healthy(self):
        """Run the command of the health check, at this port."""
        [check] = list_arguments("HEALTHCHECK")
        command = json.loads(re.sub(r"^.* CMD ", "", check).replace("8000", str(self.port)))
        with self.image.start_process(command, stderr=subprocess.DEVNULL) as process:
            return process.wait() == 0

    def post(self, token=None):
        """Send one text; return the status and the answer."""
        headers = {"content-type": "application/json", **({"authorization": f"Bearer {token}"} if token else {})}
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            connection.request("POST", "/v1/privatize", json.dumps({"texts": ["the food in london"]}), headers)
            response = connection.getresponse()
            return response.status, json.load(response)

    def stop(self):
        """Stop the service as a container's host does; return its exit status and the seconds of processors it took."""
        self.process.send_signal(signal.SIGTERM)
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return self.process.returncode, usage.ru_utime + usage.ru_stime

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.returncode is None:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def image():
    """Return the image, read-only, with its token, as the Dockerfile's own lines make it."""
    if sys.platform == "win32":
        pytest.skip("the Dockerfile's lines are those of a POSIX shell")
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "hatchling"]
        if subprocess.run(command, cwd=name, capture_output=True, check=False).returncode:
            pytest.skip("pip can install nothing here")
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        image = Image(Path(name))
        token = image.root / "run" / "secrets" / "deniable_token"
        token.write_text(f"{TOKEN}\n", encoding="ascii")
        token.chmod(0o400)
        os.chown(token, image.user, -1)
        folders = [path for path in (image.root / "opt").rglob("*") if path.is_dir() and not path.is_symlink()]
        for folder in folders:
            folder.chmod(0o555)
        yield image
        for folder in folders:
            folder.chmod(0o755)


@pytest.mark.deep
def test_the_image_serves_and_its_volume_is_read_again(image):
    """A start that is stopped while it prepares; one that computes; one that finds all in the volume."""
    package, volume = image.root / "opt", image.root / "var" / "lib" / "deniable"
    files = list_times(package)
    installed = {path.name for path in package.glob("*/lib/*/site-packages/*")}
    assert "uvicorn" in installed
    assert not {"torch", "sklearn", "matplotlib", "pytest"} & installed

    with Container(image) as interrupted:
        interrupted.wait_for(lambda: list_times(volume))
        assert not interrupted.is_healthy()
        assert interrupted.stop()[0] == 0, interrupted.read_log()

    with Container(image) as first:
        first.wait_for(first.is_healthy)
        assert first.post()[0] == 401
        status, answer = first.post(TOKEN)
        assert (status, len(answer["texts"]), answer["release"]["epsilon"]) == (200, 1, 2.8)
        assert answer["release"]["guarantee"]["status"] == "proved"
        code, first_seconds = first.stop()
        assert code == 0
        assert TOKEN not in first.read_log()
    times = list_times(volume)
    assert {".f64", ".nbi"} <= {path.suffix for path in times}

    with Container(image) as second:
        second.wait_for(second.is_healthy)
        assert second.post(TOKEN)[0] == 200
        code, second_seconds = second.stop()
        assert code == 0
    assert list_times(volume) == times, "the second start computed something anew"
    assert second_seconds < first_seconds / 2
    assert list_times(package) == files, "something was written beside the volume"


def test_what_the_dockerfile_promises():
    """A user without rights and one volume; the build sees what it copies and nothing else."""
    assert list_arguments("USER") == [f"{USER}:{USER}"]
    assert list_arguments("VOLUME") == ['["/var/lib/deniable"]']
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")}
    copied = {name for line in list_arguments("COPY") if "--from" not in line for name in line.split()[:-1]}
    assert copied == allowed


def test_what_compose_promises():
    """It is reached from this machine alone, writes to its volume and a small /tmp, and agrees with the Dockerfile."""
    yaml = pytest.importorskip("yaml", reason="yaml is not installed: pip install pyyaml")
    composition = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
    service = composition["services"]["deniable"]
    assert service["command"] == json.loads(*list_arguments("CMD"))
    assert service["ports"] == ["127.0.0.1:8000:8000"]
    assert service["volumes"] == [f"state:{json.loads(*list_arguments('VOLUME'))[0]}"]
    assert [f"/run/secrets/{name}" for name in service["secrets"]] == json.loads(*list_arguments("ENTRYPOINT"))[-1:]
    assert composition["secrets"].keys() == set(service["secrets"])
    assert service["read_only"] is service["init"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "size=256m" in service["tmpfs"][0]
    assert not {"privileged", "cap_add", "environment", "user", "network_mode"} & service.keys()

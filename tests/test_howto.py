"""The how-to pages work from top to bottom: their files, commands and code, and the output that they print."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "howto").glob("*.md"))
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', flags=re.MULTILINE | re.DOTALL)


def run_block(language, code, folder):
    """Run a block of a page as its reader would, and return what it prints."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")])),
        "COLUMNS": "200",
    }
    command = ["bash", "-euo", "pipefail", "-c", code] if language == "sh" else [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{code}\n{done.stderr}"
    return done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_works_from_top_to_bottom(page, tmp_path):
    """Titled blocks are files; commands and code run in order; every line of a text block is in the last output.

    Blocks titled "one run" show what differs from run to run, and are not compared.
    """
    output, compared_lines = "", 0
    for language, title, content in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "text":
            for line in content.splitlines() if title != "one run" else ():
                assert line.rstrip() in map(str.rstrip, output.splitlines()), output
                compared_lines += 1
        elif title:
            (tmp_path / title).write_text(content, encoding="utf-8")
        else:
            output = run_block(language, content, tmp_path)
    assert compared_lines

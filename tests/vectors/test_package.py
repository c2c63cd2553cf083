"""The room as a whole: what it loads, and that its page's code runs."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "vectors" / "index.md"


def test_import_is_light():
    """Importing the room loads numpy and randomgen, and neither scipy nor anything else that is heavy."""
    heavy = "{'scipy', 'sklearn', 'pyarrow', 'numba', 'pandas', 'torch'}"
    code = f"import sys, deniable.vectors; sys.exit(bool({heavy} & {{name.split('.')[0] for name in sys.modules}}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_code_on_the_page_runs_and_prints_what_it_says():
    """Every Python block of the page runs, one after the other; a comment behind print says what comes out."""
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, str(PAGE), "exec"), {})
    said = re.findall(r"print\(.*\)  # (.*)$", block, flags=re.MULTILINE)
    assert printed.getvalue().splitlines() == said

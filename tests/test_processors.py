"""The tests that CI runs as other processors would."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_what_runs_on_other_processors_exists():
    """Every file, class and test that is named, to be run or to be left out, is there."""
    spec = importlib.util.spec_from_file_location("processors", ROOT / ".ci" / "processors.py")
    processors = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(processors)
    for name in (*processors.TESTS, *processors.SLOW):
        path, *members = name.split("::")
        assert (ROOT / path).exists(), path
        for member in members[:1]:
            assert member in (ROOT / path).read_text(encoding="utf-8"), name

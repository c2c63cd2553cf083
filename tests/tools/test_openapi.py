"""The published description of the HTTP service."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_published_description_follows_from_the_application():
    """docs/openapi.json is what `python tools/openapi.py` prints."""
    pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'deniable[serve]'")
    specification = importlib.util.spec_from_file_location("openapi", ROOT / "tools" / "openapi.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    published = (ROOT / "docs" / "openapi.json").read_text("utf-8")
    assert json.loads(published) == json.loads(module.describe_service())

"""The HTTP service. Its tests need the serve extra and httpx, and are skipped without them."""

import pytest

for _package in ("fastapi", "uvicorn", "httptools", "httpx"):
    pytest.importorskip(_package, reason=f"{_package} is not installed: pip install 'deniable[serve]' httpx")

"""The HTTP service. Its tests need the serve extra and httpx2, and are skipped without them."""

import pytest

for _package in ("fastapi", "prometheus_client", "uvicorn", "httpx2"):
    pytest.importorskip(_package, reason=f"{_package} is not installed: pip install 'deniable[serve]' httpx2")

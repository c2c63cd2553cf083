"""Figures for Prometheus."""

import pytest

from deniable.serve.metrics import Metrics
from tests.serve.helpers import SECRET, Client


def test_figures_are_cumulative():
    """Requests count by route, method and status."""
    metrics = Metrics()
    metrics.count_request("/v1/x", "GET", 200)
    metrics.count_request("/v1/x", "GET", 200)
    metrics.count_request("other", "POST", 404)
    lines = metrics.format({"open_requests": 2}).splitlines()
    assert 'deniable_requests_total{route="/v1/x",method="GET",status="200"} 2' in lines
    assert 'deniable_requests_total{route="other",method="POST",status="404"} 1' in lines
    assert "deniable_open_requests 2" in lines


def test_figures_do_not_depend_on_texts():
    """Whatever a caller sends, and however much of it, the figures that another reads afterwards are the same."""
    figures = set()
    for texts in (["food"], ["food dog cat " * 500], ["a", None, ""] * 300):
        client = Client()
        assert client.post("/v1/privatize", {"texts": texts}).status_code == 200
        figures.add(client.get("/v1/metrics").text)
    assert len(figures) == 1


@pytest.mark.parametrize(("pending", "shown"), [(0, 0), (1, 1 << 20), (1 << 20, 1 << 20), (5_000_000, 5 << 20)])
def test_pending_bytes_are_coarse(pending, shown):
    """Bytes that wait are shown in whole megabytes, rounded up."""
    client = Client()
    client.service.pending_bytes = pending
    assert client.service.list_gauges()["pending_bytes"] == shown


def test_nothing_of_a_request_shows():
    """Paths, methods and texts that a client makes up do not appear, and make no further series."""
    client = Client()
    client.get(f"/{SECRET}?{SECRET}")
    client.request(SECRET.upper(), "/v1/health")
    client.post("/v1/privatize", {"texts": [SECRET]})
    text = client.get("/v1/metrics").text
    assert SECRET not in text.lower()
    assert 'route="other",method="GET",status="404"} 1' in text
    assert 'route="/v1/privatize",method="POST",status="200"} 1' in text

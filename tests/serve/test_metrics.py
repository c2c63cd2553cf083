"""Figures for Prometheus."""

from deniable.serve.metrics import Metrics
from tests.serve.helpers import SECRET, Client


def test_figures_are_cumulative():
    """Requests count by route, method and status; a latency counts in every bucket from its own on."""
    metrics = Metrics()
    metrics.count_request("/v1/x", "GET", 200, 0.004)
    metrics.count_request("/v1/x", "GET", 200, 40.0)
    metrics.count_request("other", "POST", 404, 0.0005)
    metrics.count_texts(3, 12)
    lines = metrics.format({"open_requests": 2}).splitlines()
    assert 'deniable_requests_total{route="/v1/x",method="GET",status="200"} 2' in lines
    assert 'deniable_request_seconds_bucket{route="/v1/x",le="0.0025"} 0' in lines
    assert 'deniable_request_seconds_bucket{route="/v1/x",le="0.005"} 1' in lines
    assert 'deniable_request_seconds_bucket{route="/v1/x",le="+Inf"} 2' in lines
    assert 'deniable_request_seconds_sum{route="/v1/x"} 40.004000' in lines
    assert "deniable_texts_total 3" in lines
    assert "deniable_words_total 12" in lines
    assert "deniable_open_requests 2" in lines


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
    assert "deniable_texts_total 1\n" in text
    assert "deniable_words_total 2\n" in text

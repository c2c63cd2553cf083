"""Figures about a running service in the text format of Prometheus: counts only, nothing of any text."""

import bisect
import itertools
from collections import Counter
from collections.abc import Mapping

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
LATENCY_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the histogram of latencies, in seconds."""


class Metrics:
    """Counts over the requests since the service started; it is used by the event loop alone."""

    def __init__(self) -> None:
        self.texts = self.words = 0
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._latencies: dict[str, list[int]] = {}
        self._latency_sums: Counter[str] = Counter()

    def count_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request.

        Args:
            route: the path as the service declares it, never as the client wrote it.
            method: of HTTP.
            status: of the response.
            seconds: from its headers to the end of the response.
        """
        self._requests[route, method, status] += 1
        counts = self._latencies.setdefault(route, [0] * (len(LATENCY_BOUNDS) + 1))
        counts[bisect.bisect_left(LATENCY_BOUNDS, seconds)] += 1
        self._latency_sums[route] += seconds  # type: ignore[assignment]

    def count_texts(self, texts: int, words: int) -> None:
        """Count what was released."""
        self.texts += texts
        self.words += words

    def format(self, gauges: Mapping[str, float]) -> str:
        """Return all figures.

        Args:
            gauges: further ones that rise and fall, by name.
        """
        lines = [
            "# HELP deniable_requests_total Requests by route, method and status.",
            "# TYPE deniable_requests_total counter",
            *(
                f'deniable_requests_total{{route="{route}",method="{method}",status="{status}"}} {count}'
                for (route, method, status), count in sorted(self._requests.items())
            ),
            "# HELP deniable_request_seconds Time from the headers of a request to the end of its response.",
            "# TYPE deniable_request_seconds histogram",
        ]
        for route, counts in sorted(self._latencies.items()):
            bounds = [*(f"{edge:g}" for edge in LATENCY_BOUNDS), "+Inf"]
            lines += [
                f'deniable_request_seconds_bucket{{route="{route}",le="{bound}"}} {total}'
                for bound, total in zip(bounds, itertools.accumulate(counts), strict=True)
            ]
            lines += [
                f'deniable_request_seconds_sum{{route="{route}"}} {self._latency_sums[route]:.6f}',
                f'deniable_request_seconds_count{{route="{route}"}} {sum(counts)}',
            ]
        for name, count in (("texts", self.texts), ("words", self.words)):
            lines += [
                f"# HELP deniable_{name}_total Released {name}.",
                f"# TYPE deniable_{name}_total counter",
                f"deniable_{name}_total {count}",
            ]
        for name, value in gauges.items():
            lines += [f"# TYPE deniable_{name} gauge", f"deniable_{name} {value:g}"]
        return "\n".join(lines) + "\n"

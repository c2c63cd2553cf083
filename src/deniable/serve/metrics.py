"""Figures about a running service in the text format of Prometheus, coarse enough for every caller.

They count requests. Whoever reads them just before and just after the request of another caller learns that there was
one, and how it was answered. No figure follows from what a text holds or from how long it is: there are no latencies.
"""

from collections import Counter
from collections.abc import Mapping

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counts over the requests since the service started; it is used by the event loop alone."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()

    def count_request(self, route: str, method: str, status: int) -> None:
        """Count one request.

        Args:
            route: the path as the service declares it, never as the client wrote it.
            method: of HTTP.
            status: of the response.
        """
        self._requests[route, method, status] += 1

    def format(self, gauges: Mapping[str, int]) -> str:
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
        ]
        for name, value in gauges.items():
            lines += [f"# TYPE deniable_{name} gauge", f"deniable_{name} {value}"]
        return "\n".join(lines) + "\n"

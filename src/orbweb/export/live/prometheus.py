"""The counters in Prometheus format over HTTP, in a thread of its own that ends with the crawl.

Imported only if the endpoint is enabled. It serves numbers only, never a URL or a header.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from orbweb.errors import UsageError, option
from orbweb.export.live.metrics import COUNTERS, GAUGES

Values = Callable[[], Mapping[str, int]]


class _Counters(Collector):
    def __init__(self, labels: Mapping[str, str], values: Values) -> None:
        self._labels, self._values = labels, values

    def collect(self) -> Iterator[Metric]:
        names, labels, values = list(self._labels), list(self._labels.values()), self._values()
        for name, meaning in COUNTERS.items():
            counter = CounterMetricFamily(f"orbweb_{name}", meaning, labels=names)
            counter.add_metric(labels, values[name])
            yield counter
        for name, meaning in GAUGES.items():
            gauge = GaugeMetricFamily(f"orbweb_{name}", meaning, labels=names)
            gauge.add_metric(labels, values[name])
            yield gauge


class MetricsEndpoint:
    """Serves the counters at /metrics until it is closed."""

    def __init__(self, host: str, port: int, labels: Mapping[str, str], values: Values) -> None:
        registry = CollectorRegistry()
        registry.register(_Counters(labels, values))
        try:
            self._server, self._thread = start_http_server(port, host, registry)
        except OSError as error:
            raise UsageError(
                f"{option('metrics_port', str(port))}: cannot listen on {host}: {error.strerror}. Choose a free "
                "port (0 for any), or set metrics.host."
            ) from error
        self.port: int = self._server.server_port

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

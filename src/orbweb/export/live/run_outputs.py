"""The output files and counters of a crawl, updated while it runs.

After `finish`, every file is complete and durable.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from orbweb.events import Snapshot
from orbweb.export.live.catalog import OutputSettings, OutputSubject, metrics_path, open_output, output_files
from orbweb.export.live.follower import Followed, Follower
from orbweb.export.live.metrics import MetricsBoard, MetricsFile
from orbweb.store.journal import VisitPortions
from orbweb.store.workspace_paths import AnchoredPath


@dataclass(frozen=True, slots=True)
class MetricsSettings:
    """How often counters are written (0: never), for which role, and the address of the endpoint, if any."""

    flush_s: float
    role: str = "crawler"
    host: str = "127.0.0.1"
    port: int | None = None


class RunOutputs:
    """The files and counters of one crawl. `port` is that of the metrics endpoint, None without one."""

    def __init__(
        self, subject: OutputSubject, wanted: OutputSettings, metrics: MetricsSettings, *, clock: Callable[[], int]
    ) -> None:
        """Repairs the files and appends the visits that they lack."""
        self._clock, self._flush_s, self._flushed_at = clock, metrics.flush_s, time.monotonic()
        self.port: int | None = None
        with ExitStack() as parts:
            visits, files = VisitPortions(subject.db, subject.run_id), []
            for output in output_files(subject, wanted, visits):
                files.append(open_output(subject, output))
                parts.callback(files[-1].sink.close)
            self._board = MetricsBoard(subject.db, subject.run_id, visits)
            files.append(Followed("metrics", self._board, self._board.derive))
            self._follower = Follower(subject.db, subject.run_id, files, visits.renew)
            self._table = self._open_table(subject, metrics, parts)
            self._serve(subject, metrics, parts)
            self._follower.catch_up()
            self._parts = parts.pop_all()

    def _open_table(
        self, subject: OutputSubject, metrics: MetricsSettings, parts: ExitStack
    ) -> MetricsFile | None:
        if not metrics.flush_s:
            return None
        path = metrics_path(metrics.role, subject.files)
        table = MetricsFile(AnchoredPath(subject.files.root, path), subject.modes)
        parts.callback(table.close)
        return table

    def _serve(self, subject: OutputSubject, metrics: MetricsSettings, parts: ExitStack) -> None:
        if metrics.port is None:
            return
        from orbweb.export.live.prometheus import MetricsEndpoint

        labels = {"project": subject.project, "run": str(subject.run.number), "role": metrics.role}
        endpoint = MetricsEndpoint(metrics.host, metrics.port, labels, lambda: self._board.values)
        parts.callback(endpoint.close)
        self.port = endpoint.port

    def watch(self, now: Snapshot, **gauges: int) -> None:
        """Append newly committed visits; called several times per second."""
        self._follower.follow()
        self._board.show(queued=now.queued, in_flight=now.in_flight, skipped=now.skipped, **gauges)
        if self._table is not None and self._flush_s and time.monotonic() - self._flushed_at >= self._flush_s:
            self._flush(self._table)

    def adjust(self, *, flush_s: float) -> None:
        """Change how often counters are written; a crawl that started without a counter file gets none."""
        self._flush_s = flush_s

    def _flush(self, table: MetricsFile) -> None:
        table.write(self._clock(), self._board.values)
        self._flushed_at = time.monotonic()

    def finish(self) -> None:
        """Write the rest at the end of the crawl, and make it durable."""
        self._follower.catch_up()
        self._board.show(in_flight=0)
        if self._table is not None:
            self._flush(self._table)

    def close(self) -> None:
        self._parts.close()

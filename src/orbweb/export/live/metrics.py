"""Counters and gauges of a run: their names and meanings, how they are counted, and their CSV file.

Counters are sums over the visits of the run, so they continue after a restart. Several threads may read
`MetricsBoard.values`; one changes it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from orbweb.export.live import line_format
from orbweb.export.live.file import open_file, writing
from orbweb.model import FailKind, Reuse, Role
from orbweb.store import Queries, journal
from orbweb.store.bodies import write_all
from orbweb.store.durable import sync_directory, sync_file
from orbweb.store.journal import Count, VisitPortions
from orbweb.store.rows import moment
from orbweb.store.workspace_files import PRIVATE, FileModes
from orbweb.store.workspace_paths import AnchoredPath

COUNTERS: Mapping[str, str] = {
    "visits": "committed visits, including those reused from an earlier run",
    "pages_fetched": "visits with a response, whatever the status",
    "pages_saved": "visits whose body was stored and not reused from an earlier run",
    "bytes_saved": "decoded bytes of these bodies",
    "alternates": "visits with the content of an earlier page",
    "status_2xx": "responses with a status from 200 to 299",
    "status_3xx": "responses with a status from 300 to 399",
    "status_4xx": "responses with a status from 400 to 499",
    "status_5xx": "responses with a status of 500 or more",
    "not_modified_304": "visits of a page that is unchanged since an earlier run",
    "cached": "visits without a request, because an earlier run captured the page recently",
    "not_html": "responses from 200 to 299 that are not pages",
    "retries_total": "retries, including those for a busy host",
    "failed": "visits that failed",
    **{f"failed_{kind}": f"visits that failed as {kind}" for kind in FailKind},
}
"""Values that only grow."""

GAUGES: Mapping[str, str] = {
    "queued": "URLs that are queued or leased",
    "in_flight": "requests in flight",
    "skipped": "URLs that a rule refused",
    "backlog_bytes": "bytes of the spool that are not consumed yet; 0 without a spool",
}
"""Values that rise and fall."""


def named(counts: Iterable[Count]) -> dict[str, int]:
    """The counters of these visits."""
    values = dict.fromkeys(COUNTERS, 0)
    for count in counts:
        for name in _names(count):
            values[name] += count.visits
        if "pages_saved" in _names(count):
            values["bytes_saved"] += count.bytes
        values["retries_total"] += count.retries
    return values


def _names(count: Count) -> set[str]:
    """The counters that a visit of this kind increments."""
    names = {"visits"}
    if count.kind is not None:
        names |= {"failed", f"failed_{count.kind}"}
    if count.role == Role.ALTERNATE:
        names.add("alternates")
    if count.reuse == Reuse.CACHED:
        return names | {"cached"}
    if count.reuse == Reuse.NOT_MODIFIED:
        names.add("not_modified_304")
    if count.status is not None:
        names |= {"pages_fetched", f"status_{min(count.status // 100, 5)}xx"} & COUNTERS.keys()
        if count.status // 100 == 2 and count.kind is None and count.role == Role.NONE:
            names.add("not_html")
    if count.kept and count.reuse is None:
        names.add("pages_saved")
    return names


@dataclass(slots=True)
class _Sum:
    """Visits of one kind so far."""

    visits: int = 0
    bytes: int = 0
    retries: int = 0


_Kind = tuple[int | None, str | None, str, str | None, bool]
"""What decides which counters a visit increments: status, kind, role, reuse, and whether it has a body."""


class MetricsBoard:
    """The counters and gauges of a run. A sink of the `Follower` that writes no bytes."""

    def __init__(self, db: Queries, run_id: int, visits: VisitPortions) -> None:
        self._visits = visits
        self.visit = journal.latest(db, run_id)
        self._sums: dict[_Kind, _Sum] = {
            (*count[:4], bool(count.kept)): _Sum(count.visits, count.bytes, count.retries)
            for count in journal.counts(db, run_id)
        }
        self._gauges = dict.fromkeys(GAUGES, 0)
        self.values: Mapping[str, int] = {}
        self.show()

    def derive(self, after: int, count: int) -> tuple[bytes, int]:
        """Count the next visits."""
        found = self._visits.after(after, count)
        if found is None:
            return b"", after
        kept = [sha256 is not None for sha256 in found.body_sha256]
        kinds = zip(found.status, found.kind, found.role, found.reuse, kept, strict=True)
        for kind, size, tries in zip(kinds, found.bytes, found.tries, strict=True):
            known = self._sums.get(kind)
            if known is None:
                known = self._sums[kind] = _Sum()
            known.visits += 1
            known.bytes += size
            known.retries += tries - 1
        return b"", found.number[-1]

    def append(self, _data: bytes, visit: int) -> None:
        self.visit = visit

    def sync(self) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""

    def show(self, **gauges: int) -> None:
        """Publish the sums, with these gauges changed."""
        self._gauges.update(gauges)
        counts = [Count(*kind, of.visits, of.bytes, of.retries) for kind, of in self._sums.items()]
        self.values = MappingProxyType({**named(counts), **self._gauges})


_is_count = re.compile(rb'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00","[a-z0-9_]+",\d+\r?\n').fullmatch


class MetricsFile:
    """The CSV file of counters over time. A line that a crash cut off is dropped; counters already written are
    kept."""

    def __init__(self, place: AnchoredPath, modes: FileModes = PRIVATE) -> None:
        self.path = place.path
        with writing(self.path):
            self._fd = open_file(place, modes)
        with writing(self.path), os.fdopen(os.dup(self._fd), "rb") as stream:
            self._end = _whole(stream.read())
            os.ftruncate(self._fd, self._end)
        if not self._end:
            self._append(line_format.header(line_format.METRICS))

    def write(self, at: int, values: Mapping[str, int]) -> None:
        """Append one row per counter."""
        stamp = moment(at)
        self._append(line_format.table((stamp, name, value) for name, value in values.items()))

    def _append(self, data: bytes) -> None:
        with writing(self.path):
            write_all(self._fd, data, self._end)
        self._end += len(data)

    def close(self) -> None:
        os.close(self._fd)


def _whole(data: bytes) -> int:
    return data.rfind(b"\n") + 1


# Damage.


def tables(workspace: Path, named: Iterable[Path] = ()) -> list[Path]:
    """The counter files of all runs: those in the usual place, and `named` ones."""
    found = {*(workspace / "logs").glob("*_metrics-*.csv"), *named}
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


def malformed(path: Path) -> list[int]:
    """The numbers of malformed lines. A cut-off last line is what a crash leaves, and not counted.

    The values are stored nowhere else, so a number that was changed into another number is not noticed.
    """
    return [number for number, line in enumerate(_lines(path), 1) if not _is_row(number, line)]


def _lines(path: Path) -> list[bytes]:
    data = path.read_bytes()
    return data[: _whole(data)].splitlines(keepends=True)


def _is_row(number: int, line: bytes) -> bool:
    return line == line_format.header(line_format.METRICS) if number == 1 else _is_count(line) is not None


def purge(path: Path) -> None:
    """Remove malformed lines; a damaged header is written again."""
    sound = [line for number, line in enumerate(_lines(path), 1) if number > 1 and _is_row(number, line)]
    part = path.with_name(f".{path.name}.part")
    with writing(path):
        part.write_bytes(line_format.header(line_format.METRICS) + b"".join(sound))
        shutil.copymode(path, part)
        sync_file(part)
        part.replace(path)
        sync_directory(path.parent)

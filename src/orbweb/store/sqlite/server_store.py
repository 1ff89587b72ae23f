"""The server's own database `server.db`: jobs, events and tokens.

Always: a job's state changes by a guarded UPDATE, so that a server, the process of a job and a second server
agree. Jobs and tokens are durable when a call returns. Events are not synced: after a power cut the last ones may
be missing, but no number is used twice by a server that was only killed.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orbweb.errors import StoreError
from orbweb.store import Row
from orbweb.store.server_rows import EventRow, JobRow, TokenRow, WaitingJob
from orbweb.store.sqlite.db import BUSY_TIMEOUT_S, load_queries, use_wal
from orbweb.store.sqlite.errors import UNREADABLE, explained
from orbweb.store.sqlite.schema import foreign_objects, named_schema

FILE = "server.sql"
EVENTS_KEPT = 10_000
"""An event has at most about 5 kB, so the events take at most about 50 MB."""
_LARGEST = 2**63 - 1


class SqliteServerStore:
    """Two connections, each used by one thread at a time: any thread may call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._queries = load_queries(FILE)
        self._lock, self._event_lock = threading.Lock(), threading.Lock()
        with self._explained():
            self._durable = self._connect("FULL")
            self._quick = self._connect("NORMAL")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except UNREADABLE as error:
            raise explained(self._path, error) from error

    def _connect(self, synchronous: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            use_wal(connection, self._path, BUSY_TIMEOUT_S)
            connection.execute(f"PRAGMA synchronous = {synchronous}")
            for statement in named_schema(FILE):
                connection.execute(statement)
            foreign = foreign_objects(connection, named_schema(FILE))
            foreign = [name for name in foreign if name != "table sqlite_sequence"]
            if foreign:
                raise StoreError(
                    f"{self._path}: holds {', '.join(foreign)}, which orbweb did not create. Delete this file; it "
                    "holds no pages."
                )
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        with self._lock, self._event_lock:
            self._durable.close()
            self._quick.close()

    def _run(self, name: str, /, **values: object) -> list[Row]:
        query = self._queries[name]
        with self._lock, self._explained():
            return self._durable.execute(query.sql, query.values(values)).fetchall()

    def _run_quickly(self, name: str, /, **values: object) -> list[Row]:
        query = self._queries[name]
        with self._event_lock, self._explained():
            return self._quick.execute(query.sql, query.values(values)).fetchall()

    # Jobs.

    def add_job(self, kind: str, project_id: int, request: str, now: int) -> JobRow:
        ((number,),) = self._run("add_job", kind=kind, project_id=project_id, request=request, now=now)
        found = self.job(number)
        assert found is not None  # noqa: S101
        return found

    def job(self, number: int) -> JobRow | None:
        rows = self._run("job", id=number)
        return JobRow(*rows[0]) if rows else None

    def jobs_in(self, state: str) -> list[JobRow]:
        return [JobRow(*row) for row in self._run("jobs_in", state=state)]

    def waiting_jobs(self) -> list[WaitingJob]:
        return [WaitingJob(*row) for row in self._run("waiting_jobs")]

    def jobs_ahead(self, number: int, kinds: Sequence[str]) -> int:
        return int(self._run("jobs_ahead", id=number, kinds=json.dumps(list(kinds)))[0][0])

    def active_jobs(self, project_id: int) -> list[JobRow]:
        return [JobRow(*row) for row in self._run("active_jobs", project_id=project_id)]

    def latest_jobs(self, count: int, *, project_id: int | None = None, before: int | None = None) -> list[JobRow]:
        until = _LARGEST if before is None else before
        if project_id is None:
            rows = self._run("latest_jobs", before=until, count=count)
        else:
            rows = self._run("latest_jobs_of", project_id=project_id, before=until, count=count)
        return [JobRow(*row) for row in rows]

    def start_job(self, job: JobRow, now: int) -> int | None:
        """Claim a job for a new process; its attempt, or None if its state has changed."""
        rows = self._run("start_job", id=job.id, before=job.state, attempt=job.attempt, now=now)
        return int(rows[0][0]) if rows else None

    def begin_job(self, number: int, attempt: int, crawl_before: int) -> bool:
        return bool(self._run("begin_job", id=number, attempt=attempt, crawl_before=crawl_before))

    def join_run(self, number: int, run_id: int, crawl_id: int) -> None:
        self._run("join_run", id=number, run_id=run_id, crawl_id=crawl_id)

    def count_job(self, number: int, done: int, total: int) -> None:
        self._run_quickly("count_job", id=number, done=done, total=total)

    def end_job(
        self, number: int, attempt: int, state: str, *, result: str | None, error: str | None, now: int
    ) -> bool:
        rows = self._run("end_job", id=number, attempt=attempt, state=state, result=result, error=error, now=now)
        return bool(rows)

    def hold_job(self, number: int, *, held: bool) -> None:
        self._run("hold_job", id=number, held=held)

    def requeue_job(self, number: int, attempt: int) -> bool:
        return bool(self._run("requeue_job", id=number, attempt=attempt))

    def interrupt_job(self, number: int) -> None:
        self._run("interrupt_job", id=number)

    def settle_job(self, job: JobRow, state: str, error: str | None, now: int) -> bool:
        return bool(self._run("settle_job", id=job.id, before=job.state, state=state, error=error, now=now))

    def forget_project(self, project_id: int) -> None:
        self._run("forget_jobs", project_id=project_id)
        self._run("forget_events_of", project_id=project_id)
        self._run("forget_seen", project_id=project_id)

    # Events.

    def add_event(self, project_id: int, data: str, now: int) -> int:
        ((seq,),) = self._run_quickly("add_event", project_id=project_id, data=data, now=now)
        if seq % (EVENTS_KEPT // 10) == 0:
            self._run_quickly("forget_events", last=seq, kept=EVENTS_KEPT)
        return int(seq)

    def events_after(self, seq: int, count: int, project_id: int | None = None) -> list[EventRow]:
        rows = self._run_quickly("events_after", seq=seq, project_id=project_id, count=count)
        return [EventRow(*row) for row in rows]

    def last_events(self) -> list[EventRow]:
        """The last event of each project."""
        return [EventRow(*row) for row in self._run_quickly("last_events")]

    def last_event(self) -> int:
        return int(self._run_quickly("last_event")[0][0])

    def first_event(self) -> int:
        return int(self._run_quickly("first_event")[0][0])

    # Tokens.

    def add_token(self, name: str, fingerprint: str, scope: str, now: int) -> int:
        return int(self._run("add_token", name=name, fingerprint=fingerprint, scope=scope, now=now)[0][0])

    def tokens(self) -> list[TokenRow]:
        return [TokenRow(*row) for row in self._run("tokens")]

    def scope_of_token(self, fingerprint: str) -> str | None:
        rows: list[Any] = self._run("scope_of_token", fingerprint=fingerprint)
        return str(rows[0][0]) if rows else None

    def delete_token(self, number: int) -> bool:
        return bool(self._run("delete_token", id=number))

    # Changes that were looked at.

    def mark_seen(self, project_id: int, runs: tuple[int, int], url: str, *, seen: bool) -> None:
        name = "mark_seen" if seen else "unmark_seen"
        self._run_quickly(name, project_id=project_id, old=runs[0], new=runs[1], url=url)

    def seen_urls(self, project_id: int, runs: tuple[int, int]) -> set[str]:
        rows = self._run_quickly("seen_urls", project_id=project_id, old=runs[0], new=runs[1])
        return {str(url) for (url,) in rows}

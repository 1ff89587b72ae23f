"""Jobs, events and tokens of the server: their rows, and the protocol of the database that has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class JobRow(NamedTuple):
    """One job; see the table."""

    id: int
    kind: str
    project_id: int
    request: str
    state: str
    attempt: int
    held: int
    crawl_before: int | None
    run_id: int | None
    first_crawl: int | None
    done: int
    total: int
    result: str | None
    error: str | None
    created_at: int
    started_at: int | None
    ended_at: int | None


class WaitingJob(NamedTuple):
    """A job in the queue."""

    id: int
    kind: str
    project_id: int


class EventRow(NamedTuple):
    """One event: its number, its project, and the state as JSON."""

    seq: int
    project_id: int
    data: str


class TokenRow(NamedTuple):
    """A token without anything secret."""

    id: int
    name: str
    scope: str
    created_at: int


class ServerStore(Protocol):
    """The server's own database; any thread may call. A job's state changes only from the state that is
    expected."""

    def close(self) -> None: ...

    def add_job(self, kind: str, project_id: int, request: str, now: int) -> JobRow: ...

    def job(self, number: int) -> JobRow | None: ...

    def jobs_in(self, state: str) -> list[JobRow]: ...

    def waiting_jobs(self) -> list[WaitingJob]: ...

    def jobs_ahead(self, number: int, kinds: Sequence[str]) -> int: ...

    def active_jobs(self, project_id: int) -> list[JobRow]: ...

    def latest_jobs(
        self, count: int, *, project_id: int | None = None, before: int | None = None
    ) -> list[JobRow]: ...

    def start_job(self, job: JobRow, now: int) -> int | None: ...

    def begin_job(self, number: int, attempt: int, crawl_before: int) -> bool: ...

    def join_run(self, number: int, run_id: int, crawl_id: int) -> None: ...

    def count_job(self, number: int, done: int, total: int) -> None: ...

    def end_job(
        self, number: int, attempt: int, state: str, *, result: str | None, error: str | None, now: int
    ) -> bool: ...

    def hold_job(self, number: int, *, held: bool) -> None: ...

    def requeue_job(self, number: int, attempt: int) -> bool: ...

    def interrupt_job(self, number: int) -> None: ...

    def settle_job(self, job: JobRow, state: str, error: str | None, now: int) -> bool: ...

    def forget_project(self, project_id: int) -> None: ...

    def add_event(self, project_id: int, data: str, now: int) -> int: ...

    def events_after(self, seq: int, count: int, project_id: int | None = None) -> list[EventRow]: ...

    def last_events(self) -> list[EventRow]: ...

    def last_event(self) -> int: ...

    def first_event(self) -> int: ...

    def add_token(self, name: str, fingerprint: str, scope: str, now: int) -> int: ...

    def tokens(self) -> list[TokenRow]: ...

    def scope_of_token(self, fingerprint: str) -> str | None: ...

    def delete_token(self, number: int) -> bool: ...

    def mark_seen(self, project_id: int, runs: tuple[int, int], url: str, *, seen: bool) -> None: ...

    def seen_urls(self, project_id: int, runs: tuple[int, int]) -> set[str]: ...

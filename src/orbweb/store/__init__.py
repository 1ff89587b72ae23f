"""All that is durable, behind protocols: a second backend is a directory and a parameter of the contract tests.

- `Queries`: named queries and transactions; the read side (`queries/`, `runs.py`) stands on it.
- `RunStore`: one run as the crawl that owns it reads and writes it. A `UnitOfWork` collects the changes of many
  ordered commits; `write` puts it into one transaction. The bodies that a unit names are durable before that
  transaction begins, and a state never changes without its tally, its visit and the numbers given out.
- `Owner`: who may write to a project. `Limiter`: when a host may be requested again, shared by processes.
- `RobotsCache`, `Captures`: robots.txt files and responses of earlier runs.
- `bodies.BodyStore`: response bodies by their SHA-256.

`sqlite/` is the backend of one machine; only `app` chooses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from types import TracebackType

    from orbweb.lifecycle import RunState
    from orbweb.model import Capture, FamilyRow, Item, Known, Place, ProcessedPage
    from orbweb.store.bodies import Location
    from orbweb.store.robots_cache import RobotsFile
    from orbweb.store.rows import CarryRow, Ending, Progress, RejudgeRow, StoredUrl, Tally
    from orbweb.store.runs import Base, Crawl, Run
    from orbweb.store.unit import UnitOfWork

Row = tuple[Any, ...]

LONGEST_WAIT = 3_660_000_000
"""Microseconds. A slot that a `Limiter` holds for longer than this, and than the interval, cannot be right."""


class Queries(Protocol):
    """Named queries, and the transactions around them. Used by one thread."""

    @property
    def path(self) -> Path: ...

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing, durable at the end."""

    @property
    def is_writing(self) -> bool:
        """Whether a transaction in portions is not done."""

    def each(self, name: str, /, **values: object) -> Iterator[Row]:
        """The rows of a query, read as they are consumed."""

    def all(self, name: str, /, **values: object) -> list[Row]: ...

    def one(self, name: str, /, **values: object) -> Row | None: ...

    def value(self, name: str, /, **values: object) -> Any: ...

    def run(self, name: str, /, **values: object) -> int:
        """Execute a change; the number of rows it touched."""

    def many(self, name: str, rows: Sequence[Row]) -> int:
        """Execute a change for each row; fields in the order of the query's parameters."""

    def moved(self, name: str, /, **values: object) -> None:
        """A guarded change of state that must hit exactly one row; StoreError if it does not."""

    def copy_to(self, path: Path) -> None: ...

    def close(self) -> None: ...


class UrlReader(Protocol):
    """The URLs of one run, as its frontier reads them."""

    def known_url(self, key: str) -> Known | None: ...

    def known_urls(self) -> Iterator[tuple[str, Known]]: ...

    def queued_lanes(self) -> list[str]: ...

    def queued_from(self, lane: str, place: Place, count: int) -> list[tuple[Item, int | None]]:
        """Queued URLs of a lane at this place or later, in order, each with the instant before which it may not be
        leased."""


class UrlJudging(Protocol):
    """The URLs of one run, as they are judged again. Changes belong to a transaction that the caller opens."""

    @property
    def run_id(self) -> int: ...

    def transaction(self) -> AbstractContextManager[None]: ...

    def advance(self, progress: Progress) -> None: ...

    def tallies(self) -> Counter[Tally]: ...

    def add_tallies(self, changes: Counter[Tally]) -> None: ...

    def key_of(self, url_id: int) -> str | None: ...

    def is_known(self, key: str) -> bool: ...

    def urls_to_judge(self, after: int, count: int) -> list[StoredUrl]:
        """URLs that were never requested, by id."""

    def admitted_urls(self) -> Iterable[tuple[int, str, str, str | None]]:
        """Id, key, state and reason of each URL that has a place."""

    def rejudge(self, rows: Sequence[RejudgeRow], now: int) -> None: ...

    def families(self) -> list[FamilyRow]: ...

    def save_families(self, rows: Sequence[FamilyRow]) -> None: ...

    def unpark_family(self, pattern: str) -> int:
        """How many URLs of the family are not parked any more."""

    def save_rules(self, rules: str) -> None: ...

    def listed_bases(self) -> set[int]:
        """The base URLs of which sitemaps list a URL in their scope, besides the base URLs themselves."""

    def nofollow_page(self, url_id: int) -> tuple[str, bool] | None:
        """The URL of a page, and whether it asks that its links are not followed."""

    def link_records(self) -> Iterator[tuple[bytes, bool]]:
        """The packed links of each page, and whether the page asks that they are not followed."""

    def unlinked(self) -> list[CarryRow]:
        """In a recrawl: what becomes of each URL that was known and that nothing leads to any more."""

    def mark_carried(self, rows: Sequence[CarryRow]) -> None: ...

    def move(self, old: RunState, new: RunState, now: int) -> None: ...


class PageHistory(Protocol):
    """What is known of a page before a run requests it."""

    def looks_at(self, key: str, most: int) -> list[tuple[int, bytes]]:
        """When earlier runs of the project fetched a page, and the hash of its content, the latest first."""

    def lastmod_of(self, key: str) -> str | None:
        """The date that a sitemap of this run gives for a URL."""


class RunStore(UrlReader, UrlJudging, PageHistory, Protocol):
    """One run, opened by the crawl that owns it."""

    @property
    def run(self) -> Run: ...

    @property
    def crawl(self) -> Crawl: ...

    def begin(self) -> UnitOfWork:
        """An empty unit of work."""

    def write(self, unit: UnitOfWork, progress: Progress, now: int) -> None:
        """Write a unit inside a transaction of the caller."""

    def write_in_portions(
        self, unit: UnitOfWork, progress: Progress, now: int, on_durable: Callable[[], None]
    ) -> None:
        """Begin a transaction that writes a large unit, one portion per `step`."""

    @property
    def is_writing(self) -> bool:
        """Whether a transaction in portions is not done."""

    def step(self) -> None:
        """Write the next portion, if there is one."""

    def end(self, ending: Ending, now: int) -> None:
        """End the crawl and move the run, inside a transaction of the caller."""

    def roles(self) -> dict[str, int]:
        """Visits by their role."""

    def reused(self) -> int:
        """Visits that took over what an earlier run had captured."""

    def queued_by_base(self) -> dict[int, int]: ...

    def page_hashes(self, most: int) -> list[bytes]: ...

    def has_page(self, content_sha256: bytes) -> bool: ...

    def body_hashes(self, most: int) -> list[bytes]: ...

    def has_body(self, sha256: bytes) -> bool: ...

    def has_marks(self) -> bool:
        """Whether URLs were imported of which only a hash is known."""

    def has_mark(self, sha256: bytes) -> bool:
        """Whether a URL with this hash was imported as seen."""

    def state_of(self, url_id: int) -> str | None:
        """The stored state of a URL; None if it has no row yet."""

    def body_location(self, sha256: bytes) -> Location | None: ...

    def redirect_of(self, url_id: int) -> int | None:
        """The id of the URL that this one redirected to."""

    def bases(self) -> list[Base]:
        """The base URLs in the order of their numbers."""

    def open_bases(self) -> dict[int, int]:
        """Places of depth 0 that are not committed, by base URL."""

    def scope_moved(self, *, several: bool, recrawls: bool) -> bool:
        """Whether a URL was judged by another scope than the run has now."""

    def earlier_id(self, run_id: int, key: str) -> int | None:
        """The id that an earlier run has for a key."""

    def highest_id(self, run_id: int) -> int:
        """The highest id of an earlier run."""

    def earlier_keys(self, run_id: int, first: int, last: int) -> list[tuple[int, str]]:
        """Ids of an earlier run from `first` to `last`, and their keys."""


class Store(Protocol):
    """The state of a workspace, as an engine needs it."""

    def open_run(self, run: Run) -> RunStore:
        """A run with its latest crawl."""

    def robots(self) -> RobotsCache: ...


class RobotsCache(Protocol):
    """robots.txt files by origin, shared by the projects of a workspace."""

    def load(self, origin: str, since: int) -> RobotsFile | None:
        """The file, if it was fetched after `since`."""

    def save(self, file: RobotsFile) -> None: ...


class Captures(Protocol):
    """What earlier runs captured, as far as this run may reuse it."""

    def find(self, key: str) -> Capture | None: ...

    def is_latest(self, key: str, capture: Capture) -> bool: ...

    def stands(self, capture: Capture) -> bool: ...

    def process(self, capture: Capture) -> ProcessedPage | None: ...

    def body(self, capture: Capture) -> bytes | None: ...

    def has_body(self, capture: Capture) -> bool: ...

    def close(self) -> None: ...


class Owner(Protocol):
    """The right to write to a project, held while the block runs."""

    def __enter__(self) -> Owner: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Limiter(Protocol):
    """When a host may be requested again. Instants and intervals are microseconds of the monotonic clock."""

    def take(self, site: str, now: int, interval: int) -> int:
        """0 if the slot is taken and the request may be sent now, else the instant to try again."""

    def sent(self, site: str, now: int, interval: int) -> None:
        """The request left only now: the next slot is counted from here."""

    def pace(self, site: str) -> int:
        """The interval that the host was slowed down to by any process; 0 if it was not."""

    def hold(self, site: str, until: int, pace: int) -> None:
        """No request before `until`; afterwards at most one per `pace`."""

    def set_pace(self, site: str, pace: int) -> None: ...

    def due(self, site: str) -> int:
        """The instant of the host's next slot; 0 if it was never requested."""

    def close(self) -> None: ...

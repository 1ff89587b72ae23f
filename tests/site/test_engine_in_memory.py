"""The engine on a second implementation of its seams: same site, same result as on SQLite, in any parallelism."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import Cli
from memory.engine import MakeFrontier, crawl
from memory.frontier import MemoryFrontier
from memory.store import MemoryStore
from orbweb import urls
from orbweb.app.control import now_us
from orbweb.config.schema import Config, build
from orbweb.engine import batch
from orbweb.frontier import heaps
from orbweb.frontier.heaps import HeapFrontier
from orbweb.lifecycle import EndedBy, RunState
from orbweb.model import Place
from orbweb.store import RunStore, runs
from orbweb.store.rows import FAILED, QUEUED, VISITED
from orbweb.store.runs import Base, Run
from servers.graph import Expected, GraphSite
from servers.site import Remote, spawn

SEED, PAGES = 7, 700
BACKOFF_S = 0.05


@pytest.fixture(scope="module")
def site() -> Iterator[Remote]:
    with spawn("--seed", str(SEED), "--pages", str(PAGES), "--max-delay-ms", "4", "--jitter-ms", "2") as remote:
        yield remote


@pytest.fixture(scope="module")
def expected(site: Remote) -> Expected:
    return GraphSite(SEED, PAGES).expected(site.url)


@pytest.fixture(scope="module")
def on_sqlite(site: Remote, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The manifest of the same crawl by the command line: place, URL, status, hashes and role of each visit."""
    site.reset()
    cli = Cli(tmp_path_factory.mktemp("sqlite") / "w")
    options = ("--project", "graph", "--rate", "max", "--workers", 16, "--processes", 0)
    cli.crawl(site.url, *options, env={"ORBWEB_FETCH__BACKOFF_S": str(BACKOFF_S)}).ok(3)
    return cli.ask("manifest", "graph").ok().out.splitlines()


def config(workers: int, budget: int | None = None, **engine: int) -> Config:
    return build(
        {
            "limits": {"rate": "max", "workers": workers, "budget": budget},
            "fetch": {"backoff_s": BACKOFF_S},
            "engine": {"processes": 0, **engine},
        },
        source="test",
    )


def started(store: MemoryStore, url: str) -> Run:
    base = urls.target(url)
    assert base is not None
    return store.start_run(
        [Base(0, base.url, base.key)], [runs.initial_url(0, base.key, base.url, "")], now=now_us()
    )


def in_memory(run: RunStore) -> MemoryFrontier:
    return MemoryFrontier(run, clock=now_us)


def in_heaps(run: RunStore) -> HeapFrontier:
    return HeapFrontier(run, known_urls=run.run.next_url, clock=now_us)


def manifest(store: MemoryStore, run: Run) -> list[str]:
    """As `orbweb manifest` prints it."""
    tables = store.db.tables.runs[run.id]
    lines = []
    for visit in (tables.visits[number] for number in sorted(tables.visits)):
        row = tables.urls[visit.url_id]
        answer = visit.kind if visit.kind and not visit.kind.startswith("http_") else visit.status
        hashes = [sha256.hex() if sha256 else "-" for sha256 in (visit.body_sha256, visit.content_sha256)]
        place = str(Place(visit.depth, visit.rank))
        lines.append("\t".join((place, row.url or row.key, str(answer), *hashes, visit.role, "-")))
    return lines


@pytest.mark.parametrize(("workers", "frontier"), [(1, in_memory), (4, in_memory), (32, in_memory), (4, in_heaps)])
def test_the_same_visits_in_the_same_order(
    tmp_path: Path, site: Remote, expected: Expected, on_sqlite: list[str], workers: int, frontier: MakeFrontier
) -> None:
    site.reset()
    store = MemoryStore()
    run = started(store, site.url)
    ending = crawl(store, run, config(workers), frontier, tmp_path)
    assert ending is not None
    assert ending.ended_by is EndedBy.EXHAUSTED
    lines = manifest(store, run)
    found = [line.split("\t") for line in lines]
    assert [(line[1], line[5]) for line in found] == [(visit.url, visit.role) for visit in expected.visits]
    assert lines == on_sqlite
    assert sorted(hit.path for hit in site.log()) == sorted(expected.requests())
    assert list(tmp_path.iterdir()) == []
    check_tallies(store, run, expected)


def check_tallies(store: MemoryStore, run: Run, expected: Expected) -> None:
    opened, now = store.open_run(run), store.db.tables.runs[run.id].run
    assert opened.roles()["primary"] == expected.pages
    assert opened.roles()["alternate"] == expected.alternates
    tallies = opened.tallies()
    assert tallies.total() == expected.discovered
    assert tallies[VISITED] + tallies[FAILED] == len(expected.visits)
    assert tallies[QUEUED] == 0
    assert now.state is RunState.COMPLETED
    assert now.next_visit == len(expected.visits) + 1


def test_a_heap_that_holds_little_changes_nothing(
    tmp_path: Path, site: Remote, on_sqlite: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most places and most known URLs are read back from the store."""
    for name, value in {"CHUNK": 16, "FULL": 40, "LOW": 4, "REMEMBERED": 50}.items():
        monkeypatch.setattr(heaps, name, value)
    site.reset()
    store = MemoryStore()
    run = started(store, site.url)
    crawl(store, run, config(workers=8), in_heaps, tmp_path)
    assert manifest(store, run) == on_sqlite


def test_units_that_are_written_in_portions_change_nothing(
    tmp_path: Path, site: Remote, on_sqlite: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "WRITTEN_AT_ONCE", 5)
    site.reset()
    store = MemoryStore(portion=7)
    begun: list[object] = []
    start = store.db.start
    monkeypatch.setattr(store.db, "start", lambda *work: (begun.append(work), start(*work)))
    run = started(store, site.url)
    crawl(store, run, config(workers=8, group_pages=10), in_memory, tmp_path)
    assert manifest(store, run) == on_sqlite
    assert len(begun) > 10


def test_a_run_in_many_crawls_gives_what_one_gives(
    tmp_path: Path, site: Remote, expected: Expected, on_sqlite: list[str]
) -> None:
    site.reset()
    store = MemoryStore()
    run = started(store, site.url)
    crawls = 1
    while (ending := crawl(store, run, config(workers=8, budget=97), in_memory, tmp_path)) is not None:
        if ending.ended_by is EndedBy.EXHAUSTED:
            break
        assert ending.ended_by is EndedBy.BUDGET
        assert store.db.tables.runs[run.id].run.state is RunState.PAUSED
        run, crawls = store.continue_run(store.db.tables.runs[run.id].run, 97, now=now_us()), crawls + 1
    assert crawls == -(-len(expected.visits) // 97)
    assert manifest(store, run) == on_sqlite
    check_tallies(store, run, expected)

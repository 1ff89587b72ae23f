"""The database: one transaction for everything, guarded states, and a schema that says what it means."""

from __future__ import annotations

import hashlib
import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import orbweb
from orbweb.errors import NewerWorkspace, NothingToDo, StoreError, UnknownProject
from orbweb.lifecycle import CrawlState, EndedBy, ItemState, RunState
from orbweb.store import links as packed_links
from orbweb.store import runs
from orbweb.store.bodies import Location
from orbweb.store.queries import failures, reports
from orbweb.store.rows import (
    FAILED,
    QUEUED,
    VISITED,
    BaseRow,
    Ending,
    Progress,
    ReadmitRow,
    RejudgeRow,
    SettleRow,
    ShortenRow,
    UrlRow,
    VisitRow,
    exact_moment,
    moment,
    skipped,
)
from orbweb.store.runs import Base, Project, Run
from orbweb.store.sqlite.db import Database, load_queries
from orbweb.store.sqlite.run_store import SqliteStore
from orbweb.store.sqlite.schema import SCHEMA_VERSION

NOW = 1_700_000_000_000_000
QUERIES = load_queries("queries.sql")
BODY, OTHER = bytes(range(32)), bytes(range(1, 33))


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with closing(Database(tmp_path / "orbweb.db")) as opened:
        yield opened


@pytest.fixture
def project(db: Database) -> Project:
    return runs.save_project(db, "docs", {"limits": {"rate": 1}}, ["https://h/"], NOW)


class Site:
    """A run whose books are kept by hand: the base URL is 1, what it links to follows."""

    def __init__(self, db: Database, project: Project, budget: int | None = None) -> None:
        self.db, self.project = db, project
        initial = runs.initial_url(0, "https://h/", "https://h/", "")
        self.run, self.crawl_id = runs.start_run(
            db, project, [Base(0, "https://h/", "https://h/")], [initial], budget, NOW
        )
        self.next_url, self.next_rank, self.next_visit = 2, 1, 1
        self.visited = self.failed = 0
        self.store = SqliteStore(db).open_run(self.run)
        self.group = self.store.begin()

    def find(self, *names: str, reason: str | None = None, base: int = 0) -> list[int]:
        ids = []
        for name in names:
            number, self.next_url = self.next_url, self.next_url + 1
            row = UrlRow(
                run_id=self.run.id, id=number, key=f"https://h/{name}", url=None, state="queued", reason=None,
                rule=None, source="spider", depth=1, rank=self.next_rank, lane="", hops=0, redirects=0, base=base,
                referrer=1,
            )  # fmt: skip
            if reason:
                row = row._replace(state="skipped", reason=reason, rule=f"rule of {reason}", rank=None)
            else:
                self.next_rank += 1
            self.group.urls.append(row)
            self.group.tallies[skipped(reason) if reason else QUEUED] += 1
            ids.append(number)
        return ids

    def settle(self, number: int, *, kind: str | None = None, body: bytes | None = None, role: str = "-") -> None:
        self.group.settled.append(SettleRow("failed" if kind else "visited", None, None, self.run.id, number))
        self.group.visits.append(self.visit(number, kind, body, role))
        self.group.tallies[QUEUED] -= 1
        self.group.tallies[FAILED if kind else VISITED] += 1
        self.next_visit += 1
        self.failed += bool(kind)
        self.visited += not kind

    def visit(self, number: int, kind: str | None, body: bytes | None, role: str) -> VisitRow:
        status = {None: 200, "http_4xx": 404}.get(kind)
        error = f"error of {kind}" if kind else None
        return VisitRow(
            run_id=self.run.id, number=self.next_visit, url_id=number, crawl_id=self.crawl_id,
            depth=min(1, number - 1), rank=number - 1, status=status, kind=kind, error=error, tries=1,
            final_url=None, redirect_to=None, content_type="text/html", encoding="utf-8", etag=None,
            last_modified=None, title="T", canonical=None, noindex=False, nofollow=True,
            links_cut=False, truncated=False,
            body_sha256=body, content_sha256=body, role=role, bytes=5, wire_bytes=3, latency_ms=7,
            fetched_at=NOW + number,
        )  # fmt: skip

    def commit(self, ended_by: EndedBy | None = None, error: str | None = None, now: int = NOW + 9) -> None:
        ending = Ending(ended_by, error) if ended_by else None
        progress = Progress(
            self.next_url,
            self.next_rank,
            self.next_visit,
            True,
            False,
            self.visited,
            self.failed,
            1,
            5 * self.visited,
        )
        unit, self.group = self.group, self.store.begin()
        with self.store.transaction():
            self.store.write(unit, progress, now)
            if ending is not None:
                self.store.end(ending, now)

    def now(self) -> Run:
        return runs.run_of(self.db, self.project, self.run.number)

    def counts(self) -> dict[str, Any]:
        return reports.counts(self.db, self.run.id)

    def books_balance(self) -> bool:
        counted = "SELECT state, COALESCE(reason, ''), COUNT(*) FROM urls WHERE run_id = ? GROUP BY 1, 2"
        with closing(sqlite3.connect(self.db.path)) as connection:
            rows = connection.execute(counted, [self.run.id]).fetchall()
        return set(rows) == set(self.db.all("tallies_of", run_id=self.run.id))


@pytest.fixture
def site(db: Database, project: Project) -> Site:
    return Site(db, project)


def contents(path: Path) -> dict[str, list[Any]]:
    """Every row of every table."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in sorted(tables)}


# One transaction.


def test_a_group_is_written_whole(site: Site) -> None:
    a, b, c = site.find("a", "b", "c")
    site.find("d", "e", reason="out_of_scope")
    site.settle(1, body=BODY, role="primary")
    site.settle(a, body=BODY, role="alternate")
    site.settle(b, kind="http_4xx")
    site.group.pages.append((site.run.id, BODY, 1, 0, OTHER))
    site.group.bodies.append((BODY, Location(None, None, 10, 5)))
    flags = bytes([packed_links.FLAGS["a", False], packed_links.FLAGS["a", True]])
    site.group.outlinks.append((site.run.id, 1, packed_links.pack([a, c], flags)))
    site.group.bases[0] = BaseRow("https://h/moved", 1, site.run.id, 0)
    site.commit()
    assert site.books_balance()
    assert site.counts() == {
        "discovered": 6,
        "visited": 2,
        "failed": 1,
        "queued": 1,
        "skipped": {"out_of_scope": 2},
        "pages": 1,
        "alternates": 1,
        "reused": 0,
        "not_modified": 0,
        "bytes": 10,
        "transferred": 9,
    }
    assert runs.bases_of(site.db, site.run.id) == [Base(0, "https://h/", "https://h/moved", 1)]
    assert site.now().next_url == 7
    assert (site.now().next_rank, site.now().next_visit, site.now().scope_fixed) == (4, 4, True)
    (crawl,) = runs.crawls_of(site.db, site.run.id)
    assert (crawl.state, crawl.visited, crawl.failed, crawl.bytes) == (CrawlState.IN_PROGRESS, 2, 1, 10)


@pytest.mark.parametrize(
    "culprit", ["settled twice", "unknown", "visit twice", "page twice", "url twice", "state"]
)
def test_a_group_with_one_bad_row_leaves_nothing(site: Site, culprit: str) -> None:
    site.find("a")
    site.settle(1)
    site.commit()
    before = contents(site.db.path)
    site.find("b")
    site.settle(2, body=BODY, role="primary")
    site.group.bodies.append((BODY, Location(None, None, 10, 5)))
    site.group.limited[0] = "limits.page_limit: 1"
    if culprit == "settled twice":
        site.group.settled.append(SettleRow("visited", None, None, site.run.id, 1))
    elif culprit == "unknown":
        site.group.settled.append(SettleRow("visited", None, None, site.run.id, 99))
    elif culprit == "visit twice":
        site.group.visits.append(site.visit(2, None, None, "-"))
    elif culprit == "page twice":
        site.group.pages += [(site.run.id, BODY, 1, 0, OTHER)] * 2
    elif culprit == "url twice":
        site.group.urls.append(site.group.urls[0]._replace(id=50))
    else:
        site.group.urls[0] = site.group.urls[0]._replace(state="leased")
    with pytest.raises(StoreError, match=re.escape(str(site.db.path))):
        site.commit(EndedBy.EXHAUSTED)
    assert contents(site.db.path) == before
    site.settle(2)
    site.next_visit = 3
    site.commit()
    assert site.counts()["visited"] == 2


def test_a_settled_url_is_not_settled_again_by_name_of_the_error(site: Site) -> None:
    site.settle(1)
    site.commit()
    site.settle(1)
    with pytest.raises(StoreError, match="changed by another process; this unit of work was not stored"):
        site.commit()


def test_changes_follow_inserts_in_the_order_they_came(site: Site) -> None:
    (number,) = site.find("a", reason="max_depth")
    run_id = site.run.id
    site.group.changes += [
        ReadmitRow(
            "https://h/a/",
            "queued",
            None,
            None,
            "redirect",
            0,
            7,
            "lane",
            2,
            1,
            0,
            1,
            False,
            0,
            0,
            None,
            run_id,
            number,
        ),
        ShortenRow(1, run_id, number),
    ]
    site.group.tallies[skipped("max_depth")] -= 1
    site.group.tallies[QUEUED] += 1
    site.settle(number)
    site.commit()
    report = reports.url_report(site.db, run_id, "https://h/a")
    assert report is not None
    assert (report["state"], report["reason"], report["rule"]) == ("visited", None, None)
    assert (report["url"], report["source"], report["hops"]) == ("https://h/a/", "redirect", 1)
    assert site.books_balance()


def test_the_page_limit_of_a_base_skips_what_it_has_queued(site: Site) -> None:
    site.find("a", "b")
    site.find("c", base=1)
    site.settle(1)
    site.group.limited[0] = "limits.page_limit: 1"
    site.group.tallies[QUEUED] -= 2
    site.group.tallies[skipped("page_limit")] += 2
    site.commit()
    assert site.books_balance()
    assert site.counts()["skipped"] == {"page_limit": 2}
    assert site.counts()["queued"] == 1
    report = reports.url_report(site.db, site.run.id, "https://h/a")
    assert report is not None
    assert report["rule"] == "limits.page_limit: 1"


@pytest.mark.parametrize(
    ("ended_by", "crawl_state", "run_state"),
    [
        (EndedBy.EXHAUSTED, CrawlState.COMPLETED, RunState.COMPLETED),
        (EndedBy.PAGE_LIMIT, CrawlState.COMPLETED, RunState.COMPLETED),
        (EndedBy.BUDGET, CrawlState.COMPLETED, RunState.PAUSED),
        (EndedBy.CANCELLED, CrawlState.FAILED, RunState.PAUSED),
        (EndedBy.ERROR, CrawlState.FAILED, RunState.PAUSED),
        (EndedBy.CRASHED, CrawlState.FAILED, RunState.PAUSED),
    ],
)
def test_every_ending(site: Site, ended_by: EndedBy, crawl_state: CrawlState, run_state: RunState) -> None:
    site.settle(1)
    site.commit(ended_by, "because", now=NOW + 50)
    (crawl,) = runs.crawls_of(site.db, site.run.id)
    assert (crawl.state, crawl.ended_by, crawl.error) == (crawl_state, ended_by, "because")
    assert (crawl.updated_at, crawl.visited) == (NOW + 50, 1)
    assert site.now().state is run_state
    assert site.now().ended_at == (NOW + 50 if run_state is RunState.COMPLETED else None)
    with pytest.raises(StoreError, match="end_crawl found another state"):
        runs.end_crawl(site.db, site.run.id, site.crawl_id, Ending(ended_by), NOW)


def test_a_crawl_that_has_nothing_to_commit_ends_too(site: Site) -> None:
    runs.end_crawl(site.db, site.run.id, site.crawl_id, Ending(EndedBy.ERROR, "disk full"), NOW + 3)
    (crawl,) = runs.crawls_of(site.db, site.run.id)
    assert (crawl.state, crawl.ended_by, crawl.error) == (CrawlState.FAILED, EndedBy.ERROR, "disk full")
    assert site.now().state is RunState.PAUSED


# Projects, runs, crawls.


def test_a_project_keeps_its_id_and_takes_new_settings(db: Database, project: Project) -> None:
    again = runs.save_project(db, "docs", {"b": [1, None], "a": "\u00e9"}, ["https://x/", "https://y/"], NOW + 1)
    assert (again.id, again.created_at) == (project.id, NOW)
    assert runs.project(db, "docs").settings == {"b": [1, None], "a": "\u00e9"}
    assert runs.project(db, "docs").bases == ("https://x/", "https://y/")
    runs.save_project(db, "blog", {}, [], NOW)
    assert [each.name for each in runs.projects(db)] == ["blog", "docs"]


def test_an_unknown_project_is_told_what_there_is(db: Database) -> None:
    with pytest.raises(UnknownProject, match=r"no project 'docs' .* \(no projects yet\)"):
        runs.project(db, "docs")
    runs.save_project(db, "blog", {}, [], NOW)
    with pytest.raises(UnknownProject, match=r"\(projects: blog\)"):
        runs.project(db, "docs")
    assert runs.find_project(db, "docs") is None


def test_a_run_starts_with_its_bases_queued_in_order(db: Database, project: Project) -> None:
    bases = [Base(number, f"https://{name}/", f"https://{name}/") for number, name in enumerate("ba")]
    rows = [runs.initial_url(base.number, base.scope_key, base.url + "#x", "") for base in bases]
    run, crawl_id = runs.start_run(db, project, bases, rows, 7, NOW)
    assert (run.number, run.state, run.next_url, run.next_rank, run.next_visit) == (
        1,
        RunState.IN_PROGRESS,
        3,
        2,
        1,
    )
    assert not run.scope_fixed
    assert runs.bases_of(db, run.id) == bases
    (crawl,) = runs.crawls_of(db, run.id)
    assert (crawl.id, crawl.number, crawl.budget, crawl.state) == (crawl_id, 1, 7, CrawlState.IN_PROGRESS)
    assert reports.counts(db, run.id)["queued"] == 2
    shown = reports.queue(db, run, alive=True)["next"]
    assert [(each["url"], each["place"]) for each in shown] == [("https://b/#x", "0:0"), ("https://a/#x", "0:1")]


def test_runs_and_crawls_are_numbered_one_by_one(db: Database, project: Project) -> None:
    with pytest.raises(NothingToDo, match="has no run yet"):
        runs.run_of(db, project, None)
    first = Site(db, project)
    first.settle(1)
    first.commit(EndedBy.EXHAUSTED)
    second = Site(db, project, budget=3)
    second.commit(EndedBy.BUDGET)
    run, crawl_id = runs.continue_run(db, project, second.now(), None, NOW + 5)
    assert (run.number, run.state) == (2, RunState.IN_PROGRESS)
    assert [(each.number, each.id, each.budget) for each in runs.crawls_of(db, run.id)] == [
        (1, second.crawl_id, 3),
        (2, crawl_id, None),
    ]
    assert [each.number for each in runs.runs_of(db, project.id)] == [1, 2]
    assert runs.run_of(db, project, 1) == first.now()
    assert runs.run_of(db, project, None) == run == runs.latest_run(db, project.id)
    with pytest.raises(NothingToDo, match="has no run 3"):
        runs.run_of(db, project, 3)


@pytest.mark.parametrize("state", [RunState.IN_PROGRESS, RunState.COMPLETED])
def test_only_a_paused_run_is_continued_or_finished(site: Site, state: RunState) -> None:
    if state is RunState.COMPLETED:
        site.commit(EndedBy.EXHAUSTED)
    before = contents(site.db.path)
    with pytest.raises(StoreError, match="move_run found another state"):
        runs.continue_run(site.db, site.project, site.now(), None, NOW)
    with pytest.raises(StoreError, match="move_run found another state"):
        runs.finish(site.db, site.now(), "by hand", NOW)
    assert contents(site.db.path) == before


def test_what_a_killed_owner_left_open_is_settled_once(db: Database, project: Project, site: Site) -> None:
    site.settle(1)
    site.commit(now=NOW + 20)
    assert runs.settle_crashed(db, project.id + 1, NOW + 30) == 0
    assert runs.settle_crashed(db, project.id, NOW + 30) == 1
    (crawl,) = runs.crawls_of(db, site.run.id)
    assert (crawl.state, crawl.ended_by, crawl.visited) == (CrawlState.FAILED, EndedBy.CRASHED, 1)
    assert crawl.updated_at == NOW + 20
    assert (site.now().state, site.now().ended_at) == (RunState.PAUSED, None)
    assert runs.settle_crashed(db, project.id, NOW + 40) == 0


def test_finishing_gives_up_what_is_queued(site: Site) -> None:
    site.find("a", "b")
    site.settle(1)
    site.commit(EndedBy.BUDGET)
    assert runs.finish(site.db, site.now(), "finished by hand", NOW + 70) == 2
    assert (site.now().state, site.now().ended_at) == (RunState.COMPLETED, NOW + 70)
    assert site.counts()["skipped"] == {"finished": 2}
    assert site.books_balance()
    report = reports.url_report(site.db, site.run.id, "https://h/b")
    assert report is not None
    assert (report["state"], report["reason"], report["rule"]) == ("skipped", "finished", "finished by hand")


def failed_site(site: Site) -> list[int]:
    numbers = site.find("a", "b", "c", "d")
    site.settle(1)
    for number, kind in zip(reversed(numbers), ("timeout", "http_4xx", "dns_timeout"), strict=False):
        site.settle(number, kind=kind)
    site.settle(numbers[0])
    site.commit(EndedBy.EXHAUSTED)
    return numbers


def test_a_retry_queues_failures_in_the_order_they_failed(site: Site) -> None:
    numbers = failed_site(site)
    before = site.now()
    assert runs.retry(site.db, before, None, NOW + 80) == 3
    after = site.now()
    assert (after.state, after.ended_at) == (RunState.PAUSED, None)
    assert (after.next_rank, after.next_visit, after.next_url) == (before.next_rank + 3, before.next_visit, 6)
    queue = reports.queue(site.db, after, alive=False)
    ranks = range(before.next_rank, before.next_rank + 3)
    assert [each["place"] for each in queue["next"]] == [f"1:{rank}" for rank in ranks]
    assert [each["url"][-1] for each in queue["next"]] == ["d", "c", "b"]
    assert queue["can_resume"]
    assert list(failures.failures(site.db, site.run.id)) == []
    assert [line.split("\t")[1][-1] for line in reports.manifest(site.db, site.run.id)] == ["/", "a"]
    assert site.books_balance()
    assert runs.retry(site.db, after, None, NOW + 81) == 0
    run, site.crawl_id = runs.continue_run(site.db, site.project, after, None, NOW + 82)
    site.store = SqliteStore(site.db).open_run(run)
    site.group = site.store.begin()
    site.next_rank = run.next_rank
    site.settle(numbers[3])
    site.commit(EndedBy.BUDGET)
    assert site.counts()["visited"] == 3


def test_a_retry_of_one_kind_leaves_the_others_failed(site: Site) -> None:
    failed_site(site)
    assert runs.retry(site.db, site.now(), "tls", NOW) == 0
    assert site.now().state is RunState.COMPLETED
    assert runs.retry(site.db, site.now(), "dns_timeout", NOW) == 1
    assert [each.kind for each in failures.failures(site.db, site.run.id)] == ["timeout", "http_4xx"]
    assert site.now().state is RunState.PAUSED
    assert site.books_balance()


def test_a_paused_run_stays_paused_when_it_is_retried(site: Site) -> None:
    site.find("a")
    site.settle(1, kind="timeout")
    site.commit(EndedBy.BUDGET)
    assert runs.retry(site.db, site.now(), None, NOW) == 1
    assert site.now().state is RunState.PAUSED


def test_lanes_follow_the_order_of_the_crawl(site: Site) -> None:
    site.find("a", "b")
    site.settle(1)
    site.commit(EndedBy.BUDGET)
    runs.set_lanes(site.db, site.run.id, lambda key: key[-1])
    assert {lane for (lane,) in site.db.all("queued_lanes", run_id=site.run.id)} == {"a", "b"}
    runs.set_lanes(site.db, site.run.id, lambda key: "never asked")
    assert {lane for (lane,) in site.db.all("queued_lanes", run_id=site.run.id)} == {"a", "b"}
    runs.set_lanes(site.db, site.run.id, None)
    assert site.db.all("queued_lanes", run_id=site.run.id) == [("",)]


# Reports.


def test_pages_are_grouped_by_content_in_order(site: Site) -> None:
    a, b, c = site.find("a", "b", "c")
    site.settle(1, body=BODY, role="primary")
    site.settle(a, body=OTHER, role="primary")
    site.settle(b, body=BODY, role="alternate")
    site.settle(c)
    site.commit()
    found = reports.pages(site.db, site.run.id)
    assert [(page["url"], page["alternates"]) for page in found] == [
        ("https://h/", ["https://h/b"]),
        ("https://h/a", []),
    ]
    assert (found[0]["body_sha256"], found[0]["title"], found[0]["bytes"]) == (BODY.hex(), "T", 5)
    assert found[0]["captured_at"] == "2023-11-14T22:13:20.000+00:00"


def test_the_manifest_has_a_line_a_visit_and_no_time(site: Site) -> None:
    a, b = site.find("a", "b")
    site.settle(1, body=BODY, role="primary")
    site.settle(a, kind="http_4xx")
    site.settle(b, kind="timeout")
    site.commit()
    lines = list(reports.manifest(site.db, site.run.id))
    assert lines == [
        f"0:0\thttps://h/\t200\t{BODY.hex()}\t{BODY.hex()}\tprimary\t-",
        "1:1\thttps://h/a\t404\t-\t-\t-\t-",
        "1:2\thttps://h/b\ttimeout\t-\t-\t-\t-",
    ]
    expected = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
    assert reports.manifest_hash(site.db, site.run.id) == expected


def test_a_url_is_reported_with_its_visit_links_and_referrer(site: Site) -> None:
    a, b = site.find("a", "b")
    site.settle(1, body=BODY, role="primary")
    flags = bytes([packed_links.FLAGS["a", True], packed_links.FLAGS["iframe", False]])
    site.group.outlinks.append((site.run.id, 1, packed_links.pack([b, a], flags)))
    site.commit()
    first = reports.url_report(site.db, site.run.id, "https://h/")
    assert first is not None
    assert first["links"] == [
        {"url": "https://h/b", "kind": "a", "nofollow": True},
        {"url": "https://h/a", "kind": "iframe", "nofollow": False},
    ]
    assert (first["noindex"], first["nofollow"], first["status"], first["place"]) == (False, True, 200, "0:0")
    assert first["body_sha256"] == BODY.hex()
    second = reports.url_report(site.db, site.run.id, "https://h/a")
    assert second is not None
    assert (second["state"], second["referrer"], second["place"]) == ("queued", "https://h/", "1:1")
    assert "status" not in second
    assert reports.url_report(site.db, site.run.id, "https://h/never") is None


def test_a_run_without_a_living_owner_is_told_as_what_it_will_be(site: Site) -> None:
    alive, dead = (reports.run_report(site.db, site.run, alive=alive) for alive in (True, False))
    assert (alive["state"], alive["crawls"][0]["state"]) == ("in_progress", "in_progress")
    assert (dead["state"], dead["crawls"][0]["state"]) == ("paused", "interrupted")
    assert dead["crawls"][0]["ended_by"] == "crashed"
    assert reports.queue(site.db, site.run, alive=False)["can_resume"]
    assert not reports.queue(site.db, site.run, alive=True)["can_resume"]
    assert reports.queue(site.db, site.run, alive=False)["by_source"] == {"initial": 1}


def test_damaged_outlinks_are_named(site: Site) -> None:
    site.settle(1)
    site.group.outlinks.append((site.run.id, 1, b"\x01\x02"))
    site.commit()
    with pytest.raises(StoreError, match="damaged outlink record"):
        reports.url_report(site.db, site.run.id, "https://h/")


# The file.


def test_a_workspace_of_a_newer_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "orbweb.db"
    for journal in ("WAL", "DELETE"):
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA journal_mode = {journal}")
            connection.execute("CREATE TABLE future (x)")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
        before = hashlib.sha256(path.read_bytes()).digest()
        with pytest.raises(NewerWorkspace, match=r"newer orbweb .* Nothing was changed") as caught:
            Database(path)
        assert caught.value.exit_code == 2
        assert hashlib.sha256(path.read_bytes()).digest() == before
        assert [file.name for file in tmp_path.iterdir()] == ["orbweb.db"]


@pytest.mark.parametrize("damage", ["garbage", "header", "cut"])
def test_a_damaged_file_is_named_with_what_to_do(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "orbweb.db"
    with closing(Database(path)) as db:
        Site(db, runs.save_project(db, "docs", {}, [], NOW))
    whole = path.read_bytes()
    damaged = {"garbage": b"no database" * 1000, "header": b"X" + whole[1:], "cut": whole[: 4096 * 2]}[damage]
    path.write_bytes(damaged)
    with (
        pytest.raises(StoreError, match=r"damaged \(.*\)\. Run `doctor\(\)`") as caught,
        closing(Database(path)) as db,
    ):
        reports.counts(db, 1)
    assert str(path) in str(caught.value)
    assert caught.value.exit_code == 1


def test_a_path_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"absent.*cannot be written .*Check the disk and"):
        Database(tmp_path / "absent" / "orbweb.db")


def test_many_may_open_a_new_workspace_at_once(tmp_path: Path) -> None:
    for attempt in range(6):
        errors: list[StoreError] = []
        path, barrier = tmp_path / f"{attempt}.db", threading.Barrier(6)
        threads = [threading.Thread(target=open_once, args=(path, barrier, errors)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors


def open_once(path: Path, barrier: threading.Barrier, errors: list[StoreError]) -> None:
    barrier.wait()
    try:
        Database(path).close()
    except StoreError as error:
        errors.append(error)


def test_opening_waits_for_a_process_that_prepares_the_same_file(tmp_path: Path) -> None:
    """Until the file is in WAL mode, SQLite itself would not wait."""
    path, barrier, errors = tmp_path / "orbweb.db", threading.Barrier(2), list[StoreError]()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TABLE prepared (x)")
        other.execute("BEGIN IMMEDIATE")
        thread = threading.Thread(target=open_once, args=(path, barrier, errors))
        thread.start()
        barrier.wait()
        time.sleep(0.1)
        other.execute("COMMIT")
        thread.join()
    assert not errors


def test_readers_see_the_last_commit_while_a_writer_works(site: Site) -> None:
    with closing(Database(site.db.path, timeout_s=0.1)) as reader, site.db.transaction():
        site.db.run("add_tally", run_id=site.run.id, state="visited", reason="", change=1)
        assert reports.counts(reader, site.run.id)["visited"] == 0
        with pytest.raises(StoreError, match="locked"), reader.transaction():
            pass


def test_a_transaction_is_undone_by_any_error(site: Site) -> None:
    before = contents(site.db.path)
    with pytest.raises(KeyboardInterrupt):
        interrupted(site)
    assert contents(site.db.path) == before


def interrupted(site: Site) -> None:
    with site.db.transaction():
        site.db.run("add_tally", run_id=site.run.id, state="visited", reason="", change=1)
        raise KeyboardInterrupt


# The schema and the queries.


@pytest.mark.parametrize(
    ("row", "query"),
    [
        (UrlRow, "add_url"),
        (SettleRow, "settle_url"),
        (ReadmitRow, "readmit_url"),
        (RejudgeRow, "rejudge_url"),
        (ShortenRow, "shorten_path"),
        (VisitRow, "add_visit"),
        (BaseRow, "save_base"),
    ],
)
def test_a_row_has_the_fields_of_its_query_in_order(row: Any, query: str) -> None:
    assert row._fields == QUERIES[query].params


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("add_page", "run_id content_sha256 url_id base document"),
        ("add_outlinks", "run_id url_id packed"),
        ("add_body", "sha256 segment position length size"),
        ("add_base", "run_id number url scope_key"),
    ],
)
def test_rows_that_are_plain_tuples_have_the_order_of_their_query(query: str, fields: str) -> None:
    assert QUERIES[query].params == tuple(fields.split())


@pytest.mark.parametrize(
    "instant", [0, 999_999, 1_763_285_400_123_456, 1_763_285_400_999_999, 253_402_300_799_000_001]
)
def test_an_instant_is_told_to_the_millisecond_or_exactly(instant: int) -> None:
    exact = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=instant)
    assert moment(instant) == exact.isoformat(timespec="milliseconds")
    assert exact_moment(instant) == exact.isoformat(timespec="microseconds")


def test_every_query_compiles_is_used_and_says_why(db: Database) -> None:
    package = Path(orbweb.__file__).parent
    source = "\n".join(path.read_text() for path in package.rglob("*.py"))
    with closing(sqlite3.connect(db.path)) as connection:
        for query in QUERIES.values():
            connection.execute(f"EXPLAIN {query.sql}", [None] * len(query.params)).fetchall()
    assert [name for name in QUERIES if f'"{name}"' not in source] == []
    text = (package / "store" / "sqlite" / "sql" / "queries.sql").read_text()
    assert len(re.findall(r"^-- name: (\w+)\n-- \S.*\.$", text, re.MULTILINE)) == len(QUERIES)


def refused(db: Database, statement: str) -> bool:
    with closing(sqlite3.connect(db.path)) as connection:
        try:
            connection.execute(statement)
        except sqlite3.IntegrityError as error:
            return "CHECK constraint failed" in str(error)
        return False


def test_states_that_do_not_exist_cannot_be_stored(site: Site) -> None:
    site.commit()
    for table, column in (("runs", "state"), ("crawls", "state"), ("crawls", "ended_by"), ("urls", "state")):
        assert refused(site.db, f"UPDATE {table} SET {column} = 'sleeping'")
    assert refused(site.db, "UPDATE urls SET state = 'leased'")
    assert refused(site.db, "UPDATE runs SET scope_fixed = 2")
    for state in ItemState:
        assert refused(site.db, f"UPDATE urls SET state = '{state}'") is (state is ItemState.LEASED)
    for run_state in RunState:
        assert not refused(site.db, f"UPDATE runs SET state = '{run_state}'")
    for crawl_state in CrawlState:
        assert not refused(site.db, f"UPDATE crawls SET state = '{crawl_state}'")
    for ended_by in EndedBy:
        assert not refused(site.db, f"UPDATE crawls SET ended_by = '{ended_by}'")


def test_rows_that_nobody_reads_to_their_end_outlive_their_database(tmp_path: Path) -> None:
    db = Database(tmp_path / "orbweb.db")
    for name in ("a", "b"):
        db.run("add_project", name=name, settings="{}", bases="[]", created_at=1)
    rows = db.each("projects")
    next(rows)
    db.close()
    rows.close()  # type: ignore[attr-defined]

"""Lists of a run that are kept in memory are those of the run, whatever has changed it meanwhile."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import orbweb
from orbweb.app.columns import ColumnQuery
from orbweb.app.directory import OpenWorkspace
from orbweb.app.jobs.lists import RunLists
from orbweb.store import documents, reextraction, runs
from orbweb.store.bodies import new_compressor
from orbweb.store.reextraction import OutdatedPages
from orbweb.store.rows import QUEUED, VISITED, Progress, UrlRow, VisitRow
from servers.site import Answer, Request, Server, html, serve

PROJECT = "site"
PAGES, MISSING = ("a", "b", "c"), ("gone", "lost")
LATER = 9_000_000_000_000_000


class ChangingSite:
    """A site whose words and whose missing pages change when it is told."""

    def __init__(self) -> None:
        self.word, self.status = "first", 404

    def answer(self, request: Request) -> Answer:
        name = request.path.strip("/")
        if name in MISSING:
            return html("<p>Nothing</p>", self.status)
        if name in PAGES:
            return html(f"<title>{self.word} {name}</title><main><p>{self.word} {name * 40}</p></main>")
        links = "".join(f'<a href="/{each}">{each}</a> ' for each in (*PAGES, *MISSING))
        return html(f"<title>{self.word} start</title><main><p>{self.word} {links}</p></main>")


@pytest.fixture
def changing() -> ChangingSite:
    return ChangingSite()


@pytest.fixture
def server(changing: ChangingSite) -> Iterator[Server]:
    with serve(changing) as found:
        yield found


@pytest.fixture
def space(tmp_path: Path, server: Server) -> orbweb.Workspace:
    found = orbweb.open(tmp_path / "w")
    found.crawl(server.url, project=PROJECT, rate="max", processes=0)
    return found


@pytest.fixture
def lists(space: orbweb.Workspace) -> Iterator[RunLists]:
    with closing(RunLists(space.path)) as found:
        yield found


def titles(lists: RunLists, **query: object) -> list[str | None]:
    found = lists.pages(PROJECT, ColumnQuery(**query), patience_s=None)  # type: ignore[arg-type]
    assert found.part.is_whole
    return [each.title for each in found.part.items]


def kinds(lists: RunLists) -> dict[str, int]:
    found = lists.failures(PROJECT, ColumnQuery(), patience_s=None)
    counts: dict[str, int] = {}
    for each in found.groups:
        counts[each.kind] = counts.get(each.kind, 0) + each.count
    assert sum(counts.values()) == found.part.total == len(found.part.items)
    return counts


def test_pages_are_those_that_the_library_has(space: orbweb.Workspace, lists: RunLists) -> None:
    known = [each.title for each in space.pages(PROJECT)]
    assert titles(lists) == known
    assert titles(lists, words="FIRST B") == ["first b"]
    assert titles(lists, sort="title", descending=True) == sorted(known, key=str, reverse=True)
    assert kinds(lists) == {"http_4xx": 2}


def test_failures_that_were_retried_and_failed_again_are_the_new_ones(
    space: orbweb.Workspace, changing: ChangingSite, lists: RunLists
) -> None:
    assert kinds(lists) == {"http_4xx": 2}
    before = space.status(PROJECT)
    changing.status = 500
    assert space.retry(PROJECT) == 2
    assert kinds(lists) == {}
    assert lists.queue(PROJECT, ColumnQuery(), patience_s=None).total == 2
    space.resume(PROJECT, rate="max", processes=0)
    after = space.status(PROJECT)
    assert (before.visited, before.failed, before.queued) == (after.visited, after.failed, after.queued)
    assert kinds(lists) == {"http_5xx": 2}
    assert lists.queue(PROJECT, ColumnQuery(), patience_s=None).total == 0


def test_pages_that_were_extracted_again_have_their_new_titles(space: orbweb.Workspace, lists: RunLists) -> None:
    known = titles(lists, sort="tokens")
    with closing(OpenWorkspace(space.path)) as workspace:
        run = workspace.run(PROJECT)
        compressor = new_compressor()
        changed = []
        for page in OutdatedPages(workspace.db, run.id, 0, everything=True):
            found = documents.of_url(workspace.db, run.id, _id_of(workspace, run.id, page.url))
            assert found is not None
            other = dataclasses.replace(found.document, title=f"other {found.document.title}")
            changed.append((page, documents.pack(other, found.extractor, b"", compressor)))
        reextraction.replace(workspace.db, run.id, changed, LATER)
    assert titles(lists, sort="tokens") == [f"other {each}" for each in known]
    assert titles(lists, words="other first") == [f"other {each}" for each in titles_of(space)]


def titles_of(space: orbweb.Workspace) -> list[str]:
    return [str(each.title).removeprefix("other ") for each in space.pages(PROJECT)]


def _id_of(workspace: OpenWorkspace, run_id: int, url: str) -> int:
    known = runs.known_url(workspace.db, run_id, url)
    assert known is not None
    return known.id


def test_a_project_that_was_deleted_and_crawled_again_has_its_new_pages(
    space: orbweb.Workspace, server: Server, changing: ChangingSite, lists: RunLists
) -> None:
    assert titles(lists)[0] == "first start"
    space.delete(PROJECT)
    with pytest.raises(orbweb.OrbwebError, match="no project"):
        titles(lists)
    changing.word = "second"
    space.crawl(server.url, project=PROJECT, rate="max", processes=0)
    assert titles(lists) == [f"second {name}" for name in ("start", *PAGES)]


def test_page_types_are_those_of_the_settings_of_now(
    space: orbweb.Workspace, server: Server, lists: RunLists
) -> None:
    before = lists.pages(PROJECT, ColumnQuery(), patience_s=None).part.counts["type"]
    assert before == {"": 4}
    with closing(OpenWorkspace(space.path)) as workspace:
        known = runs.project(workspace.db, PROJECT)
        types = {"page_types": [{"type": "letter", "pattern": "/[abc]$"}]}
        runs.save_project(workspace.db, PROJECT, {**known.settings, "policy": types}, known.bases, LATER)
    after = lists.pages(PROJECT, ColumnQuery(), patience_s=None).part.counts["type"]
    assert after == {"page": 1, "letter": 3}


class Writer:
    """A crawl at work whose pages are written by hand."""

    def __init__(self, workspace: OpenWorkspace) -> None:
        owner = runs.project(workspace.db, PROJECT)
        run = workspace.run(PROJECT)
        runs.reopen(workspace.db, run, LATER)
        self._run = runs.continue_run(workspace.db, owner, runs.run_of(workspace.db, owner, None), None, LATER)[0]
        self._store = workspace.store().open_run(self._run)
        self._next = (self._run.next_url, self._run.next_rank, self._run.next_visit)

    def write(self, name: str, *, queued: bool = False) -> None:
        url_id, rank, number = self._next
        unit = self._store.begin()
        url, state = f"https://hand.example/{name}", QUEUED if queued else VISITED
        row = UrlRow(self._run.id, url_id, url, None, state[0], None, None, "spider", 3, rank, "", 0, 0, 0, 1)
        unit.add_url(row)
        unit.count(None, state, 1)
        if not queued:
            unit.add_visit(
                VisitRow(
                    self._run.id, number, url_id, self._store.crawl.id, 3, rank, 200, None, None, 1, None, None,
                    "text/html", None, None, None, name, None, False, False, False, False, None, name.encode() * 8,
                    "primary", 9, 9, 9, LATER,
                )
            )  # fmt: skip
        self._next = (url_id + 1, rank + 1, number + (not queued))
        with self._store.transaction():
            self._store.write(unit, Progress(*self._next, True, True, 9, 0, 9, 9), LATER + number)


def test_a_list_of_a_crawl_at_work_is_continued_and_says_of_when_it_is(
    space: orbweb.Workspace, lists: RunLists
) -> None:
    known = titles(lists)
    with closing(OpenWorkspace(space.path)) as workspace, workspace.own(PROJECT):
        writer = Writer(workspace)
        assert titles(lists) == known
        writer.write("hand-1")
        fresh = lists.pages(PROJECT, ColumnQuery(), patience_s=None, fresh=True).part
        assert [each.title for each in fresh.items] == [*known, "hand-1"]
        made_at = fresh.made_at
        writer.write("hand-2")
        snapshot = lists.pages(PROJECT, ColumnQuery(sort="tokens"), patience_s=None).part
        assert (snapshot.size, snapshot.made_at) == (len(known) + 1, made_at)
        writer.write("waits", queued=True)
        queued = lists.queue(PROJECT, ColumnQuery(), patience_s=None)
        assert [each.url for each in queued.items] == ["https://hand.example/waits"]
    assert titles(lists) == [*known, "hand-1", "hand-2"]


def changed_rules(space: orbweb.Workspace) -> None:
    space.rules(PROJECT, exclude=["/gone"])


@pytest.mark.parametrize("change", [changed_rules])
def test_what_was_skipped_follows_the_rules(
    space: orbweb.Workspace, lists: RunLists, change: Callable[[orbweb.Workspace], None]
) -> None:
    assert lists.skipped(PROJECT, ColumnQuery(), patience_s=None).total == 0
    space.retry(PROJECT)
    change(space)
    found = lists.skipped(PROJECT, ColumnQuery({"reason": "excluded"}), patience_s=None)
    assert [each.url.rpartition("/")[2] for each in found.items] == ["gone"]
    assert lists.queue(PROJECT, ColumnQuery(), patience_s=None).total == 1


def test_a_part_of_a_list_that_is_not_made_yet_is_there_at_once(space: orbweb.Workspace, lists: RunLists) -> None:
    known = titles_of(space)
    first = lists.pages(PROJECT, ColumnQuery(rows=3), patience_s=0).part
    assert [each.title for each in first.items] == known[:3]
    assert first.next is not None
    rest = lists.pages(PROJECT, ColumnQuery(rows=3, after=first.next), patience_s=0).part
    assert [each.title for each in rest.items] == known[3:]

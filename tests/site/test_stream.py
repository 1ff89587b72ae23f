"""Pages as they are committed, for programs: streams with cursors and back-pressure, callbacks, asyncio."""

from __future__ import annotations

import asyncio
import gc
import itertools
import pickle
import sqlite3
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Result, run, wait_until
from orbweb.app import background
from servers.pages import Unending, chain, page
from servers.site import Answer, Server, StaticSite, redirect, serve

OPTIONS: Any = {"project": "site", "rate": "max"}


@pytest.fixture
def space(tmp_path: Path) -> orbweb.Workspace:
    return orbweb.open(tmp_path / "w")


@pytest.fixture
def small() -> Iterator[Server]:
    with serve(StaticSite(chain(9))) as server:
        yield server


@pytest.fixture
def unending() -> Iterator[Server]:
    with serve(Unending(delay_s=0.0)) as server:
        yield server


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No thread, no coroutine that was never awaited."""
    before = set(threading.enumerate())
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield
        gc.collect()
    wait_until(
        lambda: not {each for each in set(threading.enumerate()) - before if each.name.startswith("orbweb")}
    )


def urls_of(pages: Iterator[orbweb.Page]) -> list[str]:
    return [each.url for each in pages]


def visits(space: orbweb.Workspace) -> int:
    with sqlite3.connect(space.path / "orbweb.db") as db:
        return int(db.execute("SELECT COUNT(*) FROM visits").fetchone()[0])


# What a page is.


def test_a_page_has_everything(space: orbweb.Workspace) -> None:
    head = (("X-Robot", "no"), ("Content-Type", "text/html; charset=utf-8"))
    body = "<title>Hé</title><main><h1>Hé</h1><p>Some <b>bold</b> text.</p><a href='/2'>two</a></main>".encode()
    site = {"/": Answer(200, head, body), "/2": page("two", "/3"), "/3": page("two", "/3")}
    with serve(StaticSite(site)) as server:
        stream = space.crawl_iter(server.url, **OPTIONS)
        first = next(stream)
        rest = list(stream)
    assert (first.url, first.status, first.depth) == (server.url, 200, 0)
    assert (first.title, first.links, first.size) == ("Hé", (f"{server.url}2",), len(body))
    assert first.headers["x-robot"] == "no"
    assert "Some **bold** text." in first.markdown
    assert "Some bold text." in first.text
    assert (first.body, first.html) == (body, body.decode())
    assert (first.reused, first.truncated, first.content_type) == (False, False, head[1][1])
    assert [each.text for each in first.select("h1")] == ["Hé"]
    assert first.xpath("//a/@href") == ["/2"]
    assert [each.title for each in rest] == ["two"]
    assert stream.result is not None
    assert stream.result.pages == 2
    with pytest.raises(FrozenInstanceError):
        first.url = ""  # type: ignore[misc]


def test_a_page_outlives_its_stream_and_its_process(space: orbweb.Workspace, small: Server) -> None:
    pages = list(space.crawl_iter(small.url, cursor="mine", **OPTIONS))
    again = pickle.loads(pickle.dumps(pages[3]))
    assert again == pages[3]
    assert again.body == pages[3].body
    pages[3].select("a")
    pickle.dumps(pages[3])


def test_only_what_is_durable_is_given(space: orbweb.Workspace, unending: Server) -> None:
    for number, found in enumerate(itertools.islice(space.crawl_iter(unending.url, **OPTIONS), 150), 1):
        with sqlite3.connect(space.path / "orbweb.db") as db:
            query = "SELECT COUNT(*) FROM visits JOIN urls ON id = url_id WHERE key = ?"
            assert db.execute(query, (found.url,)).fetchone() == (1,)
        assert number <= visits(space)


def test_redirects_failures_and_alternates_are_no_pages(space: orbweb.Workspace) -> None:
    same = page("same", "/gone", "/old", "/copy")
    with serve(StaticSite({"/": same, "/copy": same, "/old": redirect("/copy")})) as server:
        assert urls_of(space.crawl_iter(server.url, **OPTIONS)) == [server.url]


def test_the_pages_are_those_of_the_run_in_order(space: orbweb.Workspace, small: Server) -> None:
    given = urls_of(space.crawl_iter(small.url, **OPTIONS))
    assert given == [each.url for each in space.documents("site")]


# Leaving it.


def test_leaving_the_loop_stops_the_crawl(space: orbweb.Workspace, unending: Server) -> None:
    for number, _ in enumerate(space.crawl_iter(unending.url, **OPTIONS), 1):
        if number == 5:
            break
    status = space.status("site")
    assert (status.state, status.running, status.crawls[-1].ended_by) == ("paused", False, "cancelled")
    assert space.resume("site", budget=3).crawl_visited == 3


def test_an_exception_in_the_loop_stops_the_crawl(space: orbweb.Workspace, unending: Server) -> None:
    def consume() -> None:
        for _ in space.crawl_iter(unending.url, **OPTIONS):
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        consume()
    gc.collect()
    assert space.status("site").running is False


def test_closing_and_the_with_statement_stop_the_crawl(space: orbweb.Workspace, unending: Server) -> None:
    with space.crawl_iter(unending.url, **OPTIONS) as stream:
        next(stream)
    assert space.status("site").running is False
    assert list(stream) == []
    with pytest.raises(orbweb.UsageError, match="has not ended"):
        stream.outcome()


def test_a_stream_that_is_never_read_starts_nothing(space: orbweb.Workspace, small: Server) -> None:
    space.crawl_iter(small.url, **OPTIONS).close()
    del space
    assert not small.log


def test_a_program_that_ends_with_an_open_stream_ends(tmp_path: Path, unending: Server) -> None:
    program = f"""
        import orbweb
        stream = orbweb.crawl_iter({unending.url!r}, workspace="w", rate="max", project="site")
        print(next(stream).title)
    """
    assert run([sys.executable, "-c", textwrap.dedent(program)], cwd=tmp_path) == Result(0, "page 0\n", "")
    status = orbweb.open(tmp_path / "w").status("site")
    assert (status.state, status.crawls[-1].ended_by) == ("paused", "cancelled")


# Errors.


def test_what_is_wrong_is_raised_by_the_first_page(space: orbweb.Workspace, small: Server) -> None:
    with pytest.raises(orbweb.UsageError, match="unknown option bugdet"):
        space.crawl_iter(small.url, bugdet=3, **OPTIONS)
    with pytest.raises(orbweb.UsageError, match="http"):
        next(space.crawl_iter("ftp://example.org/"))
    with pytest.raises(orbweb.UsageError, match="cursor or after, not both"):
        space.crawl_iter(small.url, cursor="a", after="1.1.1", **OPTIONS)
    with pytest.raises(orbweb.UsageError, match=r"cursor: '\.\./a' is not a name"):
        space.crawl_iter(small.url, cursor="../a", **OPTIONS)
    with pytest.raises(orbweb.UsageError, match="after: 'x' is not the cursor of a page"):
        space.crawl_iter(small.url, after="x", **OPTIONS)
    assert not (space.path / "orbweb.db").exists()


def test_a_second_crawl_of_the_project_is_refused(space: orbweb.Workspace, unending: Server) -> None:
    with space.crawl_iter(unending.url, **OPTIONS) as stream:
        next(stream)
        with pytest.raises(orbweb.Busy):
            next(space.crawl_iter(unending.url, **OPTIONS))


def test_an_error_of_the_crawl_comes_after_its_pages(space: orbweb.Workspace, small: Server) -> None:
    def fail(visit: orbweb.Visit) -> None:
        if visit.number == 10:
            raise RuntimeError("no more")

    given: list[orbweb.Page] = []
    with pytest.raises(RuntimeError, match="no more"):
        given.extend(space.crawl_iter(small.url, on_visit=fail, **OPTIONS))
    assert len(given) == visits(space)


# Cursors.


def test_without_a_cursor_a_resumed_run_is_given_from_its_first_page(
    space: orbweb.Workspace, small: Server
) -> None:
    assert len(list(space.crawl_iter(small.url, budget=4, **OPTIONS))) == 4
    assert len(list(space.crawl_iter(small.url, budget=None, **OPTIONS))) == 10


def test_a_named_cursor_continues(space: orbweb.Workspace, small: Server) -> None:
    first = urls_of(space.crawl_iter(small.url, cursor="mine", budget=4, **OPTIONS))
    rest = urls_of(space.crawl_iter(small.url, cursor="mine", budget=None, **OPTIONS))
    assert (len(first), len(rest), len(set(first + rest))) == (4, 6, 10)
    assert len(urls_of(space.crawl_iter(small.url, cursor="mine", **OPTIONS))) == 10, "a new run"
    assert space.status("site").run == 2


def test_a_page_that_was_not_acknowledged_is_given_again(space: orbweb.Workspace, small: Server) -> None:
    with space.crawl_iter(small.url, cursor="mine", **OPTIONS) as stream:
        given = [next(stream).url, next(stream).url]
    with space.crawl_iter(small.url, cursor="mine", **OPTIONS) as stream:
        again = next(stream)
        assert again.url == given[1], "requesting the second page acknowledged the first one only"
        again.ack()
    rest = urls_of(space.crawl_iter(small.url, cursor="mine", **OPTIONS))
    assert len({*given, *rest}) == len(given) + len(rest) == 10
    assert space.status("site").run == 1


def test_the_rest_of_a_completed_run_needs_no_crawl(space: orbweb.Workspace, small: Server) -> None:
    with space.crawl_iter(small.url, cursor="mine", **OPTIONS) as stream:
        first = next(stream)
        wait_until(lambda: space.status("site").state == "completed")
        first.ack()
    requests = len(small.log)
    stream = space.crawl_iter(small.url, cursor="mine", **OPTIONS)
    assert len(urls_of(stream)) == 9
    assert stream.result is None
    assert len(small.log) == requests


def test_the_cursor_of_a_page_is_stored_by_the_caller(space: orbweb.Workspace, small: Server) -> None:
    given = list(space.crawl_iter(small.url, budget=4, **OPTIONS))
    rest = list(space.crawl_iter(small.url, after=given[1].cursor, budget=None, **OPTIONS))
    assert [each.url for each in given[2:]] == [each.url for each in rest[:2]]
    assert len(rest) == 8
    assert urls_of(space.crawl_iter(small.url, after=rest[4].cursor, **OPTIONS)) == [each.url for each in rest[5:]]
    assert urls_of(space.crawl_iter(small.url, after=rest[-1].cursor, **OPTIONS)) == []
    assert space.status("site").run == 1


def test_the_cursor_of_another_run_is_refused(space: orbweb.Workspace, small: Server) -> None:
    first = list(space.crawl_iter(small.url, **OPTIONS))
    with pytest.raises(orbweb.UsageError, match="of another run"):
        next(space.crawl_iter(small.url, after=first[2].cursor, new_run=True, **OPTIONS))
    space.recrawl("site")
    with pytest.raises(orbweb.UsageError, match="of another run"):
        next(space.crawl_iter(small.url, after=first[2].cursor, **OPTIONS))
    with pytest.raises(orbweb.UsageError, match="of another run"):
        next(orbweb.open(space.path / "other").crawl_iter(small.url, after=first[2].cursor))
    assert space.status("site").run == 2, "no run was started"
    assert not (space.path / "other").exists()
    with pytest.raises(orbweb.UsageError, match="no stream with a named cursor"):
        first[0].ack()


def test_cursors_are_independent_and_used_by_one_stream_at_a_time(space: orbweb.Workspace, small: Server) -> None:
    list(space.crawl_iter(small.url, cursor="one", budget=3, **OPTIONS))
    assert len(list(space.crawl_iter(small.url, cursor="two", budget=None, **OPTIONS))) == 10
    with space.crawl_iter(small.url, cursor="one", **OPTIONS) as stream:
        next(stream)
        with pytest.raises(orbweb.Busy, match="cursor 'one'"):
            next(space.crawl_iter(small.url, cursor="one", **OPTIONS))


def test_a_cursor_of_a_project_that_was_deleted_is_ignored(space: orbweb.Workspace, small: Server) -> None:
    list(space.crawl_iter(small.url, cursor="mine", budget=5, **OPTIONS))
    stored = next((space.path / "state").glob("*.cursor")).read_bytes()
    space.reset()
    (space.path / "state").mkdir(exist_ok=True)
    (space.path / "state" / "site.mine.cursor").write_bytes(stored)
    assert len(list(space.crawl_iter(small.url, cursor="mine", **OPTIONS))) == 10


def test_a_damaged_cursor_is_named(space: orbweb.Workspace, small: Server) -> None:
    list(space.crawl_iter(small.url, cursor="mine", **OPTIONS))
    next((space.path / "state").glob("*.cursor")).write_text("{")
    with pytest.raises(orbweb.StoreError, match=r"site\.mine\.cursor: is not a cursor"):
        next(space.crawl_iter(small.url, cursor="mine", **OPTIONS))


def test_acknowledging_out_of_order_never_moves_a_cursor_back(space: orbweb.Workspace, small: Server) -> None:
    pages = list(space.crawl_iter(small.url, cursor="mine", budget=5, **OPTIONS))
    threads = [threading.Thread(target=each.ack) for each in reversed(pages)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(space.crawl_iter(small.url, cursor="mine", budget=None, **OPTIONS))) == 5


# Back-pressure.


def test_a_slow_consumer_holds_the_crawl(space: orbweb.Workspace, unending: Server) -> None:
    with space.crawl_iter(unending.url, **OPTIONS) as stream:
        next(stream)
        wait_until(lambda: space.status("site").held)
        assert "not consumed yet" in (space.status("site").held_by or "")
        held_at = len(unending.log)
        for _ in itertools.islice(stream, visits(space)):
            pass
        wait_until(lambda: len(unending.log) > held_at)


def test_a_fast_consumer_is_not_delayed(space: orbweb.Workspace) -> None:
    held: list[bool] = []
    with serve(StaticSite(chain(background.AHEAD * 2))) as server:
        for _ in space.crawl_iter(server.url, on_progress=lambda now: held.append(now.held), **OPTIONS):
            pass
    assert held
    assert not any(held)


# Callbacks, and single pages.


def test_on_page_gets_what_this_crawl_commits(space: orbweb.Workspace, small: Server) -> None:
    first, rest, again = list[str](), list[str](), list[str]()
    result = space.crawl(small.url, budget=4, on_page=lambda page: first.append(page.url), **OPTIONS)
    assert result.ended_by == "budget"
    space.resume("site", budget=None, on_page=lambda page: rest.append(page.url))
    space.recrawl("site", budget=None, on_page=lambda page: again.append(page.url))
    assert (len(first), len(rest)) == (4, 6)
    assert again == first + rest


def test_what_on_page_raises_ends_the_crawl(space: orbweb.Workspace, unending: Server) -> None:
    def enough(_: orbweb.Page) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        space.crawl(unending.url, on_page=enough, **OPTIONS)
    assert space.status("site").state == "paused"


def test_fetch_gives_a_page_or_says_why_not(tmp_path: Path, small: Server) -> None:
    found = orbweb.fetch(small.url, workspace=tmp_path / "w", rate="max")
    assert (found.title, found.status, found.body[:9]) == ("start", 200, b"<!doctype")
    assert len(found.links) == 9
    with pytest.raises(orbweb.NoPage, match="HTTP 404") as raised:
        orbweb.fetch(f"{small.url}nothing", workspace=tmp_path / "w", rate="max")
    assert (raised.value.url, raised.value.exit_code) == (f"{small.url}nothing", 3)
    assert "HTTP 404" in raised.value.problem
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
    assert not (tmp_path / "w").exists()


# With asyncio.


def test_async_for(tmp_path: Path, small: Server) -> None:
    async def consume() -> tuple[list[str], orbweb.CrawlResult | None]:
        stream = orbweb.stream(small.url, workspace=tmp_path / "w", rate="max")
        return [page.url async for page in stream], stream.result

    given, result = asyncio.run(consume())
    assert len(given) == 10
    assert result is not None
    assert result.state == "completed"


def test_the_event_loop_is_free_while_a_page_is_awaited(space: orbweb.Workspace) -> None:
    async def consume(url: str) -> int:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.create_task(tick())
        async for _ in space.stream(url, **OPTIONS):
            pass
        ticking.cancel()
        return ticks

    with serve(StaticSite(chain(3, delay_s=0.5))) as server:
        assert asyncio.run(consume(server.url)) > 5


@pytest.mark.parametrize("leave", ["break", "aclose", "with", "raise"])
def test_leaving_an_async_stream_stops_the_crawl(space: orbweb.Workspace, unending: Server, leave: str) -> None:
    async def consume() -> None:
        stream = space.stream(unending.url, **OPTIONS)
        if leave == "with":
            async with stream as pages:
                await anext(pages)
            assert space.status("site").running is False
            return
        async for _ in stream:
            if leave == "raise":
                raise LookupError("enough")
            break
        if leave == "aclose":
            await stream.aclose()
            assert space.status("site").running is False

    if leave == "raise":
        with pytest.raises(LookupError, match="enough"):
            asyncio.run(consume())
    else:
        asyncio.run(consume())
    assert space.status("site").state == "paused"
    wait_until(lambda: not space.status("site").running)


def test_cancelling_the_task_that_waits_for_a_page(space: orbweb.Workspace) -> None:
    async def consume(url: str) -> None:
        async for _ in space.stream(url, **OPTIONS):
            pass

    async def cancel(url: str) -> None:
        task = asyncio.create_task(consume(url))
        await asyncio.to_thread(wait_until, lambda: running(space))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert space.status("site").running is False

    with serve(Unending(delay_s=0.2)) as server:
        asyncio.run(cancel(server.url))
    assert space.status("site").state == "paused"


def running(space: orbweb.Workspace) -> bool:
    return (space.path / "orbweb.db").exists() and "site" in space.projects() and space.status("site").running


@pytest.mark.parametrize("watched", [False, True])
def test_cancelling_acrawl_stops_it(space: orbweb.Workspace, unending: Server, watched: bool) -> None:
    seen: list[str] = []

    async def watch(page: orbweb.Page) -> None:
        await asyncio.sleep(0)
        seen.append(page.url)

    async def cancel() -> None:
        on_page: Any = {"on_page": watch} if watched else {}
        task = asyncio.create_task(space.acrawl(unending.url, **on_page, **OPTIONS))
        ready: Callable[[], bool] = (lambda: bool(seen)) if watched else (lambda: len(unending.log) > 5)
        await asyncio.to_thread(wait_until, ready)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert space.status("site").running is False

    asyncio.run(cancel())
    assert space.status("site").state == "paused"
    assert bool(seen) is watched


def test_acrawl_and_afetch_give_results_and_raise(tmp_path: Path, small: Server) -> None:
    async def crawl() -> tuple[orbweb.CrawlResult, orbweb.CrawlResult, orbweb.Page]:
        seen: list[str] = []
        first = await orbweb.acrawl(small.url, workspace=tmp_path / "w", rate="max", budget=3)
        rest = await orbweb.acrawl(
            small.url,
            workspace=tmp_path / "w",
            budget=None,
            on_page=lambda page: seen.append(page.url),
        )
        assert len(seen) == 7
        with pytest.raises(orbweb.NoPage):
            await orbweb.afetch(f"{small.url}nothing", rate="max")
        with pytest.raises(orbweb.UsageError, match="http"):
            await orbweb.acrawl("ftp://example.org/", workspace=tmp_path / "x")
        return first, rest, await orbweb.afetch(small.url, rate="max")

    first, rest, page = asyncio.run(crawl())
    assert (first.visited, rest.visited, page.title) == (3, 10, "start")


def test_several_crawls_at_once(tmp_path: Path) -> None:
    async def crawl(urls: list[str]) -> list[int]:
        crawls = [orbweb.acrawl(url, workspace=tmp_path / "w", rate="max") for url in urls]
        return [result.visited for result in await asyncio.gather(*crawls)]

    with serve(StaticSite(chain(3))) as one, serve(StaticSite(chain(5))) as two:
        assert asyncio.run(crawl([one.url, two.url])) == [4, 6]


def test_every_verb_works_inside_a_running_event_loop(space: orbweb.Workspace, small: Server) -> None:
    """As in a notebook, where a cell has an event loop at work."""

    async def cell() -> None:
        planned = space.plan(small.url, rate="max")
        assert isinstance(planned, orbweb.CrawlPlan)
        assert planned.bases[0].status == 200
        assert space.crawl(small.url, budget=2, **OPTIONS).visited == 2
        assert space.resume("site", budget=None).visited == 10
        assert len(list(space.crawl_iter(small.url, budget=None, **OPTIONS))) == 10
        assert space.recrawl("site").visited == 10
        assert space.fetch(small.url, rate="max").status == 200
        assert orbweb.fetch(small.url, workspace=space.path, rate="max").title == "start"
        assert space.extract("site", everything=True).extracted == 10
        assert space.replay("site").pages == 10
        assert space.discover(small.url, project="two", rate="max").visited == 10
        assert space.scrape("two").visited == 10
        assert space.plan("site").would_visit == 10
        with pytest.raises(orbweb.NothingToDo):
            space.resume("site")

    asyncio.run(cell())

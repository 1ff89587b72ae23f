"""P1, P2, P3 together: any split of a budget into sessions, at any worker count, with kills in between, gives the
visited sequence of one session, on random sites with copies, redirects, errors and resources; none is overshot.
"""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import orbweb
from harness import Cli, assert_books_balance
from servers.site import NOT_FOUND, Answer, StaticSite, html, redirect, serve, text

CONFIG = """
fetch: {retries: 1, backoff_s: 0.01}
engine: {window: 16, group_ms: 20, group_pages: 3}
"""
POINTS = ("run_created", "page_settled", "blob_synced", "rows_written", "group_committed", "crawl_ended")
MOST_KILLS = 2
KINDS = ("page", "page", "page", "copy", "redirect", "missing", "broken", "file")


@dataclass(frozen=True)
class Session:
    """One crawl of a run. `kill` is where its process dies, if it gets so far."""

    budget: int
    workers: int
    kill: str | None = None


@dataclass(frozen=True)
class Node:
    """One URL of a site: what it is, where it leads, what it loads."""

    kind: str
    links: tuple[int, ...]
    loads: tuple[int, ...]


Graph = tuple[Node, ...]


@st.composite
def graphs(draw: Callable[..., Any]) -> Graph:
    """The first node is the start; others may be out of reach. Only copies of the start are alike."""
    size = draw(st.integers(2, 24))
    anywhere = st.lists(st.integers(0, size - 1), max_size=6).map(tuple)
    nodes = [Node("page", draw(st.lists(st.integers(1, size - 1), min_size=1, max_size=12).map(tuple)), ())]
    others = st.builds(Node, st.sampled_from(KINDS), anywhere, anywhere)
    return (*nodes, *draw(st.lists(others, min_size=size - 1, max_size=size - 1)))


KILLS = st.tuples(st.sampled_from(POINTS), st.integers(1, 4)).map(lambda kill: f"{kill[0]}:{kill[1]}")
SESSIONS = st.lists(
    st.builds(Session, st.integers(1, 9), st.sampled_from((1, 3, 16)), st.one_of(st.none(), st.none(), KILLS)),
    min_size=1,
    max_size=6,
).filter(lambda sessions: sum(session.kill is not None for session in sessions) <= MOST_KILLS)


def path(number: int, node: Node) -> str:
    if number == 0:
        return "/"
    return f"/f/{number}.txt" if node.kind == "file" else f"/{number}"


def targets(graph: Graph, number: int) -> set[int]:
    """Where a visit leads."""
    node = _original(graph, number)
    if node.kind == "redirect":
        return set(node.links[:1])
    if node.kind != "page":
        return set()
    return {*node.links, *(load for load in node.loads if graph[load].kind == "file")}


def _original(graph: Graph, number: int) -> Node:
    """A copy shows what the start shows."""
    return graph[0] if graph[number].kind == "copy" else graph[number]


def answer(graph: Graph, number: int) -> Answer:
    node = _original(graph, number)
    if node.kind == "redirect":
        return redirect(path(node.links[0], graph[node.links[0]])) if node.links else html("no location", 204)
    if node.kind == "file":
        return text(f"file {number}")
    if node.kind in ("missing", "broken"):
        return NOT_FOUND if node.kind == "missing" else html("broken", 500)
    name = "start" if node is graph[0] else f"page {number}"
    loaded = "".join(f"<img src={path(load, graph[load])}>" for load in node.loads if graph[load].kind == "file")
    linked = "".join(f"<li><a href={path(link, graph[link])}>{link}</a>" for link in node.links)
    return html(f"<!doctype html><title>{name}</title><h1>{name}</h1>{loaded}<ul>{linked}</ul>")


def reachable(graph: Graph) -> set[str]:
    found, waiting = {0}, [0]
    while waiting:
        new = targets(graph, waiting.pop()) - found
        found |= new
        waiting += new
    return {path(number, graph[number]) for number in found}


def prove(graph: Graph, sessions: list[Session]) -> None:
    """Crawl the site in one session and in these, and compare."""
    site = StaticSite({path(number, node): answer(graph, number) for number, node in enumerate(graph)})
    with tempfile.TemporaryDirectory() as home, serve(site) as server:
        (Path(home) / "config.yaml").write_text(CONFIG)
        whole, parts = Path(home) / "whole", Path(home) / "parts"
        one = _crawl(whole, server.url, None, 4)
        for session in sessions:
            if _is_over(parts):
                break
            _take(parts, server.url, session)
            assert_books_balance(parts / "orbweb.db")
        if not _is_over(parts):
            assert _crawl(parts, server.url, None, 4).exit_code == one.exit_code
        assert_books_balance(parts / "orbweb.db")
        lines = list(orbweb.open(whole).manifest("site"))
        assert list(orbweb.open(parts).manifest("site")) == lines
        assert len(orbweb.open(parts).runs("site")) == 1
        assert {line.split("\t")[1].removeprefix(server.url.rstrip("/")) for line in lines} == reachable(graph)


def _is_over(workspace: Path) -> bool:
    return (workspace / "orbweb.db").exists() and orbweb.open(workspace).status("site").state == "completed"


def _crawl(workspace: Path, url: str, budget: int | None, workers: int) -> orbweb.CrawlResult:
    config = workspace.parent / "config.yaml"
    return orbweb.open(workspace).crawl(
        url,
        project="site",
        rate="max",
        resources="check",
        sitemap="off",
        config=config,
        budget=budget,
        workers=workers,
    )


def _take(workspace: Path, url: str, session: Session) -> None:
    """One session. One that is not killed visits as much as its budget says, or all there is."""
    if session.kill is None:
        done = _crawl(workspace, url, session.budget, session.workers)
        settled = done.crawl_visited + done.crawl_failed
        assert settled == session.budget if done.queued else settled <= session.budget
        assert done.ended_by == ("budget" if done.queued else "exhausted")
        assert done.exit_code == (4 if done.queued else 3 if done.failed else 0)
        return
    options = ("--rate", "max", "--resources", "check", "--sitemap", "off", "--project", "site")
    limits = (
        "--budget",
        session.budget,
        "--workers",
        session.workers,
        "--config",
        workspace.parent / "config.yaml",
    )
    done = Cli(workspace).crawl(url, *options, *limits, env={"ORBWEB_FAULT": session.kill})
    assert done.code in (-signal.SIGKILL, 0, 3, 4)


# Each kind at once; a chain of redirects leads back to its beginning, and a file is both loaded and linked.
EVERY: Graph = (
    Node("page", (1, 2, 3, 4, 5, 6, 7), (7,)),
    Node("page", (8, 0, 7), (7,)),
    Node("copy", (), ()),
    Node("redirect", (4,), ()),
    Node("redirect", (9,), ()),
    Node("missing", (), ()),
    Node("broken", (), ()),
    Node("file", (), ()),
    Node("page", (3, 10), (11,)),
    Node("redirect", (3,), ()),
    Node("page", (2,), ()),
    Node("file", (), ()),
)
UNEVEN = [Session(3, 16, "group_committed:1"), Session(1, 1), Session(4, 3, "rows_written:1"), Session(2, 16)]

brief = settings(
    max_examples=8, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


@brief
@example(EVERY, UNEVEN)
@example(EVERY, [Session(1, 1)] * 6)
@given(graphs(), SESSIONS)
def test_any_split_into_sessions_gives_the_same_visits(graph: Graph, sessions: list[Session]) -> None:
    prove(graph, sessions)


@pytest.mark.long
@settings(brief, max_examples=400)
@given(graphs(), SESSIONS)
def test_many_splits_into_sessions_give_the_same_visits(graph: Graph, sessions: list[Session]) -> None:
    prove(graph, sessions)

"""New rules for a paused run: what no longer fits is skipped, and what fits now comes back, at once, exactly."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import orbweb
from harness import Cli, assert_books_balance, wait_until
from orbweb.app import request
from orbweb.app.doctor import check_store
from orbweb.app.settings import terms as terms_of
from orbweb.errors import NothingToDo
from orbweb.frontier import reevaluate
from orbweb.frontier.reevaluate import JudgingTerms
from orbweb.model import SkipReason, Source
from orbweb.policy.page_types import ScoreRule
from orbweb.policy.rules import Candidate, Policy, Rules
from orbweb.store import runs
from orbweb.store.sqlite.db import Database
from orbweb.store.sqlite.run_store import SqliteStore
from servers.pages import page
from servers.site import BESIDES, NOT_FOUND, Answer, Request, Server, StaticSite, html, redirect, serve, text

NOW = 1_800_000_000_000_000
Row = tuple[Any, ...]

UNFOLLOWED = ("/docs/rel/one", "/docs/rel/two")
UNFOLLOWED_PAGE = ("/docs/shut/one", "/docs/shut/two")
TRAP = "/docs/kin/kin/kin/kin"


def site(elsewhere: str) -> dict[str, Answer]:
    rel = "".join(f'<a rel="nofollow" href="{path}">x</a>' for path in UNFOLLOWED)
    shut = "".join(f'<a href="{path}">x</a>' for path in (*UNFOLLOWED_PAGE, "/docs/rel/two"))
    links = "".join(
        f'<a href="{path}">{path}</a>'
        for path in (
            *("/docs/a", f"{elsewhere}one", "/docs/shut", "/docs-old/a", "/docs/moved", "/docs/b"),
            *("/docs/private/p", TRAP),
            *(f"/docs/leaf/{number}" for number in range(6)),
            f"{elsewhere}two",
        )
    )
    return {
        "/docs": html(f"<title>start</title>{links}{rel}"),
        "/docs/a": page("a", "/docs/a/deep", "/blog/x", f"{elsewhere}three"),
        "/docs/a/deep": page("deep", "/docs/a/deeper"),
        "/docs/b": page("b", "/docs/a", "/docs/b/deep"),
        "/docs-old/a": page("old", "/docs-old/b"),
        "/docs/shut": html(f'<meta name="robots" content="nofollow"><title>shut</title>{shut}'),
        "/docs/moved": redirect("/blog/target"),
        "/robots.txt": text("User-agent: *\nDisallow: /docs/private\n"),
        "/sitemap.xml": text(f"{elsewhere}listed\n"),
        **{f"/docs/leaf/{number}": page(f"leaf {number}") for number in range(6)},
    }


def abroad() -> dict[str, Answer]:
    return {"/one": page("one", "/four"), "/two": page("two", "/four"), "/four": page("four", "/five")}


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Server, Server]]:
    with serve(StaticSite(abroad())) as other, serve(StaticSite(site(other.url))) as home:
        yield home, other


START = Rules(external_hops=1)


def crawl(path: Path, home: Server, **options: Any) -> orbweb.CrawlResult:
    given = {"rate": "max", "processes": 0, "workers": 1, "external_hops": 1, **options}
    return orbweb.open(path).crawl(f"{home.url}docs", project="site", **given)


@pytest.fixture(scope="module")
def paused(servers: tuple[Server, Server], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has read part of the site, in the middle of its third level."""
    path = tmp_path_factory.mktemp("rules") / "paused"
    done = crawl(path, servers[0], budget=9, allow_private=True)
    assert (done.run_state, done.queued > 5) == ("paused", True)
    return path


@pytest.fixture
def workspace(paused: Path, tmp_path: Path) -> Path:
    shutil.copytree(paused, tmp_path / "workspace")
    return tmp_path / "workspace"


def rows(path: Path) -> dict[str, Row]:
    """State, reason, rule, hops and base URL by key. In which words a page said nofollow is not kept."""
    query = "SELECT key, state, reason, rule, hops, base FROM urls WHERE run_id = (SELECT MAX(id) FROM runs)"
    with closing(sqlite3.connect(path / "orbweb.db")) as db:
        found = db.execute(query).fetchall()
    return {
        key: (state, reason, None if reason == "nofollow" else rule, *rest)
        for key, state, reason, rule, *rest in found
    }


def reasons(path: Path, home: Server) -> dict[str, str]:
    found = rows(path).items()
    return {"/" + key.split("/", 3)[3]: row[1] or row[0] for key, row in found if key.startswith(home.url)}


def queue(path: Path) -> list[str]:
    """The keys of what is queued, in order."""
    with closing(sqlite3.connect(path / "orbweb.db")) as db:
        return [key for (key,) in db.execute("SELECT key FROM urls WHERE state = 'queued' ORDER BY depth, rank")]


def change(path: Path, *sequence: JudgingTerms) -> list[reevaluate.RuleEffects | None]:
    """Judge the run anew by each of the terms, as a crawl with these settings would before its first lease."""
    told = []
    with closing(Database(path / "orbweb.db")) as db:
        project = runs.project(db, "site")
        for terms in sequence:
            with db.transaction():
                run = runs.run_of(db, project, None)
                bases = runs.bases_of(db, run.id)
                told.append(
                    reevaluate.apply(
                        SqliteStore(db).open_run(run), run, bases, terms, lane_of=lambda _key: "", now=NOW
                    )
                )
    assert_books_balance(path / "orbweb.db")
    return told


# Each rule, there and back.


RULES = [
    ("excluded", {"exclude": ("/leaf/",)}),
    ("not_included", {"include": (r"/docs/[bl]",)}),
    ("max_depth", {"max_depth": 1}),
    ("external_hops", {"external_hops": 1, "strict_path": True}),
    ("out_of_scope", {"external_hops": 0}),
    ("sitemap_only", {"sitemap_only": True}),
    ("page_limit", {"page_limit": 2}),
    ("nofollow", {"follow_nofollow_links": False}),
    ("trap", {"park_traps": True}),
]


@pytest.mark.parametrize(("reason", "changed"), RULES)
def test_a_rule_skips_what_it_refuses_and_gives_it_back(
    workspace: Path, servers: tuple[Server, Server], reason: str, changed: dict[str, Any]
) -> None:
    loose = Rules(external_hops=3, park_traps=False, obey_directives=False)
    change(workspace, JudgingTerms(loose))
    before = rows(workspace)
    (told,) = change(workspace, JudgingTerms(replace(loose, **changed)))
    refused = {key for key, row in rows(workspace).items() if row[1] == reason}
    assert refused
    assert all(before[key][0] == "queued" for key in refused)
    assert all(reason in row[1:2] or row == before[key] for key, row in rows(workspace).items())
    assert told is not None
    assert told.skipped == {reason: len(refused)}
    (told,) = change(workspace, JudgingTerms(loose))
    assert told is not None
    assert (told.came_back, told.skipped) == ({reason: len(refused)}, {})
    assert rows(workspace) == before


def test_what_comes_back_has_new_places_in_the_order_of_finding(workspace: Path) -> None:
    query = "SELECT id, rank FROM urls WHERE key LIKE '%/leaf/%' AND state = 'queued' ORDER BY id"
    with closing(sqlite3.connect(workspace / "orbweb.db")) as db:
        before = dict(db.execute(query))
        highest = db.execute("SELECT next_rank FROM runs").fetchone()[0]
    change(workspace, JudgingTerms(replace(START, exclude=("/leaf/",))), JudgingTerms(START))
    with closing(sqlite3.connect(workspace / "orbweb.db")) as db:
        after = dict(db.execute(query))
    assert list(after) == list(before)
    assert list(after.values()) == list(range(highest, highest + len(after)))


def test_robots_txt_is_judged_at_the_lease_so_no_longer_obeyed_it_gives_back(
    workspace: Path, servers: tuple[Server, Server]
) -> None:
    home, _ = servers
    refused = JudgingTerms(START, obey_robots=True)
    change(workspace, replace(refused, rules=replace(START, exclude=("/private/",))))
    assert reasons(workspace, home)["/docs/private/p"] == "robots"
    change(workspace, JudgingTerms(START, obey_robots=False))
    assert reasons(workspace, home)["/docs/private/p"] == "queued"


def test_the_same_rules_change_nothing(workspace: Path) -> None:
    before = rows(workspace)
    assert change(workspace, JudgingTerms(START)) == [None]
    with closing(sqlite3.connect(workspace / "orbweb.db")) as db, db:
        db.execute("UPDATE runs SET rules = NULL")
    (told,) = change(workspace, JudgingTerms(START))
    assert told is not None
    assert (told.came_back, told.skipped) == ({}, {})
    assert rows(workspace) == before


# Any sequence of changes.


LEAVES_LAST = (ScoreRule("/leaf/", -9), ScoreRule("moved|target|/one", 3))


def terms() -> st.SearchStrategy[JudgingTerms]:
    rules = st.builds(
        Rules,
        strict_path=st.booleans(),
        external_hops=st.integers(0, 3),
        max_depth=st.sampled_from([None, None, 1, 2]),
        page_limit=st.sampled_from([None, None, 1, 4, 50]),
        sitemap_only=st.sampled_from([False, False, True]),
        include=st.sampled_from([(), (), ("docs",), ("a", "b")]),
        exclude=st.sampled_from([(), (), ("leaf",), ("deep", "rel")]),
        obey_directives=st.booleans(),
        follow_nofollow_links=st.booleans(),
        park_traps=st.booleans(),
        scores=st.sampled_from([(), (ScoreRule("/leaf/[135]", 7), ScoreRule("/docs/", -2)), LEAVES_LAST]),
    )
    return st.builds(JudgingTerms, rules, st.just(True), st.booleans())


@dataclass(frozen=True)
class Graph:
    """What a run has found, with the page that led to each URL."""

    found: list[Row]
    pages: int
    scope: str

    @classmethod
    def read(cls, path: Path) -> Graph:
        query = """SELECT urls.key, urls.source, urls.depth, urls.state, urls.reason, parents.hops, parents.base
        FROM urls JOIN urls AS parents ON parents.run_id = urls.run_id AND parents.id = urls.referrer
        ORDER BY urls.id"""
        with closing(sqlite3.connect(path / "orbweb.db")) as db:
            pages, scope = db.execute("SELECT pages, scope_key FROM bases").fetchone()
            return cls(db.execute(query).fetchall(), pages, scope)

    def judged(self, rules: Rules) -> dict[str, str | None]:
        """By each URL's path, and by hand what is known of single links of the site."""
        policy = Policy(rules, [self.scope])
        if rules.page_limit is not None and self.pages >= rules.page_limit:
            policy.fill(0)
        return {row[0]: self._reason(policy, row) for row in self.found if row[3] in ("queued", "skipped")}

    def turns(self, queue: list[str], sequence: list[Rules]) -> list[str]:
        """Who is queued after all these changes, in order: by depth, by the last scores, as they were queued."""
        for rules in sequence:
            fits = [key for key, reason in self.judged(rules).items() if reason is None]
            queue = [key for key in queue if key in fits] + [key for key in fits if key not in queue]
        facts = {row[0]: (row[1], row[2]) for row in self.found}

        def turn(key: str) -> tuple[int, bool, int]:
            source, depth = facts[key]
            moved = bool(rules.scores) and source == Source.REDIRECT
            scores = [rule.score for rule in rules.scores if re.search(rule.pattern, key)]
            return depth, moved, 0 if moved else -(scores or [0])[0]

        return sorted(queue, key=turn)

    def _reason(self, policy: Policy, row: Row) -> str | None:
        key, source, depth, _, reason, hops, base = row
        path, rules = "/" + key.split("/", 3)[3], policy.rules
        if reason == SkipReason.ROBOTS:
            return reason
        by_rel = path in UNFOLLOWED and not rules.follow_nofollow_links
        by_page = path in UNFOLLOWED_PAGE and rules.obey_directives
        if by_page or (by_rel and (path != "/docs/rel/two" or rules.obey_directives)):
            return SkipReason.NOFOLLOW
        verdict = policy.judge(Candidate(key, depth, hops, base, Source(source)))
        if verdict.reason is None and path == TRAP and rules.park_traps:
            return SkipReason.TRAP
        return verdict.reason


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sequence=st.lists(terms(), min_size=1, max_size=4))
def test_any_sequence_of_rules_ends_where_the_last_of_them_would(
    paused: Path, tmp_path_factory: pytest.TempPathFactory, sequence: list[JudgingTerms]
) -> None:
    home = tmp_path_factory.mktemp("sequence")
    for name in ("all", "last"):
        (home / name).mkdir()
        with closing(sqlite3.connect(paused / "orbweb.db")) as source:
            source.execute("VACUUM INTO ?", (str(home / name / "orbweb.db"),))
    change(home / "all", *sequence)
    change(home / "last", sequence[-1])
    assert rows(home / "all") == rows(home / "last")
    expected = Graph.read(paused).judged(sequence[-1].rules)
    judged = {key: row[1] for key, row in rows(home / "all").items() if row[0] in ("queued", "skipped")}
    assert judged == expected
    assert queue(home / "all") == Graph.read(paused).turns(queue(paused), [each.rules for each in sequence])
    shutil.rmtree(home)


# By the verbs.


def test_a_run_goes_on_by_the_rules_of_now(workspace: Path, servers: tuple[Server, Server]) -> None:
    home, _ = servers
    home.reset()
    space = orbweb.open(workspace)
    done = space.crawl(project="site", budget=None, exclude=["/leaf/"], external_hops=0)
    assert done.run_state == "completed"
    assert not [hit.path for hit in home.log if "/leaf/" in hit.path]
    assert done.skipped["excluded"] > 0
    assert space.explain("site", f"{home.url}docs/leaf/5").rule == "scope.exclude: /leaf/"
    assert_books_balance(workspace / "orbweb.db")


def test_rules_that_leave_nothing_complete_the_run_without_a_request(
    workspace: Path, servers: tuple[Server, Server]
) -> None:
    home, _ = servers
    home.reset()
    done = orbweb.open(workspace).crawl(project="site", budget=None, exclude=["."])
    assert (done.run_state, done.queued, done.crawl_visited, done.exit_code) == ("completed", 0, 0, 0)
    assert home.whole_log == ()
    assert_books_balance(workspace / "orbweb.db")


def test_a_higher_limit_reopens_a_run_that_a_limit_completed(
    tmp_path: Path, servers: tuple[Server, Server]
) -> None:
    home, _ = servers
    first = crawl(tmp_path, home, external_hops=0, page_limit=3)
    assert (first.run_state, first.pages, first.ended_by) == ("completed", 3, "page_limit")
    space = orbweb.open(tmp_path)
    with pytest.raises(NothingToDo, match="no paused run to resume"):
        space.resume("site")
    config = tmp_path / "more.yaml"
    config.write_text("limits: {page_limit: null}")
    second = space.resume("site", config=config)
    assert (second.run, second.run_state, second.skipped.get("page_limit")) == (1, "completed", None)
    whole = crawl(tmp_path / "whole", home, external_hops=0)
    assert sorted(states(tmp_path)) == sorted(states(tmp_path / "whole"))
    assert (second.pages, second.skipped) == (whole.pages, whole.skipped)


def states(path: Path) -> list[Row]:
    return [(key, *row[:2]) for key, row in rows(path).items()]


def test_sitemaps_are_read_when_they_are_wanted_after_all(tmp_path: Path) -> None:
    answers = {
        "/docs": page("start", "/docs/a"),
        "/docs/a": page("a"),
        "/docs/b": page("b"),
        "/sitemap.xml": text("<urlset><url><loc>/docs/b</loc></url></urlset>"),
    }
    with serve(StaticSite(answers)) as server:
        crawl(tmp_path, server, sitemap="off", budget=1)
        done = orbweb.open(tmp_path).crawl(project="site", sitemap="only", budget=None)
    assert (done.visited, done.skipped) == (2, {"sitemap_only": 1})


def test_a_page_that_was_left_out_is_kept_when_directives_no_longer_count(tmp_path: Path) -> None:
    answers = {
        "/docs": page("start", "/docs/a"),
        "/docs/a": html(
            '<meta name="robots" content="noindex"><title>a</title><p>About a. <a href="/docs/b">b</a>'
        ),
        "/docs/b": page("b"),
    }
    config = tmp_path / "all.yaml"
    config.write_text("robots: {obey_directives: false}")
    with serve(StaticSite(answers)) as server:
        first = crawl(tmp_path / "space", server)
        assert (first.pages, first.skipped) == (2, {"noindex": 1})
        done = orbweb.open(tmp_path / "space").resume("site", config=config)
    assert (done.pages, done.visited, done.skipped) == (3, 3, {})
    assert check_store(tmp_path / "space")["damages"] == []


def test_what_is_parked_stays_so_when_a_scope_moves(tmp_path: Path) -> None:
    """The second base URL moves the scope after the first one's links were judged."""
    answers = {
        "/docs/": page("docs", TRAP, "/new/a"),
        "/old/": redirect("/new/"),
        "/new/": page("new"),
        "/new/a": page("a"),
        TRAP: page("trap"),
    }
    with serve(StaticSite(answers)) as server:
        done = orbweb.open(tmp_path).crawl(
            [f"{server.url}docs/", f"{server.url}old/"], project="site", rate="max", sitemap="off", processes=0
        )
    assert done.skipped == {"trap": 1}
    assert done.visited == 4


# A kill between.


@pytest.mark.parametrize("point", ["rules_written", "rules_committed"])
def test_a_kill_leaves_the_old_rules_or_the_new_ones(workspace: Path, point: str) -> None:
    before = rows(workspace)
    cli = Cli(workspace)
    more = ("crawl", "--project", "site", "--exclude", "/leaf/", "--budget", "none", "--json", "--no-progress")
    assert cli(*more, env={"ORBWEB_FAULT": point}).code == -signal.SIGKILL
    excluded = [row for row in rows(workspace).values() if row[1] == "excluded"]
    with closing(Database(workspace / "orbweb.db")) as db:
        project = runs.project(db, "site")
        config, _ = request.configure(project, request.Request((), "site"))
        run = runs.run_of(db, project, None)
    assert run.rules == terms_of(config).text()
    assert config.scope.exclude == (("/leaf/",) if point == "rules_committed" else ())
    assert bool(excluded) == (point == "rules_committed")
    if point == "rules_written":
        assert rows(workspace) == before
    assert cli(*more).ok(0, 3).json["run_state"] == "completed"
    cli.check("site")


# While a crawl is running.


class Numbered:
    """Pages that link to the next three numbers and to a page beside each; slow until `hurry` is called."""

    def __init__(self) -> None:
        self._delay_s = 0.2

    def hurry(self) -> None:
        self._delay_s = 0.0

    def answer(self, request: Request) -> Answer:
        if request.path in BESIDES:
            return NOT_FOUND
        last = request.path.rpartition("/")[2]
        number = int(last) if last.isdigit() else 0
        links = [f"/docs/{kind}{number + step}" for step in (1, 2, 3) for kind in ("", "side/")]
        return page(f"page {request.path}", *(links if number < LAST else ()), delay_s=self._delay_s)


LAST = 120


@pytest.fixture
def numbered() -> Numbered:
    return Numbered()


@pytest.fixture
def endless(numbered: Numbered) -> Iterator[Server]:
    with serve(numbered) as server:
        yield server


def running(cli: Cli, server: Server, env: dict[str, str] | None = None) -> Any:
    process = cli.start(
        "crawl", f"{server.url}docs", "--project", "site", "--rate", "max", "--workers", 2, env=env
    )
    wait_until(lambda: sum("/side/" in hit.path for hit in server.log) > 3)
    return process


def test_a_running_crawl_goes_on_by_the_new_rules(cli: Cli, endless: Server, numbered: Numbered) -> None:
    process = running(cli, endless)
    told = cli("rules", "site", "--exclude", "/side/", "--json").ok(0).json
    assert (told["running"], told["in_force"], told["rules"]["scope.exclude"]) == (True, True, ["/side/"])
    endless.reset()
    numbered.hurry()
    out, _ = process.communicate(timeout=120)
    done = json.loads(out.splitlines()[-1])
    assert not [hit.path for hit in endless.log if "/side/" in hit.path]
    assert (process.returncode, done["run_state"], done["ended_by"]) == (0, "completed", "exhausted")
    assert done["skipped"]["excluded"] > 20
    assert done["visited"] > 60
    assert done["crawl_visited"] == done["visited"], "what was committed before counts"
    status = cli.check("site")
    assert len(status["crawls"]) == 1


def test_a_running_crawl_goes_on_in_the_order_of_new_scores(
    cli: Cli, endless: Server, numbered: Numbered, tmp_path: Path
) -> None:
    process = running(cli, endless)
    (tmp_path / "scores.yaml").write_text("policy: {scores: [{pattern: /side/, score: 5}]}")
    assert cli("rules", "site", "--config", tmp_path / "scores.yaml", "--json").ok(0).json["in_force"]
    numbered.hurry()
    process.communicate(timeout=120)
    assert process.returncode == 0
    lines = cli.manifest("site")
    places = [tuple(map(int, line[0].split(":"))) for line in lines]
    before = [place for place in places if place[1] >= 0]
    assert 5 < len(before) < len(places) - 50
    assert places[: len(before)] == sorted(before)
    after = [(place[0], "/side/" not in line[1], place) for place, line in zip(places, lines, strict=True)]
    assert after[len(before) :] == sorted(after[len(before) :])


def test_rules_that_leave_nothing_end_a_running_crawl(cli: Cli, endless: Server) -> None:
    process = running(cli, endless)
    assert cli("rules", "site", "--exclude", ".", "--json").ok(0).json["run_state"] == "completed"
    out, _ = process.communicate(timeout=120)
    done = json.loads(out.splitlines()[-1])
    assert (done["run_state"], done["queued"], done["ended_by"]) == ("completed", 0, "exhausted")
    cli.check("site")


@pytest.mark.parametrize("point", ["rules_written", "rules_committed"])
def test_a_running_crawl_killed_while_it_judges_has_the_rules_when_it_goes_on(
    cli: Cli, endless: Server, numbered: Numbered, point: str
) -> None:
    process = running(cli, endless, env={"ORBWEB_FAULT": point})
    told = cli("rules", "site", "--exclude", "/side/", "--json").ok(0, 4).json
    assert told["in_force"] == (point == "rules_committed")
    assert process.wait(timeout=60) == -signal.SIGKILL
    process.communicate()
    assert cli.check("site")["state"] == "paused"
    endless.reset()
    numbered.hurry()
    done = cli.resume("site").ok(0).json
    assert not [hit.path for hit in endless.log if "/side/" in hit.path]
    assert (done["run_state"], done["skipped"]["excluded"] > 20) == ("completed", True)


# The verb.


def test_rules_are_shown_and_changed_at_once(workspace: Path) -> None:
    cli = Cli(workspace)
    shown = cli.ask("rules", "site", "--json").ok(0).json
    assert (shown["rules"]["scope.external_hops"], shown["in_force"], shown["came_back"]) == (1, True, {})
    changed = cli("rules", "site", "--exclude", "/leaf/", "--max-depth", 1, "--json").ok(0).json
    assert changed["skipped"].keys() == {"excluded", "max_depth"}
    assert changed["queued"] == shown["queued"] - sum(changed["skipped"].values())
    assert (changed["run_state"], changed["running"]) == ("paused", False)
    text = cli("rules", "site", "--max-depth", "none").ok(0).out
    assert "scope.exclude: /leaf/" in text
    assert re.search(r"URLs queued again \(\d+ max depth", text)
    cli.check("site")
    assert "scope.include" in cli("rules", "site", "--include", "(").ok(2).err
    assert cli("rules", "unknown").ok(2).out == ""


def test_a_completed_run_is_reopened_by_looser_rules(tmp_path: Path, servers: tuple[Server, Server]) -> None:
    home, _ = servers
    crawl(tmp_path, home, external_hops=0, max_depth=1)
    told = orbweb.open(tmp_path).rules("site", max_depth=None)
    assert (told.run_state, set(told.came_back)) == ("paused", {"max_depth"})
    assert_books_balance(tmp_path / "orbweb.db")
    done = orbweb.open(tmp_path).resume("site")
    assert (done.run, done.run_state) == (1, "completed")

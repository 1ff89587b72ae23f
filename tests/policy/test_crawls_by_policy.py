"""Caps and scores: exact, and the same with any number of workers, after a kill, and when rules change."""

from __future__ import annotations

import re
import signal
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

import orbweb
from harness import Cli, Result
from orbweb.config import merge
from servers.repos import FIRST, GROUPS, NONE, OTHERS, Answered, RepoSite, Scores, reference
from servers.site import Server, StaticSite, html, redirect, serve

ENGINE = "engine: {window: 64, group_ms: 20, group_pages: 8}\nscope: {park_traps: false}\n"


def crawl(
    cli: Cli,
    server: Server,
    workers: int,
    *more: object,
    scores: Scores = FIRST,
    env: dict[str, str] | None = None,
) -> Result:
    config = cli.workspace.parent / "config.yaml"
    config.write_text(ENGINE + scores.settings() + GROUPS)
    options = ("--project", "p", "--rate", "max", "--workers", workers, "--processes", 0, "--config", config)
    return cli.crawl(server.url, *options, *more, env=env)


def result(cli: Cli) -> Answered:
    """What the workspace says, in the words of the reference."""
    cli.check("p")
    visits = [urlsplit(line[1]).path for line in cli.manifest("p")]
    with closing(sqlite3.connect(cli.workspace / "orbweb.db")) as db:
        capped = {urlsplit(key).path for (key,) in db.execute("SELECT key FROM urls WHERE reason = 'cap'")}
    return Answered(visits, capped)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_caps_and_scores_are_exact_with_any_number_of_workers(tmp_path: Path, seed: int) -> None:
    site = RepoSite(seed)
    expected, hashes = reference(site), set()
    assert expected.capped
    assert expected.visits != reference(site, NONE).visits
    with serve(site) as server:
        for workers in (1, 4, 32):
            with closing(Cli(tmp_path / f"w{workers}")) as cli:
                crawl(cli, server, workers).ok(0, 3)
                assert result(cli) == expected
                assert levels_asked(cli, server) == sorted(levels_asked(cli, server))
                hashes.add(cli.manifest_hash("p"))
                server.reset()
    assert len(hashes) == 1


def levels_asked(cli: Cli, server: Server) -> list[int]:
    """The depths of the URLs that the server was asked for, in the order of asking."""
    depths = {urlsplit(line[1]).path: int(line[0].partition(":")[0]) for line in cli.manifest("p")}
    return [depths[hit.path] for hit in server.log]


def test_a_level_does_not_begin_while_a_page_with_very_many_links_is_read(cli: Cli) -> None:
    many = [f"/a/b/wiki/{number}0" for number in range(1500)]
    links = "".join(f'<a href="{path}">x</a>' for path in [*many, "/a/b/wiki/7"])
    pages = {"/": html('<a href="/hub">hub</a>'), "/hub": html(links)}
    with serve(StaticSite(pages)) as server:
        done = crawl(cli, server, 4, "--budget", 6, env={"ORBWEB_POLICY__GROUPS": "[]"}).ok(4)
        assert [hit.path for hit in server.log][:3] == ["/", "/hub", "/a/b/wiki/7"]
    assert done.json["queued"] == 1503 - 6


@pytest.mark.parametrize("fault", ["group_committed:2", "page_settled:23", "rows_written:4", "page_settled:41"])
def test_a_kill_changes_nothing(cli: Cli, fault: str) -> None:
    site = RepoSite(4)
    with serve(site) as server:
        assert crawl(cli, server, 16, env={"ORBWEB_FAULT": fault}).code == -signal.SIGKILL
        crawl(cli, server, 16).ok(0, 3)
    assert result(cli) == reference(site)
    cli("doctor").ok()


def test_portions_are_the_same_as_the_whole(cli: Cli) -> None:
    site = RepoSite(5)
    with serve(site) as server:
        codes = [crawl(cli, server, 8, "--budget", 7).code]
        while codes[-1] == 4:
            codes.append(crawl(cli, server, 8).code)
    assert len(codes) > 2
    assert result(cli) == reference(site)


@pytest.fixture
def half(tmp_path: Path) -> Iterator[Half]:
    with serve(RepoSite(6)) as server:
        yield Half(tmp_path, server)


@dataclass
class Half:
    """Runs of a site that are paused after some visits, whose scores then change."""

    home: Path
    server: Server

    def paused(self, name: str, budget: int, scores: Scores) -> Cli:
        cli = Cli(self.home / name / "workspace")
        cli.workspace.parent.mkdir()
        crawl(cli, self.server, 8, "--budget", budget, scores=scores).ok(4)
        return cli

    def change(self, cli: Cli, scores: Scores, fault: str | None = None) -> None:
        config = cli.workspace.parent / "scores.yaml"
        config.write_text(scores.settings())
        if fault is None:
            orbweb.open(cli.workspace).rules("p", config=config)
        else:
            killed = cli("rules", "p", "--config", config, env={"ORBWEB_FAULT": fault})
            assert killed.code == -signal.SIGKILL

    def finish(self, cli: Cli, workers: int = 8) -> Answered:
        orbweb.open(cli.workspace).resume("p", budget=None, workers=workers)
        return result(cli)


CHANGED = [(FIRST, OTHERS, 17), (NONE, OTHERS, 30), (FIRST, NONE, 30), (OTHERS, FIRST, 52), (FIRST, OTHERS, 1)]


@pytest.mark.parametrize(("before", "now", "budget"), CHANGED)
def test_when_scores_change_the_rest_has_its_turn_by_them(
    half: Half, before: Scores, now: Scores, budget: int
) -> None:
    expected = reference(RepoSite(6), before, after=budget, then=now)
    assert expected.visits != reference(RepoSite(6), before).visits
    for workers in (1, 32):
        cli = half.paused(f"w{workers}", budget, before)
        half.change(cli, now)
        assert half.finish(cli, workers) == expected


FAULTS = ["rules_written", "rules_committed", "page_settled:9", "rows_written:2", "group_committed:3"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_kill_while_or_after_scores_change_changes_nothing(half: Half, fault: str) -> None:
    cli = half.paused("killed", 30, FIRST)
    if fault.startswith("rules_"):
        half.change(cli, OTHERS, fault)
    half.change(cli, OTHERS)
    if not fault.startswith("rules_"):
        killed = cli.resume("p", "--budget", "none", "--workers", 8, env={"ORBWEB_FAULT": fault})
        assert killed.code == -signal.SIGKILL
    assert half.finish(cli) == reference(RepoSite(6), FIRST, after=30, then=OTHERS)


def test_scores_in_between_leave_no_trace(half: Half) -> None:
    cli = half.paused("several", 30, FIRST)
    for scores in (NONE, OTHERS, FIRST):
        half.change(cli, scores)
    assert half.finish(cli) == reference(RepoSite(6))


def test_a_refusal_is_explained_with_the_cap(cli: Cli) -> None:
    site = RepoSite(1)
    with serve(site) as server:
        crawl(cli, server, 8).ok(0, 3)
        path = min(reference(site).capped)
        report = cli.ask("explain", "p", server.url.rstrip("/") + path, "--json").ok().json
    assert (report["state"], report["reason"]) == ("skipped", "cap")
    assert report["rule"].startswith("policy.groups[0].caps.")
    assert " of repository " in report["rule"]


def test_what_is_never_seen_is_judged_by_what_was_admitted(cli: Cli) -> None:
    with serve(StaticSite({"/": html('<a href="/a/b/x/1">1</a><a href="/a/b/x/2">2</a>')})) as server:
        crawl(cli, server, 2, env={"ORBWEB_POLICY__GROUPS": "[{name: g, pattern: '/a/', caps: {pages: 2}}]"}).ok(3)
        report = cli.ask("explain", "p", f"{server.url}a/b/x/3", "--json").ok(3).json
    assert (report["state"], report["reason"]) == ("unknown", "cap")


def test_a_recrawl_counts_anew_and_the_known_come_first(cli: Cli) -> None:
    site = RepoSite(2)
    with serve(site) as server:
        crawl(cli, server, 4).ok(0, 3)
        before = result(cli)
        cli("recrawl", "p", "--json", "--no-progress").ok(0, 3)
    after = result(cli)
    assert sorted(after.visits) == sorted(before.visits)
    assert after.capped == before.capped


def test_a_queued_url_that_moves_out_of_scope_gives_its_place_in_the_group_back(cli: Cli) -> None:
    """The second base URL moves its scope away from what the first has already queued there."""
    pages = {
        "/a/": html('<a href="/b/1">1</a><a href="/b/2">2</a><a href="/c/3">3</a><a href="/c/4">4</a>'),
        "/b/": redirect("/c/"),
        "/c/": html("<p>moved</p>"),
        "/c/3": html("<p>three</p>"),
        "/c/4": html("<p>four</p>"),
    }
    groups = "[{name: g, pattern: '/[bc]/[0-9]', caps: {pages: 2}}]"
    with serve(StaticSite(pages)) as server:
        options = ("--project", "p", "--rate", "max", "--workers", 4)
        env = {"ORBWEB_POLICY__GROUPS": groups}
        cli.crawl(f"{server.url}a/", f"{server.url}b/", *options, env=env).ok(0)
        assert {hit.path for hit in server.log} == {"/a/", "/b/", "/c/", "/c/3", "/c/4"}


def test_the_query_is_dropped_from_requests_too(cli: Cli) -> None:
    pages = {"/": html('<a href="/x?b=1">1</a><a href="/x?b=2">2</a>'), "/x": html("<p>x</p>")}
    with serve(StaticSite(pages)) as server:
        env = {"ORBWEB_URLS__KEEP_PARAMS": "[]"}
        cli.crawl(f"{server.url}?ref=me", "--project", "p", "--rate", "max", env=env).ok(0)
        assert [hit.path for hit in server.log] == ["/", "/x"]


def test_a_base_url_does_not_lead_where_the_policy_forbids(cli: Cli) -> None:
    pages = {"/": redirect("/login"), "/login": html("<p>who are you</p>")}
    with serve(StaticSite(pages)) as server:
        done = cli.crawl(
            server.url, "--project", "p", "--rate", "max", env={"ORBWEB_POLICY__DENY": "[/login]"}
        ).ok(6)
        assert [hit.path for hit in server.log] == ["/"]
    assert done.json["skipped"] == {"excluded": 1}


def queued(cli: Cli) -> list[str]:
    """The queue in its order."""
    with closing(sqlite3.connect(cli.workspace / "orbweb.db")) as db:
        rows = db.execute("SELECT key FROM urls WHERE state = 'queued' ORDER BY depth, rank")
        return [urlsplit(key).path.removeprefix("/g/") for (key,) in rows]


CHANGES = [
    "scope: {exclude: []}\npolicy: {groups: [{name: g, pattern: /g/, caps: {pages: 2}}]}",
    "policy: {groups: [{name: g, pattern: /g/, caps: {pages: 4}}]}",
    "scope: {exclude: ['/g/[12]$']}",
    "policy: {groups: [{name: g, pattern: /g/, caps: {pages: 1}}]}",
    "policy: {groups: [{name: g, pattern: '/g/[46]', caps: {pages: 0}}]}",
    "scope: {exclude: []}",
    "policy: {groups: []}",
    "policy: {deny: ['/g/6']}",
    "policy: {deny: [], groups: [{name: g, pattern: /g/, caps: {pages: 2}}]}",
]


@pytest.mark.parametrize("seed", range(3))
def test_changed_caps_are_as_if_all_were_judged_anew(cli: Cli, seed: int) -> None:
    """Whatever rules there were in between. What comes back has its turn after what stayed."""
    config = cli.workspace.parent / "rules.yaml"
    links = "".join(f'<a href="/g/{number}">{number}</a>' for number in range(1, 7))
    site = StaticSite({"/": html(links), **{f"/g/{number}": html(f"<p>{number}</p>") for number in range(1, 7)}})
    with serve(site) as server:
        cli.crawl(server.url, "--project", "p", "--rate", "max", "--budget", 1).ok(4)
        project = orbweb.open(cli.workspace)
        changes = CHANGES if seed == 0 else Random(seed).sample(CHANGES, len(CHANGES))
        settings: dict[str, object] = {}
        for text in changes:
            config.write_text(text)
            project.rules("p", config=config)
            settings = merge(settings, yaml.safe_load(text))
            assert sorted(queued(cli)) == expected_queue(settings)
        cli.check("p")
        cli.resume("p", "--budget", "none").ok(0)
        asked = [hit.path.removeprefix("/g/") for hit in server.log if hit.path != "/"]
        assert sorted(asked) == expected_queue(settings)


def expected_queue(settings: dict[str, Any]) -> list[str]:
    """Judged anew, one after the other: this much of the rules is used above."""
    denied = [*settings.get("scope", {}).get("exclude", []), *settings.get("policy", {}).get("deny", [])]
    groups = settings.get("policy", {}).get("groups", [])
    counts, admitted = Counter[str](), []
    for number in "123456":
        path = f"/g/{number}"
        member = [group for group in groups if re.search(group["pattern"], path)]
        full = any(counts[group["name"]] >= group["caps"]["pages"] for group in member)
        if not full and not any(re.search(pattern, path) for pattern in denied):
            admitted.append(number)
            counts.update(group["name"] for group in member)
    return admitted

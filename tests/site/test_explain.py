"""Every URL of a mixed site is explained with the right rule, in text and in JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli, Result, kill, wait_until
from orbweb.cli.output.urls import explain_text
from servers.pages import chain, page
from servers.site import StaticSite, html, redirect, serve, text

FAST = ("--rate", "max", "--project", "site", "--workers", 2)
FIELDS = [
    "project", "run", "asked", "url", "key", "state", "verdict", "reason", "rule", "found_at",
    "changed_at", "source", "depth", "hops", "place", "before", "due", "base", "status", "kind", "error", "tries",
    "role", "proxy", "reuse", "reused_from", "primary", "redirects_to", "chain", "referrers", "robots_at", "gone",
]  # fmt: skip

HTML = (("Content-Type", "text/html"),)
ANSWERS = {
    "/robots.txt": text("User-agent: *\nDisallow: /docs/secret/\n"),
    "/docs/": page(
        "start", "a", "b?utm_source=feed", "b", "old", "gone", "copy", "private/x", "/blog/", "data.txt",
        "list", "shut", "secret/x",
    ),
    "/docs/a": page("a", "a/deep", "b", "copy"),
    "/docs/a/deep": page("deep", "deeper", "/docs/"),
    "/docs/b": html('<title>b</title><a href="a" rel="nofollow">a</a><a href="/blog/">blog</a>'),
    "/docs/copy": html('<title>b</title><a href="a" rel="nofollow">a</a><a href="/blog/">blog</a>'),
    "/docs/old": redirect("/docs/new"),
    "/docs/new": page("new"),
    "/docs/data.txt": text("no page"),
    "/docs/list": html('<meta name="robots" content="noindex, follow"><a href="behind">behind</a>'),
    "/docs/behind": page("behind"),
    "/docs/shut": replace(page("shut", "a", "only"), headers=(*HTML, ("X-Robots-Tag", "nofollow"))),
}  # fmt: skip


@dataclass(frozen=True)
class Crawled:
    """A finished crawl of the mixed site, for questions."""

    cli: Cli
    root: str

    def ask(self, path: str, run: int | None = None) -> dict[str, Any]:
        found = orbweb.open(self.cli.workspace).explain("site", self.url(path), run=run).report()
        assert list(found) == FIELDS
        return found

    def read(self, path: str) -> str:
        return explain_text(self.ask(path))

    def url(self, path: str) -> str:
        return path if "://" in path else self.root + path

    def paths(self, found: list[dict[str, Any]]) -> list[str]:
        return [row["url"].removeprefix(self.root) for row in found]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    cli = Cli(tmp_path_factory.mktemp("explain") / "workspace")
    with serve(StaticSite(ANSWERS)) as server:
        cli.crawl(f"{server.url}docs/", *FAST, "--max-depth", 2, "--exclude", "/private/").ok(3)
        yield Crawled(cli, server.url.rstrip("/"))


SCOPE = "scope: {root}/docs"

# Path, state, verdict, reason, rule, how it was found, who links to it.
CASES = [
    ("/docs/", "visited", None, "base URL: {root}/docs/", ["initial"], ["/docs/a/deep"]),
    ("/docs/a", "visited", None, SCOPE, ["initial", "spider"],
     ["/docs/", "/docs/b?utm_source=feed", "/docs/copy", "/docs/shut"]),
    ("/docs/a/deep", "visited", None, SCOPE, ["initial", "spider", "spider"], ["/docs/a"]),
    ("/docs/a/deeper", "skipped", "max_depth", "limits.max_depth: 2", ["initial", "spider", "spider", "spider"],
     ["/docs/a/deep"]),
    ("/docs/old", "visited", None, SCOPE, ["initial", "spider"], ["/docs/"]),
    ("/docs/new", "visited", None, SCOPE, ["initial", "spider", "redirect"], ["/docs/old"]),
    ("/docs/gone", "failed", None, SCOPE, ["initial", "spider"], ["/docs/"]),
    ("/docs/copy", "visited", None, SCOPE, ["initial", "spider"], ["/docs/", "/docs/a"]),
    ("/docs/private/x", "skipped", "excluded", "scope.exclude: /private/", ["initial", "spider"], ["/docs/"]),
    ("/blog/", "skipped", "out_of_scope", SCOPE, ["initial", "spider"],
     ["/docs/", "/docs/b?utm_source=feed", "/docs/copy"]),
    ("/docs/data.txt", "visited", None, SCOPE, ["initial", "spider"], ["/docs/"]),
    ("/docs/list", "skipped", "noindex", "meta robots: noindex, follow (robots.obey_directives)",
     ["initial", "spider"], ["/docs/"]),
    ("/docs/behind", "visited", None, SCOPE, ["initial", "spider", "spider"], ["/docs/list"]),
    ("/docs/only", "skipped", "nofollow",
     "X-Robots-Tag: nofollow on {root}/docs/shut (robots.obey_directives)",
     ["initial", "spider", "spider"], ["/docs/shut"]),
    ("/docs/secret/x", "skipped", "robots", "robots.txt line 2: Disallow: /docs/secret/",
     ["initial", "spider"], ["/docs/"]),
    ("/docs/never", "unknown", None, SCOPE, [], []),
    ("/docs/private/never", "unknown", "excluded", "scope.exclude: /private/", [], []),
    ("http://elsewhere.example/", "unknown", "out_of_scope", SCOPE, [], []),
]  # fmt: skip


@pytest.mark.parametrize(("path", "state", "reason", "rule", "how", "who"), CASES, ids=[case[0] for case in CASES])
def test_state_verdict_rule_chain_and_referrers(
    crawled: Crawled, path: str, state: str, reason: str | None, rule: str, how: list[str], who: list[str]
) -> None:
    found = crawled.ask(path)
    assert (found["state"], found["reason"], found["rule"]) == (state, reason, rule.format(root=crawled.root))
    assert [step["how"] for step in found["chain"]] == how
    assert crawled.paths(found["chain"])[-1:] == ([path] if how else [])
    assert crawled.paths(found["referrers"]) == who
    assert_text_says(found)


def assert_text_says(found: dict[str, Any]) -> None:
    """What a person reads has the state, the reason, the rule, the chain and who links there."""
    reason = found["reason"]
    assert found["verdict"] == ("skipped" if reason else "allowed")
    told = explain_text(found)
    assert f": {found['state']}" in told.splitlines()[0]
    assert (f"({reason})" if reason else "") in told.splitlines()[0]
    assert f"rule: {found['rule']}" in told
    for row in found["chain"] + found["referrers"]:
        assert row["url"] in told


def test_a_chain_begins_at_the_base_url_and_names_every_step(crawled: Crawled) -> None:
    steps = crawled.ask("/docs/a/deeper")["chain"]
    assert crawled.paths(steps) == ["/docs/", "/docs/a", "/docs/a/deep", "/docs/a/deeper"]


def test_another_spelling_is_the_same_url(crawled: Crawled) -> None:
    found = crawled.ask("/docs/b?utm_campaign=x#part")
    first = f"{crawled.root}/docs/b?utm_source=feed"
    assert (found["asked"], found["url"]) == (f"{crawled.root}/docs/b?utm_campaign=x", first)
    assert found["key"] == f"{crawled.root}/docs/b"
    assert f"same URL as {first}, the first spelling found of the key {found['key']}" in crawled.read("/docs/b")


def test_what_a_visit_came_to(crawled: Crawled) -> None:
    copy, old, gone = (crawled.ask(f"/docs/{name}") for name in ("copy", "old", "gone"))
    assert (copy["role"], copy["primary"]) == ("alternate", f"{crawled.root}/docs/b?utm_source=feed")
    assert copy["primary"] in crawled.read("/docs/copy")
    assert (old["status"], old["redirects_to"]) == (301, f"{crawled.root}/docs/new")
    assert "redirects to " + old["redirects_to"] in crawled.read("/docs/old")
    assert (gone["kind"], gone["error"], gone["tries"]) == ("http_4xx", "HTTP 404", 1)
    assert "failed (http_4xx): HTTP 404, tries: 1" in crawled.read("/docs/gone")
    assert "HTTP 200, not a page" in crawled.read("/docs/data.txt")


def test_referrers_tell_the_kind_of_link(crawled: Crawled) -> None:
    rows = crawled.ask("/docs/a")["referrers"]
    assert [(row["kind"], row["nofollow"]) for row in rows] == [
        ("a", False), ("a", True), ("a", True), ("a", False),
    ]  # fmt: skip
    assert [row["kind"] for row in crawled.ask("/docs/new")["referrers"]] == ["redirect"]
    assert "/docs/old (redirect)" in crawled.read("/docs/new")
    assert "/docs/copy (nofollow)" in crawled.read("/docs/a")


@pytest.mark.parametrize("path", ["/docs/copy", "/docs/a/deeper", "/docs/never", "/docs/list", "/docs/only"])
def test_the_command_prints_the_same_as_text_and_as_json(crawled: Crawled, path: str) -> None:
    code = 3 if path == "/docs/never" else 0
    found, url = crawled.ask(path), crawled.url(path)
    assert crawled.cli("explain", "site", url, "--run", 1).ok(code).out == explain_text(found) + "\n"
    assert crawled.cli("explain", "site", url, "--json").ok(code).json == found


def test_unknown_is_exit_code_3_and_says_so(crawled: Crawled) -> None:
    result = crawled.cli("explain", "site", f"{crawled.root}/docs/never")
    assert result.code == 3
    assert "not found on any visited page of run 1; would be: allowed" in result.out
    assert "is not known in run 1 of site" in result.err
    assert "would be: skipped (out_of_scope)" in crawled.read("http://elsewhere.example/")


def test_bad_questions(crawled: Crawled) -> None:
    def refused(result: Result, word: str) -> None:
        assert result.code == 2
        assert word in result.err

    refused(crawled.cli("explain", "site", "no url"), "no url")
    refused(crawled.cli("explain", "other", crawled.root), "other")
    refused(crawled.cli("explain", "site", crawled.root, "--run", 9), "run 9")


def test_hops_limits_and_finished_runs(cli: Cli) -> None:
    outside = {"/x": page("x", "/y"), "/y": page("y")}
    with serve(StaticSite(outside)) as other:
        inside = {"/": page("start", f"{other.url}x", "/a", "/b"), "/a": page("a"), "/b": page("b")}
        with serve(StaticSite(inside)) as server:
            cli.crawl(server.url, *FAST, "--external-hops", 1, "--allow-private").ok(0)
            cli.crawl(server.url, *FAST, "--new-run", "--page-limit", 2, "--external-hops", 0).ok(0)
            cli.crawl(server.url, *FAST, "--new-run", "--page-limit", "none", "--budget", 1).ok(4)
            cli("finish", "site").ok()
    asked = Crawled(cli, server.url.rstrip("/"))

    def told(path: str, run: int) -> tuple[str, str | None, str]:
        found = asked.ask(path, run)
        assert_text_says(found)
        return found["state"], found["reason"], found["rule"]

    assert told(f"{other.url}x", 1) == ("visited", None, "scope.external_hops")
    assert told(f"{other.url}y", 1) == ("skipped", "external_hops", "scope.external_hops: 1")
    assert told("/b", 2) == ("skipped", "page_limit", "limits.page_limit: 2")
    assert told("/a", 3) == ("skipped", "finished", "finished by hand")
    assert told("/never", 1) == ("unknown", None, f"scope: {server.url}")


def test_the_settings_of_the_project_judge_what_was_never_seen(cli: Cli, tmp_path: Path) -> None:
    """Its patterns, its page limit, and its idea of what a URL's parameters mean."""
    config = tmp_path / "site.yaml"
    config.write_text("{urls: {drop_params: [theme]}, scope: {include: [/a]}, limits: {page_limit: 2}}")
    with serve(StaticSite({"/": page("start", "/a", "/z"), "/a": page("a")})) as server:
        cli.crawl(server.url, *FAST, "--config", config).ok(0)
    asked = Crawled(cli, server.url.rstrip("/"))
    assert asked.ask("/a?theme=dark")["state"] == "visited"
    assert cli.ask("show", "site", f"{server.url}a?theme=dark", "--json").ok().json["url"] == f"{server.url}a"
    assert asked.ask("/y")["rule"] == "scope.include: /a"
    assert asked.ask("/a/new")["rule"] == "limits.page_limit: 2"


def test_a_redirecting_base_url(cli: Cli) -> None:
    with serve(StaticSite({"/": redirect("/en/"), "/en/": page("en", "/fr/")})) as server:
        cli.crawl(server.url, *FAST).ok(0)
    asked = Crawled(cli, server.url.rstrip("/"))
    assert asked.ask("/en/")["rule"] == f"base URL: {server.url} redirects here"
    assert [step["how"] for step in asked.ask("/fr/")["chain"]] == ["initial", "redirect", "spider"]
    assert asked.ask("/fr/")["rule"] == f"scope: {server.url}en"


def test_a_base_url_that_names_a_file(cli: Cli) -> None:
    """The rule is the directory, which is the scope, not the file."""
    answers = {"/doc/index.html": page("start", "a", "/top"), "/doc/a": page("a")}
    with serve(StaticSite(answers)) as server:
        cli.crawl(f"{server.url}doc/index.html", *FAST).ok(0)
    asked = Crawled(cli, server.url.rstrip("/"))
    assert asked.ask("/doc/a")["rule"] == asked.ask("/top")["rule"] == f"scope: {server.url}doc"


def test_queued_says_its_place_and_how_many_are_before_it(cli: Cli) -> None:
    with serve(StaticSite(chain(9))) as server:
        cli.crawl(server.url, *FAST, "--budget", 4).ok(4)
        asked = Crawled(cli, server.url.rstrip("/"))
        found = asked.ask("/8")
        assert (found["state"], found["verdict"], found["place"], found["before"]) == (
            "queued",
            "allowed",
            "1:8",
            4,
        )
        assert "queued at place 1:8, 4 URLs before it" in asked.read("/8")
        assert asked.ask("/4")["before"] == 0
        assert asked.ask("/3")["before"] is None


def test_referrers_are_right_while_a_crawl_runs_after_a_kill_and_after_a_resume(cli: Cli) -> None:
    names = [f"/{number}" for number in range(40)]
    answers = {path: page(path, "/hub", delay_s=0.03) for path in names}
    env = {"ORBWEB_ENGINE__GROUP_MS": "50"}
    with serve(StaticSite({"/": page("start", "/hub", *names), "/hub": page("hub"), **answers})) as server:
        process = cli.start("crawl", server.url, *FAST, env=env)
        wait_until(lambda: len(server.log) > 12)
        asked = Crawled(cli, server.url.rstrip("/"))
        wait_until(lambda: 1 < len(asked.ask("/hub")["referrers"]) < 41)
        kill(process)
        while_stopped = asked.paths(asked.ask("/hub")["referrers"])
        assert while_stopped == ["/", *names][: len(while_stopped)]
        cli.resume("site").ok(0)
        assert asked.paths(asked.ask("/hub")["referrers"]) == ["/", *names]

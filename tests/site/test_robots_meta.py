"""P4: noindex pages are not kept, and links that are nofollow only are never asked for. By the server's log."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli
from orbweb.app.doctor import check_store
from servers.pages import page
from servers.site import Answer, Server, StaticSite, html, redirect, serve, text

FAST = ("--rate", "max", "--project", "site")
NO_REL = {"ORBWEB_ROBOTS__FOLLOW_NOFOLLOW_LINKS": "false"}
DISOBEY = {"ORBWEB_ROBOTS__OBEY_DIRECTIVES": "false"}


def meta(content: str, answer: Answer, name: str = "robots") -> Answer:
    return replace(answer, body=f'<meta name="{name}" content="{content}">'.encode() + answer.body)


def tagged(answer: Answer, *values: str) -> Answer:
    return replace(answer, headers=(*answer.headers, *(("X-Robots-Tag", value) for value in values)))


def asked(server: Server) -> Counter[str]:
    return Counter(hit.path for hit in server.log)


def visited(cli: Cli, server: Server) -> list[str]:
    """The paths of the manifest."""
    return [line[1].removeprefix(server.url[:-1]) for line in cli.manifest("site")]


def explained(cli: Cli, url: str) -> dict[str, Any]:
    return orbweb.open(cli.workspace).explain("site", url).report()


def told(cli: Cli, url: str) -> tuple[str, str | None, str]:
    found = explained(cli, url)
    return found["state"], found["reason"], found["rule"]


def check(cli: Cli) -> dict[str, Any]:
    assert check_store(cli.workspace)["damages"] == []
    return cli.check("site")


# A random site, and what a correct crawl of it gives.


@dataclass(frozen=True)
class Said:
    """A page of the random site: its links with rel=nofollow or without, and what it says to robots."""

    links: tuple[tuple[int, bool], ...]
    noindex: bool
    nofollow: bool
    by_header: bool


def path(number: int) -> str:
    return f"/{number or ''}"


def random_site(seed: int, size: int) -> list[Said]:
    rng = random.Random(seed)

    def said(number: int) -> Said:
        links = [(rng.randrange(size), rng.random() < 0.3) for _ in range(rng.randrange(3))]
        tree = [(child, rng.random() < 0.2) for child in (2 * number + 1, 2 * number + 2) if child < size]
        chance = 0.25 if number > 2 else 0.0
        return Said(
            tuple(links + tree), rng.random() < chance, rng.random() < chance, by_header=rng.random() < 0.5
        )

    return [said(number) for number in range(size)]


def served(site: list[Said], seed: int) -> StaticSite:
    rng = random.Random(seed)
    answers = {}
    for number, said in enumerate(site):
        links = "".join(f"<a href={path(to)}{' rel=nofollow' if rel else ''}>{to}</a>" for to, rel in said.links)
        words = ", ".join(["noindex"] * said.noindex + ["nofollow"] * said.nofollow)
        answer = html(f"<title>{number}</title>{links}", delay_s=rng.random() * 0.01)
        if words:
            answer = tagged(answer, words) if said.by_header else meta(words, answer)
        answers[path(number)] = answer
    return StaticSite(answers)


def expected(site: list[Said], *, follow_rel: bool) -> tuple[list[str], dict[str, str]]:
    """The paths of a crawl from page 0, in order, and those that are skipped with their reason."""
    order, skipped, levels, admitted = [], {}, [[0]], {0}
    for level in levels:
        levels.append([])
        for number in level:
            said = site[number]
            if said.noindex:
                skipped[number] = "noindex"
            else:
                order.append(path(number))
            followed = {to for to, rel in said.links if not said.nofollow and (follow_rel or not rel)}
            for to, _ in said.links:
                if to in admitted:
                    continue
                if to not in followed:
                    skipped[to] = "nofollow"
                    continue
                skipped.pop(to, None)
                admitted.add(to)
                levels[-1].append(to)
        if not levels[-1]:
            return order, {path(number): reason for number, reason in skipped.items()}
    raise AssertionError("the last level is empty")


SEED, SIZE = 8, 160


@pytest.mark.parametrize("follow_rel", [True, False])
def test_any_parallelism_gives_what_the_site_asks_for(tmp_path: Path, follow_rel: bool) -> None:
    site = random_site(SEED, SIZE)
    order, skipped = expected(site, follow_rel=follow_rel)
    hidden = [name for name, reason in skipped.items() if reason == "noindex"]
    assert len(hidden) > 10
    assert len(skipped) - len(hidden) > 10
    hashes = set()
    with serve(served(site, SEED)) as server:
        for workers, processes in ((1, 0), (16, 0), (16, 1)):
            server.reset()
            cli = Cli(tmp_path / f"{workers}-{processes}")
            env = {} if follow_rel else NO_REL
            options = ("--workers", workers, "--processes", processes)
            done = cli.crawl(server.url, *FAST, *options, env=env).ok(0).json
            assert done["skipped"] == Counter(skipped.values())
            assert asked(server) == Counter(order + hidden)
            assert visited(cli, server) == order
            hashes.add(cli.manifest_hash("site"))
            check(cli)
    assert len(hashes) == 1


def test_sessions_of_a_budget_equal_one_crawl(tmp_path: Path) -> None:
    """Pages that are left out cost nothing, so every session but the last visits exactly its budget."""
    site = random_site(SEED, 60)
    order, skipped = expected(site, follow_rel=False)
    cli, sessions = Cli(tmp_path / "workspace"), []
    with serve(served(site, SEED)) as server:
        code = 4
        while code == 4:
            done = cli.crawl(server.url, *FAST, "--workers", 8, "--budget", 9, env=NO_REL).ok(0, 4)
            sessions.append(done.json["crawl_visited"])
            code = done.code
            check(cli)
        hidden = {name for name, reason in skipped.items() if reason == "noindex"}
        assert set(asked(server)) <= {*order, *hidden}
        assert visited(cli, server) == order
    assert sessions[:-1] == [9] * (len(order) // 9)
    assert sum(sessions) == len(order)


@pytest.mark.parametrize("workers", [1, 16])
def test_a_page_limit_counts_only_what_is_kept(cli: Cli, workers: int) -> None:
    site = random_site(SEED, 60)
    order, _ = expected(site, follow_rel=True)
    with serve(served(site, SEED)) as server:
        done = cli.crawl(server.url, *FAST, "--workers", workers, "--page-limit", 10).ok(0).json
        assert (done["pages"], done["ended_by"]) == (10, "page_limit")
        assert visited(cli, server) == order[:10]
    check(cli)


# One thing each.


LISTING = {
    "/": page("start", "/list", "/shut", "/both"),
    "/list": meta("noindex, follow", page("list", "/behind")),
    "/behind": page("behind"),
    "/shut": tagged(page("shut", "/only", "/shared"), "nofollow"),
    "/both": tagged(meta("noarchive", page("both", "/lost", "/only")), "none"),
    "/only": page("only"),
    "/lost": page("lost"),
    "/shared": page("shared"),
}


def test_a_noindex_page_is_not_kept_and_its_links_are_followed(cli: Cli) -> None:
    with serve(StaticSite(LISTING)) as server:
        done = cli.crawl(server.url, *FAST, "--workers", 4).ok(0)
        root = server.url
        assert asked(server) == Counter(["/", "/list", "/shut", "/both", "/behind"])
    assert done.json["skipped"] == {"nofollow": 3, "noindex": 2}
    assert (done.json["visited"], done.json["pages"]) == (3, 3)
    assert [line[1].removeprefix(root) for line in cli.manifest("site")] == ["", "shut", "behind"]
    assert told(cli, f"{root}list") == (
        "skipped", "noindex", "meta robots: noindex, follow (robots.obey_directives)",
    )  # fmt: skip
    assert told(cli, f"{root}both") == ("skipped", "noindex", "X-Robots-Tag: none (robots.obey_directives)")
    assert told(cli, f"{root}only") == (
        "skipped", "nofollow", f"X-Robots-Tag: nofollow on {root}shut (robots.obey_directives)",
    )  # fmt: skip
    assert told(cli, f"{root}lost")[2] == f"X-Robots-Tag: none on {root}both (robots.obey_directives)"
    assert cli.ask("show", "site", f"{root}list", "--as", "html").code == 3
    behind = explained(cli, f"{root}behind")
    assert [step["url"].removeprefix(root) for step in behind["chain"]] == ["", "list", "behind"]
    assert [row["url"] for row in behind["referrers"]] == [f"{root}list"]
    assert cli.ask("show", "site", f"{root}shut", "--json").ok().json["nofollow"] is True
    check(cli)


def test_directives_can_be_set_aside_and_are_recorded(cli: Cli) -> None:
    with serve(StaticSite(LISTING)) as server:
        done = cli.crawl(server.url, *FAST, env=DISOBEY).ok(0)
        assert set(asked(server)) == LISTING.keys()
    assert (done.json["visited"], done.json["skipped"]) == (8, {})
    found = {name: cli.ask("show", "site", f"{server.url}{name}", "--json").ok().json for name in ("list", "both")}
    assert [(row["noindex"], row["nofollow"]) for row in found.values()] == [(True, False), (True, True)]
    check(cli)


def test_what_is_said_to_others_does_not_count(cli: Cli) -> None:
    answers = {
        "/": page("start", "/1", "/2", "/3", "/4", "/5"),
        "/1": tagged(page("1"), "googlebot: noindex", "unavailable_after: 25 Jun 2010 15:00:00 PST"),
        "/2": tagged(page("2"), "max-snippet:50, noindex"),
        "/3": tagged(page("3"), "googlebot: nofollow", "probe: noindex"),
        "/4": meta("noindex", page("4"), name="googlebot"),
        "/5": meta("noindex", page("5"), name="Probe"),
    }
    with serve(StaticSite(answers)) as server:
        done = cli.crawl(server.url, *FAST, "--user-agent", "Probe/2.0 (+mailto:a@example.org)", "--processes", 1)
        assert visited(cli, server) == ["/", "/1", "/4"]
    assert done.ok(0).json["skipped"] == {"noindex": 3}


def test_rel_nofollow_is_followed_unless_the_setting_says_no(cli: Cli) -> None:
    links = '<a href="/a" rel="nofollow">a</a><a href="/b" rel="ugc nofollow">b</a><a href="/c">c</a><a href="/b">'
    answers = {"/": html(links), "/a": page("a"), "/b": page("b"), "/c": page("c", "/d"), "/d": page("d")}
    with serve(StaticSite(answers)) as server:
        assert cli.crawl(server.url, *FAST).ok(0).json["visited"] == 5
        server.reset()
        assert cli.crawl(server.url, *FAST, "--new-run", env=NO_REL).ok(0).json["skipped"] == {"nofollow": 1}
        assert asked(server) == Counter(["/", "/b", "/c", "/d"])
        rule = f"rel=nofollow on {server.url} (robots.follow_nofollow_links)"
        assert told(cli, f"{server.url}a") == ("skipped", "nofollow", rule)
    check(cli)


@pytest.mark.parametrize("budget", [[], ["--budget", 2]], ids=["one session", "after a resume"])
def test_a_normal_link_found_later_admits_what_was_nofollow(cli: Cli, budget: list[Any]) -> None:
    answers = {
        "/": page("start", "/shut", "/open"),
        "/shut": meta("nofollow", page("shut", "/x/?utm_source=shut", "http://elsewhere.example/", "/deep", "/r")),
        "/open": page("open", "/x", "http://elsewhere.example/", "/next", "/old"),
        "/next": page("next", "/deep"),
        "/old": redirect("/r"),
        "/x": page("x"),
        "/r": page("r"),
    }
    with serve(StaticSite(answers)) as server:
        cli.crawl(server.url, *FAST, "--max-depth", 2, *budget).ok(4 if budget else 0)
        if budget:
            assert told(cli, f"{server.url}x")[1] == "nofollow"
            cli.resume("site", "--budget", "none").ok(0)
        assert visited(cli, server) == ["/", "/shut", "/open", "/x", "/next", "/old", "/r"]
        assert asked(server)["/x"] == 1
        assert told(cli, "http://elsewhere.example/") == ("skipped", "out_of_scope", f"scope: {server.url}")
        assert told(cli, f"{server.url}deep") == ("skipped", "max_depth", "limits.max_depth: 2")
    assert check(cli)["skipped"] == {"max_depth": 1, "out_of_scope": 1}


def test_a_sitemap_admits_what_was_nofollow_and_never_what_was_noindex(cli: Cli) -> None:
    """A sitemap is read when the base URLs are settled, so it may list what they said."""
    answers = {
        "/": meta("none", page("start", "/a", "/b")),
        "/a": page("a"),
        "/b": page("b"),
        "/sitemap.xml": Answer(
            200,
            (("Content-Type", "application/xml"),),
            b"<urlset><url><loc>/</loc></url><url><loc>/b</loc></url></urlset>",
        ),
    }
    with serve(StaticSite(answers)) as server:
        done = cli.crawl(server.url, *FAST).ok(0).json
        assert asked(server) == Counter(["/", "/b"])
        assert told(cli, f"{server.url}b") == ("visited", None, f"scope: {server.url}")
    assert done["skipped"] == {"nofollow": 1, "noindex": 1}
    check(cli)


def test_directives_of_what_is_no_page_do_nothing(cli: Cli) -> None:
    answers = {
        "/": page("start", "/text", "/old", "/gone"),
        "/text": tagged(text("no page"), "none"),
        "/old": tagged(redirect("/new"), "none"),
        "/new": page("new", "/after"),
        "/after": page("after"),
        "/gone": tagged(html("gone", 404), "none"),
    }
    with serve(StaticSite(answers)) as server:
        done = cli.crawl(server.url, *FAST).ok(3).json
        assert visited(cli, server) == ["/", "/text", "/old", "/gone", "/new", "/after"]
    assert done["skipped"] == {}
    check(cli)


def test_a_noindex_page_is_asked_for_once_whatever_path_is_found_later(cli: Cli) -> None:
    """Fewer hops would judge another refusal again; what a page says does not depend on the path."""
    outside = {"/far": page("far", "/hidden"), "/hidden": tagged(page("hidden", "/child"), "noindex")}
    with serve(StaticSite(outside)) as other:
        far, hidden = f"{other.url}far", f"{other.url}hidden"
        inside = {
            "/": page("start", far, "/1"),
            "/1": page("1", "/2"),
            "/2": page("2", "/3"),
            "/3": page("3", hidden),
        }
        with serve(StaticSite(inside)) as server:
            cli.crawl(server.url, *FAST, "--external-hops", 2, "--allow-private").ok(0)
            assert asked(other) == Counter(["/far", "/hidden"])
            assert told(cli, hidden)[1] == "noindex"
            assert told(cli, f"{other.url}child")[1] == "external_hops"
    check(cli)


def test_a_crash_refetches_no_more_than_the_window_though_nothing_is_kept(cli: Cli) -> None:
    leaves = {f"/{number}": tagged(page(f"page {number}"), "noindex") for number in range(60)}
    env = {"ORBWEB_ENGINE__WINDOW": "8", "ORBWEB_ENGINE__GROUP_MS": "10000"}
    with serve(StaticSite({"/": page("start", *leaves), **leaves})) as server:
        assert cli.crawl(server.url, *FAST, env={**env, "ORBWEB_FAULT": "page_settled:50"}).code == -9
        assert cli.resume("site", env=env).ok(0).json["skipped"] == {"noindex": 60}
        assert len(server.log) <= 61 + 8
    check(cli)


# Base URLs.


def test_a_noindex_base_url_is_told_and_followed(cli: Cli) -> None:
    with serve(StaticSite({"/": meta("noindex", page("start", "/a")), "/a": page("a")})) as server:
        done = cli.crawl(server.url, *FAST).ok(0)
        assert visited(cli, server) == ["/a"]
    rule = "meta robots: noindex (robots.obey_directives)"
    assert f"{server.url} is skipped (noindex): {rule}; its links are followed\n" in done.err
    check(cli)


@pytest.mark.parametrize("words", ["none", "nofollow"])
def test_a_nofollow_base_url_is_told(cli: Cli, words: str) -> None:
    answers = {"/": tagged(page("start", "/a", "/b", "/"), words), "/a": page("a"), "/b": page("b")}
    with serve(StaticSite(answers)) as server:
        done = cli.crawl(server.url, *FAST).ok(6 if words == "none" else 0)
        assert asked(server) == Counter(["/"])
    rule = f"X-Robots-Tag: {words} on {server.url} (robots.obey_directives)"
    assert f"2 links are not followed: {rule}\n" in done.err
    assert ("is skipped (noindex)" in done.err) == (words == "none")
    assert "its links are followed" not in done.err
    check(cli)


def test_a_moving_scope_leaves_nofollow_what_it_was(cli: Cli) -> None:
    """The first base URL links into the scope to which the second one redirects."""
    answers = {
        "/a/": meta("nofollow", page("a", "/new/x", "/new/y", "/a/z")),
        "/b/": redirect("/new/"),
        "/new/": page("new", "/new/y"),
        "/new/y": page("y"),
    }
    with serve(StaticSite(answers)) as server:
        done = cli.crawl(f"{server.url}a/", f"{server.url}b/", *FAST).ok(0).json
        assert asked(server) == Counter(["/a/", "/b/", "/new/", "/new/y"])
    assert done["skipped"] == {"nofollow": 2}
    found = explained(cli, f"{server.url}new/x")
    assert (found["reason"], found["base"]) == ("nofollow", f"{server.url}b/")
    check(cli)


def test_a_base_url_that_redirects_to_a_noindex_page(cli: Cli) -> None:
    answers = {"/a": meta("noindex", page("a", "/a/1")), "/b": redirect("/a"), "/a/1": page("1")}
    with serve(StaticSite(answers)) as server:
        cli.crawl(f"{server.url}a", f"{server.url}b", *FAST).ok(0)
        assert asked(server) == Counter(["/a", "/b", "/a/1"])
    check(cli)

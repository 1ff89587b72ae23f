"""What belongs to a crawl: base URLs, paths, patterns, depth, hops, and base URLs that redirect."""

from __future__ import annotations

import orbweb
from harness import Cli
from servers.pages import page
from servers.site import StaticSite, redirect, serve

FAST = ("--rate", "max", "--project", "site")


def visited(cli: Cli) -> list[str]:
    return ["/" + line[1].split("/", 3)[3] for line in cli.manifest("site")]


def test_strict_and_loose_paths(cli: Cli) -> None:
    answers = {path: page(path, "/api", "/api/x", "/api-blog", "/other") for path in
               ("/api", "/api/x", "/api-blog", "/other")}  # fmt: skip
    with serve(StaticSite(answers)) as server:
        cli.crawl(f"{server.url}api", *FAST).ok(0)
        assert visited(cli) == ["/api", "/api/x"]
        cli.crawl(f"{server.url}api", *FAST, "--no-strict-path").ok(0)
        assert visited(cli) == ["/api", "/api/x", "/api-blog"]


def test_a_file_as_base_covers_its_directory(cli: Cli) -> None:
    answers = {path: page(path, "b.html", "/top.html") for path in ("/doc/a.html", "/doc/b.html", "/top.html")}
    with serve(StaticSite(answers)) as server:
        cli.crawl(f"{server.url}doc/a.html", *FAST).ok(0)
    assert visited(cli) == ["/doc/a.html", "/doc/b.html"]


def test_patterns_and_depth(cli: Cli) -> None:
    answers = {
        "/": page("start", "/a", "/b?x=1", "/private/c"),
        "/a": page("a", "/a/deep"),
        "/a/deep": page("deep", "/a/deeper"),
        "/b": page("b"),
    }
    with serve(StaticSite(answers)) as server:
        done = cli.crawl(server.url, *FAST, "--exclude", "/private/", "--exclude", r"\?", "--max-depth", 2).ok(0)
        assert visited(cli) == ["/", "/a", "/a/deep"]
        assert done.json["skipped"] == {"excluded": 2, "max_depth": 1}
        done = cli.crawl(server.url, *FAST, "--new-run", "--include", "/a").ok(0)
        assert visited(cli) == ["/", "/a", "/a/deep"]
    cli.check("site")


def test_same_key_redirect_is_followed_in_place(cli: Cli) -> None:
    answers = {
        "/": page("start", "/dir"),
        "/dir": lambda request: page("dir", "x") if request.target == "/dir/" else redirect("/dir/"),
        "/dir/x": page("x"),
    }
    answers["/dir/"] = page("dir", "x")
    with serve(StaticSite(answers)) as server:
        done = cli.crawl(server.url, *FAST).ok(0)
    assert visited(cli) == ["/", "/dir", "/dir/x"]
    assert done.json["visited"] == 3
    meta = cli.ask("show", "site", f"{server.url}dir", "--json").ok().json
    assert meta["final_url"].endswith("/dir/")


def test_redirecting_base_moves_its_scope(cli: Cli) -> None:
    answers = {
        "/": redirect("/docs/en/"),
        "/docs/en/": page("docs", "/docs/en/a", "/docs/fr/b", "/"),
        "/docs/en/a": page("a"),
    }
    with serve(StaticSite(answers)) as server:
        done = cli.crawl(server.url, *FAST).ok(0)
    assert visited(cli) == ["/", "/docs/en/", "/docs/en/a"]
    assert done.json["bases"][0]["scope"].endswith("/docs/en")
    assert done.json["skipped"] == {"out_of_scope": 1}


def test_scope_that_moves_late_is_judged_again(cli: Cli) -> None:
    """The first base links into what turns out to be the second base's scope, and into what is not any more."""
    answers = {
        "/one": page("one", "/two/x", "/three/y", "/one/z"),
        "/one/z": page("z"),
        "/two": redirect("/hop"),
        "/hop": redirect("/three"),
        "/three": page("three"),
        "/three/y": page("y"),
        "/two/x": page("x"),
    }
    with serve(StaticSite(answers)) as server:
        done = cli.crawl(f"{server.url}one", f"{server.url}two", *FAST, "--workers", 8).ok(0)
    assert visited(cli) == ["/one", "/two", "/hop", "/three", "/one/z", "/three/y"]
    assert done.json["skipped"] == {"out_of_scope": 1}
    cli.check("site")


def test_external_hops(cli: Cli) -> None:
    """Two servers: the second is outside the scope and followed for one or two steps."""
    outside = {"/x": page("x", "/y"), "/y": page("y", "/z"), "/z": page("z")}
    with serve(StaticSite(outside)) as other:
        inside = {"/": page("start", f"{other.url}x")}
        with serve(StaticSite(inside)) as server:
            counts = []
            for hops in (0, 1, 2):
                done = cli.crawl(server.url, *FAST, "--external-hops", hops, "--allow-private", "--new-run").ok(0)
                counts.append((done.json["visited"], done.json["skipped"]))
    assert counts == [(1, {"out_of_scope": 1}), (2, {"external_hops": 1}), (3, {"external_hops": 1})]


def test_a_refusal_is_judged_again_on_a_better_path(cli: Cli) -> None:
    """/z is first found two steps outside, later linked from an inside page: then it is one step."""
    outside = {"/x": page("x", "/z"), "/z": page("z")}
    with serve(StaticSite(outside)) as other:
        inside = {
            "/": page("start", f"{other.url}x", "/a"),
            "/a": page("a", "/b"),
            "/b": page("b", f"{other.url}z"),
        }
        with serve(StaticSite(inside)) as server:
            done = cli.crawl(server.url, *FAST, "--external-hops", 1, "--allow-private").ok(0)
    assert done.json["visited"] == 5
    assert done.json["skipped"] == {}
    cli.check("site")


def test_redirect_chains_end(cli: Cli) -> None:
    answers = {"/": page("start", "/r0", "/p"), **{f"/r{n}": redirect(f"/r{n + 1}") for n in range(30)}}
    answers |= {"/p": redirect("/q"), "/q": redirect("/p")}
    with serve(StaticSite(answers)) as server:
        cli.crawl(server.url, *FAST).ok(3)
    failed = {row["url"].rpartition("/")[2]: row["kind"] for row in cli.ask("failed", "site", "--json").ok().json}
    assert failed == {"r10": "too_many_redirects", "q": "redirect_loop"}
    cli.check("site")


def test_relaxed_order_visits_the_same(cli: Cli) -> None:
    slow = {
        "/": page("slow", *(f"/{n}" for n in range(10))),
        **{f"/{n}": page(f"s{n}", delay_s=0.2) for n in range(10)},
    }
    fast = {"/": page("fast", *(f"/{n}" for n in range(200))), **{f"/{n}": page(f"f{n}") for n in range(200)}}
    with serve(StaticSite(slow)) as one, serve(StaticSite(fast)) as two:
        done = cli.crawl(one.url, two.url, *FAST, "--order", "relaxed", "--workers", 4).ok(0)
        assert done.json["visited"] == 212
    order = [line[1] for line in cli.manifest("site")]
    last_slow = max(number for number, url in enumerate(order) if url.startswith(one.url))
    assert any(url.startswith(f"{two.url}1") for url in order[:last_slow]), "the fast host did not wait"
    for port in (one.port, two.port):
        mine = [line for line in cli.manifest("site") if f":{port}/" in line[1]]
        places = [tuple(map(int, line[0].split(":"))) for line in mine]
        assert places == sorted(places), "each host keeps its order"
    cli.check("site")


def test_order_may_change_between_sessions(cli: Cli) -> None:
    answers = {"/": page("start", *(f"/{n}" for n in range(30))), **{f"/{n}": page(f"p{n}") for n in range(30)}}
    with serve(StaticSite(answers)) as server:
        cli.crawl(server.url, *FAST, "--budget", 10).ok(4)
        cli.crawl(server.url, *FAST, "--order", "relaxed").ok(4)
        done = cli.crawl(server.url, *FAST, "--order", "strict", "--budget", 100).ok(0)
    assert done.json["visited"] == 31
    cli.check("site")


def test_projects_without_a_name_do_not_share_one(cli: Cli) -> None:
    """/a_b and /a-b would be called the same; the same URLs again are the same project."""
    answers = {path: page(path) for path in ("/a_b", "/a-b")}
    with serve(StaticSite(answers)) as server:
        done = [cli.crawl(f"{server.url}{path}", "--rate", "max").ok(0) for path in ("a_b", "a-b", "a_b")]
    stem = f"127.0.0.1-{server.port}-a-b"
    assert [crawl.json["project"] for crawl in done] == [stem, f"{stem}-2", stem]
    said = f"project {stem} has other base URLs, so this one is named {stem}-2"
    assert [said in crawl.err for crawl in done] == [False, True, False]


def test_an_index_file_is_no_part_of_the_name_but_a_project_of_old_is_found(cli: Cli) -> None:
    answers = {path: page(path, "/more.html") for path in ("/index.html", "/more.html")}
    space = orbweb.open(cli.workspace)
    with serve(StaticSite(answers)) as server:
        url, stem = f"{server.url}index.html", f"127.0.0.1-{server.port}"
        assert space.crawl(url, rate="max", processes=0).project == stem
        old = orbweb.open(cli.workspace.with_name("old"))
        old.crawl(url, project=f"{stem}-index.html", rate="max", processes=0, budget=1)
        again = old.crawl(url, budget=None)
        assert (again.project, again.run, again.visited) == (f"{stem}-index.html", 1, 2)


def test_a_discovery_of_old_is_found_by_its_url(cli: Cli) -> None:
    answers = {path: page(path, "/more.html") for path in ("/index.html", "/more.html")}
    with serve(StaticSite(answers)) as server:
        url, name = f"{server.url}index.html", f"127.0.0.1-{server.port}-index.html"
        orbweb.open(cli.workspace).discover(url, project=name, rate="max", processes=0, budget=1)
        again = cli("discover", url, "--budget", "none", "--json", "--no-progress").ok(0).json
    assert (again["project"], again["run"], again["visited"]) == (f"{name}.discovery", 1, 2)

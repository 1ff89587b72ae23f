"""`diff` between two runs of a site that changed."""

from __future__ import annotations

from pathlib import Path

from harness import Cli
from servers.site import Answer, StaticSite, html, redirect, serve


def _page(title: str, text: str, stamp: str, *hrefs: str) -> Answer:
    links = "".join(f'<li><a href="{href}">{href}</a>' for href in hrefs)
    return html(f"<title>{title}</title><h1>{title}</h1><p>{text}</p><p>Updated {stamp}</p><ul>{links}</ul>")


def _site(stamp: str, *, later: bool) -> dict[str, Answer]:
    names = ["same", "edited", "moves", "goes", "leads", "breaks", "quiet"] + (
        ["fresh", "landed", "target"] if later else []
    )
    texts = {name: f"This is the page called {name}, and it has words of its own." for name in names}
    pages = {f"/{name}": _page(name, texts[name], stamp) for name in names}
    if later:
        pages["/edited"] = _page("edited", "Someone wrote it anew.", stamp)
        pages["/landed"] = _page("moves", texts["moves"], "2026-01-01")
        pages["/leads"] = redirect("/target")
        pages["/breaks"] = html("broken", status=500)
        del pages["/goes"], pages["/moves"]
    pages["/moves"] = _page("moves", texts["moves"], "2026-01-01") if not later else html("gone", status=404)
    linked = [f"/{name}" for name in names if not (later and name == "quiet")]
    return {"/": _page("start", "Where it begins.", stamp, *linked), **pages}


def test_what_changed_is_named_and_noise_is_not(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    pages = _site("2026-11-16 04:31:07", later=False)
    with serve(StaticSite(pages)) as server:
        options = ("--project", "p", "--rate", "max", "--sitemap", "off")
        cli.crawl(server.url, *options).ok(0)
        cli("diff", "p").ok(2)
        pages.clear()
        pages.update(_site("2026-11-17 05:00:00", later=True))
        cli.crawl(server.url, *options, "--new-run").ok(3)
        base = server.url.rstrip("/")
    report = cli("diff", "p", "--json").ok(0).json

    def urls(kind: str) -> list[str]:
        return [item["url"].removeprefix(base) for item in report[kind]]

    assert urls("added") == ["/fresh", "/target"]
    assert {item["url"].removeprefix(base): item["why"] for item in report["removed"]} == {
        "/goes": "HTTP 404",
        "/quiet": "no longer linked",
    }
    assert urls("changed") == ["/", "/edited"]
    assert report["moved"] == [{"url": f"{base}/landed", "from": f"{base}/moves"}]
    assert report["redirected"] == [{"url": f"{base}/leads", "to": f"{base}/target"}]
    assert [(item["url"].removeprefix(base), item["kind"]) for item in report["failing"]] == [
        ("/breaks", "http_5xx")
    ]
    assert urls("noise") == ["/same"]
    edited = report["changed"][1]
    assert "+Someone wrote it anew." in edited["diff"]
    assert not any("Updated" in line and line[0] in "+-" for line in edited["diff"])
    assert cli("diff", "p", "--exit-code").code == 1
    assert cli("diff", "p", 2, 2, "--exit-code").code == 0
    text = cli("diff", "p", "--stat").ok(0).out
    assert "~ changed" in text
    assert "Someone wrote it anew" not in text
    assert cli("diff", "p", "1", "9").code == 2


def test_what_the_earlier_run_did_not_visit_is_not_added(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    names = [f"/{name}" for name in ("one", "two", "three", "moves")]
    pages = {name: _page(name, f"The words of {name} alone.", "2026-11-16") for name in names}
    pages["/"] = _page("start", "Where it begins.", "2026-11-16", *names)
    with serve(StaticSite(pages)) as server:
        options = ("--project", "p", "--rate", "max", "--sitemap", "off")
        cli.crawl(server.url, *options, "--budget", 2).ok(4)
        cli("finish", "p").ok(0)
        pages["/new"] = _page("new", "Written since.", "2026-11-16")
        pages["/moves"], pages["/one"] = pages["/one"], html("gone", status=404)
        pages["/"] = _page("start", "Where it begins.", "2026-11-16", *names, "/new")
        cli.crawl(server.url, *options, "--budget", "none").ok(3)
        base = server.url.rstrip("/")
    report = cli("diff", "p", "--json").ok(0).json
    assert report["added"] == [{"url": f"{base}/new"}]
    assert report["moved"] == [{"url": f"{base}/moves", "from": f"{base}/one"}]
    assert report["unvisited"] == 2
    assert "; 2 known to run 1 but not visited" in cli("diff", "p").ok(0).out

"""`failed`: where broken links are, and lists of pages and failures that are filtered, sorted and cut."""

from __future__ import annotations

import csv
import io
import os
import pty
import subprocess
from pathlib import Path

import pytest

import orbweb
from harness import Cli
from orbweb.parsing.anchors import link_texts
from orbweb.urls import Resolver
from servers.pages import page
from servers.site import Answer, StaticSite, html, redirect, serve

BROKEN = {
    "/": html('<title>Start</title><main><a href="/a">A</a> <a href="/gone">The <b>old</b>\n guide</a></main>'),
    "/a": html(
        '<title>=cmd|a</title><main><p>Several words are here.</p><a href="gone"><img alt="=1+1"></a>'
        '<a href="/boom" aria-label="Go">\n</a><a href="/moved">moved</a><a href="/b">b</a></main>'
    ),
    "/b": html('<title>\x1b[31mRed</title><a href="/gone?utm_source=x">tracked</a>'),
    "/moved": redirect("/lost"),
    "/boom": Answer(500),
}


@pytest.fixture
def broken(cli: Cli) -> Cli:
    with serve(StaticSite(BROKEN)) as server:
        options = ("--rate", "max", "--processes", "0")
        (cli.workspace.parent / "c.yaml").write_text("fetch: {retries: 0}\n")
        cli.crawl(server.url, "--project", "site", "--config", cli.workspace.parent / "c.yaml", *options).ok(3)
    return cli


def short(url: str) -> str:
    return "/" + url.split("/", 3)[3]


def test_each_failure_names_the_pages_that_link_to_it_and_the_text(broken: Cli) -> None:
    found = broken("failed", "site", "--json").ok().json
    assert {
        short(row["url"]): [(short(each["url"]), each["text"]) for each in row["sources"]] for row in found
    } == {
        "/gone": [("/", "The old guide"), ("/a", "=1+1"), ("/b", "tracked")],
        "/boom": [("/a", "Go")],
        "/lost": [("/moved", None)],
    }
    assert {"url", "kind", "reason", "tries", "at"} <= set(found[0])
    shown = broken("failed", "site").ok().out
    assert shown.startswith("3 failed: 2 http_4xx, 1 http_5xx\nhosts: 3 127.0.0.1:")
    assert '/  "The old guide"\n' in shown
    assert "/moved  -\n" in shown


def test_failures_are_filtered_and_cut(broken: Cli) -> None:
    space = orbweb.open(broken.workspace)
    host = space.failed("site")[0].url.split("/")[2]

    def chosen(**options: object) -> list[str]:
        return [short(row.url) for row in space.failed("site", **options)]  # type: ignore[arg-type]

    assert chosen(kind="http_5xx") == ["/boom"]
    assert chosen(match="/(gone|lost)$") == ["/gone", "/lost"]
    assert chosen(match="/(gone|lost)$", limit=1) == ["/gone"]
    assert len(chosen(host=host)) == len(chosen(host="127.0.0.1")) == 3
    assert chosen(host="example.org") == []
    assert space.failure_counts("site", kind="http_4xx") == orbweb.FailureCounts(
        failed=2, by_kind={"http_4xx": 2}, by_host={host: 2}
    )
    assert "and 2 more" in broken("failed", "site", "--limit", "1").ok().out
    assert "unknown kind of failure 'x'" in broken("failed", "site", "--kind", "x").ok(2).err
    assert "--match" in broken("failed", "site", "--match", "(?=x)").ok(2).err
    assert "one of them" in broken("failed", "site", "--csv", "--json").ok(2).err


def test_csv_has_one_row_per_broken_link_and_no_formula(broken: Cli) -> None:
    rows = list(csv.DictReader(io.StringIO(broken("failed", "site", "--csv").ok().out)))
    assert [(short(row["url"]), short(row["source_url"]), row["text"]) for row in rows] == [
        ("/gone", "/", "The old guide"),
        ("/gone", "/a", "'=1+1"),
        ("/gone", "/b", "tracked"),
        ("/boom", "/a", "Go"),
        ("/lost", "/moved", ""),
    ]


def test_a_link_whose_page_cannot_be_read_has_no_text(broken: Cli) -> None:
    (segment,) = (broken.workspace / "store" / "segments").iterdir()
    segment.write_bytes(b"damaged")
    found = broken("failed", "site", "--json").ok().json
    assert [each["text"] for each in found[0]["sources"]] == [None, None, None]
    assert "  -\n" in broken("failed", "site").ok().out


def test_the_text_of_a_link_respects_base_and_encoding() -> None:
    body = '<meta charset=latin-1><base href="/docs/"><a href=""></a><a href="x#part">Größe</a><a href=x>two</a>'
    found = link_texts(
        body.encode("latin-1"), "http://a.test/p", {"http://a.test/docs/x"}, resolver=Resolver(), content_type=None
    )
    assert found == {"http://a.test/docs/x": "Größe"}


def test_pages_are_matched_sorted_and_cut(tmp_path: Path) -> None:
    answers = {
        "/": page("middle", "/b", "/c"),
        "/b": html("<title>Zebra</title><p>one two three four five six seven eight nine ten eleven</p>"),
        "/c": html("<title>apple</title><p>one</p>"),
    }
    space = orbweb.open(tmp_path / "w")
    with serve(StaticSite(answers)) as server:
        space.crawl(server.url, project="site", rate="max", processes=0)

    def listed(**options: object) -> list[str]:
        return [short(each.url) for each in space.pages("site", **options)]  # type: ignore[arg-type]

    assert listed() == ["/", "/b", "/c"]
    assert listed(match="/[bc]$") == ["/b", "/c"]
    assert listed(sort="title")[0] == "/c"
    assert listed(sort="title")[-1] == "/b"
    words = [each.words or 0 for each in space.pages("site", sort="words")]
    assert words == sorted(words, reverse=True)
    assert listed(sort="url", limit=2) == ["/", "/b"]
    with pytest.raises(orbweb.UsageError, match="sort: 'size' is not an order"):
        listed(sort="size")
    with pytest.raises(orbweb.UsageError, match="limit: 0"):
        listed(limit=0)


def in_terminal(cli: Cli, *args: str, pager: str) -> str:
    """What a command prints on a terminal of five lines."""
    main, side = pty.openpty()
    try:
        os.environ.copy()
        subprocess.run(["stty", "rows", "5", "cols", "80"], stdin=side, check=True)
        env = {**os.environ, "PAGER": pager, "TERM": "xterm", "LINES": "5", "COLUMNS": "80"}
        done = subprocess.Popen(
            cli.command(*args), stdin=side, stdout=side, stderr=side, env=env, cwd=cli.workspace.parent
        )
        os.close(side)
        side = -1
        shown = b""
        while True:
            try:
                part = os.read(main, 65536)
            except OSError:
                break
            if not part:
                break
            shown += part
        assert done.wait(60) == 0
        return shown.decode()
    finally:
        os.close(main)
        if side != -1:
            os.close(side)


def test_a_long_list_goes_to_the_pager_on_a_terminal_only(broken: Cli, tmp_path: Path) -> None:
    mark = "sed s/^/PAGED:/"
    shown = in_terminal(broken, "failed", "site", pager=mark)
    assert shown.startswith("PAGED:3 failed")
    assert "PAGED:" not in in_terminal(broken, "failed", "site", "--no-pager", pager=mark)
    assert "PAGED:" not in in_terminal(broken, "pages", "site", "--limit", "1", pager=mark), "it fits"
    piped = broken("failed", "site", env={"PAGER": mark}).ok()
    assert "PAGED:" not in piped.out
    assert "3 failed" in in_terminal(broken, "failed", "site", pager=str(tmp_path / "missing"))


def test_a_title_sends_nothing_to_a_terminal(broken: Cli) -> None:
    assert "\x1b" not in in_terminal(broken, "pages", "site", pager="cat")

"""`orbweb report`: one file, offline, escaped, small, the same for the same run, with the numbers of `status`."""

from __future__ import annotations

import html as markup
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

import orbweb
from harness import Cli
from orbweb.export.report import facts as report_facts
from orbweb.export.report.components import LONGEST
from orbweb.export.report.facts import (
    Changed,
    ChangeKind,
    Changes,
    Counted,
    HostFailures,
    KindFailures,
    ReportedFailure,
    ReportedPage,
    ReportFacts,
    Skipped,
    Warned,
)
from orbweb.export.report.markup import Markup, element
from orbweb.export.report.page import STYLE, drawn
from orbweb.export.report.pictures import thread_of
from orbweb.export.report.sections import Child, MapSection
from servers.site import Answer, Request, html, serve

HOSTILE = "</title><script>document.title='pwned'</script><img src=x onerror=\"document.title='pwned'\">"
LIMIT = 300_000
SHELL = '<title>App</title><div id="root"></div><script src="/app.js"></script>'
TEXT = "<p>The larder keeps a journal of every batch, and the journal is plain text that anyone can read.</p>"
STATIC = Path(orbweb.__file__).parent / "server" / "ui" / "static"
CHROMIUM = "/usr/bin/chromium-headless-shell"


class Site:
    """A site with a hostile title, failures, a shell and, from the second run on, other words."""

    later = False

    def answer(self, request: Request) -> Answer:
        links = " ".join(
            f'<a href="/{name}">{name}</a>' for name in ("a", "b", "shell", "gone", "boom", "private/x")
        )
        word = "bread" if self.later else "cheese"
        pages = {
            "/": html(f"<title>Home</title><h1>Home</h1>{TEXT}{links}"),
            "/a": html(f"<title>{markup.escape(HOSTILE)}</title><h1>A</h1>{TEXT}<p>There is {word}.</p>"),
            "/b": html(f"<title>B</title><h1>B</h1>{TEXT}<p>Of other things.</p><a href='/gone'>gone</a>"),
            "/shell": html(SHELL),
            "/boom": html("broken", status=500),
        }
        return pages.get(request.path, html("gone", status=404))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Cli, Path, str]:
    folder = tmp_path_factory.mktemp("report")
    cli, site, out = Cli(folder / "workspace"), Site(), folder / "report.html"
    options = ("--rate", "max", "--exclude", "/private/")
    with serve(site) as server:
        cli.crawl(server.url, "--project", "larder", *options).ok(3)
        site.later = True
        cli("recrawl", "larder", "--refresh").ok(3)
    cli("report", "larder", "--out", str(out)).ok()
    return cli, out, out.read_text(encoding="utf-8")


def texts(page: str) -> str:
    """What a person reads."""
    return markup.unescape(re.sub(r"<style>.*?</style>|<[^>]*>", " ", page, flags=re.DOTALL))


def test_the_numbers_are_those_of_status(made: tuple[Cli, Path, str]) -> None:
    cli, _, page = made
    status: dict[str, Any] = cli("status", "larder", "--json").ok().json
    figures = re.findall(r'<b><span[^>]*>([\d,]+)</span></b><span class="name">(?:<i[^>]*></i>)?([a-z ]+)<', page)
    shown = {name: int(count.replace(",", "")) for count, name in figures}
    skipped = sum(status["skipped"].values())
    assert shown == {
        **{name: status[name] for name in ("discovered", "visited", "failed", "queued", "pages", "alternates")},
        "skipped": skipped,
        "no page": status["visited"] - status["pages"] - status["alternates"],
    }
    assert shown["discovered"] == shown["visited"] + shown["failed"] + shown["queued"] + skipped


def test_what_matters_is_in_it(made: tuple[Cli, Path, str]) -> None:
    _, _, page = made
    text = " ".join(texts(page).split())
    for part in (
        *("Failed", "Runs and crawls", "Changes since run 1", "Responses", "Pages", "Skipped", "Settings"),
        *(
            "http_4xx",
            "http_5xx",
            "HTTP 404",
            "HTTP 500",
            "crawl 1",
            "run 2",
            "run 1",
            "~1 changed",
            "scope.exclude",
        ),
        "1 page with almost no text without JavaScript",
        "orbweb crawl",
        "--exclude=/private/",
    ):
        assert part in text, part
    gone = page[page.index("/gone</a>") :]
    assert re.match(r"/gone</a>.*?HTTP 404.*?>/</a>.*?>/b</a>", gone, re.DOTALL), "the pages that link to it"


class Attributes(HTMLParser):
    """Every attribute of a page, and its elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.found: list[tuple[str, str, str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.found += [(tag, name, value or "") for name, value in attrs]


def test_it_has_no_script_no_style_attribute_and_no_address_to_load(made: tuple[Cli, Path, str]) -> None:
    found = Attributes(made[2])
    assert not found.tags & {"script", "img", "iframe", "object", "embed", "form", "base", "link"} - {"link"}
    assert not [name for _, name, _ in found.found if name.startswith("on") or name in ("style", "src", "srcset")]
    links = [value for tag, name, value in found.found if name == "href" and tag != "a"]
    assert [link.partition(",")[0] for link in links] == ["data:image/svg+xml"]
    assert "<script" not in made[2]


def test_a_browser_opens_it_offline_and_runs_nothing(made: tuple[Cli, Path, str]) -> None:
    _, out, _ = made
    requests: list[str] = []
    problems: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(offline=True, viewport={"width": 390, "height": 844})
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: problems.append(message.text))
        page.goto(out.as_uri())
        assert requests == [out.as_uri()]
        assert problems == []
        assert page.title() == "larder, run 2 · orbweb report"
        assert page.evaluate("getComputedStyle(document.body).fontVariantNumeric") == "tabular-nums"
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        browser.close()


def test_the_same_run_gives_the_same_bytes(made: tuple[Cli, Path, str], tmp_path: Path) -> None:
    cli, out, _ = made
    again = cli("report", "larder", "--out", str(tmp_path / "again.html"), "--json").ok().json
    assert (tmp_path / "again.html").read_bytes() == out.read_bytes()
    assert (again["run"], again["bytes"]) == (2, out.stat().st_size)
    first = orbweb.open(cli.workspace).write_report("larder", out=tmp_path / "first.html", run=1)
    assert (first.run, first.pages) == (1, 4)
    assert "Changes since" not in (tmp_path / "first.html").read_text()


def test_wrong_places_are_refused(made: tuple[Cli, Path, str], tmp_path: Path) -> None:
    cli, _, page = made
    assert cli("report", "larder", "--out", "-").ok().out == page
    assert "use one of them" in cli("report", "larder", "--out", "-", "--json").ok(2).err
    assert "does not exist" in cli("report", "larder", "--out", str(tmp_path / "no" / "r.html")).ok(2).err
    assert "choose another place" in cli("report", "larder", "--out", str(cli.workspace / "orbweb.db")).ok(2).err
    assert "has no run 9" in cli("report", "larder", "--out", str(tmp_path / "r.html"), "--run", "9").ok(2).err


def largest() -> ReportFacts:
    """The facts of a run that has as much of everything as is kept, in the longest texts."""
    text, url = '"&<' * 3_000, f"https://{'h' * 200}.example/" + "&" * 12
    many = 1_234_567
    at = "2026-11-18T04:10:06+00:00"
    settled = {"visited": many, "failed": many, "pages": many, "bytes": many, "started_at": at, "seconds": 1.0}
    crawl = {**settled, "crawl": 1, "state": "failed", "ended_by": "error", "error": text}
    run = {**settled, "run": 1, "state": "completed", "queued": many, "skipped": {"robots": many}}
    run["crawls"] = [crawl] * 50
    counts = ("discovered", "alternates", "reused", "not_modified", "transferred", "tokens")
    base = {"url": url, "scope": url, "pages": 1, "alternates": 0, "problem": text}
    numbers = {**run, **dict.fromkeys(counts, many), "tokenizer": "estimate", "bases": [base] * 500}
    depths = dict.fromkeys(range(1_000), (many, many))
    section = MapSection("s", text, many, many, depths, (Child(text, 1, 1),))
    counted, page = Counted(text, many), ReportedPage(url, text, many)
    failure = ReportedFailure(url, text, (url,) * report_facts.SOURCES, many)
    hosts = tuple(HostFailures(text, many, (failure,) * report_facts.EXAMPLES) for _ in range(report_facts.HOSTS))
    change = Changed(url, many, many, text)
    return ReportFacts(
        project=text,
        numbers=numbers,
        active_at=at,
        thread=thread_of(many, many, many, many, pages=many),
        history=(run,) * report_facts.RUNS,
        runs=many,
        statuses=(counted,) * (report_facts.STATUSES + 1),
        types=(counted,) * (report_facts.TYPES + 1),
        page_types=(counted,) * (report_facts.TYPES + 1),
        languages=(counted,) * (report_facts.LANGUAGES + 1),
        lengths=((0, many),) * 7,
        depths=tuple((depth, many, many) for depth in range(1_000)),
        sections=(section,) * 500,
        links={},
        largest=(page,) * report_facts.PAGES,
        slowest=(page,) * report_facts.PAGES,
        thinnest=(page,) * report_facts.PAGES,
        failures=(KindFailures("tls", many, hosts, many),) * 2 + (KindFailures("tls", many, (), many),) * 10,
        skipped=(Skipped("robots", many, (counted,) * report_facts.RULES),) * 17,
        changes=Changes(
            1,
            tuple(ChangeKind(kind, many, (change,) * report_facts.CHANGES) for kind in report_facts.CHANGE_KINDS),
            *(many, many, many, many),
        ),
        warnings=(Warned(many, "page", text, (url,) * report_facts.EXAMPLES),) * 11,
        settings=((text, text, text),) * 200,
        command=text,
    )


def test_no_site_can_make_it_large() -> None:
    page = drawn(largest(), "0.1.0")
    assert len(page.encode()) < LIMIT
    assert "1,234," in page


def test_a_text_is_escaped_unless_it_is_markup() -> None:
    assert element("p", HOSTILE) == f"<p>{markup.escape(HOSTILE)}</p>"
    assert element("p", Markup("<br>"), title='"', class_=None) == '<p title="&quot;"><br></p>'
    assert element("p", "a\x00b\ud800") == "<p>a\N{REPLACEMENT CHARACTER}b?</p>"
    assert element("circle", r=1) == '<circle r="1"/>'


def test_the_colours_are_those_of_the_pages() -> None:
    def tokens(path: Path) -> dict[str, str]:
        return dict(re.findall(r"^  (--[a-z0-9-]+): (light-dark\(.*?\));", path.read_text(), re.MULTILINE))

    pages, report = tokens(STATIC / "base.css"), tokens(STYLE)
    assert report
    assert report == {name: pages[name] for name in report}
    assert LONGEST < 1_000

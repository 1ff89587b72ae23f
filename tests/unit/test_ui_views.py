"""What the pages of the server show: numbers, times, pictures, forms and plans, as pure functions of records."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from orbweb.app import RunOutline, RunTotals
from orbweb.app.jobs.remote import remote_options
from orbweb.app.pictures import bars_of, sections_of, short_hosts, svg, thread_of, web_of
from orbweb.app.results.sections import SectionPart
from orbweb.events import HostQueue
from orbweb.server.problems import Problem
from orbweb.server.ui import format as texts
from orbweb.server.ui.crawl_form import placed, read
from orbweb.server.ui.frame import frame_of_project, run_path
from orbweb.server.ui.live_chart import ChartWindow, chart_of
from orbweb.server.ui.live_figures import Point
from orbweb.server.ui.live_hosts import Note, pace_of, with_notes
from orbweb.server.ui.markdown import beginning_of, headings_of, to_html
from orbweb.server.ui.page import outline_of
from orbweb.server.ui.problem_page import UNCHANGED, detail_of, project_in, steps_of
from orbweb.server.ui.project_view import books_of
from orbweb.server.ui.projects import Chosen, columns_of
from orbweb.server.ui.url_lists import facets_of

NOW = datetime(2026, 11, 18, 4, 20, tzinfo=UTC)
OUTLINE = RunOutline(
    project="docs",
    running=False,
    held=False,
    run=2,
    runs=(3, 2, 1),
    state="completed",
    visited=12,
    failed=1,
    queued=0,
    skipped={"robots": 3, "excluded": 4},
    pages=10,
    mark="1",
)


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (texts.number(12_467), "12,467"),
        (texts.short(3_875), "3,875"),
        (texts.short(611_200), "611 k"),
        (texts.short(48_700_000), "48.7 M"),
        (texts.short(1_600_000_000), "1.6 B"),
        (texts.size(412_600_000), "412.6 MB"),
        (texts.took(526), "08:46"),
        (texts.took(5_920), "1:38:40"),
        (texts.span(8_280), "2 h 18 min"),
        (texts.many(1, "page"), "1 page"),
        (texts.when("2026-11-18T04:10:06.000+00:00", NOW), "today 04:10:06"),
        (texts.when("2026-11-11T02:00:04.000+00:00", NOW), "11 Nov 02:00:04"),
        (texts.day("2025-11-11T02:00:04.000+00:00", NOW), "11 Nov 2025"),
        (texts.ago("2026-11-18T04:18:00.000+00:00", NOW), "2 min"),
        (texts.ago("2026-11-18T04:21:00.000+00:00", NOW), "now"),
        (texts.in_full("2026-11-18T04:16:28.000+00:00"), "2026-11-18 04:16:28 UTC"),
        (texts.host_of("https://a.example:8443/b?c"), "a.example:8443"),
        (texts.rest_of("https://a.example:8443/b?c"), "/b?c"),
        (texts.segment('a/b?"'), "a%2Fb%3F%22"),
        (texts.sentence("project 'x' is being crawled"), "Project 'x' is being crawled."),
        (texts.sentence("http://x/ is not there"), "http://x/ is not there."),
        (texts.sentence("orbweb.yaml: what?"), "orbweb.yaml: what?"),
        (texts.shell("a b"), "'a b'"),
    ],
)
def test_numbers_times_and_urls(made: str, shown: str) -> None:
    assert made == shown


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "//x", "", None, "http://[", " http"])
def test_only_web_urls_are_linked(url: str | None) -> None:
    assert texts.outward(url) is None


def test_a_thread_balances_the_books() -> None:
    found = thread_of(12, 1, 5, 7, pages=10)
    assert [(part.name, part.count) for part in found.parts] == [
        ("pages", 10),
        ("other", 2),
        ("failed", 1),
        ("queued", 5),
        ("skipped", 7),
    ]
    assert sum(part.share for part in found.parts) == pytest.approx(100, abs=0.01)
    assert found.label == "10 pages, 2 other visited, 1 failed, 5 queued, 7 skipped"
    assert thread_of(0, 0, 0, 0, pages=0).label == "nothing discovered yet"


def test_bars_are_shares_of_the_whole_or_of_the_largest() -> None:
    assert [bar.share for bar in bars_of({"a": 3, "b": 1})] == [75, 25]
    assert [bar.share for bar in bars_of({"a": 4, "b": 1}, ranking=True)] == [100, 25]
    assert [bar.share for bar in bars_of({"a": 0})] == [0]


def test_tabs_stay_in_the_run_that_the_url_names() -> None:
    named = frame_of_project(OUTLINE, ["docs", "x"], tab="skipped", named=True)
    assert {tab.name: tab.href for tab in named.tabs}["pages"] == "/p/docs/runs/2/pages"
    assert {tab.name: tab.href for tab in named.tabs}["changes"] == "/p/docs/diff/1..2"
    assert {tab.name: tab.count for tab in named.tabs}["skipped"] == 7
    assert [crumb.text for crumb in named.crumbs] == ["docs", "run 2", "Skipped"]
    assert [choice.href for choice in named.crumbs[1].choices] == [
        f"{run_path('docs', run)}/skipped" for run in (3, 2, 1)
    ]
    latest = frame_of_project(OUTLINE, ["docs"], tab="overview", named=False)
    assert {tab.name: tab.href for tab in latest.tabs}["pages"] == "/p/docs/runs/latest/pages"
    assert latest.crumbs[0].choices == ()


def test_the_books_of_a_run_balance() -> None:
    totals = RunTotals(run=2, alternates=1, tokens=5, tokenizer=None, bases={}, rules=())
    known = books_of(OUTLINE, totals)
    assert (known.discovered, known.alternates, known.others) == (12 + 1 + 0 + 7, 1, 1)
    unknown = books_of(OUTLINE, None)
    assert (unknown.alternates, unknown.others) == (None, 2)
    older = books_of(OUTLINE, RunTotals(run=2, alternates=9, tokens=5, tokenizer=None, bases={}, rules=()))
    assert (older.alternates, older.others) == (None, 2), "totals that do not fit the tallies are not shown"


def test_the_age_column_points_where_its_ages_grow() -> None:
    def sorted_by(sort: str) -> dict[str, str | None]:
        return {column.text: column.sorted for column in columns_of(sort, Chosen())}

    assert sorted_by("-active")["Active"] == "ascending"
    assert sorted_by("-pages") == {**dict.fromkeys(sorted_by("-pages")), "Pages": "descending"}
    links = {column.text: column.sort for column in columns_of("-active", Chosen("paused", "a b"))}
    assert links["Pages"] == "/?state=paused&q=a+b&sort=-pages"
    assert links["Active"] == "/?state=paused&q=a+b&sort=active"


def test_a_problem_suggests_the_next_step() -> None:
    def steps(code: str, project: str | None) -> list[str]:
        return [step.href for step in steps_of(Problem(409, code, "x"), project)]

    assert steps("nothing_to_resume", "a b") == ["/p/a%20b", "/"]
    assert steps("unknown_project", None) == ["/", "/new"]
    assert steps("token_required", None) == ["/login"]
    assert project_in("/p/a%20b/runs/1/pages") == "a b"
    assert project_in("/new") is None


def test_a_chosen_facet_leads_back_to_all() -> None:
    found = facets_of({"robots": 3, "excluded": 4}, "/x", "reason", "robots")
    assert [(each.bar.name, each.href, each.chosen) for each in found] == [
        ("excluded", "/x?reason=excluded", False),
        ("robots", "/x", True),
    ]


def test_a_form_is_read_by_the_kinds_of_its_options() -> None:
    options = remote_options("crawl")
    typed = read(
        {
            "url": "docs.example/a\n\n http://other.example/ ",
            "project": " docs ",
            "exclude": "/archive/\n/old/",
            "rate": "max",
            "budget": "5,000",
            "page_limit": "none",
            "strict_path": "off",
            "profile": "docs",
            "workers": "",
        },
        options,
    )
    assert not typed.errors
    assert typed.urls == ("https://docs.example/a", "http://other.example/")
    assert typed.project == "docs"
    assert typed.options == {
        "exclude": ["/archive/", "/old/"],
        "rate": "max",
        "budget": 5000,
        "page_limit": None,
        "strict_path": False,
        "profile": "docs",
    }
    assert typed.command.startswith(
        "orbweb crawl https://docs.example/a http://other.example/ --project=docs --budget=5000 --page-limit=none"
    )


def test_what_cannot_be_read_is_an_error_at_its_field() -> None:
    options = remote_options("crawl")
    found = read({"workers": "many", "rate": "fast", "headers": "X"}, options).errors
    assert set(found) == {"url", "workers", "rate", "headers"}
    assert found["workers"] == "'many' is not a whole number"


def test_a_refusal_is_placed_at_the_field_that_it_names() -> None:
    options = remote_options("crawl")
    assert placed("scope.exclude[1]: '(' is not an RE2 pattern", options) == (
        "exclude",
        "line 2: '(' is not an RE2 pattern",
    )
    assert placed("`maxDepth`: must be 0 or more", options) == ("max_depth", "must be 0 or more")
    assert placed("'x' is not a URL", options) == ("url", "'x' is not a URL")
    assert placed("`project` 'a/b': use letters", options) == ("project", "'a/b': use letters")
    assert placed("project 'a' has other base URLs: `resume a`, `newRun`, or another `project`", options) == (
        "project",
        "project 'a' has other base URLs: `orbweb resume a`, “Start a new run”, or another “Project”",
    )


def test_an_error_says_that_nothing_was_changed() -> None:
    problem = Problem(409, "busy", "project 'x' is being crawled")
    assert detail_of(problem, "POST") == f"Project 'x' is being crawled. {UNCHANGED}"
    assert UNCHANGED not in detail_of(problem, "GET")
    assert UNCHANGED not in detail_of(Problem(500, "internal_error", "an internal error"), "POST")


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        (None, "6/s as set"),
        (HostQueue("a.test:80", 3, 0.1, 0.17), "6/s as set"),
        (HostQueue("a.test:80", 0, 0.0, 2.0, "crawl_delay"), "0.5/s, Crawl-delay 2 s"),
        (HostQueue("a.test:80", 1, 0.0, 1 / 3, "busy", 429), "3/s, halved after 429"),
        (HostQueue("a.test:80", 1, 0.0, 2 / 3, "busy", 503), "1.5/s, halved twice after 503"),
        (HostQueue("a.test:80", 1, 24.4, 1 / 3, "retry_after", 429), "429, Retry-After, 24 s left"),
        (HostQueue("a.test:80", 1, 8.0, 0, "robots", error="HTTP 503"), "robots.txt: HTTP 503, again in 8.0 s"),
        (
            HostQueue("a.test:80", 0, 0, 0, "robots_unavailable", error="HTTP 503"),
            "robots.txt: HTTP 503, URLs skipped",
        ),
    ],
)
def test_a_host_says_why_it_is_not_faster(host: HostQueue | None, shown: str) -> None:
    assert pace_of(host, 6.0) == shown


def test_a_slow_down_is_noted_once() -> None:
    host = HostQueue("a.test:80", 1, 44.0, 1.0, "retry_after", 429, busy_s=1.0)
    once = with_notes([], [host], 101.0)
    assert once == [Note(100.0, "a.test:80", "a.test 429, Retry-After 45 s")]
    later = HostQueue("a.test:80", 1, 43.7, 1.0, "retry_after", 429, busy_s=1.3)
    assert with_notes(once, [later], 101.25) == once
    again = HostQueue("a.test:80", 1, 45.0, 1.0, "retry_after", 429, busy_s=0.0)
    assert [note.at for note in with_notes(once, [again], 160.0)] == [100.0, 160.0]


def test_a_chart_begins_with_the_first_response_and_says_what_it_shows() -> None:
    points = tuple(Point(200 + at, 4.0, float(at == 2), 10, 20) for at in range(100))
    chart = chart_of(ChartWindow(1, 0.0, 300.0, points, (Note(250.0, "a.test:80", "a.test 429, rate halved"),)))
    assert chart.rate.startswith("666.7,"), "nothing is drawn before the first response"
    assert (len(chart.failures), len(chart.times)) == (1, 5)
    assert chart.notes == (833.3,)
    assert "4.0 on average, 4.0 at most; 1 of 100 seconds with failures. a.test 429, rate halved." in chart.label
    assert chart_of(ChartWindow(1, 0.0, 300.0, (), ())).label == "No response yet."


@pytest.mark.parametrize("count", [1, 2, 3, 7, 22, 23, 24, 500])
@pytest.mark.parametrize("deepest", [1, 5, 12])
def test_labels_of_a_map_neither_overlap_nor_leave_it(count: int, deepest: int) -> None:
    hosts = ("docs.example.org", "forum.example.org:8443")
    parts = [
        SectionPart(
            hosts[at % 2], f"/{'a-long-name-of-a-section-' * (at % 3 == 0)}{at}/x", depth, 900 // (at + 1), at % 4
        )
        for at in range(count)
        for depth in range(1, deepest + 1)
    ]
    web = web_of(sections_of(parts, by_host=False), None, None)
    left, top, width, height = map(float, str(svg.web(web)).partition('viewBox="')[2].partition('"')[0].split())
    boxes = []
    for spoke in web.spokes:
        wide = 7.8 * len(f"{spoke.name} {spoke.count}")
        begin = spoke.label_x - {"start": 0, "middle": wide / 2, "end": wide}[spoke.anchor]
        boxes.append((begin, spoke.label_y - 11, begin + wide, spoke.label_y + 4))
    for x, y, right, bottom in boxes:
        assert x >= left
        assert right <= left + width
        assert y >= top
        assert bottom <= top + height
    for at, one in enumerate(boxes):
        for other in boxes[at + 1 :]:
            assert one[0] >= other[2] or other[0] >= one[2] or one[1] >= other[3] or other[1] >= one[3]


@pytest.mark.parametrize(
    ("hosts", "short"),
    [
        ({"a.test:80": "", "b.test:81": ""}, ["a", "b"]),
        ({"localhost:1": "", "localhost:2": ""}, ["localhost:1", "localhost:2"]),
        ({"127.0.0.1:1": "", "127.0.0.2:1": ""}, ["127.0.0.1", "127.0.0.2"]),
        ({"example.org": "", "docs.example.org": ""}, ["example.org", "docs.example.org"]),
        ({"one.test:80": ""}, ["one.test"]),
        ({}, []),
    ],
)
def test_hosts_are_shortened_as_long_as_they_differ(hosts: dict[str, str], short: list[str]) -> None:
    assert [short_hosts(hosts)[host] for host in hosts] == short


def test_sections_have_their_host_only_where_paths_are_the_same() -> None:
    parts = [
        SectionPart(host, path, 1, pages, 0)
        for host, path, pages in [
            ("docs.a.test", "/reference/x", 9),
            ("api.a.test", "/v2/x", 8),
            ("api.a.test", "/reference/x", 7),
            ("docs.a.test", "/", 6),
        ]
    ]
    names = [each.name for each in sections_of(parts, by_host=False)]
    assert names == ["docs/reference", "/v2", "api/reference", "docs/"]


def test_the_beginning_of_a_long_text_ends_with_a_whole_block() -> None:
    text = "# One\n\nwords\n\n```sh\nrun\n\nmore\n```\n\nlast"
    assert beginning_of(text, 1000) == text
    assert beginning_of(text, 15) == "# One\n\nwords\n"
    inside = beginning_of(text, text.index("more") + 2)
    assert inside.count("```") == 2, "code that was cut is closed"
    assert len(beginning_of("x" * 1000, 10)) == 11
    long_list = "# Contents\n\n" + "- one more\n" * 100
    assert len(beginning_of(long_list, 500)) in range(480, 502), "one block of almost the whole text is cut"


def test_images_become_links_and_headings_lose_their_signs() -> None:
    html = str(to_html("![a *map*](https://a.test/map.png)\n\n![](https://a.test/x.png)"))
    assert "<img" not in html
    assert ">image: a map</a>" in html
    assert "image: no description" in html
    assert [text for *_, text in headings_of("# The `stamp` of [a batch](/x)\n\n| a |\n|---|\n\n## B")] == [
        "The stamp of a batch",
        "B",
    ]


def test_an_outline_counts_what_is_before_the_first_heading() -> None:
    found = outline_of("words\n\n# One\n\nmore\n\n### Three\n", 100)
    assert [(each.text, each.anchor, each.level) for each in found] == [
        ("(start)", "", 0),
        ("One", "#part-1", 0),
        ("Three", "#part-2", 2),
    ]
    assert sum(each.tokens for each in found) in range(99, 102)
    assert outline_of("no heading", 3) == []

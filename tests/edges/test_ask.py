"""What only reports says the same inside the tests' process as in one of its own; so tests may ask it there."""

from __future__ import annotations

import pytest

from harness import REPORTS, Cli
from servers.pages import page
from servers.site import StaticSite, serve

QUESTIONS: tuple[tuple[str, ...], ...] = (
    ("status",),
    ("status", "site"),
    ("status", "site", "--json"),
    ("status", "unknown"),
    ("runs", "site", "--json"),
    ("queue", "site"),
    ("pages", "site"),
    ("pages", "site", "--run", "7"),
    ("show", "site", "{url}", "--as", "html"),
    ("show", "site", "{url}never"),
    ("explain", "site", "{url}gone"),
    ("explain", "site", "{url}never", "--json"),
    ("explain", "{url}gone"),
    ("explain", "site"),
    ("failed", "site", "--json"),
    ("rules", "site"),
    ("rules", "site", "--json"),
    ("manifest", "site"),
    ("manifest", "site", "--hash"),
    ("manifest", "--wrong"),
    ("validate-policy", "{url}", "--profile", "github"),
    ("validate-policy", "{url}", "--json"),
    ("validate-policy",),
    ("index", "site"),
    ("index", "site", "--json"),
)


@pytest.mark.parametrize("crawled", [True, False], ids=["crawled", "no workspace"])
def test_a_report_is_the_same_in_this_process(cli: Cli, *, crawled: bool) -> None:
    assert {question[0] for question in QUESTIONS} == set(REPORTS)
    questions = QUESTIONS if crawled else QUESTIONS[:1]
    with serve(StaticSite({"/": page("stärt", "/gone", "/b"), "/b": page("b")})) as server:
        if crawled:
            cli.crawl(server.url, "--rate", "max", "--project", "site", "--budget", 2).ok(4)
    for question in questions:
        words = [word.replace("{url}", server.url) for word in question]
        here, there = cli.ask(*words), cli(*words)
        assert here == there, words
        assert here.out or here.err


def test_what_crawls_is_not_asked_in_this_process(cli: Cli) -> None:
    with pytest.raises(AssertionError, match="a process of its own"):
        cli.ask("crawl", "http://127.0.0.1:9/")

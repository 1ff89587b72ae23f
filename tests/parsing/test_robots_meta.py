"""What pages say to robots, in a header or a meta, and to whom."""

from __future__ import annotations

import pytest

from effort import TIMES, assert_linear
from orbweb.model import Directives
from orbweb.parsing.robots_meta import read

NOTHING = [
    "",
    " ",
    ",",
    "all",
    "index, follow",
    "noarchive",
    "noindexing",
    "no index",
    "no-index",
    "nofollow-links",
]
VALUES = [
    "unavailable_after: 25 Jun 2010 15:00:00 PST",
    "unavailable_after: Wed, 03 Dec 2025 13:09:53 GMT",
    "unavailable_after:2025-12-03T13:09:53+00:00",
    "Unavailable_After: Wed, 2025-12-03T13:09:53",
    "max-snippet:50",
    "max-snippet: -1",
    "max-image-preview:large",
    "MAX-VIDEO-PREVIEW : 10",
    "future-rule:7",
    "future-rule: -1",
]


def said(*headers: str, agent: str = "probe") -> tuple[bool, bool]:
    found = read((), headers, agent)
    return found.noindex is not None, found.nofollow is not None


@pytest.mark.parametrize("text", [*NOTHING, *VALUES])
def test_what_forbids_nothing(text: str) -> None:
    assert read((("robots", text),), (text,), "probe") == Directives()


@pytest.mark.parametrize(
    ("text", "noindex", "nofollow"),
    [
        ("noindex", True, False),
        ("NoFollow", False, True),
        ("none", True, True),
        (" noarchive ,NOINDEX,", True, False),
        ("noindex nofollow", True, True),
        ("noindex;nofollow", True, True),
        ('"noindex, nofollow"', True, True),
        ("index, noindex", True, False),
        ("noindex, all", True, False),
        ("noindex, follow", True, False),
    ],
)
def test_what_forbids_something(text: str, noindex: bool, nofollow: bool) -> None:
    assert said(text) == (noindex, nofollow)
    found = read((("robots", text),), (), "probe")
    assert (found.noindex is not None, found.nofollow is not None) == (noindex, nofollow)


@pytest.mark.parametrize("value", VALUES)
def test_values_with_a_colon_are_not_agents(value: str) -> None:
    assert said(f"{value}, noindex") == (True, False)
    assert said(f"nofollow, {value}") == (False, True)
    assert said(f"otherbot: {value}, noindex") == (False, False)


@pytest.mark.parametrize(
    ("text", "noindex", "nofollow"),
    [
        ("probe: noindex", True, False),
        ("PROBE:none", True, True),
        ("probe/2.0 : noindex", True, False),
        ("*: noindex", True, False),
        ("robots: nofollow", False, True),
        ("googlebot: noindex", False, False),
        ("googlebot: noindex, nofollow", False, False),
        ("probe-news: none", False, False),
        ("360spider: none", False, False),
        ("noindex, googlebot: nofollow", True, False),
        ("googlebot: nofollow, probe: noindex", True, False),
        ("googlebot: nofollow, otherbot: none, noindex", False, False),
        ("googlebot:, noindex", False, False),
    ],
)
def test_who_is_meant(text: str, noindex: bool, nofollow: bool) -> None:
    assert said(text, agent="Probe") == (noindex, nofollow)


def test_each_header_speaks_for_itself() -> None:
    assert said("googlebot: noindex", "nofollow") == (False, True)


def test_the_text_that_decided_is_told() -> None:
    metas = [("robots", "noarchive"), ("robots", " noindex,\n\tnofollow "), ("probe", "nofollow")]
    assert read(metas, (), "probe") == Directives(
        "meta robots: noindex, nofollow", "meta robots: noindex, nofollow"
    )
    assert read(metas, ("all", "probe: NoIndex"), "probe") == Directives(
        "X-Robots-Tag: probe: NoIndex", "meta robots: noindex, nofollow"
    )


def test_the_text_cannot_steer_a_terminal_and_ends() -> None:
    found = read((), ("noindex, \x1b[2J\x00" + "x" * 10_000,), "probe").noindex
    assert found is not None
    assert found.startswith("X-Robots-Tag: noindex, \ufffd[2J\ufffdxx")
    assert found.isprintable()
    assert len(found) < 300


@pytest.mark.alone
@pytest.mark.parametrize("unit", ["a", "a:", "a,", "a:,", " ", "max-", "*", "/", "index,", "unavailable_after:"])
def test_of_endless_values_the_start_is_read_at_once(unit: str) -> None:
    def judged(count: int) -> Directives:
        return read((("robots", f"nofollow, {unit * count}"),), (unit * count + ",probe: none",), "probe")

    found = judged(500_000)
    assert_linear(judged, 500_000 // TIMES, 500_000, most=TIMES / 2)
    assert (found.nofollow or "").startswith("meta robots: nofollow,")

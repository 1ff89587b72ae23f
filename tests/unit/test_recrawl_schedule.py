"""When a page is due again."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from orbweb.frontier.recrawl import Bounds, PageLook, changed_at, is_due, wait

HOUR = 3_600_000_000
DAY = 24 * HOUR
BOUNDS = Bounds(HOUR, 30 * DAY)


def looks(every: int, contents: str) -> list[PageLook]:
    return [PageLook(number * every, content.encode()) for number, content in enumerate(contents)]


@pytest.mark.parametrize(
    ("every", "contents", "expected"),
    [
        (DAY, "", HOUR),
        (DAY, "a", HOUR),
        (DAY, "aa", 2 * DAY),
        (DAY, "aaaa", 6 * DAY),
        (20 * DAY, "aaaa", 30 * DAY),
        (60, "ab", HOUR),
    ],
)
def test_a_wait_is_within_its_bounds_and_twice_what_was_watched(every: int, contents: str, expected: int) -> None:
    assert wait(looks(every, contents), BOUNDS) == expected


def test_what_changes_at_every_look_is_looked_at_more_often_than_it_was() -> None:
    assert wait(looks(DAY, "abcdef"), BOUNDS) < DAY / 2


def test_the_more_changes_the_shorter_the_wait() -> None:
    waits = [
        wait(looks(DAY, contents), BOUNDS) for contents in ("aaaaaaa", "aaaaaab", "aaaaabc", "aaaabcd", "abcdefg")
    ]
    assert waits == sorted(waits, reverse=True)
    assert len(set(waits)) == len(waits)


def test_one_change_in_ten_days_is_about_ten_days() -> None:
    assert 9 * DAY < wait(looks(DAY, "aaaaaaaaaab"), BOUNDS) < 11 * DAY


def at(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1_000_000)


@pytest.mark.parametrize(
    ("lastmod", "expected"),
    [
        ("2026-11-16", "2026-11-17T00:00:00"),
        ("2026-11-16T05:00:00Z", "2026-11-16T05:00:00"),
        ("2026-11-16T05:00:00+02:00", "2026-11-16T03:00:00"),
        (" 2026-11-16T05:00:00 ", "2026-11-16T05:00:00"),
    ],
)
def test_a_date_of_a_sitemap_means_its_latest_instant(lastmod: str, expected: str) -> None:
    assert changed_at(lastmod) == at(expected)


@pytest.mark.parametrize("lastmod", [None, "", "yesterday", "2026", "9999-12-31", "2026-13-01"])
def test_what_is_no_date_says_nothing(lastmod: str | None) -> None:
    assert changed_at(lastmod) is None


def test_a_page_is_due_when_its_wait_is_over_or_a_sitemap_says_so() -> None:
    seen = [PageLook(at("2026-11-01T00:00:00"), b"a"), PageLook(at("2026-11-03T00:00:00"), b"a")]
    assert not is_due(seen, None, at("2026-11-06T23:59:59"), BOUNDS)
    assert is_due(seen, None, at("2026-11-07T00:00:00"), BOUNDS)
    assert is_due(seen, "2026-11-03", at("2026-11-03T01:00:00"), BOUNDS)
    assert not is_due(seen, "2026-11-02", at("2026-11-03T01:00:00"), BOUNDS)
    assert is_due([], None, 0, BOUNDS)

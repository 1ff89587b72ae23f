"""Intervals and backoff."""

from __future__ import annotations

from email.utils import formatdate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweb.frontier.politeness import (
    FIRST_PACE,
    MARGIN_MAX,
    MARGIN_SHARE,
    SECOND,
    backoff,
    faster,
    interval,
    rate_of,
    retry_after,
    slower,
)

examples = settings(max_examples=100, deadline=None, derandomize=True, database=None)


def test_max_means_no_interval() -> None:
    assert interval("max") == 0


@pytest.mark.parametrize(("rate", "microseconds"), [(0.1, 10_005_000), (1, 1_005_000), (2, 505_000)])
def test_an_interval_is_a_little_more_than_the_rate_asks_for(rate: float, microseconds: int) -> None:
    assert interval(rate) == microseconds


@given(st.floats(min_value=0.001, max_value=100_000))
@examples
def test_no_rate_is_exceeded_and_none_is_much_slower(rate: float) -> None:
    exact = SECOND / rate
    assert exact - 0.5 <= interval(rate) <= exact + min(MARGIN_SHARE * exact, MARGIN_MAX) + 0.5
    assert interval(rate) > 0


def test_waits_double_up_to_the_cap() -> None:
    longest = [backoff(tries, base_s=0.5, cap_s=8, jitter=0.999999) for tries in range(1, 8)]
    assert [round(wait, 2) for wait in longest] == [0.5, 1, 2, 4, 8, 8, 8]


@given(
    st.integers(1, 21), st.floats(0, 60), st.floats(0, 3600), st.floats(min_value=0, max_value=1, exclude_max=True)
)
@examples
def test_jitter_takes_at_most_half_away(tries: int, base_s: float, cap_s: float, jitter: float) -> None:
    longest = min(cap_s, base_s * 2 ** (tries - 1))
    assert longest / 2 <= backoff(tries, base_s=base_s, cap_s=cap_s, jitter=jitter) <= longest


NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("\u0663", None),
        ("0", 0.0),
        (" 120 ", 120.0),
        ("99999999999", 99_999_999_999.0),
        ("9" * 400, float("inf")),
        ("Tue, 14 Nov 2023 22:13:50 GMT", 30.0),
        ("Tuesday, 14-Nov-23 22:13:50 GMT", 30.0),
        ("Tue Nov 14 22:13:50 2023", 30.0),
        ("Tue, 14 Nov 2023 23:13:50 +0100", 30.0),
        ("Tue, 14 Nov 1995 22:13:50 GMT", 0.0),
        ("Tue, 99 Nov 2023 22:13:50 GMT", None),
    ],
)
def test_retry_after(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, date=None, now=NOW) == seconds


HOUR, DAY = 3600, 86_400


@pytest.mark.parametrize("ours", [0, HOUR, -HOUR, DAY, -DAY])
@pytest.mark.parametrize("theirs", [0, HOUR, -HOUR, DAY, -DAY])
def test_a_date_is_counted_by_the_clock_of_the_server_that_wrote_it(ours: int, theirs: int) -> None:
    date, until = (formatdate(NOW + theirs + ahead, usegmt=True) for ahead in (0, 30))
    assert retry_after(until, date=date, now=NOW + ours) == 30.0
    assert retry_after("30", date=date, now=NOW + ours) == 30.0


@pytest.mark.parametrize("date", [None, "", "today", "Tue, 99 Nov 2023 22:13:20 GMT"])
def test_without_the_servers_clock_a_date_is_counted_by_ours(date: str | None) -> None:
    assert retry_after("Tue, 14 Nov 2023 22:13:50 GMT", date=date, now=NOW) == 30.0


@given(st.text(max_size=60), st.none() | st.text(max_size=60))
@examples
def test_any_retry_after_is_a_number_or_nothing(value: str, date: str | None) -> None:
    found = retry_after(value, date=date, now=NOW)
    assert found is None or found >= 0


def test_a_busy_host_is_asked_half_as_often_each_time_down_to_the_slowest() -> None:
    paces, pace = [], 0
    for _ in range(6):
        pace = slower(pace, SECOND, 10 * SECOND)
        paces.append(pace // SECOND)
    assert paces == [2, 4, 8, 10, 10, 10]
    assert slower(0, 60 * SECOND, 10 * SECOND) == 60 * SECOND
    assert slower(0, 0, 10 * SECOND) == FIRST_PACE


@pytest.mark.parametrize("usual", [0, SECOND // 2])
def test_a_host_that_answers_well_comes_back_to_its_rate(usual: int) -> None:
    pace, steps = slower(0, usual, 10 * SECOND), 0
    while pace:
        before, pace = pace, faster(pace, usual)
        assert pace == 0 or pace == round(before / 1.1)
        steps += 1
    assert 7 <= steps <= 25


@pytest.mark.parametrize("rate", [0.1, 0.5, 1, 2, 6, 20, 21, 30, 200])
def test_a_rate_is_read_from_its_interval(rate: float) -> None:
    assert rate_of(interval(rate)) == pytest.approx(rate, rel=0.001)


def test_no_interval_is_no_limit() -> None:
    assert rate_of(interval("max")) is None

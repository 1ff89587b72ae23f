"""Intervals and backoff."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweb.politeness import MARGIN_MAX, MARGIN_SHARE, SECOND, backoff, interval

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

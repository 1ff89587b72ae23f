"""The measure of work tells what is linear from what is not."""

from __future__ import annotations

import pytest

from effort import TIMES, assert_linear, best_s

pytestmark = pytest.mark.alone


def squares(size: int) -> int:
    return sum(1 for _ in range(size) for _ in range(size))


def test_linear_work_is() -> None:
    assert_linear(lambda size: sum(range(size)), 2_000_000, 2_000_000 * TIMES)


def test_work_that_grows_with_the_square_is_not() -> None:
    with pytest.raises(AssertionError, match="8 times as much"):
        assert_linear(squares, 400, 400 * TIMES)


def test_the_best_is_found_and_no_more_is_tried() -> None:
    calls: list[int] = []

    def work() -> None:
        calls.append(squares(600 if len(calls) < 2 else 1))

    assert best_s(work, 0.002) < 0.002
    assert len(calls) == 3

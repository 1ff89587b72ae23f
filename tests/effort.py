"""How much work something is, told so that a busy machine does not change the answer.

Processor time of one call says little: neighbours on the same core, in its caches and above it (a virtual machine)
make it several times longer, for a moment or for long. What is compared here is the best of several calls, of a
small and a large input in turn, and it is compared by a factor that lies far from both answers. More calls are
made only while the answer is not the expected one. Whoever uses this marks the test `alone`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

ROUNDS = 8
TIMES = 8
"""A large input is so many times a small one."""
LINEAR = 3 * TIMES
"""Work that grows with the square takes TIMES * TIMES as long."""
FLOOR_S = 0.25
"""Large inputs are so large that what grows with the square takes far longer; what takes less is linear."""


def best_s(work: Callable[[], object], enough_s: float = 0.0) -> float:
    """The least processor time of several calls; no more of them once it is below `enough_s`."""
    best = float("inf")
    for _ in range(ROUNDS):
        best = min(best, _seconds(work))
        if best < enough_s:
            break
    return best


def assert_linear(work: Callable[[T], object], small: T, large: T, *, most: float = LINEAR) -> None:
    """The work of the large input, which is TIMES the small one, is in proportion to it, or to `most`."""
    least_small = least_large = float("inf")
    for _ in range(ROUNDS):
        least_large = min(least_large, _seconds(lambda: work(large)))
        if least_large < FLOOR_S:
            return
        least_small = min(least_small, _seconds(lambda: work(small)))
        if least_large < most * least_small:
            return
    raise AssertionError(f"{least_small:.4f} s, and {least_large:.4f} s for {TIMES} times as much")


def part(whole: str) -> str:
    """The small input for a large one that is the same all along."""
    return whole[: len(whole) // TIMES]


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start

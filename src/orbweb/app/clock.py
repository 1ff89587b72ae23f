"""The clocks of a crawl: no jump of the wall clock changes how long anything waits."""

from __future__ import annotations

import time
from collections.abc import Callable

from orbweb import urls
from orbweb.app.directory import now_us
from orbweb.model import Item
from orbweb.store import LONGEST_WAIT, Limiter

Clock = Callable[[], int]


def monotonic_us() -> int:
    return time.monotonic_ns() // 1000


def steady_clock() -> Clock:
    """The wall clock as it was at the start, moved on by the monotonic one: no jump changes how long anything
    waits."""
    ahead = now_us() - monotonic_us()
    return lambda: ahead + monotonic_us()


def longest_wait(limiter: Limiter, defer: int) -> Callable[[Item], int]:
    """How long a deferred place of an earlier process can have to wait: as long as the limiter, which does not use
    the wall clock, holds its host, or for one deferral. After a reboot the limiter knows nothing of it."""

    def longest(item: Item) -> int:
        due = limiter.due(urls.site(item.url))
        return max(due - monotonic_us(), defer) if due else LONGEST_WAIT

    return longest

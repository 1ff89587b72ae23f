"""When a host may be asked again, and when a failed try is repeated.

Pure: instants and randomness are arguments. Instants are microseconds of the machine's monotonic clock.
"""

from __future__ import annotations

SECOND = 1_000_000
MARGIN_SHARE = 0.1
MARGIN_MAX = 5_000


def interval(rate: float | str) -> int:
    """Microseconds between two requests to one host; 0 for `max`.

    A little more than 1/rate, because the network may bring two requests closer together than they were sent.
    """
    if isinstance(rate, str):
        return 0
    exact = SECOND / rate
    return round(exact + min(exact * MARGIN_SHARE, MARGIN_MAX))


def backoff(tries: int, *, base_s: float, cap_s: float, jitter: float) -> float:
    """Seconds before the next try, after `tries` of them failed; `jitter` is in [0, 1)."""
    longest = min(cap_s, base_s * 2.0 ** (tries - 1))
    return longest * (0.5 + jitter / 2)

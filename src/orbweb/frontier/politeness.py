"""The time between requests to a host, and the backoff after a failed request.

Pure: instants and randomness are arguments. Instants are microseconds of the machine's monotonic clock.
"""

from __future__ import annotations

import math
from datetime import UTC

SECOND = 1_000_000
MARGIN_SHARE = 0.1
MARGIN_MAX = 5_000
FIRST_PACE = SECOND // 10
FREE_PACE = SECOND // 100
GOOD_ANSWERS = 10
FASTER = 1.1


def interval(rate: float | str) -> int:
    """Microseconds between two requests to one host; 0 for `max`.

    A little more than 1/rate, because two requests may arrive closer together than they were sent.
    """
    if isinstance(rate, str):
        return 0
    exact = SECOND / rate
    return round(exact + min(exact * MARGIN_SHARE, MARGIN_MAX))


def rate_of(interval: int) -> float | None:
    """The rate of which this is the interval; None for `max`."""
    if not interval:
        return None
    share = 1 + MARGIN_SHARE
    return round(
        SECOND / (interval / share if interval <= MARGIN_MAX / MARGIN_SHARE * share else interval - MARGIN_MAX), 3
    )


def backoff(tries: int, *, base_s: float, cap_s: float, jitter: float) -> float:
    """Seconds before the next attempt after `tries` failed ones; `jitter` is in [0, 1)."""
    longest = min(cap_s, base_s * 2.0 ** (tries - 1))
    return longest * (0.5 + jitter / 2)


def slower(pace: int, interval: int, slowest: int) -> int:
    """The time between requests after a busy response of the host: twice as long, but at most `slowest`."""
    doubled = 2 * max(pace, interval) or FIRST_PACE
    return max(interval, min(doubled, slowest))


def faster(pace: int, interval: int) -> int:
    """The time between requests after ten good responses: a tenth more of them; 0 once the usual rate is
    reached."""
    shorter = round(pace / FASTER)
    return 0 if shorter <= max(interval, FREE_PACE) else shorter


def retry_after(value: str | None, *, date: str | None, now: float) -> float | None:
    """Retry-After in seconds, from a number or an HTTP date; None if absent or invalid.

    A date is an instant of the server's clock, so it is compared with the Date header of the same response, or
    with `now`, our own clock in UTC, if there is none.
    """
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return float(text) if len(text) < 300 else math.inf
    until, sent_at = _instant(text), _instant(date or "")
    return None if until is None else max(0.0, until - (now if sent_at is None else sent_at))


def _instant(text: str) -> float | None:
    """An HTTP date as seconds in UTC; None if it is not one."""
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None

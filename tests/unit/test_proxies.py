"""Which proxy is next: each in turn, those that failed rest, and nobody goes without one."""

from __future__ import annotations

from orbweb.fetching.proxies import LONGEST_REST_S, REST_S, Direct, Proxy, RoundRobin

ALL = [Proxy(number, "http", f"p{number}.example", 3128) for number in (1, 2, 3)]


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def picked(ring: RoundRobin, times: int) -> list[int]:
    found = [ring.pick("example.org:80", ticket) for ticket in range(times)]
    return [proxy.number for proxy in found if proxy is not None]


def test_in_turn() -> None:
    assert picked(RoundRobin(ALL, clock=Clock()), 7) == [1, 2, 3, 1, 2, 3, 1]


def test_one_that_failed_rests_and_comes_back() -> None:
    clock = Clock()
    ring = RoundRobin(ALL, clock=clock)
    ring.report(ALL[1], ok=False)
    assert picked(ring, 4) == [1, 3, 1, 3]
    clock.now += REST_S
    assert 2 in picked(ring, 3)


def test_the_rest_grows_and_a_success_ends_it() -> None:
    clock = Clock()
    ring = RoundRobin(ALL, clock=clock)
    rests = []
    for _ in range(9):
        ring.report(ALL[0], ok=False)
        began = clock.now
        while 1 not in picked(ring, 3):
            clock.now += 1
        rests.append(clock.now - began)
    assert rests[:4] == [REST_S, 2 * REST_S, 4 * REST_S, 8 * REST_S]
    assert rests[-1] == LONGEST_REST_S
    ring.report(ALL[0], ok=True)
    ring.report(ALL[0], ok=False)
    clock.now += REST_S
    assert 1 in picked(ring, 3)


def test_many_requests_that_fail_at_once_are_one_failure() -> None:
    clock = Clock()
    ring = RoundRobin(ALL, clock=clock)
    for _ in range(20):
        ring.report(ALL[0], ok=False)
    clock.now += REST_S
    assert 1 in picked(ring, 3)


def test_when_all_rest_the_first_due_is_used_never_none() -> None:
    clock = Clock()
    ring = RoundRobin(ALL, clock=clock)
    for proxy in (ALL[2], ALL[0], ALL[1]):
        ring.report(proxy, ok=False)
        clock.now += 1
    assert picked(ring, 3) == [3, 3, 3]


def test_direct_is_no_proxy() -> None:
    assert Direct().pick("example.org:80", 1) is None


def test_what_is_shown_has_no_password() -> None:
    proxy = Proxy(2, "http", "proxy.example", 3128, "user", "s3cret")
    assert proxy.id == "2 proxy.example:3128"
    assert "s3cret" not in f"{proxy!r} {proxy} {proxy.url} {proxy.id}"
    assert "user" not in repr(proxy)

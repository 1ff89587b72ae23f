"""Which place is sent when. The clock is a number; the limiter is the real one, on a temporary file."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orbweb.frontier.dispatch import Dispatcher, DispatchSettings
from orbweb.model import Place
from orbweb.store.sqlite.limiter import SqliteLimiter

INTERVAL = 500_000
SLOWEST = 10_000_000
SITE = "example.org:443"


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@contextmanager
def dispatching(
    path: Path, clock: Clock, interval: int = INTERVAL, connections: int | None = None
) -> Iterator[Dispatcher]:
    limiter = SqliteLimiter(path / "limiter.db")
    try:
        yield Dispatcher(limiter, DispatchSettings(interval, SLOWEST, connections), clock)
    finally:
        limiter.close()


@pytest.fixture
def dispatcher(tmp_path: Path, clock: Clock) -> Iterator[Dispatcher]:
    with dispatching(tmp_path, clock) as made:
        yield made


def send_next(dispatcher: Dispatcher, clock: Clock, late: int = 0) -> int | None:
    """Wait as long as the dispatcher says, take a ticket, and send it `late` after that."""
    for _ in range(3):
        ticket = dispatcher.take()
        if ticket is not None:
            clock.now += late
            dispatcher.sent(ticket)
            return ticket
        wait = dispatcher.wait_s()
        if wait is None:
            return None
        clock.now += round(wait * 1_000_000)
    return None


def moments(dispatcher: Dispatcher, clock: Clock, *late: int) -> list[int]:
    """When each of the next tickets is sent."""
    found = []
    for each in late:
        assert send_next(dispatcher, clock, each) is not None
        found.append(clock.now)
    return found


def test_requests_of_one_site_are_evenly_spaced(dispatcher: Dispatcher, clock: Clock) -> None:
    for ticket in range(5):
        dispatcher.add(ticket, SITE, Place(0, ticket))
    assert moments(dispatcher, clock, 0, 0, 0, 0, 0) == [1_000_000 + INTERVAL * number for number in range(5)]
    assert dispatcher.take() is None
    assert dispatcher.wait_s() is None


def test_the_interval_is_counted_from_the_moment_of_sending(dispatcher: Dispatcher, clock: Clock) -> None:
    for ticket in range(6):
        dispatcher.add(ticket, SITE, Place(0, ticket))
    sent = moments(dispatcher, clock, 300_000, 0, 700, 2_000_000, 1, 0)
    gaps = [later - earlier for earlier, later in itertools.pairwise(sent)]
    assert gaps == [INTERVAL + late for late in (0, 700, 2_000_000, 1, 0)]


def test_no_second_request_is_taken_while_one_is_about_to_leave(dispatcher: Dispatcher, clock: Clock) -> None:
    dispatcher.add(1, SITE, Place(0, 1))
    dispatcher.add(2, SITE, Place(0, 2))
    assert dispatcher.take() == 1
    clock.now += 10 * INTERVAL
    assert dispatcher.take() is None
    dispatcher.add(3, SITE, Place(0, 0))
    assert dispatcher.take() is None
    dispatcher.sent(1)
    assert dispatcher.take() is None
    clock.now += INTERVAL
    assert dispatcher.take() == 3


def test_a_request_that_came_to_nothing_counts_as_sent_once(dispatcher: Dispatcher, clock: Clock) -> None:
    dispatcher.add(1, SITE, Place(0, 1))
    dispatcher.add(2, SITE, Place(0, 2))
    assert dispatcher.take() == 1
    dispatcher.sent(1)
    clock.now += INTERVAL - 1
    dispatcher.sent(1)
    dispatcher.sent(99)
    assert dispatcher.take() is None
    clock.now += 1
    assert dispatcher.take() == 2


def test_earlier_places_leave_first_whenever_they_were_added(dispatcher: Dispatcher, clock: Clock) -> None:
    places = [Place(depth, rank) for depth in range(3) for rank in range(4)]
    shuffled = list(enumerate(places))
    random.Random(5).shuffle(shuffled)
    for ticket, place in shuffled:
        dispatcher.add(ticket, SITE, place)
    assert [send_next(dispatcher, clock) for _ in places] == list(range(len(places)))


def test_a_ticket_added_again_waits_for_its_own_slot(dispatcher: Dispatcher, clock: Clock) -> None:
    dispatcher.add(1, SITE, Place(0, 0))
    assert send_next(dispatcher, clock, late=700) == 1
    dispatcher.add(1, SITE, Place(0, 0))
    assert dispatcher.take() is None
    assert dispatcher.wait_s() == INTERVAL / 1_000_000
    assert send_next(dispatcher, clock) == 1
    assert clock.now == 1_000_700 + INTERVAL


def test_two_sites_do_not_wait_for_each_other(dispatcher: Dispatcher, clock: Clock) -> None:
    for ticket in range(4):
        dispatcher.add(ticket, ("a:80", "b:80")[ticket % 2], Place(0, ticket))
    assert {dispatcher.take(), dispatcher.take()} == {0, 1}
    assert dispatcher.take() is None
    dispatcher.sent(0)
    clock.now += INTERVAL
    assert dispatcher.take() == 2
    assert dispatcher.take() is None
    dispatcher.sent(1)
    assert dispatcher.wait_s() == INTERVAL / 1_000_000


def test_a_discarded_ticket_is_not_sent_and_costs_no_slot(dispatcher: Dispatcher, clock: Clock) -> None:
    for ticket in range(3):
        dispatcher.add(ticket, SITE, Place(0, ticket))
    dispatcher.discard(0)
    dispatcher.discard(7)
    assert send_next(dispatcher, clock) == 1
    dispatcher.discard(2)
    assert send_next(dispatcher, clock) is None
    dispatcher.add(3, SITE, Place(0, 3))
    assert send_next(dispatcher, clock) == 3
    assert clock.now == 1_000_000 + INTERVAL


def test_discarding_a_ticket_that_is_about_to_leave_does_not_block_its_site(
    dispatcher: Dispatcher, clock: Clock
) -> None:
    dispatcher.add(1, SITE, Place(0, 1))
    dispatcher.add(2, SITE, Place(0, 2))
    assert dispatcher.take() == 1
    dispatcher.discard(1)
    assert dispatcher.take() is None
    clock.now += 200_000
    dispatcher.sent(1)
    assert send_next(dispatcher, clock) == 2
    assert clock.now == 1_200_000 + INTERVAL


def test_without_an_interval_everything_leaves_at_once_in_order(tmp_path: Path, clock: Clock) -> None:
    with dispatching(tmp_path, clock, 0) as dispatcher:
        for ticket in (3, 1, 2, 0):
            dispatcher.add(ticket, f"{ticket % 2}:80", Place(0, ticket))
        dispatcher.discard(2)
        assert dispatcher.wait_s() is None
        assert [dispatcher.take() for _ in range(4)] == [0, 1, 3, None]
        dispatcher.sent(0)


def test_the_spacing_holds_across_a_restart(tmp_path: Path, clock: Clock) -> None:
    with dispatching(tmp_path, clock) as dispatcher:
        dispatcher.add(1, SITE, Place(0, 1))
        assert send_next(dispatcher, clock) == 1
    clock.now += 100_000
    with dispatching(tmp_path, clock) as dispatcher:
        dispatcher.add(1, SITE, Place(0, 2))
        assert send_next(dispatcher, clock) == 1
        assert clock.now == 1_000_000 + INTERVAL


def test_dispatchers_of_two_processes_share_the_slots_of_a_site(tmp_path: Path, clock: Clock) -> None:
    sent = []
    with dispatching(tmp_path, clock) as one, dispatching(tmp_path, clock) as other:
        for ticket in range(6):
            one.add(ticket, SITE, Place(0, ticket))
            other.add(ticket, SITE, Place(0, ticket))
        while len(sent) < 12:
            for each in (one, other):
                if (ticket := each.take()) is not None:
                    each.sent(ticket)
                    sent.append(clock.now)
            clock.now += 10_000
    assert all(later - earlier >= INTERVAL for earlier, later in itertools.pairwise(sent))
    assert sent[-1] - sent[0] == 11 * INTERVAL


def finish(dispatcher: Dispatcher, ticket: int | None) -> int:
    assert ticket is not None
    return dispatcher.done(ticket)


@pytest.mark.parametrize("interval", [0, INTERVAL])
def test_a_busy_site_is_left_alone_as_long_as_it_asks(tmp_path: Path, clock: Clock, interval: int) -> None:
    with dispatching(tmp_path, clock, interval) as dispatcher:
        for ticket in range(4):
            dispatcher.add(ticket, SITE, Place(0, ticket))
        left = finish(dispatcher, dispatcher.take())
        assert dispatcher.busy(SITE, left, 7_000_000)
        assert not dispatcher.busy(SITE, left, 3_000_000)
        assert dispatcher.take() is None
        assert dispatcher.wait_for(SITE) == 7_000_000
        dispatcher.add(9, "other:80", Place(1, 0))
        assert dispatcher.take() == 9
        assert moments(dispatcher, clock, 0) == [8_000_000]


def test_a_restart_and_another_process_leave_a_busy_site_alone_too(tmp_path: Path, clock: Clock) -> None:
    with dispatching(tmp_path, clock, 0) as one, dispatching(tmp_path, clock, 0) as other:
        one.busy(SITE, 0, 5_000_000)
        other.add(1, SITE, Place(0, 0))
        assert other.take() is None
    with dispatching(tmp_path, clock, 0) as busy, dispatching(tmp_path, clock, 0) as fast:
        fast.add(1, "late:80", Place(0, 0))
        assert fast.take() == 1
        busy.busy("late:80", 0, 5_000_000)
        clock.now += 100_001
        fast.add(2, "late:80", Place(0, 1))
        assert fast.take() is None
    clock.now = 1_000_000
    with dispatching(tmp_path, clock, 0) as later:
        later.add(1, SITE, Place(0, 0))
        assert moments(later, clock, 0) == [6_000_000]


def test_each_busy_answer_halves_the_rate_but_one_moment_counts_once(dispatcher: Dispatcher, clock: Clock) -> None:
    for ticket in range(8):
        dispatcher.add(ticket, SITE, Place(0, ticket))
    gaps = []
    for _ in range(4):
        start = clock.now
        ticket = send_next(dispatcher, clock)
        gaps.append(clock.now - start)
        left = finish(dispatcher, ticket)
        for _ in range(5):
            dispatcher.busy(SITE, left, 0)
    assert gaps == [0, 2 * INTERVAL, 4 * INTERVAL, 8 * INTERVAL]


def test_good_answers_bring_the_rate_back(dispatcher: Dispatcher, clock: Clock) -> None:
    dispatcher.busy(SITE, 0, 0)
    gaps = []
    for ticket in range(100):
        dispatcher.add(ticket, SITE, Place(0, ticket))
        start = clock.now
        assert send_next(dispatcher, clock) == ticket
        gaps.append(clock.now - start)
        dispatcher.done(ticket)
        dispatcher.fine(SITE)
    assert gaps[5] == 2 * INTERVAL
    assert gaps[15] == round(2 * INTERVAL / 1.1)
    assert gaps[-1] == INTERVAL
    assert sorted(gaps[1:], reverse=True) == gaps[1:]


@pytest.mark.parametrize("interval", [0, 1])
def test_a_site_has_no_more_under_way_than_it_may(tmp_path: Path, clock: Clock, interval: int) -> None:
    with dispatching(tmp_path, clock, interval, connections=2) as dispatcher:
        for ticket in range(5):
            dispatcher.add(ticket, SITE, Place(0, ticket))
        dispatcher.add(9, "other:80", Place(1, 0))
        taken = [send_next(dispatcher, clock) for _ in range(4)]
        assert sorted(taken, key=str) == [0, 1, 9, None]
        finish(dispatcher, 1)
        clock.now += 10
        assert send_next(dispatcher, clock) == 2
        assert send_next(dispatcher, clock) is None


def test_another_rate_holds_from_now_on_and_a_crawl_delay_stays(tmp_path: Path, clock: Clock) -> None:
    with dispatching(tmp_path, clock, interval=4 * INTERVAL) as dispatcher:
        for ticket in range(6):
            dispatcher.add(ticket, SITE, Place(0, ticket))
        slow_site = "slow.example.org:443"
        dispatcher.slow(slow_site, 2 * INTERVAL)
        first = moments(dispatcher, clock, 0, 0)
        assert first[1] - first[0] == 4 * INTERVAL
        dispatcher.adjust(DispatchSettings(INTERVAL, SLOWEST))
        then = moments(dispatcher, clock, 0, 0, 0)
        assert [later - earlier for earlier, later in itertools.pairwise(then)] == [INTERVAL, INTERVAL]
        for ticket in range(10, 13):
            dispatcher.add(ticket, slow_site, Place(0, ticket))
        dispatcher.discard(5)
        slowly = moments(dispatcher, clock, 0, 0, 0)
        assert [later - earlier for earlier, later in itertools.pairwise(slowly)] == [2 * INTERVAL] * 2


@pytest.mark.parametrize("interval", [0, INTERVAL])
@pytest.mark.parametrize("connections", [None, 2])
def test_of_those_that_are_due_only_wanted_ones_are_sent(
    tmp_path: Path, clock: Clock, interval: int, connections: int | None
) -> None:
    with dispatching(tmp_path, clock, interval, connections) as dispatcher:
        for number in range(1, 7):
            dispatcher.add(number, f"host{number % 2}:443", Place(1, number))
        assert dispatcher.take(lambda _: False) is None
        assert dispatcher.take(lambda ticket: ticket == 5) == 5, "three of its host are before it"
        dispatcher.sent(5)
        dispatcher.done(5)
        clock.now += interval
        taken = []
        while len(taken) < 5:
            ticket = dispatcher.take()
            if ticket is None:
                clock.now += INTERVAL
                continue
            taken.append(ticket)
            dispatcher.sent(ticket)
            dispatcher.done(ticket)
        assert sorted(taken) == [1, 2, 3, 4, 6], "nothing that was passed over is lost"


def test_a_slow_site_says_why_also_when_nothing_waits_for_it(dispatcher: Dispatcher, clock: Clock) -> None:
    dispatcher.add(1, "plain.test:80", Place(0, 1))
    assert send_next(dispatcher, clock) == 1
    dispatcher.done(1)
    assert dispatcher.slowest(8) == [], "a site that is as fast as set says nothing"
    dispatcher.slow("patient.test:80", 2_000_000)
    dispatcher.busy("busy.test:80", clock.now, 0, 503)
    dispatcher.busy("asks.test:80", clock.now, 45_000_000, 429)
    clock.now += 5_000_000
    found = {each.host: each for each in dispatcher.slowest(8)}
    assert {name: each.cause for name, each in found.items()} == {
        "patient.test:80": "crawl_delay",
        "busy.test:80": "busy",
        "asks.test:80": "retry_after",
    }
    assert (found["busy.test:80"].status, found["busy.test:80"].busy_s) == (503, 5.0)
    assert found["asks.test:80"].due_s == 40.0
    clock.now += 40_000_000
    (asks,) = (each for each in dispatcher.slowest(8) if each.host == "asks.test:80")
    assert asks.cause == "busy", "the pause is over, the rate is still halved"

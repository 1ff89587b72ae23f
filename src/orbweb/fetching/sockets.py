"""curl's sockets and its timer on the event loop.

The epoll contains exactly the sockets that curl waits for. curl reports the removal of a socket before it closes
the descriptor, so a number is registered and unregistered while it still means the same socket. An event that was
read before curl removed its socket is dropped, because the number may belong to another socket by then; if the
event also applies to that one, the next poll reports it again.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable

import pycurl

_EVENTS = {
    pycurl.POLL_IN: select.EPOLLIN,
    pycurl.POLL_OUT: select.EPOLLOUT,
    pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
}

Act = Callable[[int, int], object]


class Sockets:
    """The sockets of one `CurlMulti`.

    They are in an epoll of their own, which the loop watches as one file, so that a transfer costs the loop only
    the wake-up. `act` is called with a socket and its events, or with `SOCKET_TIMEOUT` when the timer is due;
    `acted` is called after each turn.
    """

    def __init__(self, act: Act, acted: Callable[[], None]) -> None:
        self._act = act
        self._acted = acted
        self._loop = asyncio.get_running_loop()
        self._epoll = select.epoll()
        self._watched: set[int] = set()
        self._removed: set[int] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._fires_at = 0.0
        self._due: float | None = None
        self._loop.add_reader(self._epoll.fileno(), self._on_sockets)

    def watch(self, event: int, fd: int, _multi: object = None, _data: object = None) -> None:
        """curl's M_SOCKETFUNCTION."""
        if event == pycurl.POLL_REMOVE:
            self._watched.remove(fd)
            self._removed.add(fd)
            self._epoll.unregister(fd)
        elif fd in self._watched:
            self._epoll.modify(fd, _EVENTS[event])
        else:
            self._watched.add(fd)
            self._epoll.register(fd, _EVENTS[event])

    def set_timer(self, timeout_ms: int) -> None:
        """curl's M_TIMERFUNCTION. curl moves its timer several times per transfer; the loop's is set only when it
        must fire earlier."""
        if timeout_ms < 0:
            self._due = None
            return
        self._due = self._loop.time() + timeout_ms / 1000
        if self._timer is not None:
            if self._fires_at <= self._due:
                return
            self._timer.cancel()
        self._start_timer(self._due)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()

    def _on_sockets(self) -> None:
        self._removed.clear()
        for fd, events in self._epoll.poll(0):
            if fd not in self._removed:
                self._act(fd, _action(events))
        self._acted()

    def _start_timer(self, due: float) -> None:
        self._fires_at = due
        self._timer = self._loop.call_at(due, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if self._due is None:
            return
        if self._due > self._loop.time():
            self._start_timer(self._due)
            return
        self._act(pycurl.SOCKET_TIMEOUT, 0)
        self._acted()


def _action(events: int) -> int:
    """The events of epoll as curl's bits."""
    if events == select.EPOLLIN:
        return pycurl.CSELECT_IN
    action = 0
    if events & select.EPOLLIN:
        action |= pycurl.CSELECT_IN
    if events & select.EPOLLOUT:
        action |= pycurl.CSELECT_OUT
    if events & (select.EPOLLERR | select.EPOLLHUP):
        action |= pycurl.CSELECT_ERR
    return action

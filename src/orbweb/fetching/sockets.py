"""curl's sockets and its timer on the event loop.

The epoll contains exactly the sockets that curl waits for. curl reports the removal of a socket before it closes
the descriptor, so a number is registered and unregistered while it still means the same socket. An event that was
read before curl removed its socket is dropped, because the number may belong to another socket by then; if the
event also applies to that one, the next poll reports it again.
"""

from __future__ import annotations

import asyncio
import select
import selectors
from collections.abc import Callable
from typing import Protocol

import pycurl

_EVENTS = {
    pycurl.POLL_IN: select.POLLIN,
    pycurl.POLL_OUT: select.POLLOUT,
    pycurl.POLL_INOUT: select.POLLIN | select.POLLOUT,
}
"""An epoll has the same bits as poll()."""

Act = Callable[[int, int], object]


class Poller(Protocol):
    """What is used of `select.epoll`."""

    def fileno(self) -> int: ...
    def register(self, fd: int, events: int, /) -> None: ...
    def modify(self, fd: int, events: int, /) -> None: ...
    def unregister(self, fd: int, /) -> None: ...
    def poll(self, timeout: float, /) -> list[tuple[int, int]]: ...
    def close(self) -> None: ...


class KernelQueue:
    """A poller where there is no epoll: on macOS it is a kqueue."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self.fileno, self.close = self._selector.fileno, self._selector.close

    def register(self, fd: int, events: int, /) -> None:
        self._selector.register(fd, _interest(events))

    def modify(self, fd: int, events: int, /) -> None:
        self._selector.modify(fd, _interest(events))

    def unregister(self, fd: int, /) -> None:
        self._selector.unregister(fd)

    def poll(self, timeout: float, /) -> list[tuple[int, int]]:
        return [(key.fd, _bits(interest)) for key, interest in self._selector.select(timeout)]


def _interest(bits: int) -> int:
    """The bits of poll() as those of `selectors`."""
    reads = selectors.EVENT_READ if bits & select.POLLIN else 0
    return reads | (selectors.EVENT_WRITE if bits & select.POLLOUT else 0)


def _bits(interest: int) -> int:
    reads = select.POLLIN if interest & selectors.EVENT_READ else 0
    return reads | (select.POLLOUT if interest & selectors.EVENT_WRITE else 0)


def new_poller() -> Poller:
    return select.epoll() if hasattr(select, "epoll") else KernelQueue()


class Sockets:
    """The sockets of one `CurlMulti`.

    They are in an epoll of their own, which the loop watches as one file, so that a transfer costs the loop only
    the wake-up. `act` is called with a socket and its events, or with `SOCKET_TIMEOUT` when the timer is due;
    `acted` is called after each turn.
    """

    def __init__(self, act: Act, acted: Callable[[], None], poller: Poller | None = None) -> None:
        self._act = act
        self._acted = acted
        self._loop = asyncio.get_running_loop()
        self._epoll = poller or new_poller()
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
    if events == select.POLLIN:
        return pycurl.CSELECT_IN
    action = 0
    if events & select.POLLIN:
        action |= pycurl.CSELECT_IN
    if events & select.POLLOUT:
        action |= pycurl.CSELECT_OUT
    if events & (select.POLLERR | select.POLLHUP):
        action |= pycurl.CSELECT_ERR
    return action

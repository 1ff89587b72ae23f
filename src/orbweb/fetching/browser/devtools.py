"""A client of the Chrome DevTools protocol over a pair of pipes: messages are JSON, each ends with a NUL byte.

Every call has a deadline. When the browser is gone, every open call fails with `BrowserGone`, and so does every
later one.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from typing import Any

READ_BYTES = 1 << 18
MOST_MESSAGE_BYTES = 256_000_000

Message = dict[str, Any]
OnEvent = Callable[[str, Message], None]
"""Called with the name and the parameters of an event, in the loop's thread."""


class BrowserError(Exception):
    """What a browser did instead of what it was told to do: it concerns one page or all of them, never the crawl."""


class BrowserGone(BrowserError):
    """The browser has ended, or closed its pipe."""


class CallFailed(BrowserError):
    """The browser refused a call, or did not answer it in time."""


class DevTools:
    """One connection. `listen` registers the receiver of a session's events; the empty session is the browser."""

    def __init__(self, reads: int, writes: int, on_gone: Callable[[], None]) -> None:
        """`reads` and `writes` are our ends of the pipes; they are closed with the connection."""
        self._loop = asyncio.get_running_loop()
        self._reads, self._writes, self._on_gone = reads, writes, on_gone
        self._next, self._calls, self._listeners = 0, dict[int, asyncio.Future[Message]](), dict[str, OnEvent]()
        self._unread, self._unsent, self._is_open = bytearray(), bytearray(), True
        for each in (reads, writes):
            os.set_blocking(each, False)
        self._loop.add_reader(reads, self._readable)

    def listen(self, session: str, on_event: OnEvent) -> None:
        self._listeners[session] = on_event

    def forget(self, session: str) -> None:
        """Nothing of the session is of interest any more."""
        self._listeners.pop(session, None)

    async def call(
        self, method: str, parameters: Mapping[str, Any] | None = None, *, session: str = "", timeout_s: float
    ) -> Message:
        """The result of a method; CallFailed if the browser refuses it or takes longer."""
        found = self.send(method, parameters, session=session)
        try:
            async with asyncio.timeout(timeout_s):
                return await found
        except TimeoutError:
            raise CallFailed(f"{method}: no answer within {timeout_s:g} s") from None

    def send(
        self, method: str, parameters: Mapping[str, Any] | None = None, *, session: str = ""
    ) -> asyncio.Future[Message]:
        """Call a method without waiting for its result. A future that nobody awaits never complains."""
        future: asyncio.Future[Message] = self._loop.create_future()
        future.add_done_callback(_retrieve)
        if not self._is_open:
            future.set_exception(BrowserGone("the browser has ended"))
            return future
        self._next += 1
        self._calls[self._next] = future
        message: Message = {"id": self._next, "method": method, "params": dict(parameters or {})}
        if session:
            message["sessionId"] = session
        self._write(json.dumps(message, separators=(",", ":")).encode() + b"\0")
        return future

    def close(self) -> None:
        """Close the pipes; open calls fail."""
        if not self._is_open:
            return
        self._is_open = False
        self._loop.remove_reader(self._reads)
        self._loop.remove_writer(self._writes)
        os.close(self._reads)
        os.close(self._writes)
        calls, self._calls = self._calls, {}
        for future in calls.values():
            if not future.done():
                future.set_exception(BrowserGone("the browser has ended"))
        self._listeners.clear()

    # The pipes.

    def _write(self, data: bytes) -> None:
        is_first = not self._unsent
        self._unsent += data
        if is_first:
            self._writable()

    def _writable(self) -> None:
        try:
            sent = os.write(self._writes, memoryview(self._unsent)[:READ_BYTES])
        except BlockingIOError:
            sent = 0
        except OSError:
            self._gone()
            return
        del self._unsent[:sent]
        if self._unsent:
            self._loop.add_writer(self._writes, self._writable)
        else:
            self._loop.remove_writer(self._writes)

    def _readable(self) -> None:
        try:
            found = os.read(self._reads, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            found = b""
        if not found:
            self._gone()
            return
        begin = len(self._unread)
        self._unread += found
        if b"\0" in found:
            self._dispatch(begin)
        elif len(self._unread) > MOST_MESSAGE_BYTES:
            self._gone()

    def _dispatch(self, begin: int) -> None:
        """Whole messages are taken from the buffer; `begin` is where the first end can be."""
        taken = 0
        while self._is_open and (end := self._unread.find(0, max(begin, taken))) >= 0:
            message = json.loads(self._unread[taken:end])
            taken = end + 1
            self._received(message)
        del self._unread[:taken]

    def _received(self, message: Message) -> None:
        number = message.get("id")
        if number is None:
            listener = self._listeners.get(message.get("sessionId", ""))
            if listener is not None:
                listener(message["method"], message.get("params", {}))
            return
        future = self._calls.pop(number, None)
        if future is None or future.done():
            return
        if "error" in message:
            future.set_exception(CallFailed(str(message["error"].get("message", "refused"))))
        else:
            future.set_result(message.get("result", {}))

    def _gone(self) -> None:
        if self._is_open:
            self.close()
            self._on_gone()


def _retrieve(future: asyncio.Future[Message]) -> None:
    if not future.cancelled():
        future.exception()

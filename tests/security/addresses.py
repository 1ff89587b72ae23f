"""Hosts that no public page may lead to, in the spellings an attacker would try.

`LITERAL` are hosts as they stand in a URL; `NAMED` are names with the addresses that `servers.dns` gives them. A
test puts each of them into an entry point (a link, a redirect, ...) and looks at the canary: sockets of loopback
that notice any connection. Those marked as reaching it would connect to the canary if nobody stopped them.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

from servers.dns import Reply, at

# Would reach the canary.
LOOPBACK = (
    "127.0.0.1", "127.0.0.2", "127.1", "127.0.1", "0177.0.0.1", "0177.0.0.01", "0x7f.0.0.1", "0x7f000001",
    "0X7F.1", "2130706433", "017700000001", "127.0.0.1.", "0x7f.0x0.0x0.0x1", "%31%32%37.0.0.1",
    "127%2e0%2e0%2e1", "127\u30020\u30020\u30021", "\uff11\uff12\uff17.0.0.1", "\u2460\u2461\u2466.0.0.1",
    "0", "0.0.0.0", "0x0", "localhost", "LOCALHOST", "localhost.", "loc%61lhost", "app.localhost",
    "[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0::ffff:127.0.0.2]",
    "user@127.0.0.1", "example.org@127.0.0.1", "user:secret@[::1]", "example.org:80@127.0.0.1",
)  # fmt: skip

# Lead elsewhere, and must never be dialled.
ELSEWHERE = (
    "[::127.0.0.1]", "[::ffff:0:127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::127.0.0.1]", "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]", "[2001:0:7f00:1::]", "[2001:0:808:808::80ff:fffe]", "[2606:4700::5efe:127.0.0.1]",
    "10.0.0.1", "10.255.255.255", "0xa000001", "172.16.0.1", "172.31.255.254", "192.168.0.1", "192.168.257",
    "0300.0250.0.1", "3232235521", "100.64.0.1", "100.100.100.200", "169.254.169.254", "2852039166",
    "0xa9fea9fe", "169.254.170.2", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]",
    "168.63.129.16", "192.0.0.192", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
    "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "[fc00::1]", "[fd00:ec2::254]", "[fe80::1]",
    "[fec0::1]", "[ff02::1]", "[2001:db8::1]", "[100::1]",
)  # fmt: skip

LITERAL = (*LOOPBACK, *ELSEWHERE)

# Names of the stub name server. The public addresses beside a private one are never dialled: one refuses all.
PUBLIC = ("93.184.216.34", "8.8.8.8", "2606:4700::1111")
NAMED: dict[str, Reply] = {
    "loopback.test": at("127.0.0.1"),
    "loopback-six.test": at("::1"),
    "both.test": at("127.0.0.1", "::1"),
    "mapped.test": at("::ffff:127.0.0.1"),
    "any.test": at("0.0.0.0"),
    "any-six.test": at("::"),
    "first-public.test": at(*PUBLIC, "127.0.0.1"),
    "first-private.test": at("127.0.0.1", *PUBLIC),
    "six-private.test": at("93.184.216.34", "::1"),
    "last-of-many.test": at(*(f"93.184.{n // 250}.{n % 250 + 1}" for n in range(499)), "127.0.0.1"),
    "nat64.test": at("64:ff9b::7f00:1"),
    "sixtofour.test": at("2002:7f00:1::1"),
    "metadata.test": at("169.254.169.254"),
    "azure.test": at("168.63.129.16"),
    "private.test": at("10.1.2.3"),
    "unique-local.test": at("fd00::1"),
    "link-local.test": at("fe80::1"),
}


class Canary:
    """Sockets of loopback on one port. A connection waits in their queues until it is counted."""

    def __init__(self, sockets: list[socket.socket]) -> None:
        self._sockets = sockets
        self.port = int(sockets[0].getsockname()[1])

    def hits(self) -> int:
        return sum(1 for listening in self._sockets for _ in _accepted(listening))


def _accepted(listening: socket.socket) -> Iterator[None]:
    with contextlib.suppress(BlockingIOError):
        while True:
            listening.accept()[0].close()
            yield


@contextlib.contextmanager
def canary() -> Iterator[Canary]:
    """Listen on 127.0.0.1 and 127.0.0.2, and on ::1 where the machine has it."""
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = first.getsockname()[1]
        sockets = [first, stack.enter_context(socket.create_server(("127.0.0.2", port)))]
        with contextlib.suppress(OSError):
            sockets.append(stack.enter_context(socket.create_server(("::1", port), family=socket.AF_INET6)))
        for listening in sockets:
            listening.setblocking(False)
        yield Canary(sockets)

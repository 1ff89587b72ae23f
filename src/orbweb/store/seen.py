"""Hashes seen so far, exact and in bounded memory.

Up to a bound all of them are in memory, in two halves; beyond it the database is read. What is not yet written
to the database is always in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

REMEMBERED = 50_000


class SeenHashes:
    """A set that reads with `ask` what it has given up."""

    def __init__(self, hashes: Iterable[bytes], ask: Callable[[bytes], bool]) -> None:
        self._young = set(hashes)
        self._old: set[bytes] = set()
        self._ask = ask
        self._complete = len(self._young) <= REMEMBERED

    def __contains__(self, sha256: bytes) -> bool:
        return sha256 in self._young or sha256 in self._old or (not self._complete and self._ask(sha256))

    def add(self, sha256: bytes) -> None:
        self._young.add(sha256)

    def forget(self) -> None:
        """A group begins to be written, and those before it are: what they added may be given up.

        What this one added is in the younger half, and stays in memory as the older one.
        """
        if len(self._young) > REMEMBERED:
            self._old, self._young = self._young, set()
            self._complete = False

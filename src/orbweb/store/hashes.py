"""Hashes seen so far, exact and in bounded memory.

Up to a bound all of them are in memory; beyond it the database is asked. What is not yet written to the
database is always in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

REMEMBERED = 50_000


class SeenHashes:
    """A set that asks `ask` for what it has given up."""

    def __init__(self, hashes: Iterable[bytes], ask: Callable[[bytes], bool]) -> None:
        self._hashes = set(hashes)
        self._ask = ask
        self._complete = True
        self.written()

    def __contains__(self, sha256: bytes) -> bool:
        return sha256 in self._hashes or (not self._complete and self._ask(sha256))

    def add(self, sha256: bytes) -> None:
        self._hashes.add(sha256)

    def written(self) -> None:
        """Every hash added so far is in the database, so the memory may be given up."""
        if len(self._hashes) > REMEMBERED:
            self._hashes.clear()
            self._complete = False

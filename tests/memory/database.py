"""Transactions over the tables of a workspace, whole and in portions.

One that fails leaves everything as it was. A change outside a transaction is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from memory.tables import Tables
from orbweb.errors import StoreError


class MemoryDatabase:
    """`tables` is what is in it now, as whoever writes sees it."""

    def __init__(self) -> None:
        self.tables = Tables()
        self._in_transaction = False
        self._portions: Iterator[None] | None = None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing. One in portions is brought to its end first."""
        self._finish()
        with self._begun():
            yield

    @contextmanager
    def _begun(self) -> Iterator[None]:
        if self._in_transaction:
            raise StoreError("memory: a transaction is open already")
        before = self.tables.copy()
        self._in_transaction = True
        try:
            yield
        except BaseException:
            self.tables = before
            raise
        finally:
            self._in_transaction = False

    def check_writable(self) -> None:
        if not self._in_transaction:
            raise StoreError("memory: a change outside a transaction")

    def start(self, work: Iterator[None], on_durable: Callable[[], None]) -> None:
        """Begin a transaction that does a portion of the work at each `step`."""
        self._finish()
        self._portions, self._on_durable = self._in_portions(work), on_durable

    def _in_portions(self, work: Iterator[None]) -> Iterator[None]:
        with self._begun():
            yield from work

    @property
    def is_writing(self) -> bool:
        return self._portions is not None

    def step(self) -> None:
        """Do the next portion, if there is one."""
        portions, self._portions = self._portions, None
        if portions is None:
            return
        if next(portions, self) is None:
            self._portions = portions
        else:
            self._on_durable()

    def _finish(self) -> None:
        while self._portions is not None:
            self.step()

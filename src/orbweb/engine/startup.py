"""The outset of a run: which base URLs are settled, whose sitemaps are read, and so where links may be followed.

Decides, never acts: the ledger commits and the engine sends. Always holds: no site is free while a base URL on it
may still lead elsewhere, or before the sitemaps of the scopes on it are read. Base URLs that wait for each other
are a party: all of them, or by site those of one site.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from orbweb import urls


class BaseScope(NamedTuple):
    """A base URL's number, and the key its scope is made of."""

    base: int
    key: str


@dataclass(slots=True)
class _Party:
    """`waiting` and `unread` are scopes whose sitemaps are not yet asked for, and not yet read."""

    open_places: int = 0
    waiting: list[BaseScope] = field(default_factory=list)
    unread: set[BaseScope] = field(default_factory=set)


class Startup:
    """What is known of the base URLs of one run until the last of them is settled and surveyed."""

    def __init__(self, scopes: Iterable[BaseScope], open_places: Mapping[int, int], *, by_site: bool) -> None:
        self._by_site = by_site
        self._scopes: dict[int, BaseScope] = {}
        self._open: Counter[int] = Counter(open_places)
        self._parties: dict[str, _Party] = {}
        self._changed: set[str] = set()
        for scope in scopes:
            self._join(scope)

    @property
    def is_settled(self) -> bool:
        """Whether every base URL and what it redirects to is settled."""
        return not self._open.total()

    @property
    def is_over(self) -> bool:
        """Whether the sitemaps of all of them are read as well."""
        return not any(party.open_places or party.unread for party in self._parties.values())

    def admit(self, base: int) -> None:
        """A place of the base URL's chain waits for its turn."""
        self._open_more(base, 1)

    def settle(self, base: int) -> None:
        """A place of the chain is settled; it may be the one whose page dropped the rest of them."""
        if self._open[base]:
            self._open_more(base, -1)

    def drop(self, base: int) -> None:
        """No place of the chain has a turn any more."""
        self._open_more(base, -self._open[base])

    def move(self, base: int, key: str) -> None:
        """The base URL redirected: its scope is where it led."""
        old = self._scopes[base]
        party = self._of(old.key)
        party.open_places -= self._open[base]
        party.unread.discard(old)
        if old in party.waiting:
            party.waiting.remove(old)
        self._join(BaseScope(base, key))

    def due(self) -> list[tuple[BaseScope, ...]]:
        """The scopes whose sitemaps may be read from now on: a party at a time, each once."""
        found = []
        for name in sorted(self._changed):
            party = self._parties[name]
            if not party.open_places and party.waiting:
                found.append(tuple(sorted(party.waiting)))
                party.waiting.clear()
        self._changed.clear()
        return found

    def read(self, scopes: Iterable[BaseScope]) -> None:
        """Their sitemaps are read, or none are to be."""
        for scope in scopes:
            self._of(scope.key).unread.discard(scope)

    def is_free(self, key: str) -> bool:
        """Whether links to the site of this key may be followed: it has base URLs, and all is done for them."""
        party = self._parties.get(self._name(key))
        return party is not None and not party.open_places and not party.unread

    def _join(self, scope: BaseScope) -> None:
        self._scopes[scope.base] = scope
        party = self._of(scope.key)
        party.open_places += self._open[scope.base]
        party.waiting.append(scope)
        party.unread.add(scope)

    def _open_more(self, base: int, change: int) -> None:
        self._open[base] += change
        self._of(self._scopes[base].key).open_places += change

    def _of(self, key: str) -> _Party:
        """The party of that key. Whoever asks may change it."""
        name = self._name(key)
        self._changed.add(name)
        return self._parties.setdefault(name, _Party())

    def _name(self, key: str) -> str:
        return urls.scope_site(key) if self._by_site else ""

"""The start of a run: base URLs first, then their sitemaps, then links.

No site is free while a base URL on it may still redirect elsewhere, or before the sitemaps of the scopes on it are
read. Base URLs that wait for each other are a group: all of them or, with `by_site`, those of one site.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from orbweb import urls


class BaseScope(NamedTuple):
    """A base URL's number, and the key that its scope is derived from."""

    base: int
    key: str


@dataclass(slots=True)
class _BaseGroup:
    """`waiting`: scopes whose sitemaps are not requested yet; `unread`: those whose sitemaps are not read yet."""

    open_places: int = 0
    waiting: list[BaseScope] = field(default_factory=list)
    unread: set[BaseScope] = field(default_factory=set)


class Startup:
    """The base URLs of one run, until the last one is committed and its sitemaps are read."""

    def __init__(self, scopes: Iterable[BaseScope], open_places: Mapping[int, int], *, by_site: bool) -> None:
        self._by_site = by_site
        self._scopes: dict[int, BaseScope] = {}
        self._open: Counter[int] = Counter(open_places)
        self._groups: dict[str, _BaseGroup] = {}
        self._changed: set[str] = set()
        for scope in scopes:
            self._join(scope)

    @property
    def all_committed(self) -> bool:
        """Whether every base URL and its redirect targets are committed."""
        return not self._open.total()

    @property
    def is_over(self) -> bool:
        """Whether all base URLs are committed and all their sitemaps are read."""
        return not any(group.open_places or group.unread for group in self._groups.values())

    def admit(self, base: int) -> None:
        """A place of the base URL's redirect chain is queued."""
        self._open_more(base, 1)

    def committed(self, base: int) -> None:
        """A place of the chain is committed; the chain may have been dropped by its own page."""
        if self._open[base]:
            self._open_more(base, -1)

    def drop(self, base: int) -> None:
        """The remaining places of the chain are skipped."""
        self._open_more(base, -self._open[base])

    def move(self, base: int, key: str) -> None:
        """The base URL redirected: its scope moves to the target."""
        old = self._scopes[base]
        group = self._of(old.key)
        group.open_places -= self._open[base]
        group.unread.discard(old)
        if old in group.waiting:
            group.waiting.remove(old)
        self._join(BaseScope(base, key))

    def due(self) -> list[tuple[BaseScope, ...]]:
        """Scopes whose sitemaps may be read now, by group; each is returned once."""
        found = []
        for name in sorted(self._changed):
            group = self._groups[name]
            if not group.open_places and group.waiting:
                found.append(tuple(sorted(group.waiting)))
                group.waiting.clear()
        self._changed.clear()
        return found

    def read(self, scopes: Iterable[BaseScope]) -> None:
        """The sitemaps of these scopes are read, or are not to be read."""
        for scope in scopes:
            self._of(scope.key).unread.discard(scope)

    def is_free(self, key: str) -> bool:
        """Whether links to the site of this key may be followed: base URLs committed, sitemaps read."""
        group = self._groups.get(self._name(key))
        return group is not None and not group.open_places and not group.unread

    def _join(self, scope: BaseScope) -> None:
        self._scopes[scope.base] = scope
        group = self._of(scope.key)
        group.open_places += self._open[scope.base]
        group.waiting.append(scope)
        group.unread.add(scope)

    def _open_more(self, base: int, change: int) -> None:
        self._open[base] += change
        self._of(self._scopes[base].key).open_places += change

    def _of(self, key: str) -> _BaseGroup:
        """The group of a key, which the caller may change."""
        name = self._name(key)
        self._changed.add(name)
        return self._groups.setdefault(name, _BaseGroup())

    def _name(self, key: str) -> str:
        return urls.scope_site(key) if self._by_site else ""

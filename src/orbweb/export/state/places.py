"""The URLs of an imported state, each with its place in the run.

The first line of a URL counts, and URLs without a place get one. Base URLs have the first ids, ids and ranks are
unique, and a fetched URL is never queued.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from orbweb.errors import UsageError, option
from orbweb.export.state.files import FRONTIER, INDEX, SKIPPED, StateFolder, StateLine
from orbweb.lifecycle import ItemState
from orbweb.model import FailKind, FamilyRow, SkipReason, Source
from orbweb.store.rows import UrlRow
from orbweb.urls import UrlRules


@dataclass(frozen=True, slots=True)
class StateSettings:
    """What the files do not contain: URL rules, lanes, and base URLs given by the user."""

    rules: UrlRules
    lane_of: Callable[[str], str]
    bases: tuple[str, ...] = ()


class StateBase(NamedTuple):
    """A base URL and its scope."""

    url: str
    key: str
    scope: str


@dataclass(slots=True)
class StateUrl:
    """A URL of the files and its line. `referrer` is a key."""

    key: str
    url: str
    state: str
    line: StateLine | None
    depth: int
    rank: int | None
    source: str
    id: int = 0
    hops: int = 0
    redirects: int = 0
    base: int = 0
    referrer: str | None = None
    reason: str | None = None
    rule: str | None = None
    family_member: bool = False
    lastmod: str | None = None
    due_at: int | None = None
    found_at: int | None = None
    changed_at: int | None = None


class StateReader:
    """The parsed and checked files of one state."""

    def __init__(self, folder: StateFolder, settings: StateSettings) -> None:
        folder.check()
        self._folder, self._settings = folder, settings
        self._state = folder.state()
        self.repeated = 0
        self._urls: dict[str, StateUrl] = {}
        self._read()
        self.bases = self._find_bases()
        self._number()

    # Reading.

    def _read(self) -> None:
        for line in self._folder.lines(INDEX):
            self._add(line, _index_state(line))
        for line in self._folder.lines(SKIPPED):
            self._add(line, ItemState.SKIPPED.value)
        for line in self._folder.fetched():
            target = line.url("url", self._settings.rules)
            if target is None or target.key not in self._urls:
                self._add(line, None)
        for line in self._folder.lines(FRONTIER):
            self._add(line, ItemState.QUEUED.value)

    def _add(self, line: StateLine, state: str | None) -> None:
        """Add a URL. Without a state, all that is known is that it was fetched."""
        rules = self._settings.rules
        target, referrer = line.url("url", rules), line.url("referrer", rules)
        if target is None:
            line.wrong("url is missing")
        if target.key in self._urls:
            self.repeated += 1
            return
        found = StateUrl(
            target.key,
            target.url,
            state or ItemState.SKIPPED.value,
            StateLine(line.path, line.number, {}),
            line.get("depth", int, 1) if state else 0,
            line.maybe("rank", int),
            line.one_of("source", Source) or Source.SPIDER.value,
            line.get("id", int, 0),
            line.get("hops", int, 0),
            line.get("redirects", int, 0),
            line.get("base", int, 0),
            referrer.key if referrer else None,
            family_member=line.get("kin", bool, default=False),
            lastmod=line.maybe("lastmod", str),
            due_at=line.instant("due_at"),
            found_at=line.instant("found_at"),
            changed_at=line.instant("changed_at"),
        )
        if found.state == ItemState.SKIPPED:
            found.reason = line.one_of("reason", SkipReason) or SkipReason.IMPORTED.value
            found.rule = line.get("rule", str, f"{line.path.name}: fetched before the import")
        self._urls[found.key] = found

    def _find_bases(self) -> list[StateBase]:
        given = self._settings.bases
        if self._state is not None and not given:
            listed = self._state.fields.get("bases")
            entries = listed if isinstance(listed, list) else []
            return [self._base(self._state, entry) for entry in entries]
        first = [each.url for each in self._urls.values() if each.depth == 0 and each.reason is None]
        found = []
        for text in given or first:
            line = StateLine(Path(option("bases")), 1, {"url": text})
            found.append(self._base(line, {"url": text}))
        if not found:
            raise UsageError(
                f'{self._folder.path}: no line has "depth": 0, so the base URLs are unknown. '
                f"Give them with {option('bases', 'URL')}. Nothing was imported."
            )
        return found

    def _base(self, line: StateLine, entry: Any) -> StateBase:
        fields = StateLine(line.path, line.number, entry if isinstance(entry, dict) else {})
        target = fields.url("url", self._settings.rules)
        if target is None:
            fields.wrong("a base has no url")
        return StateBase(target.url, target.key, fields.get("scope", str, target.key))

    # Numbers and places.

    def _number(self) -> None:
        if self._state is None or self._settings.bases:
            self._assign_places()
        ids = Counter(each.id for each in self._urls.values())
        ranks = Counter(each.rank for each in self._urls.values())
        for each in self._urls.values():
            self._check(each, ids, ranks)
        for number, base in enumerate(self.bases):
            known = self._urls.get(base.key)
            if known is None or known.id != number + 1 or known.depth:
                raise UsageError(
                    f"{self._folder.path}: the base URL {base.url} is not URL {number + 1} of depth 0. "
                    "Nothing was imported."
                )

    def _check(self, each: StateUrl, ids: Counter[int], ranks: Counter[int | None]) -> None:
        if each.line is None:
            return
        if not each.id or ids[each.id] > 1:
            each.line.wrong(f"id is {each.id or 'missing'}, or not unique")
        if each.state != ItemState.SKIPPED and (each.rank is None or ranks[each.rank] > 1):
            each.line.wrong("rank is missing, or not unique")
        if each.base >= len(self.bases):
            each.line.wrong(f"base is {each.base}, but there are {len(self.bases)} base URLs")

    def _assign_places(self) -> None:
        """For files of another crawler: base URLs first, others in file order, all at depth 1 or more."""
        own = {base.key: number for number, base in enumerate(self.bases)}
        for base in self.bases:
            if base.key not in self._urls:
                self._urls[base.key] = StateUrl(base.key, base.url, ItemState.QUEUED.value, None, 0, None, "")
        first = [self._urls[base.key] for base in self.bases]
        others = [each for each in self._urls.values() if each.key not in own]
        rank = 0
        for number, each in enumerate([*first, *others], 1):
            is_base = each.key in own
            each.id, each.rank = number, None
            each.base = own.get(each.key, min(each.base, len(own) - 1))
            if is_base:
                each.depth, each.source, each.referrer = 0, Source.INITIAL.value, None
            elif each.reason != SkipReason.IMPORTED:
                each.depth = max(each.depth, 1)
                each.source = Source.SPIDER.value if each.source == Source.INITIAL else each.source
            if each.state != ItemState.SKIPPED:
                each.rank, rank = rank, rank + 1

    # Rows of the new run.

    def facts(self, name: str, default: int) -> int:
        """A number or flag of the run."""
        value = self._state.fields.get(name) if self._state is not None and not self._settings.bases else None
        return int(value) if isinstance(value, int) else default

    @property
    def is_begun(self) -> bool:
        """Whether every base URL was visited."""
        return all(each.depth or each.state != ItemState.QUEUED for each in self._urls.values())

    @property
    def next_url(self) -> int:
        return max((each.id for each in self._urls.values()), default=0) + 1

    @property
    def next_rank(self) -> int:
        given = max((each.rank for each in self._urls.values() if each.rank is not None), default=-1) + 1
        return max(given, self.facts("next_rank", 0))

    def find(self, key: str | None) -> StateUrl | None:
        return self._urls.get(key) if key is not None else None

    def urls(self) -> Iterable[StateUrl]:
        return self._urls.values()

    def visits(self) -> Iterator[tuple[StateUrl, StateLine]]:
        """The visited URLs, in the order of the index, with their lines."""
        for line in self._folder.lines(INDEX):
            target = line.url("url", self._settings.rules)
            found = self.find(target.key if target else None)
            is_first = found is not None and found.line is not None and found.line.number == line.number
            if found is not None and is_first and found.state != ItemState.SKIPPED:
                yield found, line

    def row(self, each: StateUrl, run_id: int) -> UrlRow:
        return UrlRow(
            run_id,
            each.id,
            each.key,
            None if each.url == each.key else each.url,
            each.state,
            each.reason,
            each.rule,
            each.source,
            each.depth,
            each.rank,
            self._settings.lane_of(each.key),
            each.hops,
            each.redirects,
            each.base,
            self._referrer(each),
            each.lastmod,
            each.family_member,
        )

    def families(self, run_id: int) -> Iterator[FamilyRow]:
        """The trap families of the run."""
        if self._state is None:
            return
        listed = self._state.fields.get("families")
        for entry in listed if isinstance(listed, list) else ():
            line = StateLine(self._state.path, 1, entry if isinstance(entry, dict) else {})
            sketch = line.get("sketch", str, "")
            try:
                summary = bytes.fromhex(sketch)
            except ValueError:
                line.wrong("the sketch of a family is not hexadecimal")
            yield FamilyRow(
                run_id,
                line.get("pattern", str, ""),
                line.get("kind", str, ""),
                line.get("barren", int, 0),
                int(line.fields.get("tried") or 0),
                bool(line.fields.get("released")),
                summary,
            )

    def _referrer(self, each: StateUrl) -> int | None:
        """The id of the referrer, if the depths fit: a link adds one, a redirect none."""
        known = self._urls.get(each.referrer) if each.referrer else None
        if known is None:
            return None
        step = {Source.SPIDER: 1, Source.REDIRECT: 0}.get(Source(each.source))
        return known.id if step is None or each.depth == known.depth + step else None


def _index_state(line: StateLine) -> str | None:
    """The state of a URL of the index; None if the line does not have it."""
    status, kind = line.maybe("status", int), line.one_of("kind", FailKind)
    if status is not None and not 200 <= status < 600:
        line.wrong(f"status is {status}, which is not a final HTTP status")
    if kind is not None or (status or 0) >= 400:
        return ItemState.FAILED.value
    return ItemState.VISITED.value if status is not None or line.sha256("sha256") else None

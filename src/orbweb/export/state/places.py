"""The URLs of an imported state, each with its place in the run.

The first line of a URL counts. The places of a state that orbweb exported are kept if they fit together; otherwise
URLs get new ones, in the order of the files. Base URLs have the first ids, ids and ranks are unique, and a fetched
URL is never queued.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from orbweb.errors import UsageError, option
from orbweb.export.state.files import SKIPPED, StateFolder, StateLine
from orbweb.lifecycle import ItemState
from orbweb.model import FailKind, FamilyRow, SkipReason, Source
from orbweb.policy import page_types
from orbweb.store.rows import UrlRow
from orbweb.urls import UrlRules

SPARSE = 10
"""A state has an id for each of its URLs. Ids may go up to this many times their number, and FEW more, because
tables as long as the highest id are kept in memory."""
FEW = 100_000


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
        self.folder, self._settings = folder, settings
        self._state = folder.state()
        self.repeated = 0
        self._urls: dict[str, StateUrl] = {}
        self._read()
        self.bases = self._find_bases()
        self._is_placed = self._state is not None and not settings.bases and self._places_fit()
        if not self._is_placed:
            self._assign_places()

    # Reading.

    def _read(self) -> None:
        for line in self.folder.index():
            self._add(line, _index_state(line))
        for line in self.folder.lines(SKIPPED):
            self._add(line, ItemState.SKIPPED.value)
        for line in self.folder.fetched():
            target = line.url("url", self._settings.rules)
            if target is None or target.key not in self._urls:
                self._add(line, None)
        for line in self.folder.frontier():
            self._add(line, ItemState.QUEUED.value)

    def _add(self, line: StateLine, state: str | None) -> None:
        """Add a URL. Without a state, all that is known is that it was fetched."""
        rules = self._settings.rules
        target, referrer = line.url("url", rules), line.url("referrer", rules)
        if target is None:
            if line.fields.get("url") is None:
                line.wrong("url is missing")
            return
        if target.key in self._urls:
            self.repeated += 1
            return
        found = StateUrl(
            target.key,
            target.url,
            state or ItemState.SKIPPED.value,
            StateLine(line.path, line.number, {}, line.problems, line.unit),
            line.get("depth", int, 1) if state else 0,
            _rank(line),
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
        found = [base for base in self._named_bases() if base is not None]
        if not found:
            raise UsageError(
                f'{self.folder.path}: no line has "depth": 0, so the base URLs are unknown. '
                f"Give them with {option('bases', 'URL')}. Nothing was imported."
            )
        return found

    def _named_bases(self) -> Iterator[StateBase | None]:
        """The base URLs of the user, of the state, or else the URLs of depth 0."""
        given = self._settings.bases
        listed = self._state.fields.get("bases") if self._state is not None else None
        if self._state is not None and isinstance(listed, list) and not given:
            for entry in listed:
                yield self._base(self._state, entry)
            return
        for text in given or [each.url for each in self._urls.values() if not each.depth and each.reason is None]:
            base = self._base(StateLine(Path(option("bases")), 1, {}), {"url": text})
            if base is None:
                raise UsageError(f"{option('bases', text)} is not an http(s) URL. Nothing was imported.")
            yield base

    def _base(self, line: StateLine, entry: Any) -> StateBase | None:
        fields = StateLine(line.path, line.number, entry if isinstance(entry, dict) else {}, line.problems)
        target = fields.url("url", self._settings.rules)
        if target is None:
            fields.wrong("a base has no url")
            return None
        return StateBase(target.url, target.key, fields.get("scope", str, target.key))

    # Numbers and places.

    def _places_fit(self) -> bool:
        """Whether ids and ranks are there and unique, and the base URLs are the first URLs."""
        ids = Counter(each.id for each in self._urls.values())
        ranks = Counter(each.rank for each in self._urls.values())
        first = [self._urls.get(base.key) for base in self.bases]
        highest = SPARSE * len(self._urls) + FEW
        return all(
            ids[each.id] == 1
            and 0 < each.id <= highest
            and each.base < len(self.bases)
            and (each.state == ItemState.SKIPPED or (each.rank is not None and ranks[each.rank] == 1))
            for each in self._urls.values()
        ) and all(
            known is not None and known.id == number and known.depth == 0 for number, known in enumerate(first, 1)
        )

    def _assign_places(self) -> None:
        """Base URLs first, others in the order of the files, all at depth 1 or more."""
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
        value = self._state.fields.get(name) if self._state is not None and self._is_placed else None
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
        ranks = (page_types.sequence(each.rank) for each in self._urls.values() if each.rank is not None)
        return max(max(ranks, default=-1) + 1, self.facts("next_rank", 0))

    def find(self, key: str | None) -> StateUrl | None:
        return self._urls.get(key) if key is not None else None

    def urls(self) -> Iterable[StateUrl]:
        return self._urls.values()

    def visits(self) -> Iterator[tuple[StateUrl, StateLine]]:
        """The visited URLs, in the order of the index, with their lines."""
        for line in self.folder.index():
            target = line.url("url", self._settings.rules)
            found = self.find(target.key if target else None)
            if found is None or found.line is None or found.state == ItemState.SKIPPED:
                continue
            if (found.line.path, found.line.number) == (line.path, line.number):
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
            line = StateLine(self._state.path, 1, entry if isinstance(entry, dict) else {}, self._state.problems)
            try:
                summary = bytes.fromhex(line.get("sketch", str, ""))
            except ValueError:
                line.wrong("the sketch of a family is not hexadecimal")
                continue
            yield FamilyRow(
                run_id,
                line.get("pattern", str, ""),
                line.get("kind", str, ""),
                line.get("barren", int, 0),
                _whole_number(line.fields.get("tried")),
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


def _rank(line: StateLine) -> int | None:
    """The rank, which is negative for a URL with a score."""
    value = line.fields.get("rank")
    if value is None or (type(value) is int and abs(value) < 1 << 62):
        return value
    line.wrong("rank is not an integer, or too large")
    return None


def _whole_number(value: object) -> int:
    """An integer, which may be negative; 0 for anything else."""
    return value if isinstance(value, int) and abs(value) < 1 << 40 else 0


def _index_state(line: StateLine) -> str | None:
    """The state of a URL of the index; None if the line does not have it."""
    status, kind = final_status(line), line.one_of("kind", FailKind)
    if kind is not None or (status or 0) >= 400:
        return ItemState.FAILED.value
    return ItemState.VISITED.value if status is not None or line.sha256("sha256") else None


def final_status(line: StateLine) -> int | None:
    """The HTTP status of a visit, if it has a valid one."""
    status = line.maybe("status", int)
    if status is not None and not 200 <= status < 600:
        line.wrong(f"status is {status}, which is not a final HTTP status")
        return None
    return status

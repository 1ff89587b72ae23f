"""The sections of a run, what is in them and how deep. Pure.

A section is a host and the first segment of a path, or a host alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from orbweb.export.report.texts import number

CHILDREN = 4
ROOT = "/"


class Part(Protocol):
    """Pages and failures that share a host, the first two segments of their path, and a depth."""

    @property
    def host(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def depth(self) -> int: ...
    @property
    def pages(self) -> int: ...
    @property
    def failed(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Child:
    """What is below a section."""

    name: str
    pages: int
    failed: int


@dataclass(frozen=True, slots=True)
class MapSection:
    """A section: its key as `host/first`, its name, and its pages and failures by depth."""

    key: str
    name: str
    pages: int
    failed: int
    depths: Mapping[int, tuple[int, int]]
    children: tuple[Child, ...]


def sections_of(parts: Iterable[Part], *, by_host: bool) -> tuple[MapSection, ...]:
    """The sections of a run, the largest first. By path, those of several hosts with the same path have the host
    in their name."""
    every = list(parts)
    hosts = {part.host for part in every}
    groups: dict[str, list[Part]] = defaultdict(list)
    for part in every:
        groups[part.host if by_host else f"{part.host}{first_of(part.path)}"].append(part)
    names = {key: key for key in groups} if by_host else _names(groups, hosts)
    made = [_section(key, names[key], found, by_host=by_host) for key, found in groups.items()]
    return tuple(sorted(made, key=lambda each: (-each.pages, -each.failed, each.key)))


def _names(keys: Iterable[str], hosts: Collection[str]) -> dict[str, str]:
    """Sections by their path; where several hosts have it, or for their root, with the host."""
    paths = {key: key[key.index("/") :] for key in keys}
    if len(hosts) == 1:
        return paths
    times, short = Counter(paths.values()), short_hosts(hosts)
    return {
        key: path if path != ROOT and times[path] == 1 else short[key.removesuffix(path)] + path
        for key, path in paths.items()
    }


def short_hosts(hosts: Collection[str]) -> dict[str, str]:
    """Hosts without the port and the end of the name that all of them share, if they differ without them."""
    plain = {host: host.partition(":")[0] for host in hosts}
    if len(set(plain.values())) < len(plain) or not plain:
        return {host: host for host in hosts}
    labels = [name.split(".")[::-1] for name in plain.values()]
    shared = next(
        (at for at, each in enumerate(zip(*labels, strict=False)) if len(set(each)) > 1), min(map(len, labels))
    )
    if any(len(each) == shared for each in labels) or any(each[0].isdigit() for each in labels):
        return plain
    return {host: ".".join(name.split(".")[: -shared or None]) for host, name in plain.items()}


def first_of(path: str) -> str:
    """The section of a path: `/folder`, or `/` for what is in the root."""
    first, slash, _ = path.removeprefix("/").partition("/")
    return f"/{first}" if slash else ROOT


def _section(key: str, name: str, parts: Sequence[Part], *, by_host: bool) -> MapSection:
    depths: dict[int, tuple[int, int]] = {}
    pages: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for part in parts:
        before = depths.get(part.depth, (0, 0))
        depths[part.depth] = (before[0] + part.pages, before[1] + part.failed)
        child = child_of(part.path, by_host=by_host)
        pages[child] += part.pages
        failed[child] += part.failed
    names = sorted({*pages, *failed}, key=lambda each: (-pages[each], -failed[each], each))
    folders = [each for each in names if each]
    shown, rest = folders[:CHILDREN], [*folders[CHILDREN:]]
    children = [Child(each, pages[each], failed[each]) for each in shown]
    if rest:
        more = Child(f"{number(len(rest))} more", sum(map(pages.get, rest)), sum(map(failed.get, rest)))  # type: ignore[arg-type]
        children.append(more)
    if folders and "" in pages:
        children.append(Child("pages", pages[""], failed[""]))
    return MapSection(key, name, sum(pages.values()), sum(failed.values()), depths, tuple(children))


def child_of(path: str, *, by_host: bool) -> str:
    """The folder of a path below its section; empty for what is in the section itself."""
    if by_host:
        found = first_of(path)
        return "" if found == ROOT else f"{found[1:]}/"
    segments = path.removeprefix("/").split("/")
    return f"{segments[1]}/" if len(segments) > 2 else ""

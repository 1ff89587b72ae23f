"""A run as a map: sections, what is in them and how deep, and the same as a picture. Pure.

A section is a host and the first segment of a path, or a host alone. The web has a spoke for each section, a ring
for each depth; the area of a dot is its pages. Coordinates are those of an SVG of `SIZE` by `SIZE`.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from orbweb.export.report.texts import number

SIZE = 840
CENTRE = SIZE / 2
INNER, OUTER = 68.0, 296.0
LABEL = 322.0
SPOKES = 24
RINGS = 8
CHILDREN = 4
LINKS = 8
LARGEST_DOT, SMALLEST_DOT = 20.0, 2.0
FAILING = 0.02
"""The share of failures from which a dot is marked."""
ROOT = "/"
ROW, INDENT, TREE_WIDTH = 24, 28, 840


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
class Section:
    """A section: its key as `host/first`, its name, and its pages and failures by depth."""

    key: str
    name: str
    pages: int
    failed: int
    depths: Mapping[int, tuple[int, int]]
    children: tuple[Child, ...]


@dataclass(frozen=True, slots=True)
class Dot:
    """The pages of a section at a depth; `failing` is the radius of its red dot, 0 for none."""

    x: float
    y: float
    radius: float
    failing: float
    title: str


@dataclass(frozen=True, slots=True)
class Spoke:
    """A section in the web: the end of its line, its label, and its dots from the centre out."""

    key: str
    x: float
    y: float
    label_x: float
    label_y: float
    anchor: str
    name: str
    count: str
    selected: bool
    dots: tuple[Dot, ...]


@dataclass(frozen=True, slots=True)
class LinkCurve:
    """Links from the selected section to another one."""

    path: str
    width: float
    title: str


@dataclass(frozen=True, slots=True)
class Web:
    """The picture: rings as paths with the place of their number, spokes, and curves of links."""

    rings: tuple[tuple[str, int, float, float], ...]
    spokes: tuple[Spoke, ...]
    links: tuple[LinkCurve, ...]
    others: int


@dataclass(frozen=True, slots=True)
class TreeRow:
    """A line of the tree: where it is, its name, and its bar."""

    x: float
    y: float
    branch: str
    name: str
    count: str
    failed: int
    bar: float
    selected: bool


@dataclass(frozen=True, slots=True)
class Tree:
    """The picture of a tree."""

    rows: tuple[TreeRow, ...]
    height: int


def sections_of(parts: Iterable[Part], *, by_host: bool) -> tuple[Section, ...]:
    """The sections of a run, the largest first. By path, sections of several hosts are told apart by host."""
    every = list(parts)
    hosts = {part.host for part in every}
    groups: dict[str, list[Part]] = defaultdict(list)
    for part in every:
        groups[part.host if by_host else f"{part.host}{first_of(part.path)}"].append(part)
    made = [
        _section(
            key, key if by_host or len(hosts) > 1 else key.removeprefix(next(iter(hosts))), found, by_host=by_host
        )
        for key, found in groups.items()
    ]
    return tuple(sorted(made, key=lambda each: (-each.pages, -each.failed, each.key)))


def first_of(path: str) -> str:
    """The section of a path: `/folder`, or `/` for what is in the root."""
    first, slash, _ = path.removeprefix("/").partition("/")
    return f"/{first}" if slash else ROOT


def _section(key: str, name: str, parts: Sequence[Part], *, by_host: bool) -> Section:
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
    return Section(key, name, sum(pages.values()), sum(failed.values()), depths, tuple(children))


def child_of(path: str, *, by_host: bool) -> str:
    """The folder of a path below its section; empty for what is in the section itself."""
    if by_host:
        found = first_of(path)
        return "" if found == ROOT else f"{found[1:]}/"
    segments = path.removeprefix("/").split("/")
    return f"{segments[1]}/" if len(segments) > 2 else ""


def web_of(sections: Sequence[Section], selected: str | None, links: Mapping[str, int] | None) -> Web:
    """The web of the largest sections. `links`: how many lead from the selected one, by `host/first`."""
    shown = list(sections[:SPOKES])
    deepest = min(RINGS, max((depth for each in shown for depth in each.depths), default=1) or 1)
    largest = max((pages for each in shown for pages, _ in each.depths.values()), default=1) or 1
    angles = [2 * math.pi * at / max(1, len(shown)) - math.pi / 2 for at in range(len(shown))]
    spokes = tuple(
        _spoke(each, angle, deepest, largest, selected=each.key == selected)
        for each, angle in zip(shown, angles, strict=True)
    )
    return Web(
        tuple(_ring(angles, depth, deepest) for depth in range(1, deepest + 1)),
        spokes,
        _curves(shown, angles, deepest, selected, links),
        len(sections) - len(shown),
    )


def _radius(depth: int, deepest: int) -> float:
    return INNER + (OUTER - INNER) * (min(depth, deepest) - 1) / max(1, deepest - 1) if depth > 0 else INNER / 2


def _at(angle: float, radius: float) -> tuple[float, float]:
    return round(CENTRE + radius * math.cos(angle), 1), round(CENTRE + radius * math.sin(angle), 1)


def _ring(angles: Sequence[float], depth: int, deepest: int) -> tuple[str, int, float, float]:
    """A ring sags between its spokes, as threads do."""
    radius = _radius(depth, deepest)
    number_x, number_y = _at(-math.pi / 2 - math.pi / max(3, len(angles)), radius * 0.94)
    if len(angles) < 3:
        left, right = _at(math.pi, radius)[0], _at(0, radius)[0]
        arc = f"A{radius:.1f} {radius:.1f} 0 1 1"
        return f"M{left} {CENTRE}{arc} {right} {CENTRE}{arc} {left} {CENTRE}", depth, number_x, number_y
    steps = [_at(angles[0], radius)]
    path = f"M{steps[0][0]} {steps[0][1]}"
    for at, angle in enumerate(angles):
        end = angles[(at + 1) % len(angles)] + (2 * math.pi if at + 1 == len(angles) else 0)
        middle, (x, y) = _at((angle + end) / 2, radius * 0.88), _at(end, radius)
        path += f"Q{middle[0]} {middle[1]} {x} {y}"
    return path, depth, number_x, number_y


def _spoke(section: Section, angle: float, deepest: int, largest: int, *, selected: bool) -> Spoke:
    (x, y), (label_x, label_y) = _at(angle, OUTER + 8), _at(angle, LABEL)
    side = math.cos(angle)
    dots = [
        _dot(section, depth, angle, deepest, largest)
        for depth in sorted(section.depths)
        if any(section.depths[depth])
    ]
    return Spoke(
        section.key,
        x,
        y,
        label_x,
        label_y + 4,
        "middle" if abs(side) < 0.2 else "start" if side > 0 else "end",
        shortened(section.name),
        number(section.pages),
        selected,
        tuple(dots),
    )


def shortened(name: str) -> str:
    return name if len(name) <= 22 else f"{name[:20]}\N{HORIZONTAL ELLIPSIS}"


def _dot(section: Section, depth: int, angle: float, deepest: int, largest: int) -> Dot:
    pages, failed = section.depths[depth]
    radius = max(SMALLEST_DOT, LARGEST_DOT * math.sqrt(pages / largest))
    x, y = _at(angle, _radius(depth, deepest))
    is_failing = failed and failed >= FAILING * (pages + failed)
    return Dot(
        x,
        y,
        round(radius, 1),
        round(min(radius, max(SMALLEST_DOT, LARGEST_DOT * math.sqrt(failed / largest))), 1) if is_failing else 0.0,
        f"{section.name}, depth {depth}: {number(pages)} pages, {number(failed)} failed",
    )


def _curves(
    shown: Sequence[Section],
    angles: Sequence[float],
    deepest: int,
    selected: str | None,
    links: Mapping[str, int] | None,
) -> tuple[LinkCurve, ...]:
    """Curves through the middle, to the sections that get most links."""
    places = {each.key: (angle, _heaviest(each)) for each, angle in zip(shown, angles, strict=True)}
    if links is None or selected not in places:
        return ()
    angle, depth = places[selected]
    begin = _at(angle, _radius(depth, deepest))
    targets = [(key, count) for key, count in link_counts(links, shown) if key != selected][:LINKS]
    most = max((count for _, count in targets), default=1)
    names = {each.key: each.name for each in shown}
    curves = []
    for key, count in targets:
        end = _at(places[key][0], _radius(places[key][1], deepest))
        path = f"M{begin[0]} {begin[1]}Q{CENTRE} {CENTRE} {end[0]} {end[1]}"
        width = round(1 + 4 * math.sqrt(count / most), 1)
        curves.append(LinkCurve(path, width, f"{number(count)} links to {names[key]}"))
    return tuple(curves)


def _heaviest(section: Section) -> int:
    return max(section.depths, key=lambda depth: section.depths[depth], default=1)


def link_counts(links: Mapping[str, int], sections: Sequence[Section]) -> list[tuple[str, int]]:
    """Links by section of the map, the most first; links to elsewhere are left out."""
    keys = {each.key for each in sections}
    found: Counter[str] = Counter()
    for target, count in links.items():
        host = target.partition("/")[0]
        key = target if target in keys else host if host in keys else None
        if key is not None:
            found[key] += count
    return found.most_common()


def tree_of(name: str, sections: Sequence[Section], selected: str | None) -> Tree:
    """The tree: the project, its sections, and what is below them."""
    whole = sum(each.pages for each in sections)
    failed = sum(each.failed for each in sections)
    rows = [_row(0, 0, 0, name, whole, failed, 100.0)]
    largest = max((each.pages for each in sections), default=1) or 1
    trunk = 0
    for section in sections[:SPOKES]:
        at = len(rows)
        share = 100 * section.pages / largest
        rows.append(
            _row(
                1, at, trunk, section.name, section.pages, section.failed, share, selected=section.key == selected
            )
        )
        trunk = at
        above = at
        for child in section.children:
            below = len(rows)
            share = 100 * child.pages / largest
            rows.append(_row(2, below, above, child.name, child.pages, child.failed, share))
            above = below
    return Tree(tuple(rows), ROW * len(rows) + 16)


def _row(
    level: int, at: int, above: int, name: str, pages: int, failed: int, share: float, *, selected: bool = False
) -> TreeRow:
    x, y = 16 + INDENT * level, 16 + ROW * at
    branch = f"M{x - 20} {16 + ROW * above + (8 if level != 1 or above == 0 else 0)}V{y}H{x - 6}" if level else ""
    return TreeRow(x, y, branch, shortened(name), number(pages), failed, round(share, 1), selected)

"""A run as a picture: its sections as a web or as a tree. Pure.

The web has a spoke for each section, a ring
for each depth; the area of a dot is its pages. Coordinates are those of an SVG whose centre is `CENTRE`, and which
shows what `VIEW` says.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from orbweb.export.report.sections import MapSection
from orbweb.export.report.texts import many, number

CENTRE = 420.0
VIEW = (-60, 60, 960, 720)
"""Left, top, width and height of the web."""
INNER, OUTER = 68.0, 296.0
LABEL, LABEL_GAP = 328.0, 18.0
CHARACTER = 7.8
"""Width of a character of a label in a wide font."""
SPOKES = 24
RINGS = 8
LONGEST = 30
"""Characters of a name that the title of a dot has."""
SAG = 0.88
"""How far a ring is pulled in between two spokes."""
LINKS = 8
LARGEST_DOT, LEAST_LARGEST, SMALLEST_DOT = 20.0, 8.0, 2.0
FAILING = 0.02
"""The share of failures from which a dot is marked."""
ROW, INDENT, TREE_WIDTH = 24, 28, 840


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
class SiteTree:
    """The picture of a tree."""

    rows: tuple[TreeRow, ...]
    height: int


def _folded(section: MapSection) -> MapSection:
    """A section whose pages below the last ring are counted there."""
    found: dict[int, tuple[int, int]] = {}
    for depth, (pages, failed) in section.depths.items():
        before = found.get(min(depth, RINGS), (0, 0))
        found[min(depth, RINGS)] = (before[0] + pages, before[1] + failed)
    return replace(section, depths=found)


@dataclass(frozen=True, slots=True)
class _Scale:
    """Rings and dots of a web: the deepest ring, and how large a dot of so many pages is."""

    deepest: int
    dot: float

    def ring(self, depth: int) -> float:
        return _ring_radius(depth, self.deepest)

    def radius(self, count: int) -> float:
        return max(SMALLEST_DOT, self.dot * math.sqrt(count))


def _scale_of(shown: Sequence[MapSection]) -> _Scale:
    """The largest dots at which no two of them overlap, but none too small to see."""
    deepest = min(RINGS, max((depth for each in shown for depth in each.depths), default=1) or 1)
    largest = max((pages for each in shown for pages, _ in each.depths.values()), default=1) or 1
    dot = LARGEST_DOT
    for section in shown:
        for depth, (pages, _) in section.depths.items():
            if pages:
                dot = min(dot, _room(depth, deepest, len(shown)) / math.sqrt(pages / largest))
    return _Scale(deepest, max(LEAST_LARGEST, dot) / math.sqrt(largest))


def _room(depth: int, deepest: int, spokes: int) -> float:
    """Half the distance of two spokes, or of two rings if that is shorter."""
    between = (OUTER - _ring_radius(1, deepest)) / max(1, deepest - 1) if deepest > 1 else OUTER
    return min(math.pi * _ring_radius(depth, deepest) / max(spokes, 3), between / 2)


def web_of(sections: Sequence[MapSection], selected: str | None, links: Mapping[str, int] | None) -> Web:
    """The web of the largest sections. `links`: how many lead from the selected one, by `host/first`."""
    shown = [_folded(each) for each in sections[:SPOKES]]
    scale = _scale_of(shown)
    angles = [2 * math.pi * at / max(1, len(shown)) - math.pi / 2 for at in range(len(shown))]
    spokes = tuple(
        _spoke(each, angle, place, scale, selected=each.key == selected)
        for each, angle, place in zip(shown, angles, _label_places(angles), strict=True)
    )
    return Web(
        tuple(_ring(angles, depth, scale.deepest) for depth in range(1, scale.deepest + 1)),
        spokes,
        _curves(shown, angles, scale.deepest, selected, links),
        len(sections) - len(shown),
    )


def _ring_radius(depth: int, deepest: int) -> float:
    """Rings are evenly spaced; a few of them fill the picture too."""
    inner = max(INNER, OUTER / deepest)
    return inner + (OUTER - inner) * (min(depth, deepest) - 1) / max(1, deepest - 1) if depth > 0 else INNER / 2


def _label_places(angles: Sequence[float]) -> list[tuple[float, float, str]]:
    """Where labels are, and how they are aligned: around the web, and none over another. On each side they move
    away from the middle until they have room; a label at the top or bottom is beyond those of both sides."""
    places = [_at(angle, LABEL) for angle in angles]
    anchors = ["middle" if abs(x - CENTRE) < 1 else "start" if x > CENTRE else "end" for x, _ in places]
    heights = [y for _, y in places]
    for up in (True, False):
        half = [at for at, y in enumerate(heights) if (y < CENTRE) == up]
        half.sort(key=lambda at: (anchors[at] == "middle", abs(heights[at] - CENTRE)))
        last: dict[str, float] = {}
        for at in half:
            sides = ("start", "end") if anchors[at] == "middle" else (anchors[at],)
            taken = [last[side] for side in sides if side in last]
            if taken and up:
                heights[at] = min(heights[at], min(taken) - LABEL_GAP)
            elif taken:
                heights[at] = max(heights[at], max(taken) + LABEL_GAP)
            last.update(dict.fromkeys(sides, heights[at]))
    return [(x, round(y, 1), anchor) for (x, _), y, anchor in zip(places, heights, anchors, strict=True)]


def _at(angle: float, radius: float) -> tuple[float, float]:
    return round(CENTRE + radius * math.cos(angle), 1), round(CENTRE + radius * math.sin(angle), 1)


def _ring(angles: Sequence[float], depth: int, deepest: int) -> tuple[str, int, float, float]:
    """A ring sags between its spokes, as threads do."""
    radius = _ring_radius(depth, deepest)
    half = math.pi / max(3, len(angles))
    number_x, number_y = _at(-math.pi / 2 - half, radius * (math.cos(half) + SAG) / 2)
    if len(angles) < 3:
        left, right = _at(math.pi, radius)[0], _at(0, radius)[0]
        arc = f"A{radius:.1f} {radius:.1f} 0 1 1"
        return f"M{left} {CENTRE}{arc} {right} {CENTRE}{arc} {left} {CENTRE}", depth, number_x, number_y
    steps = [_at(angles[0], radius)]
    path = f"M{steps[0][0]} {steps[0][1]}"
    for at, angle in enumerate(angles):
        end = angles[(at + 1) % len(angles)] + (2 * math.pi if at + 1 == len(angles) else 0)
        middle, (x, y) = _at((angle + end) / 2, radius * SAG), _at(end, radius)
        path += f"Q{middle[0]} {middle[1]} {x} {y}"
    return path, depth, number_x, number_y


def _spoke(
    section: MapSection, angle: float, label: tuple[float, float, str], scale: _Scale, *, selected: bool
) -> Spoke:
    x, y = _at(angle, OUTER + 8)
    label_x, label_y, anchor = label
    count = number(section.pages)
    dots = [_dot(section, depth, angle, scale) for depth in sorted(section.depths) if any(section.depths[depth])]
    return Spoke(
        section.key,
        x,
        y,
        label_x,
        round(label_y + 4, 1),
        anchor,
        shortened(section.name, _letters(label_x, anchor) - len(count) - 1),
        count,
        selected,
        tuple(dots),
    )


def _letters(x: float, anchor: str) -> int:
    """How many characters fit between a label's place and the edge of the picture."""
    left, _, width, _ = VIEW
    sides = {"start": left + width - x, "end": x - left, "middle": width / 3}
    return int(sides[anchor] / CHARACTER)


def shortened(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: max(1, most - 1)]}\N{HORIZONTAL ELLIPSIS}"


def _dot(section: MapSection, depth: int, angle: float, scale: _Scale) -> Dot:
    pages, failed = section.depths[depth]
    deep = f"{depth} or more" if depth == RINGS else str(depth)
    radius = scale.radius(pages)
    x, y = _at(angle, scale.ring(depth))
    is_failing = failed and failed >= FAILING * (pages + failed)
    return Dot(
        x,
        y,
        round(radius, 1),
        round(min(radius, scale.radius(failed)), 1) if is_failing else 0.0,
        f"{shortened(section.name, LONGEST)}, depth {deep}: {many(pages, 'page')}, {number(failed)} failed",
    )


def _curves(
    shown: Sequence[MapSection],
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
    begin = _at(angle, _ring_radius(depth, deepest))
    targets = [(key, count) for key, count in link_counts(links, shown) if key != selected][:LINKS]
    most = max((count for _, count in targets), default=1)
    names = {each.key: each.name for each in shown}
    curves = []
    for key, count in targets:
        end = _at(places[key][0], _ring_radius(places[key][1], deepest))
        path = f"M{begin[0]} {begin[1]}Q{CENTRE} {CENTRE} {end[0]} {end[1]}"
        width = round(1 + 4 * math.sqrt(count / most), 1)
        curves.append(LinkCurve(path, width, f"{number(count)} links to {shortened(names[key], LONGEST)}"))
    return tuple(curves)


def _heaviest(section: MapSection) -> int:
    return max(section.depths, key=lambda depth: section.depths[depth], default=1)


def link_counts(links: Mapping[str, int], sections: Sequence[MapSection]) -> list[tuple[str, int]]:
    """Links by section of the map, the most first; links to elsewhere are left out."""
    keys = {each.key for each in sections}
    found: Counter[str] = Counter()
    for target, count in links.items():
        host = target.partition("/")[0]
        key = target if target in keys else host if host in keys else None
        if key is not None:
            found[key] += count
    return found.most_common()


def tree_of(name: str, sections: Sequence[MapSection], selected: str | None) -> SiteTree:
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
    return SiteTree(tuple(rows), ROW * len(rows) + 16)


def _row(
    level: int, at: int, above: int, name: str, pages: int, failed: int, share: float, *, selected: bool = False
) -> TreeRow:
    x, y = 16 + INDENT * level, 16 + ROW * at
    branch = f"M{x - 20} {16 + ROW * above + (8 if level != 1 or above == 0 else 0)}V{y}H{x - 6}" if level else ""
    return TreeRow(x, y, branch, shortened(name, 36 - 3 * level), number(pages), failed, round(share, 1), selected)

"""Pictures as SVG: the thread, bars, and the map of a run.

Colours are attributes for a picture that is a file of its own; where it is on a page, rules of its style win.
"""

from __future__ import annotations

from collections.abc import Callable

from orbweb.export.report.markup import Markup, element, joined
from orbweb.export.report.pictures import Thread
from orbweb.export.report.site_map import CENTRE, TREE_WIDTH, VIEW, SiteTree, Spoke, TreeRow, Web
from orbweb.export.report.texts import many, number

FONT = "system-ui, sans-serif"
NAMESPACE = "http://www.w3.org/2000/svg"
LEAST = 4
"""Pixels that a failure has in a thread."""

Href = Callable[[str], str]


def thread(value: Thread) -> Markup:
    """A run in one line."""
    failed = next(part for part in value.parts if part.name == "failed")
    others = [
        element("rect", class_=part.name, x=f"{part.start:g}%", width=f"{part.share:g}%", height="100%")
        for part in value.parts
        if part is not failed
    ]
    least = [element("rect", class_="failed", x=f"{failed.start:g}%", width=LEAST, height="100%")] * bool(
        failed.count
    )
    wide = element("rect", class_="failed", x=f"{failed.start:g}%", width=f"{failed.share:g}%", height="100%")
    return element("svg", *others, wide, *least, class_="thread", role="img", aria_label=value.label)


def bar(share: float, tone: str = "") -> Markup:
    """A share in percent; the number is beside it."""
    rect = element("rect", width=f"{share:g}%", height="100%")
    return element("svg", rect, class_=f"bar-track {tone}".rstrip(), aria_hidden="true")


def web(value: Web, href: Href | None = None) -> Markup:
    """The map: rings, spokes, links of the selected section, and dots. `href` is the page of a section."""
    lines = [element("path", class_="ring", d=path, fill="none", stroke="#b9b4a7") for path, *_ in value.rings]
    lines += [
        element("path", class_="spoke", d=f"M{CENTRE:g} {CENTRE:g}L{each.x} {each.y}", stroke="#e4e1d9")
        for each in value.spokes
    ]
    curves = [
        element(
            "path",
            element("title", each.title),
            class_="link",
            d=each.path,
            fill="none",
            stroke="#0a6670",
            stroke_opacity=".6",
            stroke_width=each.width,
        )
        for each in value.links
    ]
    depths = [
        element("text", str(depth), class_="depth", x=x, y=y, fill="#6b675d", text_anchor="middle")
        for _, depth, x, y in value.rings
    ]
    dots = [_dots(each) for each in value.spokes]
    centre = element("circle", class_="dot selected", cx=f"{CENTRE:g}", cy=f"{CENTRE:g}", r=9, fill="#0a6670")
    labels = [_label(each, href) for each in value.spokes]
    return element(
        "svg",
        *lines,
        *curves,
        *depths,
        *dots,
        centre,
        *labels,
        class_="web",
        xmlns=NAMESPACE,
        viewBox=" ".join(map(str, VIEW)),
        # A picture may have no links for a screen reader; a group may.
        role="group" if href else "img",
        aria_label=f"{many(len(value.spokes), 'section')} by depth",
        font_family=FONT,
        font_size=13,
    )


def _dots(spoke: Spoke) -> Markup:
    """The dots of a section, and above them those of what failed."""
    pages = [
        element("circle", element("title", each.title), cx=each.x, cy=each.y, r=each.radius) for each in spoke.dots
    ]
    failing = [element("circle", cx=each.x, cy=each.y, r=each.failing) for each in spoke.dots if each.failing]
    kind, colour = ("dot selected", "#0a6670") if spoke.selected else ("dot", "#7fb3b8")
    above = [element("g", *failing, class_="failing", fill="#b3261e")] if failing else []
    return joined([element("g", *pages, class_=kind, fill=colour), *above])


def _label(spoke: Spoke, href: Href | None) -> Markup:
    text = element(
        "text",
        f"{spoke.name} ",
        element("tspan", spoke.count, fill="#55524a"),
        class_="label selected" if spoke.selected else "label",
        x=spoke.label_x,
        y=spoke.label_y,
        text_anchor=spoke.anchor,
        fill="#1b1a17",
    )
    return text if href is None else element("a", text, href=href(spoke.key))


def tree(value: SiteTree) -> Markup:
    """The site as a tree, with a bar for each part."""
    return element(
        "svg",
        *(_row(each) for each in value.rows),
        class_="tree-picture",
        xmlns=NAMESPACE,
        viewBox=f"0 0 {TREE_WIDTH} {value.height}",
        role="img",
        aria_label="The site as a tree",
        font_family=FONT,
        font_size=13,
    )


def _row(row: TreeRow) -> Markup:
    below = row.y + 4
    chosen = " selected" if row.selected else ""
    bar_place = {"x": 320, "y": row.y - 4, "height": 8}
    parts = [
        element("text", row.name, class_=f"label{chosen}", x=row.x, y=below, fill="#1b1a17"),
        element("rect", class_="track", **bar_place, width=360, fill="#f2f0eb"),
        element("rect", class_=f"dot{chosen}", **bar_place, width=f"{row.bar * 3.6:.1f}", fill="#7fb3b8"),
        element("text", row.count, class_="label", x=760, y=below, text_anchor="end", fill="#1b1a17"),
    ]
    if row.branch:
        parts.insert(0, element("path", class_="ring", d=row.branch, fill="none", stroke="#8c887c"))
    if row.failed:
        parts.append(
            element("text", number(row.failed), class_="bad", x=824, y=below, text_anchor="end", fill="#b3261e")
        )
    return joined(parts)

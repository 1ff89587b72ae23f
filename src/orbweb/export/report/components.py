"""The parts of a report: panels, tables, badges, URLs. Texts are cut, so that no site can make a report large."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orbweb.export.report import svg
from orbweb.export.report.facts import Counted
from orbweb.export.report.markup import Markup, element, escaped, joined
from orbweb.export.report.pictures import bars_of
from orbweb.export.report.texts import WEB, host_of, number, rest_of, words

LONGEST = 100
"""Characters of a text that are shown; as markup it has at most twice as many bytes."""
LONGEST_LINK = 250
"""Bytes up to which a URL is a link."""
SIGNS = {
    "in_progress": "\N{BLACK CIRCLE}",
    "on_hold": "\N{DOUBLE VERTICAL LINE}",
    "stopping": "\N{DOUBLE VERTICAL LINE}",
    "paused": "\N{CIRCLE WITH LEFT HALF BLACK}",
    "stopped_early": "\N{CIRCLE WITH LEFT HALF BLACK}",
    "completed": "\N{CHECK MARK}",
    "completed_with_errors": "\N{CHECK MARK}",
    "failed": "\N{MULTIPLICATION X}",
}

Cell = tuple[str, str]
"""The content of a cell and its class."""


def cut(text: str, most: int = LONGEST) -> str:
    """A text in one line, without its end if it is long."""
    line = " ".join(text[: 4 * most].split())
    kept, room = 0, 2 * most
    for character in line[:most]:
        room -= len(escaped(character).encode())
        if room < 0:
            break
        kept += 1
    is_whole = kept == len(line) and len(text) <= 4 * most
    return line if is_whole else f"{line[: max(0, kept - 1)]}\N{HORIZONTAL ELLIPSIS}"


def url(value: str, *, whole: bool = True) -> Markup:
    """A URL with a faint host, as a link if it is one that a browser opens."""
    host = element("span", cut(host_of(value)), class_="host") if whole and host_of(value) else escaped("")
    shown = joined([host, cut(rest_of(value))])
    is_link = len(escaped(value).encode()) <= LONGEST_LINK and value.partition("://")[0] in WEB
    if not is_link:
        return element("span", shown, class_="mono url")
    return element("a", shown, class_="mono url", href=value, rel="noreferrer")


def badge(state: str) -> Markup:
    """A state with its sign."""
    dot = [element("span", "\N{BLACK CIRCLE}", class_="red dot", aria_hidden="true")]
    sign = element("span", SIGNS.get(state, "\N{WHITE CIRCLE}"), class_="sign", aria_hidden="true")
    marks = dot if state == "completed_with_errors" else []
    return element("span", sign, *marks, f" {words(state)}", class_=f"badge {state}")


def count(value: int, tone: str = "") -> Markup:
    return element("span", number(value), class_="zero" if not value else tone or None)


def panel(name: str, title: str, hint: str, *content: str) -> Markup:
    """A section with its head; `name` is where the contents link to."""
    about = [element("p", hint, class_="hint")] if hint else []
    head = element("div", element("h2", title, id=f"{name}-title"), *about, class_="head")
    return element("section", head, *content, id=name, class_="panel", aria_labelledby=f"{name}-title")


def table(heads: Sequence[Cell], rows: Iterable[Sequence[Cell]], class_: str = "") -> Markup:
    """A table. A cell is its content and its class; the first cell of a row is its head."""
    top = element("tr", *(element("th", text, scope="col", class_=kind or None) for text, kind in heads))
    body = [
        element(
            "tr",
            element("th", row[0][0], scope="row", class_=row[0][1] or None),
            *(element("td", text, class_=kind or None) for text, kind in row[1:]),
        )
        for row in rows
    ]
    whole = element("table", element("thead", top), element("tbody", *body), class_=class_ or None)
    label = ", ".join(text for text, _ in heads if text)
    return element("div", whole, class_="scroll", role="group", aria_label=label, tabindex="0")


def bars(title: str, found: Sequence[Counted], noun: str, *, tone: str = "other", mono: bool = False) -> Markup:
    """Values with their counts, as bars of the largest."""
    drawn = bars_of([(each.name, each.count) for each in found], ranking=True)
    rows = [
        [
            (cut(each.name, 60), "mono" if mono else ""),
            (svg.bar(each.share, tone), "bar"),
            (number(each.count), "number"),
        ]
        for each in drawn
    ]
    return panel_part(title, table([(noun, ""), ("", "bar"), ("", "number")], rows, "bars"))


def panel_part(title: str, *content: str) -> Markup:
    return element("div", element("h3", title), *content, class_="part")


def note(text: str) -> Markup:
    return element("p", text, class_="note")


def more(left: int, noun: str) -> Markup:
    """How many are left out; nothing if none are."""
    return note(f"and {number(left)} more {noun}".rstrip()) if left > 0 else escaped("")

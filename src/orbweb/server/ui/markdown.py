"""Markdown of a captured page as HTML that cannot run, load or send anything: rendered, then cleaned."""

from __future__ import annotations

from functools import cache

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

TAGS = frozenset(
    {
        *(
            "a",
            "blockquote",
            "br",
            "code",
            "dd",
            "del",
            "div",
            "dl",
            "dt",
            "em",
            "hr",
            "li",
            "ol",
            "p",
            "pre",
            "s",
        ),
        *("h1", "h2", "h3", "h4", "h5", "h6", "strong", "sub", "sup", "ul"),
        *("table", "tbody", "td", "th", "thead", "tr"),
    }
)
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, "code": {"class"}, **{tag: {"id"} for tag in HEADINGS}}
SCHEMES = frozenset({"http", "https"})


@cache
def _renderer() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")


def to_html(text: str) -> Markup:
    """Markdown as HTML. Images become links to them, because no request may leave this origin. The headings have
    the ids `part-1`, `part-2` and so on."""
    renderer = _renderer()
    tokens = renderer.parse(text)
    for number, token in enumerate((each for each in tokens if each.type == "heading_open"), 1):
        token.attrs["id"] = f"part-{number}"
    found = nh3.clean(
        renderer.renderer.render(tokens, renderer.options, {}),
        tags=set(TAGS),
        attributes={tag: set(names) for tag, names in ATTRIBUTES.items()},
        url_schemes=set(SCHEMES),
        link_rel="noopener noreferrer nofollow",
    )
    return Markup(found)  # noqa: S704


def headings_of(text: str) -> list[tuple[int, int, str]]:
    """The headings of a text: the line on which each begins, its level and its words."""
    tokens = _renderer().parse(text)
    return [
        (token.map[0], int(token.tag[1:]), tokens[at + 1].content)
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.map
    ]

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
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, "code": {"class"}}
SCHEMES = frozenset({"http", "https"})


@cache
def _renderer() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")


def to_html(text: str) -> Markup:
    """Markdown as HTML. Images become links to them, because no request may leave this origin."""
    found = nh3.clean(
        _renderer().render(text),
        tags=set(TAGS),
        attributes={tag: set(names) for tag, names in ATTRIBUTES.items()},
        url_schemes=set(SCHEMES),
        link_rel="noopener noreferrer nofollow",
    )
    return Markup(found)  # noqa: S704

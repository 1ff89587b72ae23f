"""Markdown of a captured page as HTML that cannot run, load or send anything: rendered, then cleaned."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

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
_SCROLLING = re.compile("<(pre|table)>")
"""What may be wider than the page: keys can scroll it."""
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, "code": {"class"}, **{tag: {"id"} for tag in HEADINGS}}
SCHEMES = frozenset({"http", "https"})


@cache
def _renderer() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    made.add_render_rule("image", _image)
    return made


def _image(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    """A link to an image, with the text that stands for it."""
    token = tokens[at]
    text = renderer.renderInlineAsText(token.children or [], options, env) or "no description"
    return f'<a href="{escape(str(token.attrs.get("src", "")))}">image: {escape(text)}</a>'


def beginning_of(text: str, most: int) -> str:
    """As many whole blocks of a text as fit into so many characters. A block that is longer than half of them is
    cut at a line, code that goes on is closed."""
    if len(text) <= most:
        return text
    ends = (text.rfind("\n\n", most // 2, most), text.rfind("\n", most // 2, most), most)
    kept = text[: next(end for end in ends if end > 0)]
    open_fence = ""
    for line in kept.splitlines():
        fence = _fence_of(line)
        if not open_fence:
            open_fence = fence
        elif fence.startswith(open_fence) and line.strip() == fence:
            open_fence = ""
    return f"{kept}\n{open_fence}\n" if open_fence else f"{kept}\n"


def _fence_of(line: str) -> str:
    """The fence that a line begins with; empty if there is none."""
    text = line.lstrip(" >")
    for sign in ("`", "~"):
        length = len(text) - len(text.lstrip(sign))
        if length >= 3:
            return sign * length
    return ""


def to_html(text: str) -> Markup:
    """Markdown as HTML. Images become links, because no request may leave this origin. The headings have
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
    return Markup(_SCROLLING.sub(r'<\1 tabindex="0">', found))  # noqa: S704


@cache
def _blocks() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("inline")


def headings_of(text: str) -> list[tuple[int, int, str]]:
    """The headings of a text: the line on which each begins, its level and its words."""
    tokens = _blocks().parse(text)
    return [
        (token.map[0], int(token.tag[1:]), plain_of(tokens[at + 1].content))
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.map
    ]


def plain_of(text: str) -> str:
    """A line of Markdown without its signs."""
    renderer = _renderer()
    children = renderer.parseInline(text)[0].children or []
    return (
        "".join(token.content for token in children if token.type in ("text", "code_inline", "softbreak")) or text
    )

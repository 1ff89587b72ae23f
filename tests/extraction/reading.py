"""How the tests of content write Markdown and read it back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

from markdown_it import MarkdownIt
from markdown_it.token import Token

from orbweb.extraction import class_names, markdown
from orbweb.extraction.markdown import Rendered
from orbweb.parsing import page as page_parser
from orbweb.parsing.html.tree import Tree

URL = "https://docs.example/guide/page.html"
READER = MarkdownIt("commonmark", {"maxNesting": 60}).enable("table")


@dataclass
class Seen:
    """What a CommonMark reader finds."""

    headings: list[tuple[int, str]] = field(default_factory=list)
    code: list[tuple[str, str]] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    depth: int = 0


def read(written: str) -> Seen:
    seen = Seen()
    depth = 0
    tokens = READER.parse(written)
    for token, following in zip_longest(tokens, tokens[1:]):
        if token.type == "fence":
            seen.code.append((token.info, token.content.removesuffix("\n")))
            seen.words += token.content.split()
        elif token.type == "heading_open":
            seen.headings.append((int(token.tag[1]), inline(following)))
        elif token.type == "tr_open":
            seen.rows.append([])
        elif token.type in ("td_open", "th_open"):
            seen.rows[-1].append(inline(following))
        elif token.type in ("list_item_open", "list_item_close"):
            depth += token.nesting
            seen.depth = max(seen.depth, depth)
        elif token.type == "inline":
            seen.words += inline(token).split()
            seen.links += links(token)
        assert token.type != "html_block", written
    return seen


def visible(written: str) -> Iterator[str]:
    """The text of each block, also of markup that was left as it is."""
    for token in READER.parse(written):
        if token.type in ("fence", "code_block"):
            yield token.content
        elif token.type == "html_block":
            yield re.sub("<[^>]*>", "", token.content)
        elif token.type == "inline":
            yield inline(token)


def inline(token: Token | None) -> str:
    assert token is not None
    parts = [
        " " if child.type.endswith("break") else child.content
        for child in token.children or ()
        if child.type in ("text", "code_inline", "softbreak", "hardbreak")
    ]
    return " ".join("".join(parts).split())


def links(token: Token) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for child in token.children or ():
        if child.type == "link_open":
            found.append(("", str(child.attrs["href"])))
        elif child.type in ("text", "code_inline") and found:
            found[-1] = (found[-1][0] + child.content, found[-1][1])
    return found


def page_of(markup: str) -> Tree:
    return page_parser.dom(f"<!DOCTYPE html><body>{markup}".encode("utf-8", "surrogatepass"))


def rendered(tree: Tree, url: str = URL) -> Rendered:
    body = tree.find("body")
    return markdown.render(tree, body, url, class_names.used(tree, body).classes)


def markdown_of(markup: str) -> str:
    return rendered(page_of(markup)).markdown


def text_of(markup: str) -> str:
    return rendered(page_of(markup)).text

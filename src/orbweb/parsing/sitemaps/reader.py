"""Reads the items of a sitemap or feed. Items are read one by one, so a missing tag costs at most one of them."""

from __future__ import annotations

import re
from itertools import islice
from typing import NamedTuple

from orbweb.parsing.sitemaps.entries import SitemapEntries, SitemapKind
from orbweb.parsing.sitemaps.tokens import attributes_of, tags_of, text_from, unescaped

MAX_TAGS = 2_000_000
"""The most elements that are read: more than any sitemap of this size has, and about two seconds of work."""

_ROOT_WITHIN = 16
_DATE_LENGTH = 64
_ATTRIBUTES = 65_536


class SitemapFormat(NamedTuple):
    """A kind of document: the name of its items, and the elements of URL and date, best first."""

    kind: SitemapKind
    item: str
    urls: tuple[str, ...]
    dates: tuple[str, ...]


_RSS = SitemapFormat(SitemapKind.RSS, "item", ("link", "guid"), ("pubdate", "dc:date"))
_FORMS = {
    b"urlset": SitemapFormat(SitemapKind.URLSET, "url", ("loc",), ("lastmod",)),
    b"sitemapindex": SitemapFormat(SitemapKind.INDEX, "sitemap", ("loc",), ("lastmod",)),
    b"rss": _RSS,
    b"rdf": _RSS,
    b"feed": SitemapFormat(
        SitemapKind.ATOM, "entry", ("alternate", "self"), ("updated", "modified", "published", "issued")
    ),
}


class Root(NamedTuple):
    """The root element: its name in lower case, its prefix, its kind, and the start of its content."""

    name: bytes
    prefix: str
    form: SitemapFormat
    end: int
    childless: bool


def root_of(body: bytes) -> Root | None:
    """The root element. A few other tags, such as those of an error message, may come before it."""
    names = (tag for tag in tags_of(body) if tag["name"])
    for tag in islice(names, _ROOT_WITHIN):
        name = tag["name"].lower()
        prefix, _, local = name.rpartition(b":")
        if local in _FORMS:
            return Root(
                name, prefix.decode("latin-1"), _FORMS[local], tag.end("rest") + 1, tag["rest"].endswith(b"/")
            )
    return None


def read_items(body: bytes, root: Root, found: SitemapEntries) -> None:
    """Read all items, and report if the document is cut by a limit or ends too early."""
    items = _Items(body, root, found)
    tags = tags_of(body, root.end)
    for tag in islice(tags, MAX_TAGS):
        items.take(tag)
        if found.full:
            return
    if next(tags, None):
        found.problems.append(f"there are more than {MAX_TAGS} elements, the rest is not read")
    elif not items.closed:
        items.settle()
        found.problems.append(f"the document ends before </{root.name.decode('latin-1')}>")


class _Items:
    """A walk over the tags of a document.

    A value counts only as a child of an item, and items are never nested, so a missing tag costs at most one item.
    Names without a prefix or with that of the root belong to the format, others to extensions: `image:loc` is not
    a `loc`.
    """

    __slots__ = ("_body", "_bounds", "_depth", "_form", "_found", "_names", "_root", "_values", "closed")

    def __init__(self, body: bytes, root: Root, found: SitemapEntries) -> None:
        form = root.form
        prefixes = {"", f"{root.prefix}:" if root.prefix else ""}
        named = (*form.dates, *(("link",) if form.kind is SitemapKind.ATOM else form.urls))
        self._body = body
        self._form = form
        self._found = found
        self._root = root.name
        self._bounds = {(prefix + form.item).encode() for prefix in prefixes}
        self._names = {(prefix + name).encode(): name for prefix in prefixes for name in named}
        self._values: dict[str, str] = {}
        self._depth = -1
        self.closed = root.childless

    def take(self, tag: re.Match[bytes]) -> None:
        """Handle one tag; the depth is relative to the item, -1 outside of it."""
        closed, name, rest, text = tag.groups()
        if name:
            name = name.lower()
            leaf = text is not None or rest.endswith(b"/")
            if name in self._bounds:
                self.settle()
                self._depth = -1 if leaf else 0
            elif self._depth == 0 and name in self._names:
                value = unescaped(text or b"") if leaf else text_from(self._body, tag.end())
                self._note(self._names[name], rest, value)
                self._depth = 0 if leaf else 1
            elif self._depth >= 0 and not leaf:
                self._depth += 1
        elif closed:
            self._close(closed.lower())

    def _close(self, name: bytes) -> None:
        if name == self._root or name in self._bounds:
            self.settle()
            self._depth = -1
            self.closed = name == self._root
        elif self._depth > 0:
            self._depth -= 1

    def settle(self) -> None:
        """Add the entry of an item at its end."""
        if self._values:
            url = self._best(self._form.urls)
            if url is not None:
                self._found.add(url, self._best(self._form.dates))
            self._values.clear()

    def _best(self, names: tuple[str, ...]) -> str | None:
        for name in names:
            if name in self._values:
                return self._values[name]
        return None

    def _note(self, name: str, attributes: bytes, value: str) -> None:
        """Store the first non-empty value of a name."""
        if name == "link" and self._form.kind is SitemapKind.ATOM:
            name, value = _atom_link(attributes)
        value = value.strip()
        if name == "guid" and not _is_permalink(attributes, value):
            return
        if name in self._form.dates and not _is_date(value):
            return
        if value:
            self._values.setdefault(name, value)


def _atom_link(attributes: bytes) -> tuple[str, str]:
    """The relation and target of an Atom link. Without `rel` it is the entry's page."""
    given = {
        name.lower(): unescaped(double or single)
        for name, double, single in attributes_of(attributes[:_ATTRIBUTES])
    }
    return given.get(b"rel", "alternate").strip().lower(), given.get(b"href", "")


def _is_permalink(attributes: bytes, guid: str) -> bool:
    """Whether the guid of a feed's item is its URL: many are only ids without being marked as such."""
    return guid.lower().startswith(("http://", "https://")) and b"false" not in attributes.lower()


def _is_date(text: str) -> bool:
    """Whether a date is safe to store: short, and without control characters."""
    return len(text) <= _DATE_LENGTH and text.isprintable()

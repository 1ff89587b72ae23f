"""Sitemaps: the URLs that a sitemap, a sitemap index, a feed or a list of URLs names (sitemaps.org).

Owns reading the bytes, packed or not, whole or broken. Always: any bytes give an answer, in the document's
order; every URL is absolute and http(s); time is linear in the body, and body, entries and tags have a limit
that is told where it cuts. Never: fetches, raises, reads a DTD, or replaces an entity other than the five of
XML and numbered characters. Keys, scope and what follows from an entry are the caller's business.
"""

from __future__ import annotations

import codecs
import io
import re
import sys
import zlib
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

from orbweb.encodings import UTF_8, decoded, encoding_of
from orbweb.urls import resolve

MAX_URLS = 50_000
MAX_BYTES = 50_000_000
MAX_URL = 8_192
"""Characters of a URL; the protocol allows 2,048."""
MAX_TAGS = 2_000_000
"""Elements that are read: more than any sitemap of this size has, and about two seconds of work."""
MAX_RATIO = 200
"""How many times its packed size a body may have, once it is larger than `BOMB`."""
BOMB = 1_000_000
MAX_LAYERS = 2
MAX_MEMBERS = 10_000

_GZIP = b"\x1f\x8b"
_CHUNK = 1 << 16
_ROOT_WITHIN = 16
_DATE_LENGTH = 64
_ATTRIBUTES = 65_536
_SHOWN = 200

_INERT = rb"""
    <!--(?:[^-]++|-(?!->))*+(?:-->)?+
    | <!\[CDATA\[(?:[^\]]++|\](?!\]>))*+(?:\]\]>)?+
    | <\?[^>]*+>?+
    | <!(?!--|\[CDATA\[)[^\[>]*+(?:\[(?:[^\]]++|\](?!\s*+>))*+\]?+\s*+)?+>?+
"""
_NAME = rb"""[A-Za-z_][^\s/<>"'=]*+"""
# The end of an element; or its beginning, with its text and its end too where the text is all that it has.
# A quoted value may hold a bracket. Quotes permute the states "outside, in double, in single", so of all the
# tags that are left open at most three are searched past any one byte: this stays linear.
_TAG = rb"""
    </(?P<closed>%s)[^<>]*+>
    | <(?P<name>%s)(?P<rest>(?:[^"'<>]++|"[^"]*+"|'[^']*+')*+)>(?:(?P<text>[^<]*+)</(?P=name)>)?+
""" % (_NAME, _NAME)
_tags = re.compile(rb"%s | %s" % (_TAG, _INERT), re.VERBOSE).finditer
_value = re.compile(rb"((?:[^<]++|%s)*+)(<?+)" % _INERT, re.VERBOSE).match
_pieces = re.compile(
    rb"<!\[CDATA\[(?P<verbatim>.*?)(?:\]\]>|\Z)|(?P<text>[^<]++)|%s" % _INERT, re.VERBOSE | re.DOTALL
)
_attributes = re.compile(rb"""([^\s=/"']++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'))?+""").findall
_lines = re.compile(rb"(?:\A|[\r\n])[ \t]*+(https?://\S++)(?=[ \t]*+(?:[\r\n]|\Z))", re.IGNORECASE).finditer
_reference = re.compile(r"&(?:#([0-9]{1,7})|#[xX]([0-9A-Fa-f]{1,6})|(amp|lt|gt|quot|apos));")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


class Kind(StrEnum):
    """What a document is, by its first element."""

    URLSET = "urlset"
    INDEX = "index"
    RSS = "rss"
    ATOM = "atom"
    TEXT = "text"
    UNKNOWN = "unknown"


class Entry(NamedTuple):
    """An absolute http(s) URL as the document has it, and its date as written."""

    url: str
    lastmod: str | None


@dataclass(frozen=True, slots=True)
class Sitemap:
    """What one document names: pages in `entries`, the sitemaps of an index in `children`.

    `problem` says why the document was not read, or not to its end, or what was left out of it.
    """

    kind: Kind
    entries: tuple[Entry, ...] = ()
    children: tuple[Entry, ...] = ()
    problem: str | None = None


def parse(body: bytes, url: str, *, max_urls: int = MAX_URLS, max_bytes: int = MAX_BYTES) -> Sitemap:
    """Read the document that was answered at `url`. It may be packed with gzip, twice if need be."""
    plain, trouble = _unpacked(body, max_bytes)
    if plain is None:
        return Sitemap(Kind.UNKNOWN, problem=trouble)
    found = _Found(url, max_urls)
    if trouble:
        found.problems.append(trouble)
    kind = _read(_as_utf8(plain), found)
    entries = tuple(found.entries)
    return Sitemap(
        kind,
        entries=() if kind is Kind.INDEX else entries,
        children=entries if kind is Kind.INDEX else (),
        problem="; ".join(found.told()) or None,
    )


@dataclass(slots=True)
class _Found:
    """The entries so far, and what has to be said about them. Full is what has one more than allowed."""

    base: str
    max_urls: int
    entries: list[Entry] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    full: bool = False
    _refused: int = 0
    _first_refused: str = ""

    def add(self, url: str, date: str | None) -> None:
        """Note an entry. One that is no http(s) URL is counted only."""
        if len(self.entries) == self.max_urls:
            self.full = True
            return
        href = resolve(url, self.base) if len(url) <= MAX_URL else None
        if href is not None and href.startswith(("http://", "https://")):
            self.entries.append(Entry(href, date))
            return
        self._refused += 1
        self._first_refused = self._first_refused or url

    def told(self) -> list[str]:
        """The problems, in the order of their weight."""
        told = list(self.problems)
        if self.full:
            told.append(f"there are more than {self.max_urls} entries, the rest is not read")
        if self._refused:
            said = "1 entry is" if self._refused == 1 else f"{self._refused} entries are"
            first = _shown(self._first_refused)
            told.append(f"{said} no http(s) URL of at most {MAX_URL} characters, the first: {first}")
        return told


def _read(body: bytes, found: _Found) -> Kind:
    """Fill in the entries; the kind says how the body was understood."""
    root = _root(body)
    if root is not None:
        _read_items(body, root, found)
        return root.form.kind
    if not body.strip():
        found.problems.append("the document is empty")
    elif body.lstrip().startswith(b"<"):
        found.problems.append("the document is neither a sitemap nor a feed")
    else:
        return _read_lines(body, found)
    return Kind.UNKNOWN


def _read_lines(body: bytes, found: _Found) -> Kind:
    for line in _lines(body):
        found.add(_decoded(line[1]), None)
        if found.full:
            break
    if found.entries:
        return Kind.TEXT
    found.problems.append("the document has no line that is an http(s) URL")
    return Kind.UNKNOWN


class _Form(NamedTuple):
    """A kind of document: the name of its items, and where an item has its URL and its date, best first."""

    kind: Kind
    item: str
    urls: tuple[str, ...]
    dates: tuple[str, ...]


_RSS = _Form(Kind.RSS, "item", ("link", "guid"), ("pubdate", "dc:date"))
_FORMS = {
    b"urlset": _Form(Kind.URLSET, "url", ("loc",), ("lastmod",)),
    b"sitemapindex": _Form(Kind.INDEX, "sitemap", ("loc",), ("lastmod",)),
    b"rss": _RSS,
    b"rdf": _RSS,
    b"feed": _Form(Kind.ATOM, "entry", ("alternate", "self"), ("updated", "modified", "published", "issued")),
}


class _Root(NamedTuple):
    """The first element: its name in lower case, its prefix, what it means, where its contents begin."""

    name: bytes
    prefix: str
    form: _Form
    end: int
    childless: bool


def _root(body: bytes) -> _Root | None:
    """The element that says what the document is. A few tags, of an error message say, may come before it."""
    names = (tag for tag in _tags(body) if tag["name"])
    for tag in islice(names, _ROOT_WITHIN):
        name = tag["name"].lower()
        prefix, _, local = name.rpartition(b":")
        if local in _FORMS:
            return _Root(
                name, prefix.decode("latin-1"), _FORMS[local], tag.end("rest") + 1, tag["rest"].endswith(b"/")
            )
    return None


def _read_items(body: bytes, root: _Root, found: _Found) -> None:
    """Read all items, and tell if the document goes on after what was read or stops too early."""
    items = _Items(body, root, found)
    tags = _tags(body, root.end)
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

    A value counts only as a child of an item, and items never lie inside each other: so a tag that is missing
    costs one item at most. The root's prefix and no prefix are its own names, others are extensions:
    `image:loc` is no `loc`.
    """

    __slots__ = ("_body", "_bounds", "_depth", "_form", "_found", "_names", "_root", "_values", "closed")

    def __init__(self, body: bytes, root: _Root, found: _Found) -> None:
        form = root.form
        prefixes = {"", f"{root.prefix}:" if root.prefix else ""}
        named = (*form.dates, *(("link",) if form.kind is Kind.ATOM else form.urls))
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
        """Go past one tag; the depth is that inside the item, -1 outside of it."""
        closed, name, rest, text = tag.groups()
        if name:
            name = name.lower()
            leaf = text is not None or rest.endswith(b"/")
            if name in self._bounds:
                self.settle()
                self._depth = -1 if leaf else 0
            elif self._depth == 0 and name in self._names:
                value = _unescaped(text or b"") if leaf else _text(self._body, tag.end())
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
        """The item is at its end: what it said becomes an entry."""
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
        """Keep the first value of a name that has one."""
        if name == "link" and self._form.kind is Kind.ATOM:
            name, value = _atom_link(attributes)
        value = value.strip()
        if name == "guid" and not _is_permalink(attributes, value):
            return
        if name in self._form.dates and not _is_date(value):
            return
        if value:
            self._values.setdefault(name, value)


def _atom_link(attributes: bytes) -> tuple[str, str]:
    """What an Atom link is for, and where it leads. Without `rel` it is the entry's page."""
    given = {
        name.lower(): _unescaped(double or single)
        for name, double, single in _attributes(attributes[:_ATTRIBUTES])
    }
    return given.get(b"rel", "alternate").strip().lower(), given.get(b"href", "")


def _is_permalink(attributes: bytes, guid: str) -> bool:
    """Whether the guid of a feed's item is its URL: many are just names, though they do not say so."""
    return guid.lower().startswith(("http://", "https://")) and b"false" not in attributes.lower()


def _is_date(text: str) -> bool:
    """Whether a date may be passed on: short, and nothing in it that could steer a terminal."""
    return len(text) <= _DATE_LENGTH and text.isprintable()


def _text(body: bytes, start: int) -> str:
    """The text from there to the next tag; none where the document ends first, for it may be a part only."""
    found = _value(body, start)
    if found is None or not found[2]:
        return ""
    if b"<" not in found[1]:
        return _unescaped(found[1])
    pieces = _pieces.finditer(found[1])
    return "".join(
        _decoded(piece["verbatim"]) if piece["verbatim"] else _unescaped(piece["text"] or b"") for piece in pieces
    )


def _unescaped(raw: bytes) -> str:
    """References replaced, once. Others, as those of HTML, stay: `&copy=1` is a parameter of a URL."""
    text = _decoded(raw)
    if "&" not in text:
        return text
    if text.count("&") == text.count("&amp;"):
        return text.replace("&amp;", "&")
    return _reference.sub(_character, text)


def _character(reference: re.Match[str]) -> str:
    decimal, hexadecimal, name = reference.groups()
    if name:
        return _NAMED[name]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(code) if code <= sys.maxunicode else reference[0]


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _as_utf8(body: bytes) -> bytes:
    """The same text in UTF-8 without a byte-order mark."""
    encoding = encoding_of(body)
    if encoding != UTF_8:
        return decoded(body, encoding).encode("utf-8", "replace")
    return body.removeprefix(codecs.BOM_UTF8)


def _unpacked(body: bytes, max_bytes: int) -> tuple[bytes | None, str | None]:
    """The body without its layers of gzip, and what went wrong; None where nothing of it may be used."""
    layers = 0
    troubles = []
    plain: bytes | None = body
    while plain is not None and plain.startswith(_GZIP):
        layers += 1
        if layers > MAX_LAYERS:
            return None, f"the document is packed more than {MAX_LAYERS} times"
        plain, trouble = _gunzip(plain, max_bytes)
        troubles += [trouble] if trouble else []
    if plain is not None and len(plain) > max_bytes:
        plain = plain[:max_bytes]
        troubles.append(f"the document is larger than {max_bytes} bytes, the rest is not read")
    return plain, "; ".join(troubles) or None


def _gunzip(packed: bytes, max_bytes: int) -> tuple[bytes | None, str | None]:
    """At most one byte more than allowed of what was packed: enough to know that it is too large."""
    out = io.BytesIO()
    stream = zlib.decompressobj(wbits=31)
    position, members = 0, 1
    view = memoryview(packed)
    while out.tell() <= max_bytes:
        chunk = view[position : position + _CHUNK]
        try:
            out.write(stream.decompress(chunk, min(_CHUNK, max_bytes + 1 - out.tell())))
        except zlib.error as error:
            return out.getvalue(), f"the gzip stream is damaged after {out.tell()} bytes: {error}"
        position += len(chunk) - len(stream.unconsumed_tail) - len(stream.unused_data)
        if out.tell() > max(BOMB, MAX_RATIO * position):
            return None, f"the gzip stream holds more than {MAX_RATIO} times its size"
        if stream.eof:
            if not packed.startswith(_GZIP, position):
                break
            if members == MAX_MEMBERS:
                return out.getvalue(), f"the gzip stream has more than {MAX_MEMBERS} parts, the rest is not read"
            members += 1
            stream = zlib.decompressobj(wbits=31)
        elif not chunk:
            return out.getvalue(), "the gzip stream ends too early"
    return out.getvalue(), None


def _shown(text: str) -> str:
    """A value fit to be printed: nothing that could steer a terminal, and not without end."""
    shown = ascii(text[:_SHOWN])
    return shown if len(text) <= _SHOWN else shown + "..."

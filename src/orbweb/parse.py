"""A body becomes a DOM, and the DOM becomes what the crawl needs of a page.

Owns which elements are links, which load something, and what a page says about itself. Always: links are in
document order, each key once, within `MAX_LINKS` and `MAX_LINK_CHARACTERS`; the answer depends on the body, the
URL, the content type and the rules alone; any bytes are a page. Never: runs scripts, looks into inert `<template>`
contents, or raises for bad markup. What a page may take of memory and time is the caller's to limit.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

import turbohtml
from turbohtml import Document, Element, Namespace, XPath

from orbweb import directives
from orbweb.encodings import UTF_8, decoded, encoding_of
from orbweb.model import Link, Parsed
from orbweb.urls import Page, Resolver

Dom = Document

MAX_LINKS = 50_000
"""Distinct references of a page; what comes after them is not read, and the page is marked as truncated."""
MAX_LINK_CHARACTERS = 8_000_000
"""Of the URLs of a page together: a long `<base href>` would make gigabytes of a small page."""
MAX_TITLE = 1_000
MAX_WORDS = 1_000
"""Words of a title, of a `rel` or of a robots directive that are looked at."""

_REFRESH = re.compile(
    r"""\s*+[\d.]++(?=[\s;,])\s*+[;,]?+\s*+(?:url\s*+=\s*+)?+(?:"([^"]*)|'([^']*)|(\S.*))""",
    re.IGNORECASE | re.DOTALL,
).match
_may_link = re.compile("canonical|next|alternate", re.IGNORECASE).search
_NO_WORDS: frozenset[str] = frozenset()

# Which attribute of an element loads what.
_LOADS = {
    "script": (("src", "script"),),
    "img": (("src", "image"),),
    "video": (("src", "media"), ("poster", "image")),
    "audio": (("src", "media"),),
    "source": (("src", "media"),),
    "track": (("src", "media"),),
    "embed": (("src", "other"),),
    "object": (("data", "other"),),
}
_LOADING = (*_LOADS, "link", "style", "template")
_STYLED = '[style*="("]'
_LOADS_BY_REL = {
    "stylesheet": "style",
    "icon": "image",
    "apple-touch-icon": "image",
    "mask-icon": "image",
    "modulepreload": "script",
    "manifest": "other",
}
_PRELOADS = {
    "script": "script",
    "style": "style",
    "image": "image",
    "font": "font",
    "audio": "media",
    "video": "media",
    "track": "media",
}

_CANDIDATE = re.compile(r"[\s,]*([^\s,]\S*)").match
_DESCRIPTORS = re.compile(r"(?:[^,(]++|\([^)]*+\)?)*+").match


def parse(
    body: bytes,
    url: str,
    *,
    resolver: Resolver,
    content_type: str | None = None,
    robots_tags: Sequence[str] = (),
    agent: str = directives.EVERYONE,
    resources: bool = False,
) -> Parsed:
    """Parse the page that was answered at `url`, an absolute http(s) URL, with these headers, to this agent."""
    document = dom(body, content_type)
    return read(document, url, resolver=resolver, robots_tags=robots_tags, agent=agent, resources=resources)


def dom(body: bytes | str, content_type: str | None = None) -> Dom:
    """The DOM of a browser without scripts. Valid UTF-8 is decoded here, which is faster; other bytes in C."""
    if isinstance(body, str):
        return _document(body.removeprefix("\ufeff"), None)
    encoding = encoding_of(body, content_type)
    if encoding == UTF_8:
        try:
            return _document(body.removeprefix(BOM_UTF8).decode(), None)
        except UnicodeDecodeError:
            pass
    return _document(body, encoding)


def read(
    document: Document,
    url: str,
    *,
    resolver: Resolver,
    robots_tags: Sequence[str] = (),
    agent: str = directives.EVERYONE,
    resources: bool = False,
) -> Parsed:
    """What the crawl needs of a DOM, which is left as it was."""
    page = _page(url, resolver)
    facts = _scan(document, directives.addressees(agent))
    loads = _loads(document) if resources else _References()
    base = _base(facts.base, page, resolver)
    return Parsed(
        links=_links(facts.references, base, page.own.key),
        resources=_links(loads, base, page.own.key),
        title=facts.title or "",
        canonical=_canonical(facts.canonical, base),
        directives=directives.read(facts.robots, robots_tags, agent),
        encoding=document.encoding or UTF_8,
        truncated=facts.references.truncated or loads.truncated,
    )


def parse_css(body: bytes, url: str, *, resolver: Resolver, content_type: str | None = None) -> Parsed:
    """What the style sheet that was answered at `url` loads; it has no links and no title."""
    from orbweb import css

    encoding = css.encoding_of(body, content_type)
    loads = _References()
    loads.add_all(css.references(decoded(body, encoding)))
    page = _page(url, resolver)
    resources = _links(loads, page, page.own.key)
    return Parsed(resources=resources, encoding=encoding, truncated=loads.truncated)


def _page(url: str, resolver: Resolver) -> Page:
    page = resolver.page(url)
    if page is None:
        raise ValueError(f"not an http(s) URL: {url}")
    return page


def _document(body: bytes | str, encoding: str | None) -> Document:
    return turbohtml.parse(body, encoding=encoding, positions=False, allow_declarative_shadow_roots=False)


@dataclass(slots=True)
class _References:
    """The distinct hrefs of a page in document order, and what they are."""

    kinds: dict[str, str] = field(default_factory=dict)
    nofollow: set[str] = field(default_factory=set)
    truncated: bool = False

    def add(self, href: str, kind: str, *, nofollow: bool = False) -> None:
        """Note an occurrence. The first decides the kind; one that may be followed is enough for all."""
        if href in self.kinds:
            if not nofollow:
                self.nofollow.discard(href)
        elif len(self.kinds) == MAX_LINKS:
            self.truncated = True
        else:
            self.kinds[href] = kind
            if nofollow:
                self.nofollow.add(href)

    def add_all(self, found: Iterable[tuple[str, str]]) -> None:
        """Note hrefs and their kinds, as many as fit."""
        for href, kind in found:
            self.add(href, kind)
            if self.truncated:
                break


@dataclass(slots=True)
class _Facts:
    """What one walk over a DOM finds, as it is written there; `robots` is what metas say to the addressees."""

    addressees: frozenset[str]
    references: _References = field(default_factory=_References)
    base: str | None = None
    title: str | None = None
    canonical: list[str] = field(default_factory=list)
    robots: list[tuple[str, str]] = field(default_factory=list)


def _scan(document: Document, addressees: frozenset[str]) -> _Facts:
    """What the elements say, in document order. Most are an `<a>` that repeats an href.

    Nearly every page has all its other elements in the head; the hrefs of its body are then read in one go.
    `_walk` gives the same answer for any page, element by element.
    """
    facts = _Facts(addressees)
    head = document.find("head")
    for element in document.iter_elements(_BESIDES_A):
        tag = element.tag
        if tag in _SCATTERED or element.parent != head:
            return _walk(document, addressees)
        _READERS[tag](element, facts)
    hrefs = [href.partition("#")[0] for href in _hrefs(document)]
    refused = Counter((element.attr("href") or "").partition("#")[0] for element in document.select(_NOFOLLOW))
    occurrences = Counter(hrefs) if refused else refused
    for href in dict.fromkeys(hrefs):
        if href and href[-1] <= " ":
            return _walk(document, addressees)
        facts.references.add(href, "a", nofollow=href in refused and refused[href] == occurrences[href])
        if facts.references.truncated:
            break
    return facts


def _walk(document: Document, addressees: frozenset[str]) -> _Facts:
    """Read every element in its turn."""
    facts = _Facts(addressees)
    references = facts.references
    kinds, nofollow = references.kinds, references.nofollow
    elements = document.iter_elements(_READ)
    for element in elements:
        tag = element.tag
        if tag != "a":
            if tag == "template":
                _skip_inert(element, elements, _READ)
            else:
                _READERS[tag](element, facts)
            continue
        href = element.attr("href")
        if href is None:
            continue
        cut = href.find("#")
        if cut >= 0 and href[cut - 1] > " ":
            href = href[:cut]
        if href not in kinds or href in nofollow:
            references.add(href, "a", nofollow="nofollow" in _rel(element))
            if references.truncated:
                break
    return facts


def _read_area(element: Element, facts: _Facts) -> None:
    href = element.attr("href")
    if href is not None:
        facts.references.add(href, "area", nofollow="nofollow" in _rel(element))


def _read_frame(element: Element, facts: _Facts) -> None:
    source = element.attr("src")
    if source is not None:
        facts.references.add(source, element.tag)


def _read_link(element: Element, facts: _Facts) -> None:
    if not _may_link(element.attr("rel") or ""):
        return
    rel, href = _rel(element), element.attr("href")
    if href is None:
        return
    if "canonical" in rel:
        facts.canonical.append(href)
    if "next" in rel:
        facts.references.add(href, "next", nofollow="nofollow" in rel)
    elif "alternate" in rel and "stylesheet" not in rel:
        facts.references.add(href, "alternate", nofollow="nofollow" in rel)


def _read_meta(element: Element, facts: _Facts) -> None:
    name = (element.attr("name") or "").lower()
    if name in facts.addressees:
        facts.robots.append((name, element.attr("content") or ""))
    if (element.attr("http-equiv") or "").lower() == "refresh":
        refresh = _REFRESH(element.attr("content") or "")
        if refresh:
            facts.references.add(refresh[1] or refresh[2] or refresh[3] or "", "refresh")


def _read_base(element: Element, facts: _Facts) -> None:
    if facts.base is None:
        facts.base = element.attr("href")


def _read_title(element: Element, facts: _Facts) -> None:
    if facts.title is None and element.namespace is Namespace.HTML:
        facts.title = " ".join(element.text.split(None, MAX_WORDS)[:MAX_WORDS])[:MAX_TITLE]


_READERS = {
    "area": _read_area,
    "iframe": _read_frame,
    "frame": _read_frame,
    "link": _read_link,
    "meta": _read_meta,
    "base": _read_base,
    "title": _read_title,
}
_READ = ("a", "template", *_READERS)
_SCATTERED = frozenset(("template", "area", "iframe", "frame"))
_BESIDES_A = ("template", *_READERS)
_NOFOLLOW = 'a[href][rel~="nofollow" i]'
_hrefs = cast("Callable[[Document], list[str]]", XPath("//a/@href"))


def _rel(element: Element) -> frozenset[str]:
    rel = element.attr("rel")
    return frozenset(rel.lower().split(None, MAX_WORDS)) if rel else _NO_WORDS


def _skip_inert(template: Element, elements: Iterator[Element], tags: tuple[str, ...] | None) -> None:
    """Take out of a walk what no browser shows: a template's contents, unless it is a shadow root."""
    if (template.attr("shadowrootmode") or "").lower() not in ("open", "closed"):
        for _ in template.iter_elements(tags):
            next(elements)


def _base(href: str | None, page: Page, resolver: Resolver) -> Page:
    """What hrefs are resolved against: the `<base href>` if that is http(s), else the page."""
    target = None if href is None else page.target(href)
    return (target and resolver.page(target.url)) or page


def _links(references: _References, base: Page, own: str) -> tuple[Link, ...]:
    """The targets of the references, each key once, but not the page itself."""
    found: dict[str, Link] = {}
    kinds, refused = references.kinds, references.nofollow
    room = MAX_LINK_CHARACTERS
    for (href, kind), target in zip(kinds.items(), base.targets(kinds), strict=True):
        if target is None:
            continue
        key, url = target
        nofollow = href in refused
        known = found.get(key)
        if known is None:
            room -= len(url)
            if room < 0:
                references.truncated = True
                break
            found[key] = Link(key, url, kind, nofollow)
        elif known.nofollow and not nofollow:
            found[key] = known._replace(nofollow=False)
    found.pop(own, None)
    return tuple(found.values())


def _canonical(hrefs: Iterable[str], base: Page) -> str | None:
    return next((target.url for href in hrefs if (target := base.target(href))), None)


def _loads(document: Document) -> _References:
    """What the page loads. Any element may have a `style`, so that one that can load something is looked for."""
    loads = _References()
    tags = None if document.select_one(_STYLED) else _LOADING
    elements = document.iter_elements(tags)
    for element in elements:
        if element.tag == "template":
            _skip_inert(element, elements, tags)
            continue
        loads.add_all(_loaded(element))
        if loads.truncated:
            break
    return loads


def _loaded(element: Element) -> Iterator[tuple[str, str]]:
    """The hrefs and kinds of what an element loads."""
    from orbweb import css

    tag = element.tag
    if tag == "link":
        href, kind = element.attr("href"), _loaded_by_rel(element)
        if href and kind:
            yield href, kind
    elif tag == "style":
        if (element.attr("type") or "text/css").strip().lower() == "text/css":
            yield from css.references(element.text)
    elif tag in _LOADS:
        yield from _loaded_by_attributes(element)
    yield from css.references(element.attr("style") or "")


def _loaded_by_attributes(element: Element) -> Iterator[tuple[str, str]]:
    for attribute, kind in _LOADS[element.tag]:
        href = element.attr(attribute)
        if href:
            yield href, kind
    for href in _srcset(element.attr("srcset") or ""):
        yield href, "image"


def _loaded_by_rel(link: Element) -> str | None:
    rel = _rel(link)
    if "preload" in rel:
        return _PRELOADS.get((link.attr("as") or "").lower(), "other")
    return next((kind for name, kind in _LOADS_BY_REL.items() if name in rel), None)


def _srcset(value: str) -> Iterator[str]:
    """The URLs of the image candidates. A comma ends a URL only at its end, else it ends the descriptors."""
    position = 0
    while candidate := _CANDIDATE(value, position):
        url, position = candidate[1], candidate.end()
        yield url.rstrip(",")
        if not url.endswith(",") and (descriptors := _DESCRIPTORS(value, position)):
            position = descriptors.end()

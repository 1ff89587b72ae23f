"""The links, resources, title and robots directives of a page, from one walk over its tree.

Everything is in document order and as written; hrefs are not resolved here. Hrefs are distinct and at most
`MAX_LINKS`. The content of an inert `<template>` is skipped.
"""

import re

from libc.string cimport memchr

from orbweb.parsing.html.tree cimport (
    ATTR_AS, ATTR_CONTENT, ATTR_DATA, ATTR_HREF, ATTR_HTTP_EQUIV, ATTR_NAME, ATTR_POSTER, ATTR_REL,
    ATTR_SHADOWROOTMODE, ATTR_SRC, ATTR_SRCSET, ATTR_STYLE, ATTR_TYPE, HTML, NONE, ROOT, Span, TAG_A,
    TAG_AREA, TAG_BASE, TAG_EMBED, TAG_FRAME, TAG_IFRAME, TAG_IMG, TAG_LINK, TAG_META, TAG_OBJECT, TAG_SCRIPT,
    TAG_STYLE, TAG_TEMPLATE, TAG_TITLE, TAG_VIDEO, TagSet, Tree, as_str, blank_at, contains_in_any_case,
    is_text_in_any_case, tags,
)
from orbweb.parsing.html.walk cimport next_tagged

MAX_LINKS = 50_000
"""The most distinct references of a page; further ones are dropped, and the page is marked (`links_cut`)."""
MAX_TITLE = 1_000
MAX_WORDS = 1_000
"""The most words of a title, a `rel` or a robots directive that are read."""

cdef enum:
    LINKS = 50_000
    WORDS = 1_000

cdef TagSet _READ = tags("a area base frame iframe link meta template title")
cdef TagSet _LOADING = tags("audio embed img link object script source style track video")

cdef object _refresh = re.compile(
    r"""\s*+[\d.]++(?=[\s;,])\s*+[;,]?+\s*+(?:url\s*+=\s*+)?+(?:"([^"]*)|'([^']*)|(\S.*))""",
    re.IGNORECASE | re.DOTALL,
).match
cdef object _candidate = re.compile(r"[\s,]*([^\s,]\S*)").match
cdef object _descriptors = re.compile(r"(?:[^,(]++|\([^)]*+\)?)*+").match

cdef dict _LOADS_BY_REL = {
    "stylesheet": "style",
    "icon": "image",
    "apple-touch-icon": "image",
    "mask-icon": "image",
    "modulepreload": "script",
    "manifest": "other",
}
cdef dict _PRELOADS = {
    "script": "script",
    "style": "style",
    "image": "image",
    "font": "font",
    "audio": "media",
    "video": "media",
    "track": "media",
}


cdef class References:
    """The distinct hrefs of a page in document order, and their kinds."""

    cdef readonly dict kinds
    cdef readonly set nofollow
    cdef public bint truncated

    def __cinit__(self):
        self.kinds = {}
        self.nofollow = set()

    cdef int add(self, str href, str kind, bint nofollow=False) except -1:
        """Add an occurrence. The first decides the kind; it is nofollow only if all occurrences are."""
        if href in self.kinds:
            if not nofollow:
                self.nofollow.discard(href)
        elif len(self.kinds) == LINKS:
            self.truncated = True
        else:
            self.kinds[href] = kind
            if nofollow:
                self.nofollow.add(href)
        return 0

    cpdef int add_all(self, found) except -1:
        """Add hrefs and their kinds, up to the limit."""
        for href, kind in found:
            self.add(href, kind)
            if self.truncated:
                break
        return 0


cdef class Facts:
    """The result of one walk over a page, as written; `robots` are the metas with the wanted names."""

    cdef readonly References references
    cdef readonly str base, title
    cdef readonly list canonical, robots

    def __cinit__(self):
        self.references = References()
        self.canonical = []
        self.robots = []


def read(Tree tree, frozenset addressees not None):
    """Collect links and metadata in document order. Most elements are an `<a>` that repeats an href."""
    cdef Facts facts = Facts()
    cdef References references = facts.references
    cdef dict kinds = references.kinds
    cdef set nofollow = references.nofollow
    cdef int node = next_tagged(tree.nodes, ROOT, ROOT, &_READ), tag
    cdef Span span
    cdef str href
    while node != NONE:
        tag = tree.nodes[node].tag
        if tag == TAG_A:
            span = tree.attr(node, ATTR_HREF)
            if span.start != NULL:
                href = as_str(_without_fragment(span))
                if href not in kinds or href in nofollow:
                    references.add(href, "a", _is_nofollow(tree.attr(node, ATTR_REL)))
                    if references.truncated:
                        break
        elif tag == TAG_TEMPLATE:
            node = _end_of_inert(tree, node)
        else:
            _read_other(tree, node, tag, facts, addressees)
        node = next_tagged(tree.nodes, node, ROOT, &_READ)
    return facts


def loads(Tree tree, object of_style):
    """Collect resources. Any element may have a `style`; `of_style` returns its references with their kinds."""
    cdef References found = References()
    cdef int node = tree.following(ROOT, ROOT), tag
    cdef Span style
    while node != NONE and not found.truncated:
        tag = tree.nodes[node].tag
        if tag == TAG_TEMPLATE:
            node = _end_of_inert(tree, node)
        else:
            if _LOADING.has[tag]:
                _read_load(tree, node, tag, found, of_style)
            style = tree.attr(node, ATTR_STYLE)
            if style.size and not found.truncated and memchr(style.start, b"(", style.size) != NULL:
                found.add_all(of_style(as_str(style)))
        node = tree.following(node, ROOT)
    return found


cdef int _end_of_inert(Tree tree, int template) except -1:
    """The last node of an inert template; the template itself if it is a shadow root."""
    cdef Span mode = tree.attr(template, ATTR_SHADOWROOTMODE)
    cdef int node = template
    if not is_text_in_any_case(mode, b"open") and not is_text_in_any_case(mode, b"closed"):
        while tree.last(node) != NONE:
            node = tree.last(node)
    return node


cdef Span _without_fragment(Span href) noexcept:
    """A trailing blank is ignored, but a blank before a fragment is part of the path."""
    cdef const char* cut = <const char*> memchr(href.start, b"#", href.size)
    cdef const char* before
    if href.size and cut != NULL:
        before = cut - 1 if cut > href.start else href.start + href.size - 1
        if <unsigned char> before[0] > 0x20:
            href.size = cut - href.start
    return href


cdef bint _is_nofollow(Span rel) noexcept:
    """Whether `nofollow` is among the words, separated by white space as for `str.split`."""
    cdef const char* at = rel.start
    cdef const char* end = at + rel.size
    cdef Span word
    cdef int words = 0, step
    if at == NULL or not contains_in_any_case(rel, b"nofollow"):
        return False
    while at < end and words < WORDS:
        step = blank_at(at, end)
        if step:
            at += step
            continue
        word.start = at
        while at < end and not blank_at(at, end):
            at += 1
        word.size = at - word.start
        if is_text_in_any_case(word, b"nofollow"):
            return True
        words += 1
    return False


cdef int _read_other(Tree tree, int node, int tag, Facts facts, frozenset addressees) except -1:
    cdef Span span
    if tag == TAG_AREA:
        span = tree.attr(node, ATTR_HREF)
        if span.start != NULL:
            facts.references.add(as_str(span), "area", _is_nofollow(tree.attr(node, ATTR_REL)))
    elif tag == TAG_IFRAME or tag == TAG_FRAME:
        span = tree.attr(node, ATTR_SRC)
        if span.start != NULL:
            facts.references.add(as_str(span), "frame" if tag == TAG_FRAME else "iframe")
    elif tag == TAG_LINK:
        _read_link(tree, node, facts)
    elif tag == TAG_META:
        _read_meta(tree, node, facts, addressees)
    elif tag == TAG_BASE:
        if facts.base is None:
            facts.base = tree.attr_str(node, ATTR_HREF)
    elif tag == TAG_TITLE:
        if facts.title is None and not is_foreign(tree, node):
            facts.title = " ".join(tree.text(node).split(None, WORDS)[:WORDS])[:MAX_TITLE]
    return 0


cdef int _read_link(Tree tree, int node, Facts facts) except -1:
    cdef Span rel = tree.attr(node, ATTR_REL), href = tree.attr(node, ATTR_HREF)
    cdef frozenset words
    cdef str target
    if href.start == NULL or not (
        contains_in_any_case(rel, b"canonical")
        or contains_in_any_case(rel, b"next")
        or contains_in_any_case(rel, b"alternate")
    ):
        return 0
    words, target = _words(rel), as_str(href)
    if "canonical" in words:
        facts.canonical.append(target)
    if "next" in words:
        facts.references.add(target, "next", "nofollow" in words)
    elif "alternate" in words and "stylesheet" not in words:
        facts.references.add(target, "alternate", "nofollow" in words)
    return 0


cdef int _read_meta(Tree tree, int node, Facts facts, frozenset addressees) except -1:
    cdef Span span = tree.attr(node, ATTR_NAME)
    cdef str name = as_str(span).lower() if span.size else ""
    if name in addressees:
        facts.robots.append((name, tree.attr_str(node, ATTR_CONTENT) or ""))
    if is_text_in_any_case(tree.attr(node, ATTR_HTTP_EQUIV), b"refresh"):
        refresh = _refresh(tree.attr_str(node, ATTR_CONTENT) or "")
        if refresh:
            facts.references.add(refresh[1] or refresh[2] or refresh[3] or "", "refresh")
    return 0


cdef bint is_foreign(Tree tree, int node) except -1:
    return tree.at(node).space != HTML


cdef frozenset _words(Span rel):
    return frozenset(as_str(rel).lower().split(None, WORDS)) if rel.size else frozenset()


# Resources.


cdef int _read_load(Tree tree, int node, int tag, References found, object of_style) except -1:
    cdef str kind
    if tag == TAG_LINK:
        kind = _loaded_by_rel(tree, node)
        if kind is not None:
            _add(tree, node, ATTR_HREF, kind, found)
    elif tag == TAG_STYLE:
        if (tree.attr_str(node, ATTR_TYPE) or "text/css").strip().lower() == "text/css":
            found.add_all(of_style(tree.text(node)))
    else:
        if tag == TAG_OBJECT:
            _add(tree, node, ATTR_DATA, "other", found)
        else:
            _add(tree, node, ATTR_SRC, _kind(tag), found)
        if tag == TAG_VIDEO:
            _add(tree, node, ATTR_POSTER, "image", found)
        if tree.attr(node, ATTR_SRCSET).size:
            _add_srcset(tree.attr_str(node, ATTR_SRCSET), found)
    return 0


cdef str _kind(int tag):
    if tag == TAG_SCRIPT:
        return "script"
    if tag == TAG_IMG:
        return "image"
    return "other" if tag == TAG_EMBED else "media"


cdef int _add(Tree tree, int node, int attribute, str kind, References found) except -1:
    cdef Span href = tree.attr(node, attribute)
    if href.size and not found.truncated:
        found.add(as_str(href), kind)
    return 0


cdef str _loaded_by_rel(Tree tree, int link):
    cdef frozenset rel = _words(tree.attr(link, ATTR_REL))
    if "preload" in rel:
        return _PRELOADS.get((tree.attr_str(link, ATTR_AS) or "").lower(), "other")
    for name, kind in _LOADS_BY_REL.items():
        if name in rel:
            return kind
    return None


cdef int _add_srcset(str value, References found) except -1:
    """The URLs of the image candidates of a `srcset`. A comma ends a URL only as its last character, and otherwise
    the descriptors."""
    cdef Py_ssize_t position = 0
    cdef str url
    while not found.truncated:
        candidate = _candidate(value, position)
        if candidate is None:
            break
        url, position = candidate[1], candidate.end()
        found.add(url.rstrip(","), "image")
        if not url.endswith(","):
            position = _descriptors(value, position).end()
    return 0

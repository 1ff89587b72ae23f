"""JavaScript shells: pages whose text is written by scripts, which orbweb does not run.

A function of the body and its number of words alone. A page with enough text is never one, whatever else it has,
so that normal pages cost nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, zip_longest

MAX_WORDS = 50
FEW_WORDS = 10
"""With more words than this, the mark of a framework proves nothing: it may have rendered them on the server."""
MAX_BYTES = 1_000_000

_ROOTS = rb"root|app|__next|__nuxt|___gatsby|svelte|q-app|react-root|app-root|app-container|main-app|single-spa"
_INSIDE = rb"(?:\s|<!--.{0,500}?-->|<(?:div|span|p|svg|img|i)\b[^<>]{0,300}>|</(?:div|span|p|svg|i)>)"
_EMPTY_ROOT = re.compile(
    rb"<(?:div|main|section|body)\b[^<>]{0,300}\bid\s*=\s*[\"']?(?P<root>"
    + _ROOTS
    + rb")[\"']?(?:\s[^<>]{0,300})?>"
    rb"(?:\s|<!--.{0,500}?-->){0,20}</(?:div|main|section|body)>"
    rb"|<(?P<element>app-root|app-main|my-app)\b[^<>]{0,300}>"
    + _INSIDE
    + rb"{0,20}</(?:app-root|app-main|my-app)>",
    re.IGNORECASE | re.DOTALL,
)
_NOSCRIPT = re.compile(rb"<(/?)noscript\b", re.IGNORECASE)
_NOSCRIPTS, _NOSCRIPT_BYTES = 20, 2_000
_ASKS = re.compile(
    rb"(?:enable|requires?|needs?|activate|turn on|without|aktivieren|activer|activar|habilit)"
    rb"[^<>]{0,60}java\s?script|java\s?script[^<>]{0,60}(?:enable|require|need|activ|disabled|habilit)",
    re.IGNORECASE,
)
_SCRIPT = re.compile(rb"<script\b", re.IGNORECASE)
_MARKS = (
    ("Next.js", re.compile(rb"__NEXT_DATA__|/_next/static/")),
    ("Nuxt", re.compile(rb"__NUXT__|/_nuxt/")),
    ("Angular", re.compile(rb"\bng-version=|\bng-app\b")),
    ("Gatsby", re.compile(rb"___gatsby")),
    ("React", re.compile(rb"data-reactroot|/static/js/main\.[0-9a-f]+\.js|/static/js/bundle\.js")),
    ("Vue", re.compile(rb"data-v-app|/js/chunk-vendors")),
    ("webpack", re.compile(rb"webpackJsonp|webpackChunk")),
    ("Vite", re.compile(rb"<script\b[^<>]{0,200}type=[\"']?module[^<>]{0,200}/assets/index[-.]", re.IGNORECASE)),
)


def evidence(body: bytes, words: int) -> str | None:
    """Why the text of a page seems to be written by JavaScript; None if it does not."""
    if words >= MAX_WORDS:
        return None
    body = body[:MAX_BYTES]
    if not _SCRIPT.search(body):
        return None
    if root := _EMPTY_ROOT.search(body):
        name = root["element"] or b"#" + root["root"]
        return f"its root element {name.decode('ascii', 'replace').lower()} is empty"
    if any(map(_ASKS.search, _noscripts(body))):
        return "its <noscript> asks for JavaScript"
    if words < FEW_WORDS:
        return next((f"it has scripts of {name}, and no text" for name, mark in _MARKS if mark.search(body)), None)
    return None


def _noscripts(body: bytes) -> Iterator[bytes]:
    """The first bytes of the first <noscript> elements."""
    tags = list(islice(_NOSCRIPT.finditer(body), 2 * _NOSCRIPTS))
    for tag, following in zip_longest(tags, tags[1:]):
        if not tag[1]:
            end = following.start() if following else len(body)
            yield body[tag.end() : min(end, tag.end() + _NOSCRIPT_BYTES)]

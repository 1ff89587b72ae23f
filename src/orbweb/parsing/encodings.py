"""The encoding of a body, determined as in a browser.

The order of the evidence: byte-order mark, HTTP header, `<meta>`, XML declaration, the bytes themselves. The
result is the name of a WHATWG encoding and depends on the header and the body alone. An unknown label is ignored.
Time is linear in the body; at most `MAX_HEAD` bytes are searched for a declaration and `MAX_GUESSED` used for a
guess. turbohtml is imported at its first use, because the main process of a crawl mostly does not need it.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache
from importlib import import_module

UTF_8 = "UTF-8"
FALLBACK = "windows-1252"
HTML_TYPES = frozenset(("text/html", "application/xhtml+xml"))
UNDECLARED = frozenset(("", "application/octet-stream", "application/unknown", "unknown/unknown", "*/*"))
"""Media types that mean nothing."""
PRESCAN = 1024
"""A `<meta>` that begins in these first bytes counts anywhere, after them only in the head."""
MAX_HEAD = 64 * 1024
MAX_GUESSED = 256 * 1024
"""Bytes that an encoding is guessed from, starting at the first that is not ASCII; few, because guessing is
slow."""
CONTEXT = 64
"""Bytes before them that are used too."""
MAX_LABEL = 64
CACHED = 64
"""Cached results; few, because a hostile header may be long."""

_MARKS = ((b"\xef\xbb\xbf", UTF_8), (b"\xfe\xff", "UTF-16BE"), (b"\xff\xfe", "UTF-16LE"))
_WIDE_XML = ((b"<\0?\0x\0", "UTF-16LE"), (b"\0<\0?\0x", "UTF-16BE"))
# A declaration that is readable as ASCII cannot be in these.
_DECLARED_AS = {"UTF-16BE": UTF_8, "UTF-16LE": UTF_8, "x-user-defined": FALLBACK}

_PARAMETER = re.compile(r""";\s*+([^\s;=]*+)\s*+(?:=\s*+(?:"([^"]*+)"?+|'([^']*+)'?+|([^;]*+)))?+[^;]*+""")
_ATTRIBUTE = rb"""
    [\t\n\f\r /]*+ ([^\t\n\f\r />][^\t\n\f\r />=]*+)
    (?: [\t\n\f\r ]*+ = [\t\n\f\r ]*+
        (?: "([^"]*+)(?:"|\Z) | '([^']*+)(?:'|\Z) | ([^\t\n\f\r >"'][^\t\n\f\r >]*+)?+ ) )?+
"""
_ATTRIBUTES = re.compile(_ATTRIBUTE, re.VERBOSE).findall
_TAG = rb"(?P<tag>/?[a-zA-Z][^\t\n\f\r />]*+) (?P<attributes>(?:%s)*+) [\t\n\f\r /]*+ (?P<closed>>?+)" % _ATTRIBUTE
# Ignored: text, comments, declarations, and the tags of a head that are irrelevant here.
_PLAIN = (
    rb"""
    [^<]++
    | < (?: !-- (?: -?+> | (?:[^-]++|-(?!->))*+ (?:-->)?+ )
        | [!?][^>]*+
        | (?i:html|head|/?+(?:base|link|noscript|object)) (?=[\t\n\f\r />]) (?:%s)*+ [\t\n\f\r /]*+ >?+
        | /(?![a-zA-Z])[^>]*+
        | (?![a-zA-Z/]) )
    """
    % _ATTRIBUTE
)
_NEXT_TAG = re.compile(rb"(?:%s)*+ < %s" % (_PLAIN, _TAG), re.VERBOSE).match
_IN_CONTENT = re.compile(
    r"""charset[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:"([^"]*+)"|'([^']*+)'|["']|([^\t\n\f\r ;]++))""", re.IGNORECASE
).search
_XML_ENCODING = re.compile(
    rb"""<\?xml[^>]*?encoding[\0- ]*+=[\0- ]*+(?:"([^"\0- >]*+)"|'([^'\0- >]*+)')[^>]*+>"""
).match
_NOT_ASCII = re.compile(rb"[^\0-\x7f]").search

_HEAD = frozenset(tag for name in (b"meta", b"title", b"style", b"script") for tag in (name, b"/" + name))
_RAW = {
    name: re.compile(rb"</%s(?=[\t\n\f\r />])" % name, re.IGNORECASE).search
    for name in (b"title", b"style", b"script", b"textarea", b"iframe", b"noembed", b"noframes", b"xmp")
}
# Its escapes could turn plain ASCII into markup that no other parser sees.
_NEVER_GUESSED = frozenset({"ISO-2022-JP"})
_BLANK = b" " * PRESCAN


def encoding_of(body: bytes, content_type: str | None = None) -> str:
    """The encoding that a browser would decode the body with."""
    return (
        certain_encoding(body, content_type)
        or _by(_WIDE_XML, body)
        or _by_meta(body)
        or _by_xml(body)
        or _guess(body)
    )


def certain_encoding(body: bytes, content_type: str | None = None) -> str | None:
    """The encoding of a byte-order mark or the header, which nothing inside the body can override."""
    return _by(_MARKS, body) or (_by_header(content_type) if content_type else None)


def decoded(body: bytes, encoding: str) -> str:
    """The text of a body without its byte-order mark, as browsers decode it."""
    import_module("turbohtml.detect")  # which registers these codecs
    return body.decode(f"whatwg-{encoding}").removeprefix("\ufeff")


@lru_cache(maxsize=CACHED)
def _by_header(content_type: str) -> str | None:
    """The encoding that a Content-Type header names."""
    for name, *values in _PARAMETER.findall(content_type):
        if name.lower() == "charset":
            return encoding_named("".join(values))
    return None


@lru_cache(maxsize=CACHED)
def media_type(content_type: str | None) -> str:
    """The media type of a Content-Type header, in lower case; empty if it is invalid."""
    kind = (content_type or "").partition(";")[0].strip().lower()
    return kind if "/" in kind else ""


@lru_cache(maxsize=CACHED)
def encoding_named(label: str) -> str | None:
    """The encoding of a label or alias."""
    label = label.strip("\t\n\f\r ")
    if not label.isascii() or not 0 < len(label) <= MAX_LABEL or not label.isprintable():
        return None
    if label.lower() in ("utf-8", "utf8"):
        return UTF_8
    import turbohtml

    try:
        return turbohtml.parse(b"", encoding=label).encoding
    except LookupError:
        return None


def _by(starts: tuple[tuple[bytes, str], ...], body: bytes) -> str | None:
    for start, encoding in starts:
        if body.startswith(start):
            return encoding
    return None


def _by_meta(body: bytes) -> str | None:
    """The encoding of the first `<meta>` that declares one.

    Cached by the text up to the first `<meta>`, which most pages of a site have in common.
    """
    meta = body.find(b"<meta", 0, PRESCAN)
    known = _by_known_tags(body[: body.find(b">", meta, PRESCAN) + 1]) if meta >= 0 else None
    return known or _by_tags(body)


def _by_tags(body: bytes) -> str | None:
    """Scan the tags without building a tree."""
    position, in_head, end = 0, True, min(len(body), MAX_HEAD)
    while found := _NEXT_TAG(body, position, end):
        if not in_head and found.start("tag") > PRESCAN:
            break
        position = found.end()
        tag = found["tag"].lower()
        if tag == b"meta" and found["closed"] and (encoding := _by_attributes(found["attributes"])):
            return encoding
        in_head = in_head and tag in _HEAD
        if tag in _RAW:
            closing = _RAW[tag](body, position, end)
            position = closing.start() if closing else end
    return None


_by_known_tags = lru_cache(maxsize=CACHED)(_by_tags)


def _by_attributes(attributes: bytes) -> str | None:
    """The encoding that a `<meta>` declares. The first of duplicate attributes counts."""
    given: dict[bytes, str] = {}
    for name, *values in _ATTRIBUTES(attributes):
        given.setdefault(name.lower(), html.unescape(b"".join(values).decode("latin-1")))
    label = given.get(b"charset")
    if label is None and given.get(b"http-equiv", "").lower() == "content-type":
        content = _IN_CONTENT(given.get(b"content", ""))
        label = content[1] or content[2] or content[3] if content else None
    return _declared(label)


def _by_xml(body: bytes) -> str | None:
    declaration = _XML_ENCODING(body, 0, PRESCAN)
    return _declared((declaration[1] or declaration[2] or b"").decode("latin-1")) if declaration else None


def _declared(label: str | None) -> str | None:
    encoding = encoding_named(label) if label else None
    return _DECLARED_AS.get(encoding, encoding) if encoding else None


def _guess(body: bytes) -> str:
    """UTF-8 if the body is valid UTF-8, otherwise a guess."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return _guess_letters(body)
    return UTF_8


def _guess_letters(body: bytes) -> str:
    from turbohtml.detect import Detection, EncodingDetector

    detector = EncodingDetector(Detection(excluded=_NEVER_GUESSED))
    detector.feed(_BLANK)  # keeps the detector from searching for a <meta> in its first bytes
    detector.feed(_sample(body))
    return detector.close().encoding or FALLBACK


def _sample(body: bytes) -> bytes:
    """The bytes to guess from. They are cut at a `<`, which is never inside a character in any encoding."""
    first = _NOT_ASCII(body)
    start = max(0, first.start() - CONTEXT) if first else 0
    sample = body[start : start + MAX_GUESSED]
    return sample if start + MAX_GUESSED >= len(body) else sample.rpartition(b"<")[0] or sample

"""The URLs that a style sheet loads: `url()`, `src()`, `image-set()` and `@import`, in order; and its encoding.

Any text parses, in linear time and without an exception. Comments, strings, escapes and broken URLs are handled as
in a browser (CSS Syntax, level 3). `data:` URLs, fragments of the same document and namespace names are omitted.
Whether a rule applies is not judged.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

from orbweb.parsing.encodings import UTF_8, certain_encoding, encoding_named

# Every quantifier is possessive, so there is no backtracking and time is linear.
_LETTER = r"A-Za-z0-9_\-\x80-\U0010ffff"
_CODE = r"[0-9A-Fa-f]{1,6}+(?:\r\n|[ \t\n\r\f])?+"
_NAME = rf"(?:[{_LETTER}]++|\\(?:{_CODE}|[^\n\r\f]))++"
_COMMENT = r"/\*(?:[^*]++|\*(?!/))*+(?:\*/)?+"
_IN_STRING = rf"\\(?:{_CODE}|\r\n|[\s\S])?+"
_STRING = rf"""(?:"(?:[^"\\\n\r\f]++|{_IN_STRING})*+"?+|'(?:[^'\\\n\r\f]++|{_IN_STRING})*+'?+)"""
_PLAIN = "|".join(
    (
        rf"""[^{_LETTER}\\@#/"'(){{}};]++""",
        rf"{_NAME}(?!\()",
        _COMMENT,
        r"/(?!\*)",
        rf"\#(?:{_NAME})?+",
        rf"@(?!{_NAME})",
        r"\\(?![^\n\r\f])",
    )
)
_BORING = rf"(?!(?i:url|src|image-set|-webkit-image-set)\()[{_LETTER}]++\("
_RULE_OR_FUNCTION = rf"@(?P<rule>{_NAME})|(?P<function>{_NAME})\("

_next = re.compile(rf"(?:{_PLAIN}|[(){{}};]|{_STRING}|{_BORING})*+(?:{_RULE_OR_FUNCTION})").match
_next_inside = re.compile(
    rf"(?:{_PLAIN})*+(?:{_RULE_OR_FUNCTION}|(?P<string>{_STRING})|(?P<mark>[(){{}};]))"
).match
_prelude = re.compile(rf"(?:{_PLAIN}|{_STRING}|{_NAME}\((?:[^()\"']++|{_STRING})*+|[()])*+").match
_function = re.compile(rf"(?P<function>{_NAME})\(").match
_blanks = re.compile(rf"(?:[ \t\n\r\f]++|{_COMMENT})*+").match
_quoted = re.compile(rf"[ \t\n\r\f]*+(?P<string>{_STRING})[ \t\n\r\f]*+\)?+").match
_bare = re.compile(
    rf"""[ \t\n\r\f]*+(?P<url>(?:[^"'()\\\x00-\x20\x7f]++|\\(?:{_CODE}|[^\n\r\f]))*+)[ \t\n\r\f]*+(?:\)|\Z)"""
).match
_broken = re.compile(r"(?:[^)\\]++|\\[\s\S]?+)*+\)?+").match
_escapes = re.compile(r"\\(?:([0-9A-Fa-f]{1,6})(?:\r\n|[ \t\n\r\f])?|(\r\n|[\n\r\f])|([\s\S])|\Z)")
_charset = re.compile(rb'@charset "([^"]{1,64})";').match

_ONE_URL = frozenset(("url", "src"))
_SETS = frozenset(("image-set", "-webkit-image-set"))
_NAMES_ONLY = frozenset(("namespace", "supports", "document", "-moz-document"))


class Reference(NamedTuple):
    """A URL as written, without escapes, and the kind of resource: `style`, `font` or `image`."""

    href: str
    kind: str


def encoding_of(body: bytes, content_type: str | None = None) -> str:
    """The encoding: that of the byte-order mark or header, else of the `@charset` rule, else UTF-8."""
    rule = _charset(body)
    said = encoding_named(rule[1].decode("latin-1")) if rule else None
    declared = UTF_8 if said in ("UTF-16BE", "UTF-16LE") else said
    return certain_encoding(body, content_type) or declared or UTF_8


def references(text: str) -> Iterator[Reference]:
    """The URLs that a style sheet, or the value of a `style` attribute, loads."""
    return _CssReader(text).references()


class _CssReader:
    """A scan of a text. `_position` is where it continues."""

    __slots__ = ("_position", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def references(self) -> Iterator[Reference]:
        while found := _next(self._text, self._position):
            self._position = found.end()
            if found["rule"]:
                yield from self._rule(_plain(found["rule"]))
            else:
                yield from self._call(_plain(found["function"]), "image")

    def _rule(self, name: str) -> Iterator[Reference]:
        """The URLs of an at-rule, if it differs from other places."""
        if name == "import":
            yield from self._import()
        elif name == "font-face":
            yield from self._font_face()
        elif name in _NAMES_ONLY:
            self._go_past(_prelude(self._text, self._position))

    def _import(self) -> Iterator[Reference]:
        self._go_past(_blanks(self._text, self._position))
        function = _function(self._text, self._position)
        if function is None:
            yield from self._value(_quoted(self._text, self._position), "style")
        elif (name := _plain(function["function"])) in _ONE_URL:
            self._go_past(function)
            yield from self._call(name, "style")

    def _font_face(self) -> Iterator[Reference]:
        """The block of a `@font-face` rule."""
        while found := _next_inside(self._text, self._position):
            if found["rule"]:
                return
            self._go_past(found)
            if found["mark"] == "}":
                return
            if found["function"]:
                yield from self._call(_plain(found["function"]), "font")

    def _call(self, name: str, kind: str) -> Iterator[Reference]:
        """The URLs of a function; the position is after its opening bracket."""
        if name in _SETS:
            yield from self._image_set()
        elif name == "src":
            self._go_past(_blanks(self._text, self._position))
            yield from self._value(_quoted(self._text, self._position), kind)
        elif name == "url":
            found = _quoted(self._text, self._position) or _bare(self._text, self._position)
            self._go_past(found or _broken(self._text, self._position))
            yield from self._value(found, kind)

    def _image_set(self) -> Iterator[Reference]:
        """The images of an `image-set`: its URLs, and its strings except those of nested functions."""
        inside = [True]
        while inside and (found := _next_inside(self._text, self._position)):
            if found["rule"]:
                return
            self._go_past(found)
            function, mark = found["function"], found["mark"]
            if function and (name := _plain(function)) in _ONE_URL:
                yield from self._call(name, "image")
            elif function or mark == "(":
                inside.append(bool(function) and _plain(function) in _SETS)
            elif mark == ")":
                inside.pop()
            elif mark:
                return
            elif inside[-1]:
                yield from self._value(found, "image")

    def _value(self, found: re.Match[str] | None, kind: str) -> Iterator[Reference]:
        """The URL of a string or of bare text, if it can be requested."""
        if found is None:
            return
        self._go_past(found)
        groups = found.groupdict()
        href = _unescaped(groups["url"]) if "url" in groups else _unquoted(found)
        href = href.strip()
        if href and not href.startswith("#") and href[:5].lower() != "data:":
            yield Reference(href, kind)

    def _go_past(self, found: re.Match[str] | None) -> None:
        if found is not None:
            self._position = found.end()


def _unquoted(found: re.Match[str]) -> str:
    """The value of a string; empty if its line ends before the closing quote."""
    raw = found["string"]
    if len(raw) > 1 and raw.endswith(raw[0]):
        return _unescaped(raw[1:-1])
    return _unescaped(raw[1:]) if found.end("string") == len(found.string) else ""


def _plain(name: str) -> str:
    return _unescaped(name).lower()


def _unescaped(text: str) -> str:
    return _escapes.sub(_character, text) if "\\" in text else text


def _character(escape: re.Match[str]) -> str:
    number, newline, character = escape.groups()
    if number is None:
        return "" if newline else character or ""
    code = int(number, 16)
    return chr(code) if 0 < code < 0xD800 or 0xDFFF < code <= sys.maxunicode else "\N{REPLACEMENT CHARACTER}"

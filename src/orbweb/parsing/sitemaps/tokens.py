"""Finds tags, attributes, lines and text in UTF-8 bytes with expressions that never backtrack, so time is linear.

DTDs are not read, and only numeric references and the five entities of XML are replaced.
"""

from __future__ import annotations

import re
import sys

_INERT = rb"""
    <!--(?:[^-]++|-(?!->))*+(?:-->)?+
    | <!\[CDATA\[(?:[^\]]++|\](?!\]>))*+(?:\]\]>)?+
    | <\?[^>]*+>?+
    | <!(?!--|\[CDATA\[)[^\[>]*+(?:\[(?:[^\]]++|\](?!\s*+>))*+\]?+\s*+)?+>?+
"""
_NAME = rb"""[A-Za-z_][^\s/<>"'=]*+"""
# An end tag; or a start tag, with its text and end tag too if the element has only text. A quoted value may
# contain a bracket. Quotes permute the states "outside, in double, in single", so of all unterminated tags at most
# three are searched past any one byte: this stays linear.
_TAG = rb"""
    </(?P<closed>%s)[^<>]*+>
    | <(?P<name>%s)(?P<rest>(?:[^"'<>]++|"[^"]*+"|'[^']*+')*+)>(?:(?P<text>[^<]*+)</(?P=name)>)?+
""" % (_NAME, _NAME)

tags_of = re.compile(rb"%s | %s" % (_TAG, _INERT), re.VERBOSE).finditer
attributes_of = re.compile(rb"""([^\s=/"']++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'))?+""").findall
lines_of = re.compile(rb"(?:\A|[\r\n])[ \t]*+(https?://\S++)(?=[ \t]*+(?:[\r\n]|\Z))", re.IGNORECASE).finditer

_value = re.compile(rb"((?:[^<]++|%s)*+)(<?+)" % _INERT, re.VERBOSE).match
_pieces = re.compile(
    rb"<!\[CDATA\[(?P<verbatim>.*?)(?:\]\]>|\Z)|(?P<text>[^<]++)|%s" % _INERT, re.VERBOSE | re.DOTALL
)
_reference = re.compile(r"&(?:#([0-9]{1,7})|#[xX]([0-9A-Fa-f]{1,6})|(amp|lt|gt|quot|apos));")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


def text_from(body: bytes, start: int) -> str:
    """The text up to the next tag; empty if the document ends first, because it may be incomplete."""
    found = _value(body, start)
    if found is None or not found[2]:
        return ""
    if b"<" not in found[1]:
        return unescaped(found[1])
    pieces = _pieces.finditer(found[1])
    return "".join(
        decoded(piece["verbatim"]) if piece["verbatim"] else unescaped(piece["text"] or b"") for piece in pieces
    )


def unescaped(raw: bytes) -> str:
    """Replace references, once. Others, such as those of HTML, stay: `&copy=1` is a parameter of a URL."""
    text = decoded(raw)
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


def decoded(text: bytes) -> str:
    return text.decode("utf-8", "replace")

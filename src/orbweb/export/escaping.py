"""Escaping of text for CSV cells, JSON lines and UTF-8. Pure.

Bytes are valid UTF-8 whatever the text of a page contains, formulas are neutralized for spreadsheets, and a line
contains no other character that some parser treats as a line break.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from json.encoder import encode_basestring
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")

# Characters that begin a formula, ASCII and full width, and those that a spreadsheet may strip before them.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_SKIPPED = "".join(map(chr, range(33))) + "\x7f\x85\xa0\u1680\u180e\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
_SKIPPED += "".join(map(chr, range(0x2000, 0x2010)))

_BREAKS = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029]")


def utf8(text: str) -> bytes:
    """The text in UTF-8; a lone surrogate becomes the replacement character."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text).encode("utf-8")


def guarded(cell: str) -> str:
    """The cell, escaped so that no spreadsheet evaluates it."""
    bare = cell.lstrip(_SKIPPED)
    return f"'{cell}" if bare.startswith(_FORMULA) or cell.startswith(("\t", "\r", "\n")) else cell


def one_line(text: str) -> str:
    """The text with a blank for each control character and line break."""
    return text if text.isascii() and text.isprintable() else _BREAKS.sub(" ", text)


def each(form: Callable[[Any], str], column: Sequence[Any]) -> Iterator[str]:
    """`form` of each value of a column, computed once per distinct value if many repeat."""
    results = dict.fromkeys(column, "")
    if len(results) * 2 > len(column):
        return map(form, column)
    results = {value: form(value) for value in results}
    return map(results.__getitem__, column)


def json_value(value: str | int | None) -> str:
    """A string, number, boolean or None as JSON."""
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None:
        return "null"
    return str(value) if value is not True and value is not False else str(value).lower()


def json_line(record: Mapping[str, Any]) -> bytes:
    """One line of JSON without any other character that some parser treats as a line break."""
    return utf8(unbroken(json.dumps(record, ensure_ascii=False)) + "\n")


def unbroken(text: str) -> str:
    """JSON with the characters escaped that some parser treats as a line break, except its own newlines."""
    if text.isascii():
        return text
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")

"""How a text becomes a part of a line: a cell of a table, a line of JSON, bytes.

Owns what a spreadsheet would compute, and what some reader takes for the end of a line. Pure. Always: bytes are
UTF-8, whatever a page put into its text; a line holds no other character that ends one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from json.encoder import encode_basestring
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")

# What begins a formula, in plain and in full width, and what a reader may take away before it looks.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_SKIPPED = "".join(map(chr, range(33))) + "\x7f\x85\xa0\u1680\u180e\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
_SKIPPED += "".join(map(chr, range(0x2000, 0x2010)))

_BREAKS = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029]")


def utf8(text: str) -> bytes:
    """The text in UTF-8; half a surrogate pair becomes the replacement character."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text).encode("utf-8")


def guarded(cell: str) -> str:
    """The cell as a text in every spreadsheet."""
    bare = cell.lstrip(_SKIPPED)
    return f"'{cell}" if bare.startswith(_FORMULA) or cell.startswith(("\t", "\r", "\n")) else cell


def one_line(text: str) -> str:
    """The text with a blank for each control character and each end of a line."""
    return text if text.isascii() and text.isprintable() else _BREAKS.sub(" ", text)


def each(form: Callable[[Any], str], column: Sequence[Any]) -> Iterator[str]:
    """What is made of each value of a column. Most are what another was, and are made once."""
    made = dict.fromkeys(column, "")
    if len(made) * 2 > len(column):
        return map(form, column)
    made = {value: form(value) for value in made}
    return map(made.__getitem__, column)


def json_value(value: str | int | None) -> str:
    """A text, a number, a truth or nothing as JSON."""
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None:
        return "null"
    return str(value) if value is not True and value is not False else str(value).lower()


def json_line(record: Mapping[str, Any]) -> bytes:
    """One line of JSON, with no other character in it that some reader takes for the end of a line."""
    return utf8(unbroken(json.dumps(record, ensure_ascii=False)) + "\n")


def unbroken(text: str) -> str:
    """JSON without the characters, other than its own line ends, that some reader takes for the end of a line."""
    if text.isascii():
        return text
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")

"""The head of a response: its status line and the headers that a crawl uses. Pure."""

from __future__ import annotations

from functools import lru_cache

CODING = b"content-encoding"
ROBOTS_TAG = b"x-robots-tag"
_SET_COOKIE = b"set-cookie"
_HEADERS = frozenset(
    (
        *(b"content-type", b"content-length", b"location", b"etag", b"last-modified"),
        *(b"retry-after", b"date", ROBOTS_TAG),
    )
)


@lru_cache(maxsize=64)
def status(line: bytes) -> int:
    words = line.split(None, 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0


def headers(lines: list[bytes]) -> dict[bytes, str]:
    """The used headers. Content codings and robots tags of several lines are joined; of others the last counts."""
    found: dict[bytes, str] = {}
    for name, value, between in filter(None, map(_header, lines)):
        found[name] = f"{found[name]}{between}{value}" if between and name in found else value
    return found


@lru_cache(maxsize=1024)
def _header(line: bytes) -> tuple[bytes, str, str] | None:
    """The name of a used header, its value, and the separator of several; empty if the last one counts.

    Cached because the lines of a server repeat.
    """
    name, _, value = line.partition(b":")
    name = name.lower()
    if name == CODING:
        return name, "".join(value.decode("ascii", "replace").lower().split()), ","
    if name in _HEADERS:
        return name, _printable(value.strip().decode("utf-8", "replace")), "\n" if name == ROBOTS_TAG else ""
    return None


def cookies(lines: list[bytes]) -> list[str]:
    pairs = (line.partition(b":") for line in lines)
    return [value.strip().decode("utf-8", "replace") for name, _, value in pairs if name.lower() == _SET_COOKIE]


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else "\ufffd" for character in text)

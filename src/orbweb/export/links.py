"""Rewrites Markdown links between pages of the same export as relative links.

Only destinations are changed, and only those that lead to a file of the export; `<https://...>` becomes a link
with that text. Fragments are kept, and code, fenced or inline, is not touched. The time is linear in the length of
the text. The input is the output of our own extractor: code blocks are fenced, never indented.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Callable, Mapping
from urllib.parse import quote

from orbweb.urls import UrlRules, canonicalize

_PREFIX = r"^[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++[ \t>]*+)*+"
_OPENING = re.compile(_PREFIX + r"(?:(`{3,})[^`\n]*|(~{3,})[^\n]*)$", re.MULTILINE)
_CLOSING = {sign: re.compile(r"^[ \t>]*+(" + sign + r"{3,}+)[ \t]*$", re.MULTILINE) for sign in ("`", "~")}
_BLOCK = re.compile(r"\n(?=[ \t>]*+(?:\n|[-*+][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t]|\|))")
_RUN = re.compile(r"`+")
_BARE = r"(?!<)(?:\\.|[^\s()\\]|\((?:\\.|[^\s()\\])*+\))++(?=[\s)])"
_TOKEN = re.compile(
    rf"\\.|`+|\]\([ \t]*+\n?[ \t]*+(?:<((?:\\.|[^<>\\\n])*+)>|({_BARE}))|<(https?://[^\s<>]*+)>", re.DOTALL
)
_SPECIAL = re.compile(r"[\\`*_\[\]~&|]")
_ESCAPE = re.compile(r"""\\([!-/:-@\[-`{-~])""")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_SAFE = "/-._~+=,@"
_PLAIN = re.compile(r"[A-Za-z0-9/._+=,@-]*").fullmatch
_MEMO_ENTRIES = 32_768
_AUTOLINK = 3

Destination = Callable[[str], str | None]


class LinkRewriter:
    """Rewrites links by `files`, the file of each key."""

    def __init__(self, files: Mapping[str, str], rules: UrlRules) -> None:
        self._files = files
        self._rules = rules
        self._known: dict[str, str | None] = {}

    def rewrite(self, markdown: str, file: str) -> str:
        """Rewrite the absolute links of the Markdown of `file`."""
        files, known = self._files, self._known
        directory = file.rpartition("/")[0]

        def destination(written: str) -> str | None:
            address, sign, fragment = written.partition("#")
            leads_to = files.get(address)
            if leads_to is None:
                leads_to = known[address] if address in known else self._find(address)
            if leads_to is None:
                return None
            if leads_to == file and fragment:
                return sign + fragment
            return relative(directory, leads_to) + sign + fragment

        return rewrite(markdown, destination)

    def _find(self, address: str) -> str | None:
        """The file that an address leads to, cached because the pages of a site repeat each other's links."""
        if len(self._known) >= _MEMO_ENTRIES:
            self._known.clear()
        key = canonicalize(_unescaped(address), self._rules)
        found = None if key is None else self._files.get(key)
        self._known[address] = found
        return found


def relative(directory: str, file: str) -> str:
    """The relative link from a directory to a file."""
    here = directory.split("/") if directory else []
    there = file.split("/")
    common = 0
    while common < min(len(here), len(there) - 1) and here[common] == there[common]:
        common += 1
    way = "../" * (len(here) - common) + "/".join(there[common:])
    return way if _PLAIN(way) else quote(way, safe=_SAFE)


def rewrite(markdown: str, destination: Destination) -> str:
    """Replace each link destination for which `destination` returns another."""
    pieces: list[str] = []
    at = 0
    while at < len(markdown):
        opening = _OPENING.search(markdown, at)
        end = len(markdown) if opening is None else opening.start()
        pieces += _prose(markdown[at:end], destination)
        if opening is None:
            break
        at = _code_end(markdown, opening)
        pieces.append(markdown[end:at])
    return "".join(pieces)


def _code_end(markdown: str, opening: re.Match[str]) -> int:
    fence = opening[1] or opening[2]
    closing = _CLOSING[fence[0]]
    at = opening.end()
    while found := closing.search(markdown, at):
        if len(found[1]) >= len(fence):
            return found.end()
        at = found.end()
    return len(markdown)


def _prose(text: str, destination: Destination) -> list[str]:
    """Rewrite block by block: inline code never extends into the next item, heading, row or paragraph."""
    if not _has_links(text):
        return [text]
    pieces = []
    at = 0
    for gap in _BLOCK.finditer(text):
        pieces.append(_inline(text[at : gap.end()], destination))
        at = gap.end()
    return [*pieces, _inline(text[at:], destination)]


def _has_links(text: str) -> bool:
    return "](" in text or "<http" in text


def _inline(text: str, destination: Destination) -> str:
    if not _has_links(text):
        return text
    runs = _backtick_runs(text) if "`" in text else {}
    pieces: list[str] = []
    done = at = 0
    while token := _TOKEN.search(text, at):
        at = token.end()
        if token[0][0] == "`":
            at = _span_end(runs.get(len(token[0]), []), token) or at
            continue
        group = token.lastindex
        new = destination(token[group]) if group and token[group] else None
        if group is None or new is None:
            continue
        if group == _AUTOLINK:
            pieces += [text[done : token.start()], f"[{_literal(token[group])}]({new})"]
            done = token.end()
        else:
            pieces += [text[done : token.start(group)], new]
            done = token.end(group)
    return "".join([*pieces, text[done:]])


def _literal(url: str) -> str:
    """A URL escaped as the text of a link."""
    return _SPECIAL.sub(r"\\\g<0>", url)


def _backtick_runs(text: str) -> dict[int, list[int]]:
    """The starts of the runs of backticks, by their length."""
    runs: dict[int, list[int]] = {}
    for run in _RUN.finditer(text):
        runs.setdefault(len(run[0]), []).append(run.start())
    return runs


def _span_end(starts: list[int], opening: re.Match[str]) -> int | None:
    """The end of the code that these backticks open: after the next run of the same length."""
    closing = bisect_left(starts, opening.end())
    return starts[closing] + len(opening[0]) if closing < len(starts) else None


def _unescaped(written: str) -> str:
    """The URL of a destination, without Markdown escapes and entities."""
    if "\\" in written:
        written = _ESCAPE.sub(r"\1", written)
    if "&" in written and ";" in written:
        written = _ENTITY.sub(lambda entity: html.unescape(entity[0]), written)
    return written

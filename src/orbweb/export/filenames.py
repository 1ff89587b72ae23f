"""File names for URLs: readable, safe on every file system, unique within an export. Pure.

A name is relative and at most `MAX_NAME` bytes long. Its parts contain only letters, digits, combining marks and
`-_.+=,@`, do not begin with a dot or hyphen, do not end with a dot, and are not Windows device names. A file ends
in `.md`, a directory never does. No two names differ only in case or Unicode composition. The name is a function
of the URL, unless an earlier page has the same one.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from urllib.parse import unquote

from orbweb import urls

MAX_NAME = 180
MAX_PART = 96

_CUT_PART = 64
_CUT_DIRECTORIES = 90
_TAGS = (8, 16, 64)
_EXACT = re.compile(r"[A-Za-z0-9_+=,@](?:[A-Za-z0-9_+=,@.-]*[A-Za-z0-9_+=,@-])?").fullmatch
_ASCII_KEPT = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+=,@")
_CATEGORIES = frozenset(("Ll", "Lu", "Lt", "Lm", "Lo", "Nd", "Mn", "Mc"))
# Invisible letters and marks: Hangul fillers, joiners, inherent vowels and variation selectors.
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]").match
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", "clock", "conin", "conout"]
    + [f"{port}{number}" for port in ("com", "lpt") for number in range(10)]
)
_MARKUP = (".html", ".xhtml", ".htm")
_SUFFIX = ".md"


class FileNames:
    """Assigns the names of one export. With `hosts` the first directory is the host."""

    def __init__(self, *, hosts: bool) -> None:
        self._hosts = hosts
        self._taken: set[str] = set()

    def take(self, key: str, *, directory: bool = False) -> str:
        """The name of the page with this key; `directory`: its URL ends in a slash."""
        folders, stem, exact = _parts(key, directory=directory, hosts=self._hosts)
        for tag in (0, *_TAGS) if exact else _TAGS:
            name = _joined(folders, stem, _tag(key, tag))
            folded = fold(name)
            if folded not in self._taken:
                self._taken.add(folded)
                return name
        raise ValueError(f"{key} has a name already")


def fold(name: str) -> str:
    """A form that is equal for two names that some file system treats as the same."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def is_safe(name: str) -> bool:
    """Whether a name from elsewhere follows the rules of this module."""
    return _length(name) <= MAX_NAME and all(_clean(part) == part for part in name.split("/"))


def _parts(key: str, *, directory: bool, hosts: bool) -> tuple[list[str], str, bool]:
    """Directories, stem of the file, and whether both together represent the key without loss."""
    split = urls.split(key)
    segments = split.path.strip("/").split("/") if split.path.strip("/") else []
    if directory or not segments:
        segments.append("index")
    last = _without_markup(segments.pop())
    folders = [_folder(segment) for segment in segments]
    stem, exact = _safe_part(last)
    if split.query:
        query, whole = _safe_part("_" + split.query.replace("&", ","))
        stem, exact = stem + query, exact and whole
    names = [name for name, _ in folders]
    exact = exact and all(whole for _, whole in folders)
    if hosts:
        names.insert(0, _folder(urls.scope_site(key).replace(":", "_"))[0])
    return names, stem, exact and _length("/".join([*names, stem])) <= MAX_NAME - len(_SUFFIX) - 9


def _without_markup(segment: str) -> str:
    folded = segment.lower()
    return next((segment[: -len(end)] for end in _MARKUP if folded.endswith(end) and folded != end), segment)


def _folder(segment: str) -> tuple[str, bool]:
    name, exact = _safe_part(segment)
    return (name + "_", False) if name.lower().endswith(_SUFFIX) else (name, exact)


def _safe_part(segment: str) -> tuple[str, bool]:
    """A part of a name, and whether it is lossless."""
    text = _clean(segment)
    if _length(text) > MAX_PART:
        text = _cut(text, _CUT_PART)
    return text, text in (segment, _percent_free(segment))


def _clean(segment: str) -> str:
    text = segment if _EXACT(segment) else _lettered(segment)
    head, dot, rest = text.partition(".")
    return f"{head}_{dot}{rest}" if head.lower() in _DEVICES else text


def _percent_free(segment: str) -> str | None:
    try:
        return unquote(segment, errors="strict")
    except UnicodeDecodeError:
        return None


def _lettered(segment: str) -> str:
    decoded = _percent_free(segment)
    text = unicodedata.normalize("NFC", segment if decoded is None else decoded)
    kept = "".join(character if _is_kept(character) else "_" for character in text)
    if not kept:
        return "_"
    if kept[0] in ".-" or unicodedata.category(kept[0])[0] == "M":
        kept = "_" + kept[1:]
    return kept[:-1] + "_" if kept[-1] == "." else kept


def _is_kept(character: str) -> bool:
    if character.isascii():
        return character in _ASCII_KEPT
    if unicodedata.category(character) not in _CATEGORIES or _UNSEEN(character):
        return False
    return unicodedata.normalize("NFKC", character) == character


def _tag(key: str, length: int) -> str:
    return f"-{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()[:length]}" if length else ""


def _joined(folders: list[str], stem: str, tag: str) -> str:
    name = "/".join([*folders, stem + tag + _SUFFIX])
    if _length(name) <= MAX_NAME:
        return name
    kept: list[str] = []
    for folder in folders:
        if _length("/".join([*kept, folder])) > _CUT_DIRECTORIES:
            break
        kept.append(folder)
    room = MAX_NAME - _length("/".join([*kept, tag + _SUFFIX])) - 1
    return "/".join([*kept, _cut(stem, min(room, _CUT_PART)) + tag + _SUFFIX])


def _length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _cut(text: str, size: int) -> str:
    """At most `size` bytes of a text; never empty, never with a dot at the end."""
    short = text.encode("utf-8", "replace")[: max(size, 1)].decode("utf-8", "ignore")
    return (short[:-1] + "_" if short.endswith(".") else short) or "_"

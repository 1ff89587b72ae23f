"""Parses the state of a run from plain files, written by `export --to state` or by another crawler.

An invalid line is reported with its file and number. Only `url` is required in a line; other fields have defaults.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from orbweb import urls
from orbweb.errors import UsageError
from orbweb.model import FailKind, Reuse, Role, SkipReason, Source
from orbweb.urls import Target, UrlRules

STATE, FRONTIER, FETCHED, INDEX, SKIPPED = (
    "state.json",
    "frontier.jsonl",
    "fetched_urls.txt",
    "page_index.jsonl",
    "skipped.jsonl",
)
VERSION = 1
_MOST = 1 << 40

Kind = TypeVar("Kind", str, int, bool)


@dataclass(frozen=True, slots=True)
class StateLine:
    """One object of a file, with its path and line number."""

    path: Path
    number: int
    fields: Mapping[str, Any]

    def wrong(self, problem: str) -> NoReturn:
        raise UsageError(f"{self.path}: line {self.number}: {problem}. Nothing was imported.")

    def get(self, name: str, kind: type[Kind], default: Kind) -> Kind:
        found = self.maybe(name, kind)
        return default if found is None else found

    def maybe(self, name: str, kind: type[Kind]) -> Kind | None:
        """The field, if it is present; an error if it has another type or is a negative number."""
        value = self.fields.get(name)
        if value is None:
            return None
        if type(value) is not kind or (isinstance(value, int) and not 0 <= value < _MOST):
            self.wrong(f"{name} is {json.dumps(value)[:80]}, not {_SHOWN[kind]}")
        return value

    def one_of(self, name: str, choices: type[Source | SkipReason | FailKind | Role | Reuse]) -> str | None:
        value = self.maybe(name, str)
        if value is not None and value not in list(choices):
            self.wrong(f"{name} is {value!r}, not one of {', '.join(choices)}")
        return value

    def url(self, name: str, rules: UrlRules) -> Target | None:
        text = self.maybe(name, str)
        if text is None:
            return None
        target = urls.target(text, rules=rules)
        if target is None:
            self.wrong(f"{name} is {urls.shown(text)[:200]!r}, which is not an http(s) URL")
        return target

    def sha256(self, name: str) -> bytes | None:
        text = self.maybe(name, str)
        if text is None:
            return None
        try:
            value = bytes.fromhex(text)
        except ValueError:
            value = b""
        if len(value) != 32:
            self.wrong(f"{name} is not a SHA-256 in hexadecimal")
        return value

    def instant(self, name: str) -> int | None:
        """Microseconds since 1970; a time without a zone is UTC."""
        text = self.maybe(name, str)
        if text is None:
            return None
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            self.wrong(f"{name} is {text[:80]!r}, not a time in ISO 8601")
        moment = found if found.tzinfo else found.replace(tzinfo=UTC)
        return round(moment.timestamp() * 1_000_000)


_SHOWN = {str: "a string", int: "an integer of 0 or more", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class StateFolder:
    """The files of a state. Any of them may be missing, but not all."""

    path: Path

    def check(self) -> None:
        if not any((self.path / name).is_file() for name in (FRONTIER, FETCHED, INDEX)):
            raise UsageError(f"{self.path} is not an exported state: it has no {FRONTIER}, {INDEX} or {FETCHED}")

    def state(self) -> StateLine | None:
        """The description of the run; None if there is none."""
        path = self.path / STATE
        if not path.is_file():
            return None
        line = _parsed(path, 1, _read(path))
        if line.fields.get("orbweb_state") != VERSION:
            line.wrong(f"orbweb_state is not {VERSION}, the version that this orbweb reads")
        return line

    def lines(self, name: str) -> Iterator[StateLine]:
        """The objects of a file, one per line; none if the file is missing."""
        for path, number, text in self._texts(name):
            yield _parsed(path, number, text)

    def fetched(self) -> Iterator[StateLine]:
        """The visited URLs, as lines without other fields."""
        for path, number, text in self._texts(FETCHED):
            yield StateLine(path, number, {"url": text.strip()})

    def _texts(self, name: str) -> Iterator[tuple[Path, int, str]]:
        path = self.path / name
        try:
            with path.open("rb") as stream:
                for number, data in enumerate(stream, 1):
                    text = _decoded(path, number, data)
                    if text.strip():
                        yield path, number, text
        except FileNotFoundError:
            return
        except OSError as error:
            raise UsageError(f"{path}: cannot be read: {error.strerror}. Nothing was imported.") from error


def _read(path: Path) -> str:
    try:
        return _decoded(path, 1, path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}. Nothing was imported.") from error


def _decoded(path: Path, number: int, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{path}: line {number}: not UTF-8. Nothing was imported.") from None


def _parsed(path: Path, number: int, text: str) -> StateLine:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: line {number}: not JSON ({error}). Nothing was imported.") from None
    line = StateLine(path, number, fields if isinstance(fields, dict) else {})
    if not isinstance(fields, dict):
        line.wrong("not a JSON object")
    return line

"""Parses the state of a run from plain files, written by `export --to state` or by another crawler.

Only `url` is required in a line; other fields have defaults. What cannot be understood is noted with its file and
line: a field is then as if it were missing, a line without a URL is left out. Files, lines and their number are
bounded, nothing outside the folder is read, and no link in it is followed.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from orbweb import urls
from orbweb.errors import ForeignFile, UsageError
from orbweb.export.state import lmdb_files
from orbweb.export.state.problems import Problems
from orbweb.model import FailKind, Reuse, Role, SkipReason, Source
from orbweb.store import workspace_files
from orbweb.urls import Target, UrlRules

STATE, FRONTIER, FETCHED, INDEX, SKIPPED, ROBOTS, SEEN = (
    "state.json",
    "frontier.jsonl",
    "fetched_urls.txt",
    "page_index.jsonl",
    "skipped.jsonl",
    "robots_cache.jsonl",
    "seen.txt",
)
FRONTIER_LMDB, INDEX_LMDB = "frontier.lmdb", "page_index.lmdb"
MARKS = "seen"
"""A folder of other crawlers: an empty file aa/bb/HASH.seen for each URL, by the SHA-256 of its text."""
ENOUGH = (FRONTIER, INDEX, FETCHED, FRONTIER_LMDB, INDEX_LMDB, SEEN, MARKS)
"""Each of these alone is the state of a crawl."""
VERSION = 1
MOST_LINE_BYTES = 1 << 20
MOST_LINES = 50_000_000
"""Lines or entries of one file."""
MOST_STATE_BYTES = 64 << 20

_MOST = 1 << 40
_SECOND = 1_000_000
_LATEST_SECOND = 100_000_000_000
"""A number of seconds up to the year 5138. A larger number counts milliseconds or microseconds."""

Kind = TypeVar("Kind", str, int, bool)


@dataclass(frozen=True, slots=True)
class StateLine:
    """One object of a file, with its path and the number of its line or entry."""

    path: Path
    number: int
    fields: Mapping[str, Any]
    problems: Problems = field(default_factory=Problems)
    unit: str = "line"

    def wrong(self, problem: str) -> None:
        self.problems.note(f"{self.path}: {self.unit} {self.number}: {problem}")

    def get(self, name: str, kind: type[Kind], default: Kind) -> Kind:
        found = self.maybe(name, kind)
        return default if found is None else found

    def maybe(self, name: str, kind: type[Kind]) -> Kind | None:
        """The field, if it is present; noted if it has another type or is a negative number."""
        value = self.fields.get(name)
        if value is None:
            return None
        if type(value) is not kind or (isinstance(value, int) and not 0 <= value < _MOST):
            self.wrong(f"{name} is {_shown(value)}, not {_SHOWN[kind]}")
            return None
        return value

    def one_of(self, name: str, choices: type[Source | SkipReason | FailKind | Role | Reuse]) -> str | None:
        value = self.maybe(name, str)
        if value is not None and value not in list(choices):
            self.wrong(f"{name} is {_shown(value)}, not one of {', '.join(choices)}")
            return None
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
        value = digest(text)
        if value is None:
            self.wrong(f"{name} is not a SHA-256 in hexadecimal")
        return value

    def instant(self, name: str) -> int | None:
        """Microseconds since 1970: of a number of seconds, milliseconds or microseconds, or of a text with such a
        number, a time in ISO 8601 (UTC, if it has no zone) or a date of HTTP."""
        value = self.fields.get(name)
        if value is None:
            return None
        found = _instant(value)
        if found is None:
            self.wrong(f"{name} is {_shown(value)}, not a time in ISO 8601 or a number of seconds since 1970")
        return found


_SHOWN = {str: "a string", int: "an integer of 0 or more", bool: "true or false"}


def _shown(value: object) -> str:
    return json.dumps(value)[:80]


def digest(text: str) -> bytes | None:
    """A SHA-256 in hexadecimal; None if it is something else."""
    try:
        value = bytes.fromhex(text)
    except ValueError:
        return None
    return value if len(value) == 32 and len(text) == 64 else None


def _instant(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return _moment(value) if isinstance(value, str) else None
    if not math.isfinite(number) or not 0 <= number < _LATEST_SECOND * _SECOND:
        return None
    for scale in (_SECOND, 1_000):
        if number < _LATEST_SECOND * (_SECOND // scale):
            return round(number * scale)
    return round(number)


def _moment(text: str) -> int | None:
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            found = parse(text.strip())
            moment = found if found.tzinfo else found.replace(tzinfo=UTC)
            return max(round(moment.timestamp() * _SECOND), 0)
        except (ValueError, OverflowError, TypeError, IndexError):
            continue
    return None


class StateFolder:
    """The files of a state: in the folder itself, or in its `state`, as in the workspace of another crawler. Any
    of them may be missing, but not all."""

    def __init__(self, path: Path, problems: Problems) -> None:
        self.root = path
        self.problems = problems
        inner = path / "state"
        is_inner = not _holds_any(path) and _is_directory(inner) and _holds_any(inner)
        self.path = inner if is_inner else path

    def check(self) -> None:
        if not self.root.exists():
            raise UsageError(f"{self.root} does not exist; give the directory or file of an exported state")
        if not _holds_any(self.path):
            raise UsageError(
                f"{self.root} is not the state of a crawl: it has no {', '.join(ENOUGH[:-1])} or {ENOUGH[-1]}/"
            )

    def state(self) -> StateLine | None:
        """The description of the run; None if there is none that orbweb wrote."""
        stream = self._opened(STATE)
        if stream is None:
            return None
        with stream:
            data = stream.read(MOST_STATE_BYTES + 1)
        path = self.path / STATE
        if len(data) > MOST_STATE_BYTES:
            self.problems.note(f"{path}: longer than {MOST_STATE_BYTES} bytes, left out")
            return None
        line = self._parsed(path, 1, data)
        if line is None:
            return None
        version = line.fields.get("orbweb_state")
        if version is None:
            line.wrong("not a state that orbweb exported: no orbweb_state, left out")
            return None
        if version != VERSION:
            raise UsageError(
                f"{path}: orbweb_state is not {VERSION}, the version that this orbweb reads. Import it with the "
                "orbweb that exported it. Nothing was imported."
            )
        return line

    def index(self) -> Iterator[StateLine]:
        """The visited URLs and what is known of them."""
        yield from self.lines(INDEX)
        yield from self._entries(INDEX_LMDB, lmdb_files.index_fields)

    def frontier(self) -> Iterator[StateLine]:
        """The queued URLs, in order."""
        yield from self.lines(FRONTIER)
        yield from self._entries(FRONTIER_LMDB, lmdb_files.frontier_fields, key=lmdb_files.place)

    def lines(self, name: str) -> Iterator[StateLine]:
        """The objects of a file, one per line; none if the file is missing."""
        for path, number, data in self._texts(name):
            line = self._parsed(path, number, data)
            if line is not None:
                yield line

    def fetched(self) -> Iterator[StateLine]:
        """The visited URLs, as lines without other fields."""
        for line in self._plain(FETCHED):
            yield StateLine(line.path, line.number, {"url": line.fields["text"]}, self.problems)

    def seen(self) -> Iterator[bytes]:
        """The SHA-256 of each URL that was seen and is not named: of `seen.txt`, and of the folder `seen`."""
        for line in self._plain(SEEN):
            sha256 = digest(line.fields["text"])
            if sha256 is None:
                line.wrong("not a SHA-256 in hexadecimal")
            else:
                yield sha256
        yield from self._marks()

    def _plain(self, name: str) -> Iterator[StateLine]:
        for path, number, data in self._texts(name):
            text = self._decoded(path, number, data)
            if text is not None:
                yield StateLine(path, number, {"text": text.strip()}, self.problems)

    def _marks(self) -> Iterator[bytes]:
        home, found = self.path / MARKS, 0
        if not _is_directory(home):
            return
        for folder, below, names in os.walk(home):
            below.sort()
            for name in sorted(names):
                sha256 = digest(name.removesuffix(".seen"))
                if sha256 is None or not name.endswith(".seen"):
                    self.problems.note(f"{Path(folder) / name}: not HASH.seen with a SHA-256 in hexadecimal")
                    continue
                found += 1
                if found > MOST_LINES:
                    raise UsageError(f"{home}: more than {MOST_LINES} files. Nothing was imported.")
                yield sha256

    def _entries(
        self, name: str, fields: lmdb_files.Fields, key: lmdb_files.SortKey | None = None
    ) -> Iterator[StateLine]:
        path = self.path / name
        state = workspace_files.state(self.path, name)
        if state is None:
            return
        try:
            entries = lmdb_files.entries(self.path, name, most_bytes=MOST_LINE_BYTES, most=MOST_LINES)
            found = entries if key is None else iter(sorted(entries, key=key))
            for number, entry in enumerate(found, 1):
                read = fields(entry)
                if isinstance(read, str):
                    self.problems.note(f"{path}: entry {number}: {read}")
                else:
                    yield StateLine(path, number, read, self.problems, "entry")
        except lmdb_files.Unreadable as error:
            self.problems.note(f"{path}: {error}")

    def _texts(self, name: str) -> Iterator[tuple[Path, int, bytes]]:
        """The lines that are not empty, with their numbers."""
        path, stream = self.path / name, self._opened(name)
        if stream is None:
            return
        with stream:
            for number, data in enumerate(_bounded_lines(stream), 1):
                if number > MOST_LINES:
                    raise UsageError(f"{path}: more than {MOST_LINES} lines. Nothing was imported.")
                if data is None:
                    self.problems.note(f"{path}: line {number}: longer than {MOST_LINE_BYTES} bytes")
                elif data.strip():
                    yield path, number, data

    def _opened(self, name: str) -> BinaryIO | None:
        """None if there is no such file, or no regular one."""
        try:
            return workspace_files.stream(self.path, name)
        except FileNotFoundError:
            return None
        except ForeignFile:
            self.problems.note(f"{self.path / name}: not a regular file, and no link is followed")
            return None
        except OSError as error:
            raise UsageError(
                f"{self.path / name}: cannot be read: {error.strerror}. Nothing was imported."
            ) from error

    def _decoded(self, path: Path, number: int, data: bytes) -> str | None:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            self.problems.note(f"{path}: line {number}: not UTF-8")
            return None

    def _parsed(self, path: Path, number: int, data: bytes) -> StateLine | None:
        text = self._decoded(path, number, data)
        if text is None:
            return None
        line = StateLine(path, number, {}, self.problems)
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError) as error:
            line.wrong(f"not JSON ({error})")
            return None
        if not isinstance(fields, dict):
            line.wrong("not a JSON object")
            return None
        return StateLine(path, number, fields, self.problems)


def _holds_any(path: Path) -> bool:
    return any(os.path.lexists(path / name) for name in ENOUGH)


def _is_directory(path: Path) -> bool:
    """Whether it is a directory, and not a link to one."""
    return path.is_dir() and not path.is_symlink()


def _bounded_lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """The lines of a file; None for one that is too long."""
    while data := stream.readline(MOST_LINE_BYTES + 1):
        is_long = len(data) > MOST_LINE_BYTES
        while len(data) > MOST_LINE_BYTES and not data.endswith(b"\n"):
            data = stream.readline(MOST_LINE_BYTES + 1)
        yield None if is_long else data

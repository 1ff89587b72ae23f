"""Where `orbweb fetch` writes pages: standard output, one file, one file per page, or a JSON array."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orbweb.cli import output
from orbweb.errors import NoPage, UsageError

if TYPE_CHECKING:
    from orbweb.app import Page

SUFFIXES = {"markdown": ".md", "text": ".txt", "html": ".html"}
LONGEST_NAME = 120


class PageWriter:
    """Writes pages as they come, and counts URLs without one."""

    def __init__(self, form: str, out: Path | None, *, as_json: bool, several: bool) -> None:
        self._form, self._out, self._as_json = form, out, as_json
        self._folder = out if out is not None and not as_json and (several or out.is_dir()) else None
        self._several = several
        self._names: set[str] = set()
        self._rows: list[dict[str, Any]] = []
        self._written = 0
        self.missing = 0

    def add(self, url: str, found: Page | NoPage) -> None:
        self.missing += isinstance(found, NoPage)
        if self._as_json:
            self._rows.append(row(url, found, self._form))
        elif not isinstance(found, NoPage):
            self._write(url, content(found, self._form))

    def close(self) -> None:
        """Write what is written at the end."""
        if self._as_json and self._out is not None:
            _save(self._out, f"{json.dumps(self._rows, ensure_ascii=False)}\n".encode())
        elif self._as_json:
            output.line(json.dumps(self._rows, ensure_ascii=False))

    def _write(self, url: str, body: bytes) -> None:
        if self._folder is not None:
            path = self._folder / self._name(url)
            _save(path, body)
            output.note(f"{output.one_line(url)}: {path}")
        elif self._out is not None:
            _save(self._out, body)
        elif self._several:
            output.write(b"\n" * bool(self._written) + body.rstrip(b"\n") + b"\n")
        else:
            output.write(body)
        self._written += 1

    def _name(self, url: str) -> str:
        """A file name that no other URL of this call has."""
        stem = file_stem(url)
        name, number = f"{stem}{SUFFIXES[self._form]}", 1
        while name.lower() in self._names:
            number += 1
            name = f"{stem}-{number}{SUFFIXES[self._form]}"
        self._names.add(name.lower())
        return name


def file_stem(url: str) -> str:
    """Host and path of a URL as one plain word."""
    rest = url.partition("://")[2] or url
    return re.sub(r"[^A-Za-z0-9._-]+", "-", rest)[:LONGEST_NAME].strip("-.") or "page"


def content(page: Page, form: str) -> bytes:
    """The page in the form that is asked for."""
    if form == "html":
        return page.body
    return (page.markdown if form == "markdown" else page.text).encode("utf-8", "replace")


def row(url: str, found: Page | NoPage, form: str) -> dict[str, Any]:
    """The page as JSON, or the problem."""
    page = None if isinstance(found, NoPage) else found
    return {
        "url": url,
        "final_url": page.final_url if page else url,
        "problem": found.problem if isinstance(found, NoPage) else None,
        "title": page.title if page else None,
        "description": page.description if page else None,
        "language": page.language if page else None,
        "words": page.document.words if page else None,
        "tokens": page.document.tokens if page else None,
        "as": form,
        "content": content(page, form).decode("utf-8", "replace") if page else None,
    }


def _save(path: Path, body: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    except OSError as error:
        raise UsageError(f"--out {path}: cannot be written: {error.strerror}") from error

"""A run by the sections of its sites: what a map shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orbweb.app.results.record import Record


@dataclass(frozen=True, slots=True)
class SectionPart(Record):
    """Pages and failures of a run that share a host, the first two segments of their path, and a depth. `path` is
    `/`, `/file`, `/folder/`, `/folder/file` or `/folder/folder/`."""

    host: str
    path: str
    depth: int
    pages: int
    failed: int


@dataclass(frozen=True, slots=True)
class RunSections(Record):
    """All parts of a run."""

    run: int
    parts: tuple[SectionPart, ...]


@dataclass(frozen=True, slots=True)
class SectionLinks(Record):
    """How many links lead out of a part of a site, by the host and the first segment of the target: `host/first`.
    `pages` were read; `cut` if there are more."""

    run: int
    pages: int
    cut: bool
    targets: Mapping[str, int]

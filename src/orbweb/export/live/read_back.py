"""Parses the metadata file of a run, to restore a database that lost these visits.

An incomplete line, or one with values of other types than were written, is skipped; other damage of the file is
found by its checksum if the database has one (see `verify`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from orbweb.export.live import catalog
from orbweb.model import FailKind, Role, Source
from orbweb.store.maintenance.restore import Journal, JournalLine
from orbweb.store.workspace_paths import RunFiles, WorkspacePaths

_is_journal = re.compile(r"crawl_metadata-(.+)-(\d{1,9})\.jsonl").fullmatch


def journals(paths: WorkspacePaths) -> list[Journal]:
    """The metadata files of a workspace, by project and run."""
    folder = paths.workspace / "metadata"
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    found = [(path, match) for path in files if not path.is_symlink() and (match := _is_journal(path.name))]
    usual = {(match[1], int(match[2])): path for path, match in found}
    placed = {(each.project, each.number): _journal(paths.outputs_at(each)) for each in paths.runs.values()}
    return [
        Journal(project, number, partial(_lines, path))
        for (project, number), path in sorted((usual | placed).items())
        if path.is_file() and not path.is_symlink()
    ]


def _journal(files: RunFiles) -> Path:
    return files.root / catalog.paths(files)["metadata"]


def _lines(path: Path) -> Iterator[JournalLine]:
    with path.open("rb") as stream:
        for text in stream:
            line = _line(text)
            if line is not None:
                yield line


def _line(text: bytes) -> JournalLine | None:
    try:
        record = json.loads(text)
        return _parsed(record, record["metadata"])
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return None


def _parsed(record: Mapping[str, Any], more: Mapping[str, Any]) -> JournalLine:
    return JournalLine(
        url=_text(record["url"]),
        depth=_number(record["depth"]),
        referrer=_maybe(record["referrer"]),
        source=Source(more["source"]).value,
        status=None if record["http_status"] is None else _number(record["http_status"]),
        kind=FailKind(more["kind"]).value if more.get("kind") else None,
        error=_maybe(more.get("error")),
        retries=_number(record["retries"]),
        final_url=_maybe(more.get("final_url")),
        redirect_to=_maybe(more.get("redirect_to")),
        content_type=_maybe(record["content_type"]),
        encoding=_maybe(record["encoding"]),
        etag=_maybe(record["etag"]),
        last_modified=_maybe(record["last_modified"]),
        title=_maybe(more.get("title")),
        canonical=_maybe(more.get("canonical")),
        links_cut=bool(more.get("links_cut")),
        truncated=bool(more.get("truncated")),
        body_sha256=_hash(record["content_sha256"]),
        content_sha256=_hash(more.get("page_sha256")),
        role=Role(more.get("role") or Role.NONE).value,
        bytes=_number(more.get("content_length") or record["content_bytes"] or 0),
        latency_ms=_number(record["fetch_latency_ms"] or 0),
        fetched_at=round(datetime.fromisoformat(record["timestamp"]).timestamp() * 1_000_000),
        proxy=_maybe(record["proxy_id"]),
        robots_tags=_tags(more.get("robots_tags")),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _maybe(value: Any) -> str | None:
    return None if value is None else _text(value)


def _number(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value < 1 << 40:
        raise TypeError
    return value


def _hash(value: Any) -> bytes | None:
    found = bytes.fromhex(value) if value else None
    if found is not None and len(found) != 32:
        raise ValueError
    return found


def _tags(value: Any) -> str | None:
    return "\n".join(map(_text, value)) if isinstance(value, list) else _maybe(value)

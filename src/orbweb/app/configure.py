"""The verbs `configure` and `reset`: the settings and seeds that a person edits, and what crawls leave.

`reset` deletes only names of orbweb, never settings and seeds, and nothing while a crawl owns a project. It
removes links and never follows them. The rate limiter stays: a host that was just requested still
has its interval.
"""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from orbweb import __version__
from orbweb.app.consent_store import IDENTITY
from orbweb.app.directory import CONFIG_FILE, SEEDS_FILE, SERVER_DATABASE, OpenWorkspace, create_workspace
from orbweb.config import template
from orbweb.config.template import SCHEMA_FILE
from orbweb.errors import StoreError, UsageError, option
from orbweb.store import workspace_files
from orbweb.store.lock import OwnerLock
from orbweb.store.workspace_files import DATABASE

Report = dict[str, Any]

FOLDERS = ("logs", "metadata", "spool", "spool/discoveries", "state", "store")
_FILES_OF = ("-wal", "-shm", "-journal", "")
_ORDERS = tuple(f"{order}{role}" for order in ("pause", "stop") for role in ("", ".crawler", ".scraper"))
_DATA = ("spool", "store", "logs", "metadata", "state", "control", "quarantine", "backups", "exports")
WIPED = (
    *_DATA,
    *_ORDERS,
    *(f"{name}{end}" for name in ("search.db", SERVER_DATABASE, DATABASE) for end in _FILES_OF),
)
_OWN = {
    *WIPED,
    "locks",
    IDENTITY,
    CONFIG_FILE,
    SEEDS_FILE,
    SCHEMA_FILE,
    *(f"limiter.db{end}" for end in _FILES_OF),
}

_SEEDS = """\
# Base URLs, one per line: where crawls of this workspace start.
{urls}
"""
_FIRST = {"github": "https://github.com/topics\nhttps://github.com/trending"}
_EXAMPLE = "# https://example.org/docs/"


def check_outside(path: Path, place: Path) -> None:
    """UsageError if a file written to `place` could overwrite one of the workspace."""
    root, wanted = path.resolve(), place.resolve()
    if wanted.is_relative_to(root) and not _OWN.isdisjoint(wanted.relative_to(root).parts[:1]):
        raise UsageError(
            f"{option('out')} {place}: the workspace stores its own files there; choose another place"
        )


def configure(path: Path, profile: str, *, force: bool = False) -> Report:
    """Write settings, seeds and folders into the workspace, which is created if missing."""
    texts = {
        CONFIG_FILE: template.settings_text(profile, __version__),
        SEEDS_FILE: _SEEDS.format(urls=_FIRST.get(profile, _EXAMPLE)),
    }
    there = [path / name for name in texts if os.path.lexists(path / name)]
    if there and not force:
        raise UsageError(f"{' and '.join(map(str, there))} would be replaced; use {option('force')} to do so")
    create_workspace(path).close()
    try:
        for name in FOLDERS:
            workspace_files.make_directory(path, name)
        for name, text in (texts | {SCHEMA_FILE: template.shipped_schema()}).items():
            workspace_files.write_whole(path, name, text.encode())
    except OSError as error:
        raise StoreError(f"{error.filename or path}: cannot write: {error.strerror}") from error
    return {
        "workspace": str(path),
        "profile": profile,
        "files": [str(path / name) for name in (*texts, SCHEMA_FILE)],
    }


def check(path: Path) -> None:
    """UsageError if the directory is not a workspace."""
    if not any(os.path.lexists(path / name) for name in (DATABASE, CONFIG_FILE)):
        raise UsageError(
            f"{path} is not an orbweb workspace; nothing was deleted. Choose one: {option('workspace', 'DIR')}"
        )


def reset(path: Path) -> Report:
    """Delete everything that was crawled. Busy while a crawl is running."""
    check(path)
    with ExitStack() as owned:
        for lock in sorted((path / "locks").glob("*.lock")):
            if lock.is_symlink() or (path / "locks").is_symlink():
                raise UsageError(f"{lock} is reached through a link; nothing was deleted. Remove the link first.")
            project, _, role = lock.name.removesuffix(".lock").rpartition(".")
            owned.enter_context(OwnerLock(path / "locks", project, role))
        wiped = [name for name in WIPED if _remove(path / name)]
    OpenWorkspace(path, create=True).close()
    return {"workspace": str(path), "wiped": wiped}


def _remove(path: Path) -> bool:
    """Delete it; whether it existed."""
    if not os.path.lexists(path):
        return False
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError as error:
        raise StoreError(f"{error.filename or path}: cannot delete: {error.strerror}") from error
    return True

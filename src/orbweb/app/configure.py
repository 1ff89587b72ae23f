"""What lies around the database of a workspace: settings and seeds that a person edits, and what crawls leave.

Owns which names in the directory are orbweb's, and wipes no others. Always holds: what a person wrote is replaced
only if that is asked for, and never wiped; nothing is wiped while a crawl owns a project; a link is removed, never
followed. The limiter's memory stays: that a host was asked a moment ago is true after a reset too.
"""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from orbweb import __version__
from orbweb.app.consent_store import IDENTITY
from orbweb.app.control import Workspace, created
from orbweb.app.directory import CONFIG_FILE, SEEDS_FILE
from orbweb.config import sources
from orbweb.errors import StoreError, UsageError
from orbweb.store import workspace_files
from orbweb.store.lock import OwnerLock
from orbweb.store.workspace_files import DATABASE

Report = dict[str, Any]

FOLDERS = ("logs", "metadata", "spool", "spool/discoveries", "state", "store")
_FILES_OF = ("-wal", "-shm", "-journal", "")
_ORDERS = tuple(f"{order}{role}" for order in ("pause", "stop") for role in ("", ".crawler", ".scraper"))
_LEFT = ("spool", "store", "logs", "metadata", "state", "control", "quarantine", "backups")
WIPED = (*_LEFT, *_ORDERS, *(f"{name}{end}" for name in ("search.db", DATABASE) for end in _FILES_OF))
_OWN = {*WIPED, "locks", IDENTITY, CONFIG_FILE, SEEDS_FILE, *(f"limiter.db{end}" for end in _FILES_OF)}

_HEAD = """\
# Settings of this workspace, a copy of the profile `{profile}` of orbweb {version}. Change them as you like:
# `orbweb crawl` without a URL reads them, and the base URLs of seeds.txt.

"""
_SEEDS = """\
# Base URLs, one a line: where crawls of this workspace begin.
{urls}
"""
_FIRST = {"github": "https://github.com/topics\nhttps://github.com/trending"}
_EXAMPLE = "# https://example.org/docs/"


def keep_off(path: Path, place: Path) -> None:
    """UsageError if a file that is written to `place` could be in the place of one of the workspace's own."""
    root, wanted = path.resolve(), place.resolve()
    if wanted.is_relative_to(root) and not _OWN.isdisjoint(wanted.relative_to(root).parts[:1]):
        raise UsageError(f"--out {place}: there the workspace keeps its own files; choose another place")


def configure(path: Path, profile: str, *, force: bool = False) -> Report:
    """Write settings, seeds and folders into the workspace, which is made if need be."""
    texts = {
        CONFIG_FILE: _HEAD.format(profile=profile, version=__version__) + sources.profile_text(profile),
        SEEDS_FILE: _SEEDS.format(urls=_FIRST.get(profile, _EXAMPLE)),
    }
    there = [path / name for name in texts if os.path.lexists(path / name)]
    if there and not force:
        raise UsageError(f"{' and '.join(map(str, there))} would be replaced; --force does it")
    created(path).close()
    try:
        for name in FOLDERS:
            workspace_files.make_directory(path, name)
        for name, text in texts.items():
            workspace_files.write_whole(path, name, text.encode())
    except OSError as error:
        raise StoreError(f"{error.filename or path}: cannot be written: {error.strerror}") from error
    return {"workspace": str(path), "profile": profile, "files": [str(path / name) for name in texts]}


def check(path: Path) -> None:
    """UsageError if the directory is not a workspace."""
    if not any(os.path.lexists(path / name) for name in (DATABASE, CONFIG_FILE)):
        raise UsageError(f"{path} is not an orbweb workspace; nothing was wiped. Name one: --workspace DIR")


def reset(path: Path) -> Report:
    """Wipe what crawls left; the workspace is then as if nothing had been crawled. Busy while one is running."""
    check(path)
    with ExitStack() as owned:
        for lock in sorted((path / "locks").glob("*.lock")):
            if lock.is_symlink() or (path / "locks").is_symlink():
                raise UsageError(f"{lock} is reached by a link; nothing was wiped. Remove the link first.")
            project, _, role = lock.name.removesuffix(".lock").rpartition(".")
            owned.enter_context(OwnerLock(path / "locks", project, role))
        wiped = [name for name in WIPED if _remove(path / name)]
    Workspace(path, create=True).close()
    return {"workspace": str(path), "wiped": wiped}


def _remove(path: Path) -> bool:
    """Whether there was something."""
    if not os.path.lexists(path):
        return False
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError as error:
        raise StoreError(f"{error.filename or path}: cannot be wiped: {error.strerror}") from error
    return True

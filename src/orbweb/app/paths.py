"""The paths of a workspace from settings: recorded before a crawl opens it, so that everything finds the same.

These settings belong to the workspace, not to a project, and are never taken from settings that are stored in it.
A path that leaves the workspace, also by `..` or through a link, is accepted only from what the user names in the
call, or with consent given on this machine for this workspace (see `app.consent`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from orbweb.app.callbacks import Note
from orbweb.app.consent_store import IDENTITY, ConsentStore, folder
from orbweb.app.directory import CONFIG_FILE, SEEDS_FILE, claim
from orbweb.app.request import Request, called_settings, own_settings
from orbweb.app.settings import modes, path_settings
from orbweb.app.trusted_paths import outside_refused, path_word
from orbweb.config.template import SCHEMA_FILE
from orbweb.errors import UsageError, option
from orbweb.store import workspace_files, workspace_paths
from orbweb.store.workspace_files import FileModes
from orbweb.store.workspace_paths import (
    BOOKMARK,
    DEFAULTS,
    INDEX,
    NAME,
    OUTPUTS,
    RECORD,
    SPOOL,
    STORE,
    AnchoredPath,
    WorkspacePaths,
    constant_part,
    locate,
)

_FILES = (INDEX, BOOKMARK)
_RESERVED = {
    *("locks", "control", "quarantine", "backups", "markdown", "pause", "stop"),
    *(CONFIG_FILE, SEEDS_FILE, SCHEMA_FILE, IDENTITY, RECORD),
    *(f"{name}{end}" for name in ("limiter.db", "search.db") for end in ("", "-wal", "-shm", "-journal")),
}


def settle(path: Path, request: Request, environ: Mapping[str, str], note: Note) -> None:
    """Record the paths that the settings of this call name, and the consent to those outside of the workspace.

    NotTrusted if one is outside and only the workspace names it; UsageError if files are already elsewhere.
    """
    if request.config_file is None and not request.urls and _has_settings(path):
        request = replace(request, config_file=path / CONFIG_FILE)
    config = called_settings(request, environ)
    wanted = {key: canonical(path, key, text) for key, text in path_settings(config).items()}
    known = locate(path)
    new = {key: text for key, text in wanted.items() if text != known.given.get(key, DEFAULTS.get(key))}
    outside = [*known.outside, *((key, text) for key, text in new.items() if text.startswith("/") and key != NAME)]
    if not new and not outside:
        return
    own = path_settings(own_settings(request, environ))
    named = {path_word(canonical(path, key, text)) for key, text in own.items()}
    consents = ConsentStore(folder(environ))
    kept = consents.of(path) if path.is_dir() else frozenset()
    missing = [(key, text) for key, text in outside if path_word(text) not in {*named, *request.trust, *kept}]
    if missing:
        raise outside_refused(path, missing)
    _check_new(known, new)
    claim(path)
    words = {path_word(text) for _, text in outside} - kept
    problem = consents.add(path, words) if words else None
    if problem is not None:
        raise UsageError(
            f"{', '.join(f'{key}: {text}' for key, text in outside)}: outside of the workspace, and your consent "
            f"cannot be stored ({problem}). Set XDG_CONFIG_HOME to a directory that you can write."
        )
    if new:
        _record(path, new, modes(config))
        note(f"paths of this workspace: {', '.join(f'{key} {text}' for key, text in sorted(new.items()))}")


def _has_settings(path: Path) -> bool:
    return path.is_dir() and workspace_files.check(path, CONFIG_FILE, writes=False)


def canonical(path: Path, key: str, text: str) -> str:
    """A path of the settings as it is recorded: relative if it is inside the workspace, else absolute. Links are
    resolved now, and none is followed later."""
    if key == NAME:
        return text
    fixed = constant_part(text)
    rest = (
        PurePosixPath(text).parts[len(PurePosixPath(fixed).parts) :] if fixed != "." else PurePosixPath(text).parts
    )
    if ".." in rest:
        raise UsageError(f"{key}: {text}: .. cannot stand after a placeholder; write the path without it")
    top, found = os.path.realpath(path), os.path.realpath(path / fixed)
    inside = found == top or found.startswith(f"{top}/")
    start = PurePosixPath(os.path.relpath(found, top) if inside else found)
    whole = str(start.joinpath(*rest))
    _check_place(path, key, whole)
    return whole


def _check_place(path: Path, key: str, text: str) -> None:
    """UsageError for a place of other files."""
    is_reserved = not _RESERVED.isdisjoint(PurePosixPath(text).parts[:1])
    if is_reserved or (key in _FILES and (text == "." or (path / text).is_dir())):
        raise UsageError(f"{key}: {text}: other files are there; choose another place in {path}")


def _check_new(known: WorkspacePaths, new: Mapping[str, str]) -> None:
    """UsageError if files are where they were, or if two would have one path."""
    whole = {**known.given, **new}
    if whole.get(INDEX, DEFAULTS[INDEX]) == whole.get(BOOKMARK, DEFAULTS[BOOKMARK]):
        raise UsageError(f"{INDEX} and {BOOKMARK} are the same file; choose two")
    for key in new.keys() - {OUTPUTS, NAME}:
        if any(_has_files(place) for place in _places(known, key)):
            old = known.given.get(key, DEFAULTS[key])
            raise UsageError(
                f"{key}: {new[key]}: the files of {known.workspace} are at {old} already, and are not moved. "
                f"Set {key} to {old}, or crawl into another workspace: {option('workspace', 'DIR')}"
            )


def _places(known: WorkspacePaths, key: str) -> Iterator[AnchoredPath]:
    """What is there once a setting is in use."""
    if key == STORE:
        yield from (known.store.at(name) for name in ("segments", "html"))
    elif key == INDEX:
        yield known.index
    elif key == SPOOL:
        yield known.spool_directory
    else:
        yield known.bookmark("")


def _has_files(place: AnchoredPath) -> bool:
    """Whether there is a file, or a directory with files at any depth; no link is followed."""
    if place.path.is_dir() and not place.path.is_symlink():
        return any(files for _, _, files in os.walk(place.path))
    return workspace_files.exists(place.root, place.name)


def _record(path: Path, new: Mapping[str, str], given: FileModes) -> None:
    for key, text in new.items():
        if text.startswith("/") and key != NAME:
            _make_outside(key, Path(constant_part(text if key not in _FILES else str(Path(text).parent))), given)
    with workspace_paths.changing(path) as paths:
        workspace_paths.write(replace(paths, given={**paths.given, **new}))


def _make_outside(key: str, directory: Path, given: FileModes) -> None:
    """A directory that the user named: created if missing, never changed."""
    if directory.is_dir():
        return
    try:
        directory.mkdir(parents=True)
        directory.chmod(given.folder)
    except OSError as error:
        raise UsageError(f"{key}: {directory}: cannot be created: {error.strerror}") from error

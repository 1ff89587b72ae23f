"""What the user of this machine has allowed workspaces: `consent.json`, in the user's configuration directory.

Consent belongs to the identity of a workspace, a random number in its file `identity`, which identifies it after
it is moved or copied, and which no workspace of somebody else has. `consent.json` is readable by its owner only,
replaced atomically, and written by one process at a time. Without a home directory nothing is remembered.
"""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict

from orbweb.errors import ConfigError, StoreError
from orbweb.store import workspace_files

FILE = "consent.json"
LOCK = "consent.lock"
IDENTITY = "identity"
PRIVATE = "private"
"""Consent to base URLs at any private address: for a workspace that was created on this machine."""
MOST = 500
"""If more workspaces are remembered, those that no longer exist are forgotten."""

_is_identity = re.compile(rb"[0-9a-f]{32}\n").fullmatch


class ConsentEntry(TypedDict):
    """What was allowed for a workspace, and its last path."""

    workspace: str
    allowed: list[str]


Entries = dict[str, ConsentEntry]


def folder(environ: Mapping[str, str]) -> Path | None:
    """Where consent is stored: below XDG_CONFIG_HOME, else below HOME or the home of the user's account; None if
    none of them is an absolute path."""
    home = environ["HOME"] if "HOME" in environ else _home_of_account()
    for top, below in ((environ.get("XDG_CONFIG_HOME", ""), ""), (home, ".config")):
        if top.startswith("/"):
            return Path(top, below, "orbweb")
    return None


def _home_of_account() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""


def identity(workspace: Path) -> str | None:
    """The identity of a workspace; None if it has none yet."""
    try:
        found = workspace_files.read(workspace, IDENTITY)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.decode().strip() if _is_identity(found) else None


class ConsentStore:
    """`consent.json` in a directory; None if there is no directory for it."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory

    def of(self, workspace: Path) -> frozenset[str]:
        """What was allowed for a workspace."""
        known = identity(workspace)
        entry = self._read().get(known) if known is not None else None
        return frozenset(entry["allowed"] if entry is not None else ())

    def add(self, workspace: Path, words: Iterable[str]) -> str | None:
        """Remember that these are allowed for a workspace; the problem if that fails, else None."""
        if self._directory is None:
            return "there is no home directory"
        try:
            with self._locked(self._directory):
                number = identity(workspace) or _identified(workspace)
                known = self._read()
                allowed = known[number]["allowed"] if number in known else []
                known[number] = ConsentEntry(
                    workspace=os.path.realpath(workspace), allowed=sorted({*allowed, *words})
                )
                text = json.dumps(_trimmed(known), indent=2, sort_keys=True) + "\n"
                workspace_files.write_whole(self._directory, FILE, text.encode())
        except OSError as error:
            return f"{error.filename or self._directory}: {error.strerror}"
        return None

    @staticmethod
    @contextmanager
    def _locked(directory: Path) -> Iterator[None]:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = workspace_files.open_file(directory, LOCK, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def _read(self) -> Entries:
        if self._directory is None:
            return {}
        path = self._directory / FILE
        try:
            found = json.loads(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
        except ValueError:
            found = None
        if not isinstance(found, dict) or not all(map(_is_entry, found.values())):
            raise ConfigError(f"{path}: not a valid consent file; delete it and give consent again")
        return found


def _is_entry(found: object) -> bool:
    if not isinstance(found, dict) or not isinstance(found.get("workspace"), str):
        return False
    words = found.get("allowed")
    return isinstance(words, list) and all(isinstance(word, str) for word in words)


def _trimmed(known: Entries) -> Entries:
    if len(known) <= MOST:
        return known
    return {number: entry for number, entry in known.items() if _identity_at(entry["workspace"]) == number}


def _identity_at(path: str) -> str | None:
    return identity(Path(path)) if Path(path).is_dir() else None


def _identified(workspace: Path) -> str:
    number = secrets.token_hex(16)
    try:
        workspace_files.write_whole(workspace, IDENTITY, f"{number}\n".encode())
    except OSError as error:
        raise StoreError(f"{workspace / IDENTITY}: cannot be written: {error.strerror}") from error
    return number

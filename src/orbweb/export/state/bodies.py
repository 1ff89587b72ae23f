"""The bodies that come with an imported state, by their SHA-256."""

from __future__ import annotations

import hashlib
from pathlib import Path

from orbweb.errors import CorruptBody, ForeignFile, UsageError
from orbweb.export.state.problems import Problems
from orbweb.store import workspace_files
from orbweb.store.bodies import unpack_foreign

HOMES = ("bodies", "html", "store/html", "store")
"""Where a folder with a state may have its bodies."""
_NAMES = ("{}.html", "{}.html.zst", "{}", "{}.zst")


class BodyFolder:
    """A folder of bodies `aa/bb/HASH.html` or `.html.zst`, below it or below its `html`. A file that cannot be
    read, or has another hash than its name, is noted and as if it were missing."""

    def __init__(self, places: tuple[Path, ...], problems: Problems, most: int) -> None:
        self._places = [place for place in places if place.is_dir()]
        self._problems, self._most = problems, most

    @classmethod
    def chosen(cls, given: Path | None, root: Path, problems: Problems, most: int) -> BodyFolder:
        """The folder that the user gave, or those of the state; no link of the state is followed."""
        if given is not None:
            if not given.is_dir():
                raise UsageError(f"{given} is not a directory. Nothing was imported.")
            return cls((given, given / "html"), problems, most)
        return cls(tuple(root / home for home in HOMES if not _has_link(root, home)), problems, most)

    def find(self, sha256: bytes) -> bytes | None:
        """The body with that hash; None if there is no file of it."""
        name = sha256.hex()
        for place in self._places:
            for form in _NAMES:
                body = self._read(place, Path(name[:2], name[2:4], form.format(name)), sha256)
                if body is not None:
                    return body
        return None

    def _read(self, place: Path, name: Path, sha256: bytes) -> bytes | None:
        try:
            with workspace_files.stream(place, name) as stream:
                data = stream.read(self._most + 1)
        except FileNotFoundError:
            return None
        except (ForeignFile, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else "not a regular file, and no link is followed"
            self._problems.note(f"{place / name}: {why}")
            return None
        if len(data) > self._most:
            self._problems.note(f"{place / name}: longer than {self._most} bytes (fetch.max_bytes)")
            return None
        try:
            body = unpack_foreign(data, self._most, where=str(place / name)) if name.suffix == ".zst" else data
        except CorruptBody as error:
            self._problems.note(str(error))
            return None
        if hashlib.sha256(body).digest() != sha256:
            self._problems.note(f"{place / name}: the body does not match its SHA-256")
            return None
        return body


def _has_link(root: Path, home: str) -> bool:
    parts = Path(home).parts
    return any(root.joinpath(*parts[:number]).is_symlink() for number in range(1, len(parts) + 1))

"""A folder of exported files, and the manifest of the files that orbweb wrote.

The manifest `.orbweb-export.jsonl` has a first line with project and format, then one line per file with the
SHA-256 of its bytes. A line is written before the file is renamed, so that after a kill every file of ours is
listed.

A file is complete under its name, because it is written under a temporary name and renamed. Everything is below
the folder, and no symbolic link inside it is followed. A repeated export writes only what differs. A file that is
not listed, or that was changed since, is never changed or removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BufferedRandom
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from orbweb.errors import OrbwebError, StoreError, UsageError, option
from orbweb.export import atomic_file
from orbweb.export.filenames import fold, is_safe
from orbweb.failpoints import failpoint
from orbweb.store.bodies import write_all

MANIFEST = ".orbweb-export.jsonl"
PART = ".orbweb-export.part"
VERSION = 1
REMEDY = "Free some space, then repeat the export: it continues where it stopped."

_OPEN_DIRECTORIES = 64
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class FileTally:
    """What happened to the files of an export. `kept`: files of an earlier export that were changed since, and
    stay."""

    written: int = 0
    unchanged: int = 0
    removed: int = 0
    kept: int = 0
    bytes: int = 0

    @property
    def files(self) -> int:
        return self.written + self.unchanged


class ExportFolder:
    """A folder that one export writes to. `finish` removes files of an earlier export that were not written
    again."""

    def __init__(self, path: Path, header: Mapping[str, object]) -> None:
        """A folder whose manifest has another `header`, or that has files and no manifest, is refused."""
        self.path = path
        self.tally = FileTally()
        self._header = {"orbweb_export": VERSION, **header}
        self._current: dict[str, bytes] = {}
        self._directories: dict[str, int] = {}
        if path.exists() and not path.is_dir():
            raise UsageError(
                f"{option('out', str(path))} is a file, but this format writes a directory; choose another path"
            )
        with contextlib.ExitStack() as opened:
            with self._named(path):
                path.mkdir(parents=True, exist_ok=True)
                self._root = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            opened.callback(os.close, self._root)
            self._journal = self._open()
            opened.callback(os.close, self._journal)
            atomic_file.lock(self._journal, path)
            self._known = self._read()
            self._opened = opened.pop_all()

    def __enter__(self) -> ExportFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close what is open; the folder stays as it is."""
        self._close_directories()
        self._opened.close()

    def put(self, name: str, data: bytes) -> None:
        """Write a file, unless it has these bytes already."""
        digest = hashlib.sha256(data).digest()
        if self.has(name, digest):
            return
        with self._part(name) as stream:
            stream.write(data)
        self._rename(name, digest, len(data))

    def has(self, name: str, digest: bytes) -> bool:
        """Whether the file exists with this SHA-256, and so need not be written."""
        found = self._inspect(name)
        if found is None or found[0] != digest:
            return False
        self._list(name, digest)
        self._current[name] = digest
        self.tally.unchanged += 1
        self.tally.bytes += found[1]
        return True

    @contextlib.contextmanager
    def stream(self, name: str) -> Iterator[BufferedRandom]:
        """A stream for a file too large for memory; it is renamed if the block ends without an error."""
        with self._part(name) as part:
            yield part
            part.flush()
            part.seek(0)
            digest = hashlib.file_digest(part, "sha256").digest()
            size = part.tell()
        if self.has(name, digest):
            os.unlink(PART, dir_fd=self._root)
        else:
            self._rename(name, digest, size)

    def finish(self) -> FileTally:
        """Remove the files of an earlier export that this one did not write, and compact the manifest."""
        for name in self._stale():
            self._remove(name)
        with self._part(MANIFEST) as stream:
            stream.write(_line(self._header))
            for name, digest in self._current.items():
                stream.write(_entry(name, digest))
        with self._named(self.path / MANIFEST):
            os.rename(PART, MANIFEST, src_dir_fd=self._root, dst_dir_fd=self._root)
        return self.tally

    # The manifest.

    def _open(self) -> int:
        with self._named(self.path):
            names = {entry.name for entry in self.path.iterdir()}
        if MANIFEST not in names and names - {PART}:
            raise UsageError(
                f"{option('out', str(self.path))} is not empty and was not created by orbweb export; choose "
                "another directory (orbweb never overwrites foreign files)"
            )
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with self._named(self.path / MANIFEST):
            return os.open(MANIFEST, flags, 0o666, dir_fd=self._root)

    def _read(self) -> dict[str, set[bytes]]:
        """The hashes that each listed file may have. A line cut off by a crash is dropped."""
        known: dict[str, set[bytes]] = {}
        whole = 0
        with os.fdopen(self._journal, "rb", closefd=False) as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    break
                if whole:
                    name, digest = self._parsed(line)
                    known.setdefault(name, set()).add(digest)
                else:
                    self._check_header(line)
                whole += len(line)
        with self._named(self.path / MANIFEST):
            os.ftruncate(self._journal, whole)
        self._end = whole
        if not whole:
            self._append(_line(self._header))
        return known

    def _check_header(self, line: bytes) -> None:
        try:
            header = json.loads(line)
        except ValueError:
            header = None
        if header == self._header:
            return
        if not isinstance(header, dict) or header.get("orbweb_export") != VERSION:
            self._damaged("its first line is not that of an orbweb export")
        project, form = header.get("project"), header.get("to")
        place = option("out", str(self.path))
        raise UsageError(f"{place} contains project {project!r} as {form}; choose another directory")

    def _parsed(self, line: bytes) -> tuple[str, bytes]:
        try:
            entry = json.loads(line)
            name, digest = entry["file"], bytes.fromhex(entry["sha256"])
        except (ValueError, KeyError, TypeError):
            self._damaged("it has a malformed line")
        if not isinstance(name, str) or not is_safe(name):
            self._damaged(f"it lists {name!r}, which is not a file name of an export")
        return name, digest

    def _damaged(self, problem: str) -> NoReturn:
        raise StoreError(f"{self.path / MANIFEST}: {problem}; nothing was changed. Export to a new directory.")

    def _list(self, name: str, digest: bytes) -> None:
        """Add the file to the manifest, if it is not listed with this hash."""
        if digest not in self._known.get(name, ()):
            self._append(_entry(name, digest))

    def _append(self, line: bytes) -> None:
        with self._named(self.path / MANIFEST):
            write_all(self._journal, line, self._end)
        self._end += len(line)

    # Files.

    def _named(self, path: Path) -> contextlib.AbstractContextManager[None]:
        return atomic_file.named(path, remedy=REMEDY)

    @contextlib.contextmanager
    def _part(self, name: str) -> Iterator[BufferedRandom]:
        """The temporary file, empty. An error removes it."""
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with self._named(self.path / name):
            fd = os.open(PART, flags, 0o666, dir_fd=self._root)
            try:
                with os.fdopen(fd, "r+b") as stream:
                    yield stream
            except BaseException:
                os.unlink(PART, dir_fd=self._root)
                raise

    def _rename(self, name: str, digest: bytes, size: int) -> None:
        """Rename the temporary file, unless the name belongs to a file that is not ours."""
        found = self._inspect(name)
        if found is not None and found[0] not in self._known.get(name, ()):
            os.unlink(PART, dir_fd=self._root)
            raise UsageError(
                f"{self.path / name} is not what orbweb wrote there; move it or choose another output directory"
            )
        self._list(name, digest)
        failpoint("export_written")
        with self._named(self.path / name):
            directory, last = self._home(name)
            os.rename(PART, last, src_dir_fd=self._root, dst_dir_fd=directory)
        failpoint("export_renamed")
        self._current[name] = digest
        self.tally.written += 1
        self.tally.bytes += size

    def _inspect(self, name: str) -> tuple[bytes, int] | None:
        """Hash and length of a file; None if it does not exist."""
        with self._named(self.path / name):
            try:
                directory, last = self._home(name, make=False)
                fd = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
            except FileNotFoundError:
                return None
            with os.fdopen(fd, "rb") as stream:
                if not stat.S_ISREG(os.fstat(fd).st_mode):
                    raise UsageError(
                        f"{self.path / name} is not a regular file; move it or choose another output directory"
                    )
                return hashlib.file_digest(stream, "sha256").digest(), stream.tell()

    def _home(self, name: str, *, make: bool = True) -> tuple[int, str]:
        """The open directory of a file, and its name there."""
        if not is_safe(name):
            raise StoreError(f"{name!r} is not a valid file name of an export")
        directory, _, last = name.rpartition("/")
        return (self._directory(directory, make=make) if directory else self._root), last

    def _directory(self, name: str, *, make: bool) -> int:
        known = self._directories.get(name)
        if known is not None:
            return known
        parent, _, last = name.rpartition("/")
        above = self._directory(parent, make=make) if parent else self._root
        if make:
            with contextlib.suppress(FileExistsError):
                os.mkdir(last, dir_fd=above)
        opened = os.open(last, _DIRECTORY, dir_fd=above)
        if len(self._directories) >= _OPEN_DIRECTORIES:
            self._close_directories()
        self._directories[name] = opened
        return opened

    def _close_directories(self) -> None:
        for directory in self._directories.values():
            os.close(directory)
        self._directories.clear()

    # Files of an earlier export.

    def _stale(self) -> list[str]:
        """Listed files that were not written now, except those that the file system treats as a new one."""
        stale = [name for name in self._known if name not in self._current]
        folded = {fold(name): name for name in stale}
        for name in self._current if stale else ():
            twin = folded.get(fold(name))
            if twin is not None and self._same(name, twin):
                stale.remove(twin)
        return stale

    def _same(self, name: str, twin: str) -> bool:
        try:
            return os.path.samestat(self._stat(name), self._stat(twin))
        except FileNotFoundError:
            return False

    def _stat(self, name: str) -> os.stat_result:
        directory, last = self._home(name, make=False)
        return os.stat(last, dir_fd=directory, follow_symlinks=False)

    def _remove(self, name: str) -> None:
        try:
            found = self._inspect(name)
        except OrbwebError:
            found = b"", 0
        if found is None:
            return
        if found[0] not in self._known[name]:
            self.tally.kept += 1
            return
        with self._named(self.path / name):
            directory, last = self._home(name, make=False)
            os.unlink(last, dir_fd=directory)
        self.tally.removed += 1
        self._remove_empty(name.rpartition("/")[0])

    def _remove_empty(self, directory: str) -> None:
        """Remove directories that are empty now."""
        self._close_directories()
        while directory:
            parent, _, last = directory.rpartition("/")
            try:
                os.rmdir(last, dir_fd=self._directory(parent, make=False) if parent else self._root)
            except OSError:
                return
            directory = parent


def _line(entry: Mapping[str, object]) -> bytes:
    return json.dumps(entry).encode() + b"\n"


def _entry(name: str, digest: bytes) -> bytes:
    return _line({"file": name, "sha256": digest.hex()})

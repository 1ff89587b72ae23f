"""Files of a workspace, opened without following a symbolic link.

Each component below the workspace is opened relative to its parent, and none may be a link. Only regular files are
opened, and only those without further hard links, which might be outside, are written. Anything unexpected is
reported with what to do, and never removed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from orbweb.errors import ForeignFile, call

DATABASE = "orbweb.db"

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ALWAYS = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_WRITES = os.O_WRONLY | os.O_RDWR
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}

Name = str | Path


class FileModes(NamedTuple):
    """The permissions of files and of directories."""

    file: int = 0o600
    folder: int = 0o700


PRIVATE = FileModes()


@contextmanager
def _above(root: Path, name: Name) -> Iterator[tuple[int, str]]:
    """The open directory of the last component of `name`, and that component."""
    *folders, last = Path(name).parts
    if ".." in (*folders, last) or Path(name).is_absolute():
        raise ForeignFile(f"{root / name}: leaves {root}. Nothing was opened.")
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for number, folder in enumerate(folders, 1):
            below = _entered(at, folder, root.joinpath(*folders[:number]))
            os.close(at)
            at = below
        yield at, last
    finally:
        os.close(at)


def _entered(at: int, folder: str, shown: Path) -> int:
    try:
        return os.open(folder, _DIRECTORY, dir_fd=at)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise _unexpected(shown, os.lstat(folder, dir_fd=at), "a directory") from error
        raise


def kind(found: os.stat_result) -> str:
    """What kind of file it is, in words."""
    return _KINDS.get(stat.S_IFMT(found.st_mode), "a file")


def _unexpected(shown: Path, found: os.stat_result, wanted: str) -> ForeignFile:
    why = ", and no link in a workspace is followed" if stat.S_ISLNK(found.st_mode) else ""
    return ForeignFile(
        f"{shown}: is {kind(found)}, not {wanted}{why}. "
        f"Remove it, or let {call('doctor', repair=True)} set it aside."
    )


def _checked(shown: Path, found: os.stat_result, *, writes: bool) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise _unexpected(shown, found, "a file")
    if writes and found.st_nlink > 1:
        raise ForeignFile(
            f"{shown}: has {found.st_nlink} names (hard links), and writing would change them all. Copy the "
            "workspace with `cp -a` and use the copy."
        )


def open_file(root: Path, name: Name, flags: int, mode: int = 0o600) -> int:
    """As os.open, for a regular file below `root`; it is truncated only after that is checked."""
    shown = root / name
    with _above(root, name) as (at, last):
        try:
            fd = os.open(last, (flags & ~os.O_TRUNC) | _ALWAYS, mode, dir_fd=at)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
                _checked(shown, os.lstat(last, dir_fd=at), writes=False)
            raise
    try:
        _checked(shown, os.fstat(fd), writes=bool(flags & _WRITES))
        if flags & os.O_TRUNC:
            os.ftruncate(fd, 0)
    except BaseException:
        os.close(fd)
        raise
    return fd


def stream(root: Path, name: Name, flags: int = os.O_RDONLY, mode: int = 0o600) -> BinaryIO:
    """Open a file as a binary stream."""
    how: Literal["rb", "wb", "r+b"] = "r+b" if flags & os.O_RDWR else "wb" if flags & os.O_WRONLY else "rb"
    return os.fdopen(open_file(root, name, flags, mode), how)


def read(root: Path, name: Name) -> bytes:
    with stream(root, name) as file:
        return file.read()


def state(root: Path, name: Name) -> os.stat_result | None:
    """The status of a file, or of a link itself; None if nothing is there."""
    try:
        with _above(root, name) as (at, last):
            return os.lstat(last, dir_fd=at)
    except FileNotFoundError:
        return None


def exists(root: Path, name: Name) -> bool:
    """Whether anything is there, even a broken link."""
    return state(root, name) is not None


def size(root: Path, name: Name) -> int | None:
    """The length of a regular file; None if it does not exist."""
    found = state(root, name)
    if found is None:
        return None
    _checked(root / name, found, writes=False)
    return found.st_size


def check(root: Path, name: Name, *, writes: bool = True) -> bool:
    """Whether a file is there; ForeignFile if it must not be opened.

    Opens nothing: closing any descriptor of a file drops the locks that SQLite holds on it.
    """
    found = state(root, name)
    if found is not None:
        _checked(root / name, found, writes=writes)
    return found is not None


def names(root: Path, name: Name = "") -> list[str]:
    """The names in a directory; none if it does not exist."""
    try:
        fd = _opened_directory(root, name)
    except FileNotFoundError:
        return []
    try:
        return os.listdir(fd)  # noqa: PTH208
    finally:
        os.close(fd)


def _opened_directory(root: Path, name: Name) -> int:
    if not Path(name).parts:
        return os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    with _above(root, name) as (at, last):
        return _entered(at, last, root / name)


def sync_directory(root: Path, name: Name = "") -> None:
    """Make the names in a directory durable."""
    fd = _opened_directory(root, name)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def take_mode(fd: int, mode: int) -> None:
    """Give an open file exactly these permissions, whatever the umask; one of another account keeps its own."""
    found = os.fstat(fd)
    if stat.S_IMODE(found.st_mode) != mode and found.st_uid == os.geteuid():
        os.fchmod(fd, mode)


def make_directory(root: Path, name: Name, mode: int = 0o700, *, take: bool = False) -> None:
    """Create a directory and its missing parents, with exactly these permissions. Not yet durable.

    `take`: those that exist get the same permissions."""
    parts = Path(name).parts
    for number in range(1, len(parts) + 1):
        with _above(root, Path(*parts[:number])) as (at, last):
            try:
                os.mkdir(last, mode, dir_fd=at)
            except FileExistsError:
                fd = _entered(at, last, root.joinpath(*parts[:number]))
                try:
                    if take:
                        take_mode(fd, mode)
                finally:
                    os.close(fd)
            else:
                os.chmod(last, mode, dir_fd=at)


def unlink(root: Path, name: Name) -> bool:
    """Remove a file, or a link itself; True if there was one."""
    try:
        with _above(root, name) as (at, last):
            os.unlink(last, dir_fd=at)
    except FileNotFoundError:
        return False
    return True


def remove_empty_directory(root: Path, name: Name) -> bool:
    """Remove a directory that has nothing in it; True if there was one."""
    try:
        with _above(root, name) as (at, last):
            os.rmdir(last, dir_fd=at)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            return False
        raise
    return True


def replace(root: Path, old: Name, new: Name) -> None:
    """Rename a file; replaces an existing file or link, never the target of a link."""
    with _above(root, old) as (source, first), _above(root, new) as (target, last):
        os.rename(first, last, src_dir_fd=source, dst_dir_fd=target)


def link(root: Path, name: Name, target: str) -> None:
    """Create a link to a file beside it, for other programs; orbweb never follows it."""
    with _above(root, name) as (at, last):
        os.symlink(target, last, dir_fd=at)


def write_whole(root: Path, name: Name, data: bytes, mode: int = 0o600, *, durable: bool = True) -> None:
    """Write a file completely or not at all; an existing file is replaced. Unless `durable`, a power cut may undo
    it."""
    half = Path(name).with_name(f".{Path(name).name}.half")
    unlink(root, half)
    with stream(root, half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode) as file:
        file.write(data)
        file.flush()
        if durable:
            os.fsync(file.fileno())
    replace(root, half, name)
    if durable:
        sync_directory(root, Path(name).parent)

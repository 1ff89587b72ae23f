"""Atomic replacement of one file: written under a temporary name, and renamed when it is complete.

The given name is always the previous file or the new one. A failure removes the temporary file; after a kill the
next export reuses it. A lock keeps two exports from writing the same file.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from orbweb.errors import Busy, DiskFull, StoreError, UsageError, is_disk_full, option
from orbweb.failpoints import failpoint

REMEDY = "Free some space, then repeat the export."
Out = Path | IO[bytes]


@contextlib.contextmanager
def named(path: Path, *, remedy: str = REMEDY) -> Iterator[None]:
    """Turn an OSError into an error that names the path and what to do."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if is_disk_full(error):
            raise DiskFull(f"disk full: {path} cannot be written. {remedy}") from error
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from error


def lock(fd: int, path: Path) -> None:
    """Take the exclusive lock of an export, or raise Busy."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        another = f"choose another {option('out')}"
        raise Busy(f"{path} is being written by another export. Wait for it, or {another}.") from None


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A stream to a temporary file, which is renamed to `path` if the block ends without an error."""
    _check(path)
    part = path.with_name(f".orbweb-export-{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]}.part")
    with named(path):
        fd = os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    with os.fdopen(fd, "r+b", buffering=1 << 20) as stream:
        lock(fd, path)
        try:
            with named(path):
                stream.truncate()
                yield stream
                stream.flush()
                os.fsync(fd)
                failpoint("export_written")
                part.rename(path)
        except BaseException:
            part.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                stream.close()
            raise


@contextlib.contextmanager
def writing(out: Out) -> Iterator[IO[bytes]]:
    """A stream to `out`: a file that is replaced atomically, or the given stream."""
    if isinstance(out, Path):
        with replacing(out) as stream:
            yield stream
    else:
        with named(Path("standard output")):
            yield out
            out.flush()


def require_path(out: Out, exporter: str) -> Path:
    if not isinstance(out, Path):
        raise UsageError(f"{option('to', exporter)} cannot write to a stream; give a path as {option('out')}")
    return out


def _out(path: Path) -> str:
    return option("out", str(path))


def _check(path: Path) -> None:
    if not path.parent.is_dir():
        raise UsageError(f"{_out(path)}: the directory {path.parent} does not exist; create it or choose another")
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"{_out(path)}: {error.strerror}") from error
    if not stat.S_ISREG(mode):
        raise UsageError(f"{_out(path)} is not a regular file; this format writes one file")

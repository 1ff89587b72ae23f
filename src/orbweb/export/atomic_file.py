"""One file, written beside its place and put there when it is whole.

Always: under the given name there is the former file or the new one, never a part; a failure leaves no part
behind, a kill leaves one that the next export takes over. Never: two exports write the same file at once.
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

from orbweb.errors import Busy, DiskFull, StoreError, UsageError, is_disk_full
from orbweb.failpoints import failpoint

AGAIN = "Free some space, then repeat the export."


@contextlib.contextmanager
def named(path: Path, *, again: str = AGAIN) -> Iterator[None]:
    """What goes wrong on a disk is told with the path and what to do."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if is_disk_full(error):
            raise DiskFull(f"disk full: {path} cannot be written. {again}") from error
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from error


def lock(fd: int, path: Path) -> None:
    """Be the only one who writes there, or Busy."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Busy(f"{path} is being written by another export. Wait for it, or choose another --out.") from None


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to; it gets its name when the block ends without an error."""
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


def _check(path: Path) -> None:
    if not path.parent.is_dir():
        raise UsageError(f"--out {path}: there is no directory {path.parent}; make it, or choose another place")
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"--out {path}: {error.strerror}") from error
    if not stat.S_ISREG(mode):
        raise UsageError(f"--out {path} is not a file; this format writes one file")

"""Reads the LMDB files of other crawlers: `page_index.lmdb` and `frontier.lmdb`, a folder or a single file.

LMDB trusts its files: a damaged one can end the process. So a file is verified first, by a reader in Python, and
opened only if nothing is wrong with it, without locks and without writing.
"""

from __future__ import annotations

import json
import os
import stat
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from orbweb.errors import ForeignFile, UsageError
from orbweb.store import workspace_files

DATA = "data.mdb"
_PLACE = struct.Struct(">dQ")


class Entry(NamedTuple):
    """A key and its value; None if the value is too long."""

    key: bytes
    value: bytes | None


Fields = Callable[[Entry], dict[str, Any] | str]
"""The fields of an entry, or what is wrong with it."""
SortKey = Callable[[Entry], tuple[float, int, bytes]]


class Unreadable(Exception):
    """What is wrong with a file as a whole."""


def entries(folder: Path, name: str, *, most_bytes: int, most: int) -> Iterator[Entry]:
    """The entries in the order of their keys; Unreadable if the file is damaged or a link."""
    try:
        import lmdb
        from lmdb import verify
    except ImportError:
        raise UsageError(
            f"{folder / name} needs lmdb, which is not installed: pip install 'orbweb[lmdb]'. "
            "Nothing was imported."
        ) from None
    path = _data_file(folder, name)
    try:
        wrong = verify.verify(str(path), subdir=False)
    except (verify.VerifyError, OSError) as error:
        raise Unreadable(f"not an LMDB file of this kind of machine ({error}), left out") from error
    if wrong:
        raise Unreadable(f"damaged ({wrong[0]}), left out")
    try:
        with (
            lmdb.open(str(path), subdir=False, readonly=True, lock=False, create=False, readahead=False) as opened,
            opened.begin(buffers=True) as transaction,
        ):
            if opened.stat()["entries"] > most:
                raise UsageError(f"{folder / name}: more than {most} entries. Nothing was imported.")
            for key, value in transaction.cursor():
                yield Entry(bytes(key), bytes(value) if len(value) <= most_bytes else None)
    except lmdb.Error as error:
        raise Unreadable(f"{error}, left out") from error


def _data_file(folder: Path, name: str) -> Path:
    """The file itself, or that of a folder; Unreadable if it is missing or not a regular file."""
    found = workspace_files.state(folder, name)
    inside = Path(name) / DATA if found is not None and stat.S_ISDIR(found.st_mode) else Path(name)
    try:
        os.close(workspace_files.open_file(folder, inside, os.O_RDONLY))
    except ForeignFile:
        raise Unreadable("not a regular file, and no link is followed") from None
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from error
    return folder / inside


def index_fields(entry: Entry) -> dict[str, Any] | str:
    """An entry of an index: the URL, and a JSON object."""
    url = _text(entry.key)
    if url is None:
        return "the key is not UTF-8"
    fields = _object(entry.value)
    return fields if isinstance(fields, str) else {**fields, "url": url}


def frontier_fields(entry: Entry) -> dict[str, Any] | str:
    """An entry of a queue: score and counter, and a URL or a JSON object with one."""
    if len(entry.key) != _PLACE.size:
        return f"the key has {len(entry.key)} bytes, not the {_PLACE.size} of score and counter"
    text = _text(entry.value or b"")
    if text is not None and text.lstrip()[:1] not in ("{", "", "["):
        return {"url": text.strip()}
    return _object(entry.value)


def place(entry: Entry) -> tuple[float, int, bytes]:
    """What a queue is ordered by: the lowest score first, then the counter. Other keys are last."""
    if len(entry.key) != _PLACE.size:
        return (float("inf"), 1 << 64, entry.key)
    score, counter = _PLACE.unpack(entry.key)
    return (score if score == score else float("inf"), counter, entry.key)


def _text(data: bytes) -> str | None:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _object(value: bytes | None) -> dict[str, Any] | str:
    if value is None:
        return "the value is too long"
    try:
        fields = json.loads(value)
    except (ValueError, RecursionError) as error:
        return f"the value is not JSON ({error})"
    return fields if isinstance(fields, dict) else "the value is not a JSON object"

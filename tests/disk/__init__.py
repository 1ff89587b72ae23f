"""A disk that loses power: what a process did to its files (see recorder.c), and what may be left of it.

`Disk` applies the recorded calls one by one and knows of each file and each directory what is durable and what is
not yet. `Disk.after_cut` makes a state that a power cut may leave: everything that was synced, and of the rest
nothing, a prefix, half of it in any order, or torn sectors. A name whose directory was not synced may be lost,
even if its file was synced; that is harsher than most file systems, and what POSIX promises.
"""

from __future__ import annotations

import os
import random
import struct
import subprocess
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from pathlib import Path, PurePosixPath
from typing import NamedTuple, TypeVar

SOURCE = Path(__file__).with_name("recorder.c")
SECTOR = 512

_HEAD = struct.Struct("<IIIIQQQ")
_MAGIC = 0x4B534944

T = TypeVar("T")


class Op(IntEnum):
    """The calls that are recorded; the numbers of recorder.c."""

    CREATE = 1
    WRITE = 2
    TRUNCATE = 3
    SYNC = 4
    SYNC_DIRECTORY = 5
    RENAME = 6
    UNLINK = 7
    MKDIR = 8
    SYMLINK = 9
    LINK = 10
    FAILED = 11


class Loss(StrEnum):
    """What a power cut leaves of what was not synced."""

    NOTHING = "nothing"
    PREFIX = "prefix"
    HALF = "half"
    TORN = "torn"


class Call(NamedTuple):
    """One record: `name` is below the root; `data` is what was written, or the other name of a rename or link."""

    process: int
    op: Op
    name: str
    inode: int
    offset: int
    data: bytes


def compiled(folder: Path) -> Path:
    """The recorder as a library that can be preloaded."""
    library = folder / "recorder.so"
    command = ["gcc", "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl", "-lpthread"]
    subprocess.run(command, check=True, capture_output=True)
    return library


def environment(library: Path, root: Path, log: Path, fail: str = "") -> dict[str, str]:
    """What a process needs to be recorded; `fail` is KIND:N:ERRNO."""
    given = {"LD_PRELOAD": str(library), "RECORDER_ROOT": str(root.resolve()), "RECORDER_LOG": str(log)}
    return {**given, "RECORDER_FAIL": fail} if fail else given


def calls(log: Path) -> list[Call]:
    return list(_parsed(log.read_bytes()))


def _parsed(data: bytes) -> Iterator[Call]:
    at = 0
    while at < len(data):
        magic, process, op, name_length, inode, offset, length = _HEAD.unpack_from(data, at)
        assert magic == _MAGIC, f"no record at byte {at} of the log"
        at += _HEAD.size
        name = data[at : at + name_length].decode()
        at += name_length
        yield Call(process, Op(op), name, inode, offset, data[at : at + length])
        at += length


class Change(NamedTuple):
    """A write at an offset, or with `data` None a new length."""

    offset: int
    data: bytes | None


@dataclass
class File:
    """Bytes that are durable, and what was changed since, in order."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[Change] = field(default_factory=list)

    def sync(self) -> None:
        self.durable = self.content(self.pending)
        self.pending = []

    def content(self, kept: list[Change]) -> bytearray:
        data = bytearray(self.durable)
        for offset, new in kept:
            if new is None:
                del data[offset:]
                data += bytes(offset - len(data))
            else:
                data += bytes(max(0, offset + len(new) - len(data)))
                data[offset : offset + len(new)] = new
        return data


class Entry(NamedTuple):
    """What a name leads to: an inode, a directory (0), or with `target` a symbolic link."""

    inode: int
    target: bytes = b""


class Naming(NamedTuple):
    """Names of one directory that change at once; None: the name is gone."""

    names: dict[str, Entry | None]


@dataclass
class Directory:
    """Names that are durable, and how they were changed since."""

    durable: dict[str, Entry] = field(default_factory=dict)
    pending: list[Naming] = field(default_factory=list)

    def sync(self) -> None:
        self.durable = self.content(self.pending)
        self.pending = []

    def content(self, kept: list[Naming]) -> dict[str, Entry]:
        found: dict[str, Entry | None] = dict(self.durable)
        for change in kept:
            found.update(change.names)
        return {name: entry for name, entry in found.items() if entry is not None}


@dataclass
class Disk:
    """Everything below the root. The root itself is durable."""

    files: dict[int, File] = field(default_factory=dict)
    directories: dict[str, Directory] = field(default_factory=lambda: {".": Directory()})

    def copy(self) -> Disk:
        return deepcopy(self)

    def apply(self, call: Call) -> None:
        """Do what the process did."""
        match call.op:
            case Op.CREATE:
                self.files[call.inode] = File()
                self._name({call.name: Entry(call.inode)})
            case Op.WRITE:
                self.files[call.inode].pending.append(Change(call.offset, call.data))
            case Op.TRUNCATE:
                self.files[call.inode].pending.append(Change(call.offset, None))
            case Op.SYNC:
                self.files[call.inode].sync()
            case Op.SYNC_DIRECTORY:
                self.directories[call.name].sync()
            case Op.RENAME:
                target = call.data.decode()
                self._name({call.name: None, target: self._entry(call.name)})
            case Op.LINK:
                self._name({call.data.decode(): self._entry(call.name)})
            case Op.UNLINK:
                self._name({call.name: None})
            case Op.MKDIR:
                self.directories[call.name] = Directory()
                self._name({call.name: Entry(0)})
            case Op.SYMLINK:
                self._name({call.name: Entry(0, call.data)})

    def _name(self, names: dict[str, Entry | None]) -> None:
        """Names of one directory change together; those of another one on their own."""
        homes = {str(PurePosixPath(name).parent) for name in names}
        for home in homes:
            of_home = {PurePosixPath(name).name: to for name, to in names.items() if _home(name) == home}
            self.directories[home].pending.append(Naming(of_home))

    def _entry(self, name: str) -> Entry:
        home = self.directories[_home(name)]
        return home.content(home.pending)[PurePosixPath(name).name]

    def after_cut(self, path: Path, loss: Loss | None, rng: random.Random) -> None:
        """Write a state that a power cut may leave to `path`; with no loss what a killed process leaves."""
        self._restore(".", path, loss, rng)

    def _restore(self, name: str, path: Path, loss: Loss | None, rng: random.Random) -> None:
        path.mkdir(mode=0o700)
        directory = self.directories[name]
        for child, entry in sorted(directory.content(_some(directory.pending, loss, rng)).items()):
            below = str(PurePosixPath(name, child))
            if entry.target:
                (path / child).symlink_to(os.fsdecode(entry.target))
            elif entry.inode:
                file = self.files[entry.inode]
                (path / child).write_bytes(file.content(_surviving(file.pending, loss, rng)))
                (path / child).chmod(0o600)
            else:
                self._restore(below, path / child, loss, rng)


def _home(name: str) -> str:
    return str(PurePosixPath(name).parent)


def _some(pending: list[T], loss: Loss | None, rng: random.Random) -> list[T]:
    if loss is None:
        return pending
    if loss is Loss.NOTHING:
        return []
    if loss is Loss.PREFIX:
        return pending[: rng.randrange(len(pending) + 1)]
    return [each for each in pending if rng.random() < 0.5]


def _surviving(pending: list[Change], loss: Loss | None, rng: random.Random) -> list[Change]:
    if loss is not Loss.TORN:
        return _some(pending, loss, rng)
    return [part for change in pending for part in _sectors(change) if rng.random() < 0.5]


def _sectors(change: Change) -> Iterator[Change]:
    """A write as the sectors that it fills."""
    offset, data = change
    if data is None:
        yield change
        return
    at = 0
    while at < len(data):
        end = min(len(data), at + SECTOR - (offset + at) % SECTOR)
        yield Change(offset + at, data[at:end])
        at = end


@dataclass(frozen=True)
class State:
    """A point of the log, and what is lost there."""

    at: int
    loss: Loss
    seed: int

    def __str__(self) -> str:
        return f"cut after call {self.at}, {self.loss} of what was not synced, seed {self.seed}"


def states(log: list[Call], count: int, seed: int) -> list[State]:
    """N cuts, spread over the log, half of them directly before or after a sync, each kind of loss in turn."""
    rng = random.Random(seed)
    syncs = [at for at, call in enumerate(log) if call.op in (Op.SYNC, Op.SYNC_DIRECTORY)]
    kinds = list(Loss)
    found = []
    for number in range(count):
        at = rng.choice(syncs) + rng.randrange(2) if number % 2 else rng.randrange(len(log) + 1)
        found.append(State(at, kinds[number // 2 % len(kinds)], rng.randrange(1 << 31)))
    return sorted(found, key=lambda state: state.at)


def visit(log: list[Call], cuts: list[State], look: Callable[[Disk, Disk, State], None]) -> None:
    """Call `look` with the disk at each cut, and the disk at the last sync of a write-ahead log before it."""
    disk, synced, done = Disk(), Disk(), 0
    for cut in cuts:
        for call in log[done : cut.at]:
            disk.apply(call)
            if call.op is Op.SYNC and call.name.endswith("orbweb.db-wal"):
                synced = disk.copy()
        done = max(done, cut.at)
        look(disk, synced, cut)

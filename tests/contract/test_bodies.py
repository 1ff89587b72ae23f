"""One suite for every body store: what is synced is there, what is read is right. Some tests are of files alone.

`Workspace` stands in for the database: it hands out segment numbers and remembers what was committed.
"""

from __future__ import annotations

import errno
import itertools
import os
import queue
import random
import signal
import subprocess
import sys
import tempfile
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memory.bodies import MemoryBodies
from orbweb.errors import CorruptBody, DiskFull, StoreError
from orbweb.model import Blob
from orbweb.store.bodies import BodyStore, Location, new_compressor, pack, unpack
from orbweb.store.bodies.files import FileStore
from orbweb.store.bodies.segments import (
    RECORD_HEADER_BYTES,
    SEGMENT_HEADER,
    DamagedStretch,
    SegmentRecord,
    SegmentStore,
    loss,
    scan,
)
from orbweb.store.bodies.stored import StoredBodies
from orbweb.store.workspace_files import FileModes

LAYOUTS = ("segments", "files", "plain")
STORES = (*LAYOUTS, "memory")
COMPRESSOR = new_compressor()
BODIES = [f"<p>page {number}</p>".encode() * 20 for number in range(6)]


@dataclass
class Workspace:
    layout: str
    root: Path
    segment_bytes: int = 1 << 20
    committed: dict[bytes, Location] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    kept: dict[bytes, bytes] = field(default_factory=dict)

    def writer(self, name: str = "one") -> BodyStore:
        if self.layout == "memory":
            return MemoryBodies(self.kept)
        if self.layout == "segments":
            return SegmentStore(
                self.root,
                allocate=lambda: next(self.numbers),
                resume=self.resume(),
                segment_bytes=self.segment_bytes,
            )
        return FileStore(self.root, writer=name, compress=self.layout == "files")

    def reader(self) -> BodyStore:
        if self.layout == "memory":
            return MemoryBodies(self.kept, writable=False)
        if self.layout == "segments":
            return SegmentStore(self.root)
        return FileStore(self.root, compress=self.layout == "files")

    def resume(self) -> tuple[int, int] | None:
        ends = [(at.segment, at.offset + at.length) for at in self.committed.values() if at.segment is not None]
        return max(ends, default=None)

    def commit(self, store: BodyStore, bodies: list[bytes]) -> list[Blob]:
        blobs = [pack(body, COMPRESSOR) for body in bodies]
        found = {blob.sha256: store.put(blob) for blob in blobs if blob.sha256 not in self.committed}
        store.sync()
        self.committed.update(found)
        return blobs

    def file_of(self, sha256: bytes) -> Path:
        at = self.committed[sha256]
        if at.segment is not None:
            return self.root / "segments" / f"{at.segment:04d}.seg"
        name = sha256.hex()
        suffix = ".html.zst" if self.layout == "files" else ".html"
        return self.root / "html" / name[:2] / name[2:4] / (name + suffix)

    def temp_files(self) -> list[Path]:
        return sorted((self.root / "tmp").rglob("*.tmp"))


@pytest.fixture(params=LAYOUTS)
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Workspace:
    return Workspace(request.param, tmp_path / "store")


@pytest.fixture(params=STORES)
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> Workspace:
    """Also one without files."""
    return Workspace(request.param, tmp_path / "store")


@pytest.fixture
def segments(tmp_path: Path) -> Workspace:
    return Workspace("segments", tmp_path / "store")


@pytest.fixture
def files(tmp_path: Path) -> Workspace:
    return Workspace("files", tmp_path / "store")


def assert_readable(workspace: Workspace, bodies: list[bytes]) -> None:
    with closing(workspace.reader()) as store:
        for body in bodies:
            sha256 = pack(body, COMPRESSOR).sha256
            assert store.read(sha256, workspace.committed[sha256]) == body


# pack and unpack


def test_pack_keeps_size_and_leaves_the_checksum_to_the_hash() -> None:
    blob = pack(b"hello " * 100, COMPRESSOR)
    parameters = zstandard.get_frame_parameters(blob.frame)
    assert (parameters.content_size, parameters.has_checksum) == (600, False)
    assert unpack(blob.frame, blob.size, blob.sha256, where="here") == b"hello " * 100


def test_unpack_with_a_dictionary() -> None:
    rng = random.Random(7)
    samples = [b" ".join(rng.choices([b"<div>", b"menu", b"docs", b"</div>"], k=60)) for _ in range(200)]
    dictionary = zstandard.train_dictionary(1024, samples)
    blob = pack(samples[0], zstandard.ZstdCompressor(level=3, dict_data=dictionary))
    known = zstandard.ZstdDecompressor(dict_data=dictionary)
    assert unpack(blob.frame, blob.size, blob.sha256, where="here", decompressor=known) == samples[0]
    with pytest.raises(CorruptBody, match="here"):
        unpack(blob.frame, blob.size, blob.sha256, where="here")


def _streamed(body: bytes) -> bytes:
    stream = COMPRESSOR.compressobj()
    return stream.compress(body) + stream.flush()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda blob: (blob.frame, blob.size - 1, blob.sha256), "does not contain"),
        (lambda blob: (blob.frame, blob.size, bytes(32)), "does not match its SHA-256"),
        (lambda blob: (blob.frame[:-1], blob.size, blob.sha256), "full frame"),
        (lambda blob: (blob.frame + b"x", blob.size, blob.sha256), "unused data"),
        (lambda blob: (_streamed(b"a" * 500), blob.size, blob.sha256), "does not contain"),
        (lambda blob: (b"", blob.size, blob.sha256), "frame parameters"),
        (lambda blob: (b"not a frame at all", blob.size, blob.sha256), "frame parameters"),
    ],
    ids=["size", "hash", "short", "long", "no content size", "empty", "no frame"],
)
def test_unpack_refuses(spoil: Callable[[Blob], tuple[bytes, int, bytes]], reason: str) -> None:
    frame, size, sha256 = spoil(pack(b"a" * 500, COMPRESSOR))
    with pytest.raises(CorruptBody, match=f"over there: .*{reason}"):
        unpack(frame, size, sha256, where="over there")


# round trips


@pytest.mark.parametrize("layout", STORES)
@settings(max_examples=12, deadline=None, database=None, derandomize=True)
@given(groups=st.lists(st.tuples(st.lists(st.binary(max_size=3000), max_size=5), st.booleans()), max_size=4))
@example(groups=[([b""], True), ([b"", b"a"], False)])
def test_round_trip_with_reopening(layout: str, groups: list[tuple[list[bytes], bool]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        workspace = Workspace(layout, Path(directory) / "store")
        store = workspace.writer()
        for bodies, reopen in groups:
            workspace.commit(store, bodies)
            if reopen:
                store.close()
                store = workspace.writer()
        store.close()
        assert_readable(workspace, [body for bodies, _ in groups for body in bodies])


def test_large_bodies_in_one_group(any_store: Workspace) -> None:
    bodies = [random.Random(1).randbytes(5_000_000), b"text " * 1_000_000, b"", b"small"]
    with closing(any_store.writer()) as store:
        any_store.commit(store, bodies)
    assert_readable(any_store, bodies)


def test_a_group_that_was_not_synced_is_given_up(any_store: Workspace) -> None:
    with closing(any_store.writer()) as store:
        any_store.commit(store, BODIES[:1])
        blob = pack(BODIES[1], COMPRESSOR)
        location = store.put(blob)
        with pytest.raises(CorruptBody):
            store.read(blob.sha256, location)
    with closing(any_store.writer()) as store:
        store.sync()
        with pytest.raises(CorruptBody):
            store.read(blob.sha256, location)
    assert_readable(any_store, BODIES[:1])


def test_writes_may_be_short(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: pwrite(fd, bytes(data)[:100], at))
    with closing(workspace.writer()) as store:
        workspace.commit(store, [random.Random(2).randbytes(1000)])
    assert_readable(workspace, [random.Random(2).randbytes(1000)])


# duplicates


def test_a_body_is_kept_once_a_group(any_store: Workspace) -> None:
    blob = pack(BODIES[0], COMPRESSOR)
    with closing(any_store.writer()) as store:
        assert store.put(blob) == store.put(blob)
        store.sync()
    files = [path for path in any_store.root.rglob("*") if path.is_file()]
    assert len(files) == (any_store.layout in LAYOUTS)


def test_segments_leave_older_duplicates_to_the_database(segments: Workspace) -> None:
    blob = pack(BODIES[0], COMPRESSOR)
    with closing(segments.writer()) as store:
        first = store.put(blob)
        store.sync()
        second = store.put(blob)
        store.sync()
        assert second.offset > first.offset
        assert store.read(blob.sha256, first) == store.read(blob.sha256, second) == BODIES[0]


def test_a_file_that_is_there_is_not_written_again(files: Workspace) -> None:
    with closing(files.writer()) as store:
        (blob,) = files.commit(store, BODIES[:1])
        path = files.file_of(blob.sha256)
        before = path.stat()
        assert store.put(blob) == files.committed[blob.sha256]
        store.sync()
        after = path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_file_of_another_size_is_replaced(files: Workspace) -> None:
    with closing(files.writer()) as store:
        (blob,) = files.commit(store, BODIES[:1])
        files.file_of(blob.sha256).write_bytes(b"half")
        store.put(blob)
        store.sync()
    assert_readable(files, BODIES[:1])


def test_a_damaged_file_of_the_same_size_is_replaced(files: Workspace) -> None:
    with closing(files.writer()) as store:
        (blob,) = files.commit(store, BODIES[:1])
        path = files.file_of(blob.sha256)
        path.write_bytes(bytes(path.stat().st_size))
        store.put(blob)
        store.sync()
    assert_readable(files, BODIES[:1])


def test_a_form_that_is_damaged_does_not_hide_the_other(tmp_path: Path) -> None:
    compressed, plain = Workspace("files", tmp_path / "store"), Workspace("plain", tmp_path / "store")
    for workspace in (compressed, plain):
        with closing(workspace.writer()) as store:
            (blob,) = workspace.commit(store, BODIES[:1])
    compressed.file_of(blob.sha256).write_bytes(b"damaged")
    assert_readable(compressed, BODIES[:1])
    plain.file_of(blob.sha256).write_bytes(b"damaged")
    for workspace in (compressed, plain):
        with (
            closing(workspace.reader()) as store,
            pytest.raises(CorruptBody, match=str(workspace.file_of(blob.sha256))),
        ):
            store.read(blob.sha256, workspace.committed[blob.sha256])


def test_both_forms_of_a_file_are_read(tmp_path: Path) -> None:
    compressed, plain = Workspace("files", tmp_path / "store"), Workspace("plain", tmp_path / "store")
    for workspace, body in ((compressed, BODIES[0]), (plain, BODIES[1])):
        with closing(workspace.writer()) as store:
            workspace.commit(store, [body])
    compressed.committed.update(plain.committed)
    assert_readable(compressed, BODIES[:2])
    plain.committed = compressed.committed
    assert_readable(plain, BODIES[:2])


# the order of writing and syncing


def record_calls(monkeypatch: pytest.MonkeyPatch, *names: str) -> list[str]:
    calls: list[str] = []
    for name in names:
        original = getattr(os, name)

        def wrapped(
            *args: object, name: str = name, original: Callable[..., object] = original, **options: object
        ) -> object:
            calls.append(name)
            return original(*args, **options)

        monkeypatch.setattr(os, name, wrapped)
    return calls


def test_a_segment_group_is_one_write_and_one_sync(segments: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(segments.writer()) as store:
        calls = record_calls(monkeypatch, "pwrite", "fdatasync", "fsync")
        segments.commit(store, BODIES[:3])
        assert calls == ["pwrite", "fdatasync", "fsync"]
        calls.clear()
        segments.commit(store, BODIES[3:])
        assert calls == ["pwrite", "fdatasync"]
        calls.clear()
        store.sync()
        assert calls == []


def test_files_are_synced_then_renamed_then_their_directories_synced(
    files: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(files.writer()) as store:
        calls = record_calls(monkeypatch, "pwrite", "fsync", "rename")
        blobs = files.commit(store, BODIES[:2])
        homes = {files.file_of(blob.sha256).parent for blob in blobs}
        parents = {home.parent for home in homes} | {files.root / "html"}
        assert calls == ["pwrite", "fsync"] * 2 + ["rename"] * 2 + ["fsync"] * len(homes | parents)


# crashes


def test_uncommitted_tail_is_cut_off_and_written_over(segments: Workspace) -> None:
    with closing(segments.writer()) as store:
        segments.commit(store, BODIES[:2])
        store.put(pack(BODIES[2], COMPRESSOR))
        store.sync()
    path = segments.root / "segments" / "0001.seg"
    with path.open("ab") as stream:
        stream.write(b"half a rec")
    with closing(segments.writer()) as store:
        assert path.stat().st_size == segments.resume()[1]
        segments.commit(store, BODIES[3:5])
    assert_readable(segments, BODIES[:2] + BODIES[3:5])
    assert not [found for found in scan(path) if isinstance(found, DamagedStretch)]


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda path: os.truncate(path, path.stat().st_size - 1), r"0001\.seg has \d+ bytes, but \d+ were"),
        (lambda path: os.truncate(path, 0), "not a segment of a known version"),
        (lambda path: path.write_bytes(b"orbseg\x02\x00" + bytes(9999)), "not a segment of a known version"),
        (lambda path: path.unlink(), "No such file"),
    ],
    ids=["short", "empty", "newer", "missing"],
)
def test_a_segment_without_its_committed_bytes_is_refused(
    segments: Workspace, spoil: Callable[[Path], None], reason: str
) -> None:
    with closing(segments.writer()) as store:
        segments.commit(store, BODIES)
    path = segments.root / "segments" / "0001.seg"
    spoil(path)
    left = path.read_bytes() if path.exists() else None
    with pytest.raises(StoreError, match=reason):
        segments.writer()
    assert loss(segments.root, *(segments.resume() or (0, 0))) is not None
    assert (path.read_bytes() if path.exists() else None) == left


def test_a_segment_left_by_a_crash_is_passed_over(segments: Workspace) -> None:
    leftover = segments.root / "segments" / "0001.seg"
    leftover.parent.mkdir(parents=True)
    leftover.write_bytes(b"of somebody")
    with closing(segments.writer()) as store:
        segments.commit(store, BODIES[:1])
    assert leftover.read_bytes() == b"of somebody"
    assert segments.resume()[0] == 2


def test_segment_numbers_must_grow(tmp_path: Path) -> None:
    with closing(SegmentStore(tmp_path, allocate=lambda: 1, segment_bytes=1)) as store:
        store.put(pack(b"a", COMPRESSOR))
        store.sync()
        with pytest.raises(StoreError, match="segment number 1 was allocated after 1"):
            store.put(pack(b"b", COMPRESSOR))


def test_opening_sweeps_the_temporary_files_of_the_same_writer_only(files: Workspace) -> None:
    for name in ("one", "two"):
        files.writer(name).close()
        (files.root / "tmp" / name / "17.tmp").write_bytes(b"left")
        (files.root / "tmp" / name / "notes.txt").write_bytes(b"not ours")
    files.reader().close()
    assert len(files.temp_files()) == 2
    files.writer("one").close()
    assert [path.parent.name for path in files.temp_files()] == ["two"]
    assert (files.root / "tmp" / "one" / "notes.txt").exists()


def test_a_writer_name_is_a_plain_name(tmp_path: Path) -> None:
    for name in ("", "../x", "a/b", "."):
        with pytest.raises(StoreError, match="is not a valid writer name"):
            FileStore(tmp_path, writer=name)


CHILD = """
import itertools, resource, sys
from pathlib import Path
from orbweb.store.bodies import Location, new_compressor, pack
from orbweb.store.bodies.files import FileStore
from orbweb.store.bodies.segments import SegmentStore

layout, root = sys.argv[1], Path(sys.argv[2])

def writer():
    if layout == "segments":
        return SegmentStore(root, allocate=itertools.count(1).__next__)
    return FileStore(root, writer="one", compress=layout == "files")

def put(store, *bodies):
    for body in bodies:
        blob = pack(body, new_compressor())
        print(blob.sha256.hex(), *store.put(blob), flush=True)
"""

KILLED = """
store = writer()
put(store, b"a" * 100, b"b" * 100, b"c" * 100)
store.sync()
print("committed", flush=True)
put(store, b"d" * 100, b"e" * 100)
store.sync()
"""

FULL = """
import errno
from orbweb.errors import StoreError
store = writer()
put(store, b"small")
store.sync()
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
import random
try:
    put(store, *(random.Random(n).randbytes(30_000) for n in range(3)))
    store.sync()
except StoreError as error:
    print("failed", type(error).__name__, errno.errorcode[error.__cause__.errno])
"""

READING = """
store = SegmentStore(root) if layout == "segments" else FileStore(root, compress=layout == "files")
count = 0
for line in sys.stdin:
    sha256, *numbers = line.split()
    body = store.read(bytes.fromhex(sha256), Location(*(None if n == "None" else int(n) for n in numbers)))
    count += len(body) > 0
print(count)
"""


def run_child(script: str, workspace: Workspace, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", CHILD + script, workspace.layout, str(workspace.root)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **environment})


def location_of(line: str) -> tuple[bytes, Location]:
    sha256, *numbers = line.split()
    return bytes.fromhex(sha256), Location(*(None if n == "None" else int(n) for n in numbers))


@pytest.mark.parametrize(
    ("workspace", "fault"),
    [
        ("segments", "blob_written:2"),
        ("segments", "blob_synced:2"),
        ("files", "blob_written:5"),
        ("files", "blob_renamed:4"),
        ("files", "blob_synced:2"),
        ("plain", "blob_renamed:5"),
    ],
    indirect=["workspace"],
)
def test_killed_in_the_second_group(workspace: Workspace, fault: str) -> None:
    died = run_child(KILLED, workspace, ORBWEB_FAULT=fault)
    assert died.returncode == -signal.SIGKILL, died.stderr
    lines = died.stdout.splitlines()
    workspace.committed = dict(map(location_of, lines[: lines.index("committed")]))
    workspace.numbers = itertools.count(2)
    assert len(workspace.committed) == 3

    with closing(workspace.writer()) as store:
        assert workspace.temp_files() == []
        workspace.commit(store, [b"d" * 100, b"e" * 100])
    assert_readable(workspace, [letter * 100 for letter in (b"a", b"b", b"c", b"d", b"e")])
    kept = [path for path in workspace.root.rglob("*") if path.is_file()]
    if workspace.layout == "segments":
        assert [type(found) for path in kept for found in scan(path)] == [SegmentRecord] * 5
    else:
        assert len(kept) == 5


# failing disks


def test_a_full_disk_ends_in_disk_full(workspace: Workspace) -> None:
    ended = run_child(FULL, workspace)
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert lines[-1] == "failed DiskFull EFBIG"
    workspace.committed = dict([location_of(lines[0])])
    assert_readable(workspace, [b"small"])


@pytest.mark.parametrize(
    ("workspace", "call", "number", "kind"),
    [
        ("segments", "pwrite", errno.ENOSPC, DiskFull),
        ("segments", "fdatasync", errno.EIO, StoreError),
        ("segments", "fsync", errno.EIO, StoreError),
        ("files", "pwrite", errno.ENOSPC, DiskFull),
        ("files", "fsync", errno.EIO, StoreError),
        ("files", "rename", errno.EROFS, StoreError),
    ],
    indirect=["workspace"],
)
def test_after_a_failure_the_store_refuses_and_never_syncs_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, call: str, number: int, kind: type[StoreError]
) -> None:
    store = workspace.writer()
    blob = pack(BODIES[0], COMPRESSOR)
    tries = 0

    def fail(*args: object, **options: object) -> None:
        nonlocal tries
        tries += 1
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(os, call, fail)
        location = store.put(blob)
        with pytest.raises(kind, match=os.strerror(number)) as caught:
            store.sync()
        assert isinstance(caught.value.__cause__, OSError)
        assert caught.value.__cause__.errno == number
    syncs = record_calls(monkeypatch, "fsync", "fdatasync", "pwrite")
    uses: list[Callable[[], object]] = [
        store.sync,
        lambda: store.put(blob),
        lambda: store.read(blob.sha256, location),
    ]
    for use in uses:
        with pytest.raises(StoreError, match="stopped at a failed write") as refused:
            use()
        assert refused.value.__cause__ is caught.value.__cause__
    assert (tries, syncs) == (1, [])
    store.close()


def test_a_closed_store_refuses(any_store: Workspace) -> None:
    store = any_store.writer()
    (blob,) = any_store.commit(store, BODIES[:1])
    store.put(pack(random.Random(4).randbytes(5_000_000), COMPRESSOR))
    assert len(any_store.temp_files()) == (any_store.layout in ("files", "plain"))
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.put(blob)
    with pytest.raises(StoreError, match="closed"):
        store.sync()
    with pytest.raises(StoreError, match="closed"):
        store.read(blob.sha256, any_store.committed[blob.sha256])
    assert any_store.temp_files() == []


def test_a_reader_writes_nothing(any_store: Workspace) -> None:
    with closing(any_store.reader()) as store, pytest.raises(StoreError, match="reading only"):
        store.put(pack(b"x", COMPRESSOR))
    assert not any_store.root.exists()


# damage


@pytest.fixture
def damaged(workspace: Workspace) -> tuple[Workspace, Blob, Path, int, int]:
    """A workspace with three bodies, and file, start and end of the second one's bytes."""
    with closing(workspace.writer()) as store:
        blob = workspace.commit(store, BODIES[:3])[1]
    at, path = workspace.committed[blob.sha256], workspace.file_of(blob.sha256)
    if at.offset is None:
        return workspace, blob, path, 0, at.length
    return workspace, blob, path, at.offset - RECORD_HEADER_BYTES, at.offset + at.length


def complaint_of(store: BodyStore, blob: Blob, at: Location) -> str:
    """What the store says of a body; nothing where it still gives the right bytes."""
    try:
        assert store.read(blob.sha256, at) == BODIES[1]
    except CorruptBody as error:
        return str(error)
    return ""


def test_no_flipped_byte_passes(damaged: tuple[Workspace, Blob, Path, int, int]) -> None:
    workspace, blob, path, start, end = damaged
    at, whole = workspace.committed[blob.sha256], path.read_bytes()
    where = f"{path} at offset {at.offset}:" if at.segment is not None else f"{path}:"
    unharmed = 0
    with closing(workspace.reader()) as store:
        for position in range(start, end):
            path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :])
            complaint = complaint_of(store, blob, at)
            assert complaint.startswith(where) or not complaint
            unharmed += not complaint
    assert unharmed < (end - start) * 0.1


def test_truncated_and_missing_files(damaged: tuple[Workspace, Blob, Path, int, int]) -> None:
    workspace, blob, path, _, end = damaged
    with closing(workspace.reader()) as store:
        os.truncate(path, end - 1)
        with pytest.raises(CorruptBody, match=path.name):
            store.read(blob.sha256, workspace.committed[blob.sha256])
        path.unlink()
        with pytest.raises(CorruptBody, match=f"{path.name}.* is missing"):
            store.read(blob.sha256, workspace.committed[blob.sha256])


# whether a body is there, without its being read as a whole


@pytest.mark.parametrize(
    ("spoil", "is_there", "is_whole"),
    [
        (lambda _path, _at: None, True, True),
        (lambda path, _at: path.unlink(), False, False),
        (lambda path, at: os.truncate(path, (at.offset or 0) + at.length - 1), False, False),
        (lambda path, at: flip(path, (at.offset or 0) + at.length // 2), True, False),
    ],
    ids=["sound", "missing", "short", "flipped"],
)
def test_a_stored_body_is_looked_for(
    workspace: Workspace, spoil: Callable[[Path, Location], None], is_there: bool, is_whole: bool
) -> None:
    with closing(workspace.writer()) as store:
        (blob,) = workspace.commit(store, BODIES[:1])
    at = workspace.committed[blob.sha256]
    spoil(workspace.file_of(blob.sha256), at)
    with closing(StoredBodies(workspace.root)) as found:
        assert (found.has(blob.sha256, at), found.holds(blob, at)) == (is_there, is_whole)


def test_a_body_that_was_compressed_differently_is_the_same_body(workspace: Workspace) -> None:
    with closing(workspace.writer()) as store:
        (blob,) = workspace.commit(store, BODIES[:1])
    other = pack(BODIES[0], zstandard.ZstdCompressor(level=19, write_checksum=True))
    assert other.frame != blob.frame
    with closing(StoredBodies(workspace.root)) as found:
        assert found.holds(other, workspace.committed[blob.sha256])
        assert found.has(blob.sha256, workspace.committed[blob.sha256]._replace(length=len(other.frame))) == (
            workspace.layout != "segments"
        )


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x55
    path.write_bytes(data)


def test_a_location_of_another_body(any_store: Workspace) -> None:
    with closing(any_store.writer()) as store:
        first, second = any_store.commit(store, [b"a" * 100, b"b" * 100])
        at = any_store.committed[first.sha256]
        if at.segment is not None:
            with pytest.raises(CorruptBody, match="belongs to another body"):
                store.read(second.sha256, at)
        with pytest.raises(CorruptBody):
            store.read(first.sha256, at._replace(size=99))


def test_a_location_of_the_other_layout(workspace: Workspace) -> None:
    other = Location(None, None, 10, 10) if workspace.layout == "segments" else Location(1, 64, 10, 10)
    with closing(workspace.reader()) as store, pytest.raises(StoreError, match="is stored"):
        store.read(bytes(32), other)


def test_a_bomb_is_never_unpacked(any_store: Workspace) -> None:
    bomb = Blob(bytes(32), COMPRESSOR.compress(bytes(50_000_000)), 10)

    def keep_and_read(store: BodyStore) -> None:
        location = store.put(bomb)
        store.sync()
        store.read(bomb.sha256, location)

    tracemalloc.start()
    try:
        with closing(any_store.writer()) as store, pytest.raises(CorruptBody, match="not contain the 10 bytes"):
            keep_and_read(store)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


# segments from inside


def test_rollover_at_group_boundaries(segments: Workspace) -> None:
    segments.segment_bytes = 5000
    rng = random.Random(3)
    groups = [[rng.randbytes(1000) for _ in range(3)] for _ in range(6)]
    used = []
    with closing(segments.writer()) as store:
        for bodies in groups:
            blobs = segments.commit(store, bodies)
            used.append({segments.committed[blob.sha256].segment for blob in blobs})
    assert used == [{1}, {1}, {2}, {2}, {3}, {3}]
    with closing(segments.writer()) as store:
        segments.commit(store, [b"next"])
    assert segments.resume()[0] == 4
    assert_readable(segments, [body for group in groups for body in group] + [b"next"])


def test_scan_needs_no_database(segments: Workspace) -> None:
    with closing(segments.writer()) as store:
        segments.commit(store, BODIES[:3])
        segments.commit(store, BODIES[3:])
    found = list(scan(segments.root / "segments" / "0001.seg"))
    assert found == [
        SegmentRecord(sha256, at.offset, at.length, at.size) for sha256, at in segments.committed.items()
    ]


def test_scan_tells_where_the_damage_is_and_goes_on(segments: Workspace) -> None:
    with closing(segments.writer()) as store:
        segments.commit(store, BODIES)
    path = segments.root / "segments" / "0001.seg"
    places = list(segments.committed.values())
    data = bytearray(path.read_bytes())
    data[places[1].offset - 20] ^= 1
    data[places[3].offset + places[3].length // 2] ^= 1
    path.write_bytes(data[:-5])
    found = list(scan(path))
    assert [type(each) for each in found] == [
        SegmentRecord,
        DamagedStretch,
        SegmentRecord,
        DamagedStretch,
        SegmentRecord,
        DamagedStretch,
    ]
    for number in (1, 3, 5):
        assert found[number].offset == places[number].offset - RECORD_HEADER_BYTES
    assert found[1].offset + found[1].length == places[2].offset - RECORD_HEADER_BYTES
    assert found[1].reason == "not a valid record header"
    assert found[5].reason == "the record is cut short"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (SEGMENT_HEADER, []),
        (b"", [(0, 0)]),
        (b"orb", [(0, 3)]),
        (b"orbseg\xff\xff", [(0, 8)]),
        (SEGMENT_HEADER + b"\xf5ORB", [(8, 4)]),
        (SEGMENT_HEADER + b"\xf5ORB" * 100, [(8, 400)]),
        (SEGMENT_HEADER + bytes(5_000_000), [(8, 5_000_000)]),
    ],
    ids=["only header", "empty", "short header", "newer", "only magic", "false magic", "zeroes"],
)
def test_scan_of_odd_files(tmp_path: Path, data: bytes, expected: list[tuple[int, int]]) -> None:
    path = tmp_path / "0001.seg"
    path.write_bytes(data)
    assert [(found.offset, found.length) for found in scan(path)] == expected


def test_scan_finds_a_record_across_its_reading_steps(segments: Workspace) -> None:
    with closing(segments.writer()) as store:
        (blob,) = segments.commit(store, [b"far away"])
    path = segments.root / "segments" / "0001.seg"
    record = path.read_bytes()[len(SEGMENT_HEADER) :]
    for gap in (4 * 1024 * 1024 - 2, 4 * 1024 * 1024, 4 * 1024 * 1024 + 2):
        path.write_bytes(SEGMENT_HEADER + b"\x01" * gap + record)
        damage, found = scan(path)
        assert (damage.offset, damage.length) == (len(SEGMENT_HEADER), gap)
        assert found.sha256 == blob.sha256


# permissions


def permissions(root: Path) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {"files": set(), "directories": set()}
    for path in (root, *root.rglob("*")):
        found["directories" if path.is_dir() else "files"].add(path.stat().st_mode & 0o7777)
    return found


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_nobody_else_may_read_bodies(workspace: Workspace) -> None:
    with closing(workspace.writer()) as store:
        workspace.commit(store, BODIES)
    assert permissions(workspace.root) == {"files": {0o600}, "directories": {0o700}}


def test_configured_permissions_do_not_depend_on_the_umask(files: Workspace) -> None:
    before = os.umask(0o077)
    try:
        with closing(FileStore(files.root, writer="one", modes=FileModes(0o644, 0o755))) as store:
            files.commit(store, BODIES)
    finally:
        os.umask(before)
    assert permissions(files.root / "html") == {"files": {0o644}, "directories": {0o755}}


# readers beside the writer


def append_and_tell(workspace: Workspace, store: BodyStore, tell: Callable[[bytes, Location], None]) -> int:
    rng = random.Random(5)
    for _ in range(12):
        for blob in workspace.commit(store, [rng.randbytes(1000) for _ in range(4)]):
            tell(blob.sha256, workspace.committed[blob.sha256])
    return len(workspace.committed)


def test_a_reader_in_another_process_while_appending(workspace: Workspace) -> None:
    workspace.segment_bytes = 20_000
    command = [sys.executable, "-c", CHILD + READING, workspace.layout, str(workspace.root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        stdin = child.stdin
        assert stdin is not None
        with closing(workspace.writer()) as store:
            told = append_and_tell(
                workspace, store, lambda sha256, at: print(sha256.hex(), *at, file=stdin, flush=True)
            )
        out, _ = child.communicate(timeout=120)
    assert (child.returncode, out.strip()) == (0, str(told))


def test_a_reader_in_another_thread_of_the_same_store(any_store: Workspace) -> None:
    any_store.segment_bytes = 20_000
    told: queue.Queue[tuple[bytes, Location] | None] = queue.Queue()
    read: list[int] = []

    def follow(store: BodyStore) -> None:
        while (each := told.get()) is not None:
            read.append(len(store.read(*each)))

    with closing(any_store.writer()) as store:
        thread = threading.Thread(target=follow, args=(store,))
        thread.start()
        count = append_and_tell(any_store, store, lambda sha256, at: told.put((sha256, at)))
        told.put(None)
        thread.join(timeout=60)
    assert read == [1000] * count

"""Bodies in a dict, by the same rules as on a disk: not readable before `sync`, verified when they are read."""

from __future__ import annotations

from orbweb.errors import CorruptBody, StoreError
from orbweb.model import Blob
from orbweb.store.bodies import BodyStore, Decompressor, KnownBodies, Location, no_writer, unpack


class MemoryBodies:
    """Stores in `kept` share what they have; one that is not `writable` only reads."""

    def __init__(self, kept: dict[bytes, bytes] | None = None, *, writable: bool = True) -> None:
        self._kept: dict[bytes, bytes] = {} if kept is None else kept
        self._group: dict[bytes, bytes] = {}
        self._writable = writable
        self._is_closed = False

    def put(self, blob: Blob) -> Location:
        self._check()
        if not self._writable:
            no_writer()
        frame = self._group.setdefault(blob.sha256, blob.frame)
        return Location(None, None, len(frame), blob.size)

    def sync(self) -> None:
        self._check()
        self._kept |= self._group
        self._group.clear()

    def read(self, sha256: bytes, location: Location, decompressor: Decompressor | None = None) -> bytes:
        self._check()
        where = f"memory, body {sha256.hex()}"
        if sha256 not in self._kept:
            raise CorruptBody(f"{where}: is missing")
        return unpack(self._kept[sha256], location.size, sha256, where=where, decompressor=decompressor)

    def holds(self, blob: Blob, location: Location) -> bool:
        try:
            self.read(blob.sha256, location)
        except CorruptBody:
            return False
        return True

    def close(self) -> None:
        self._is_closed = True

    def _check(self) -> None:
        if self._is_closed:
            raise StoreError("the body store is closed")


def _proof(bodies: MemoryBodies) -> tuple[BodyStore, KnownBodies]:
    """For mypy: the class is what the protocols ask for."""
    return bodies, bodies

"""The bodies of a workspace, read from either layout by where they are stored."""

from __future__ import annotations

from pathlib import Path

from orbweb.errors import StoreError
from orbweb.model import Blob
from orbweb.store.bodies import Location
from orbweb.store.bodies.files import FileStore
from orbweb.store.bodies.segments import SegmentStore
from orbweb.store.workspace_paths import AnchoredPath


class StoredBodies:
    """Reads what the body stores below `root` have written; never writes."""

    def __init__(self, root: Path | AnchoredPath) -> None:
        self._segments = SegmentStore(root)
        self._files = FileStore(root)

    def read(self, sha256: bytes, location: Location) -> bytes:
        """The decoded body, verified; StoreError if it cannot be read."""
        return self._layout(location).read(sha256, location)

    def has(self, sha256: bytes, location: Location) -> bool:
        """Whether the body is at its place. Its bytes are not read, so damage inside it is not found."""
        try:
            return self._layout(location).has(sha256, location)
        except StoreError:
            return False

    def holds(self, blob: Blob, location: Location) -> bool:
        """Whether the body can be read and is this one."""
        try:
            self._layout(location).verify(blob, location)
        except StoreError:
            return False
        return True

    def close(self) -> None:
        self._segments.close()
        self._files.close()

    def _layout(self, location: Location) -> SegmentStore | FileStore:
        return self._files if location.segment is None else self._segments

"""For a run that reuses nothing."""

from __future__ import annotations

from orbweb.model import Capture, ProcessedPage
from orbweb.store import Captures


class NoCaptures:
    """Finds nothing, so that nothing else is ever asked of it but to close."""

    def find(self, key: str) -> Capture | None:
        return None

    def is_latest(self, key: str, capture: Capture) -> bool:
        return False

    def stands(self, capture: Capture) -> bool:
        return False

    def process(self, capture: Capture) -> ProcessedPage | None:
        return None

    def body(self, capture: Capture) -> bytes | None:
        return None

    def has_body(self, capture: Capture) -> bool:
        return False

    def close(self) -> None:
        """There is nothing to close."""


def _proof(captures: NoCaptures) -> Captures:
    """For mypy: the class is what the protocol asks for."""
    return captures

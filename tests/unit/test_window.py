"""What waits in the window is counted as what it takes."""

from __future__ import annotations

import tracemalloc

import pytest

from orbweb.model import Blob, Digest, Link, Parsed
from orbweb.window import bytes_of


@pytest.mark.parametrize("length", [20, 200, 8_000])
@pytest.mark.parametrize("spelled_otherwise", [False, True])
def test_links_count_with_their_length(length: int, spelled_otherwise: bool) -> None:
    def link(number: int) -> Link:
        key = f"http://h/{number:>0{length}}"
        return Link(key, f"{key}/" if spelled_otherwise else key, "a", False)

    tracemalloc.start()
    links = tuple(link(number) for number in range(1_000))
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    digest = Digest(Parsed(links[:500], links[500:]), Blob(b"", b"frame", 5), b"")
    assert bytes_of(digest) == pytest.approx(taken, rel=0.1)

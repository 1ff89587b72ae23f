"""What is fed: pages of the corpora, or our own where those are absent, mutated, and generated structures."""

from __future__ import annotations

import gzip
from pathlib import Path
from random import Random

from parsing import trees
from parsing.structures import drawn

TESTS = Path(__file__).parents[1]
CORPORA = TESTS.parents[1] / "shared" / "corpora"
LONGEST = 60_000
"""Bytes of an input: many small ones find more than few large ones."""


class Inputs:
    """Inputs without end, the same ones for the same seed and the same files."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        folders = (CORPORA / "extraction", CORPORA / "docs-markdown", TESTS / "extraction" / "pages")
        self.pages = sorted(path for folder in folders for path in folder.rglob("*.html*"))
        cases = sorted([*(CORPORA / "html-parsing").rglob("*.dat"), TESTS / "parsing" / "own.dat"])
        self.cases = [case.data.encode("utf-8", "surrogatepass") for path in cases for case in trees.cases(path)]

    def next(self) -> bytes:
        kind = self._random.random()
        if kind < 0.4 and self.pages:
            return self._mutated(self._page())
        if kind < 0.6:
            return self._mutated(b"".join(self._random.choices(self.cases, k=self._random.randint(1, 6))))
        made = drawn(self._random)(self._random.choice((50, 500, 5_000, LONGEST))).encode()
        return self._mutated(made) if kind > 0.8 else made

    def _page(self) -> bytes:
        path = self._random.choice(self.pages)
        body = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        start = self._random.randrange(max(len(body) - LONGEST, 0) + 1)
        return body[start : start + self._random.choice((500, 5_000, LONGEST))]

    def _mutated(self, body: bytes) -> bytes:
        """Bytes are changed, parts doubled, moved, taken out, or put in between."""
        random = self._random
        for _ in range(random.choice((0, 1, 3, 10))):
            at, to = sorted((random.randrange(len(body) + 1), random.randrange(len(body) + 1)))
            part = body[at : min(to, at + random.choice((1, 20, 2_000)))]
            match random.randrange(5):
                case 0:
                    body = (
                        body[:at]
                        + random.choice((b"\0", b"<", b">", b"&", b"\xff", b'"', b"</", b"-"))
                        + body[to:]
                    )
                case 1:
                    body = body[:at] + part * random.choice((2, 2, 50)) + body[at:]
                case 2:
                    body = body[:at] + body[at + len(part) :]
                case 3:
                    body = body[:to] + part + body[to:]
                case _:
                    body = body[:at] + drawn(random)(200).encode() + body[at:]
        return body[: 4 * LONGEST]

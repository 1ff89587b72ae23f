"""Hashes seen so far: exact at any time, though memory forgets and the database learns late."""

from __future__ import annotations

import hashlib
import random

import pytest

from orbweb.engine import batch


def test_no_hash_is_forgotten_before_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "REMEMBERED", 20)
    chance, database, group, writing, all_of_them = random.Random(7), set[bytes](), set[bytes](), set[bytes](), []
    reads = 0

    def ask(sha256: bytes) -> bool:
        nonlocal reads
        reads += 1
        return sha256 in database

    seen = batch.SeenHashes([], ask)
    for number in range(2_000):
        sha256 = hashlib.sha256(number.to_bytes(4)).digest()
        assert sha256 not in seen
        seen.add(sha256)
        group.add(sha256)
        all_of_them.append(sha256)
        assert chance.choice(all_of_them) in seen
        if chance.random() < 0.1:
            database |= writing
            seen.forget()
            writing, group = group, set()
    assert all(sha256 in seen for sha256 in all_of_them)
    assert 0 < len(seen._young) + len(seen._old) < 200
    assert reads > 0

"""A 64-bit fingerprint that differs in few bits where texts differ in few words."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence


def of(text: str) -> int:
    """The fingerprint of a text."""
    sums = [0] * 64
    for word, count in Counter(text.lower().split()).items():
        value = int.from_bytes(hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest())
        for bit in range(64):
            sums[bit] += count if value >> bit & 1 else -count
    return sum(1 << bit for bit in range(64) if sums[bit] > 0)


def groups(hashes: Sequence[int], within: int) -> list[list[int]]:
    """Positions of fingerprints that are linked by steps of at most `within` bits, in order; only real groups."""
    found: list[list[int]] = []
    left = list(range(len(hashes)))
    while left:
        group, left = [left[0]], left[1:]
        for member in group:
            group += [each for each in left if (hashes[member] ^ hashes[each]).bit_count() <= within]
            left = [each for each in left if each not in group]
        if len(group) > 1:
            found.append(sorted(group))
    return found

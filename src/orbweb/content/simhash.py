"""A 64-bit fingerprint that differs in few bits where texts differ in few words."""

from __future__ import annotations

import hashlib
from collections import Counter


def of(text: str) -> int:
    """The fingerprint of a text."""
    sums = [0] * 64
    for word, count in Counter(text.lower().split()).items():
        value = int.from_bytes(hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest())
        for bit in range(64):
            sums[bit] += count if value >> bit & 1 else -count
    return sum(1 << bit for bit in range(64) if sums[bit] > 0)

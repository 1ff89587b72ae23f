"""SimHash: a 64-bit fingerprint that differs in few bits if texts differ in few words, and groups of similar ones.

A fingerprint depends on the words alone, so it is the same on every machine and in every process (`hash` is not
used). Groups are exact, in the order of their first members, and found without comparing every pair.

Each pair of consecutive words has a hash; a bit of the fingerprint is set if it is set in more than half of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from orbweb.extraction.fingerprint import fingerprint

BITS = 64
WITHIN = 6
"""Near-duplicates differ in at most this many bits; docs/explanation/extraction.md has the measurement."""
MAX_WORDS = 1 << 10
"""The most words of a text that are used: enough to distinguish texts, and a bound on time."""
LONG_WORD = 16
"""A text with longer words on average is written without spaces; its characters count as words."""
FEW = 12
"""Up to this many fingerprints are compared pairwise."""
TURN = 23
"""By how many bits a hash is rotated before that of the next word is added, so that the order of words matters."""

SPREAD = 0x9E3779B1
"""An odd number with as many bits as a CRC, and ones and zeros in all parts."""


def of(text: str) -> int:
    """The fingerprint of a text; 0 if it has no words. The case of ASCII letters is ignored."""
    text = text[: LONG_WORD * MAX_WORDS]
    words = text.count(" ") + text.count("\n") + 1
    has_long_words = len(text) > LONG_WORD * (words + 1)
    return fingerprint(text.encode("utf-8", "replace"), has_long_words, MAX_WORDS, TURN, SPREAD)


def distance(one: int, other: int) -> int:
    """The number of bits in which two fingerprints differ."""
    return (one ^ other).bit_count()


def groups(hashes: Sequence[int], within: int = WITHIN) -> list[list[int]]:
    """The indices of connected fingerprints, each at most `within` bits from another of its group.

    Only groups of two and more; a text without words (0) is in none. Two fingerprints that differ in at most
    `within` bits agree in at least two of `within + 2` parts, so only those that share two parts are compared.
    """
    members: defaultdict[int, list[int]] = defaultdict(list)
    for index, value in enumerate(hashes):
        if value:
            members[value].append(index)
    joined = _Joined(list(members))
    for mask in _masks(within):
        shared: defaultdict[int, list[int]] = defaultdict(list)
        for value in members:
            shared[value & mask].append(value)
        for bucket in shared.values():
            if len(bucket) > FEW:
                joined.join_near(bucket, within)
            elif len(bucket) > 1:
                for one, other in combinations(bucket, 2):
                    if (one ^ other).bit_count() <= within:
                        joined.join(one, other)
    found: defaultdict[int, list[int]] = defaultdict(list)
    for value, indices in members.items():
        found[joined.root(value)] += indices
    return sorted(sorted(group) for group in found.values() if len(group) > 1)


def _masks(within: int) -> Iterator[int]:
    """All pairs of the parts of a fingerprint."""
    count = min(within + 2, BITS)
    edges = [BITS * number // count for number in range(count + 1)]
    parts = [(1 << end) - (1 << start) for start, end in pairwise(edges)]
    yield from (one | other for one, other in combinations(parts, 2))


class _Joined:
    """The groups of connected fingerprints so far (union-find)."""

    def __init__(self, values: Sequence[int]) -> None:
        self._above = {value: value for value in values}

    def root(self, value: int) -> int:
        above = self._above
        while above[value] != value:
            above[value] = value = above[above[value]]
        return value

    def join(self, one: int, other: int) -> None:
        self._above[self.root(one)] = self.root(other)

    def join_near(self, bucket: Sequence[int], within: int) -> None:
        """Join the near ones of a bucket. Members of a group are compared until one is near."""
        parts: dict[int, list[int]] = {}
        for value in bucket:
            home = self.root(value)
            for root, part in list(parts.items()):
                if root != home and any((value ^ other).bit_count() <= within for other in part):
                    self._above[root] = home
                    parts[home] = parts.get(home, []) + parts.pop(root)
            parts.setdefault(home, []).append(value)

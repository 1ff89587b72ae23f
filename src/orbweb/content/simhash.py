"""A 64-bit fingerprint that differs in few bits where texts differ in few words, and groups of near ones.

Owns the fingerprint and the search for neighbours. Always: a fingerprint depends on the words alone, on every
machine and in every process; groups are exact, and in the order of their first members. Never: uses `hash`, or
compares every pair of a large number.

Each run of `WIDTH` words has a hash; a bit of the fingerprint is set if it is set in more than half of them. All
hashes of a text lie side by side, each in its lane of one large integer, so that a few operations make and count
them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from struct import pack
from zlib import crc32

BITS = 64
WIDTH = 2
"""Words that are hashed together."""
WITHIN = 6
"""Bits in which near-duplicates differ at most; docs/decisions/0033-near-duplicates.md has the measurement."""
MAX_WORDS = 1 << 10
"""Words at the beginning of a text that are looked at: enough to tell texts apart, and a bound on time."""
LONG_WORD = 16
"""A text whose words are longer on average is written without spaces; its characters are taken for words."""
FEW = 12
"""So many fingerprints are all compared with each other."""
TURN = 23
"""By how many bits a hash is turned before that of the next word comes in, so that the order of words counts."""

SPREAD = 0x9E3779B1
"""An odd number of as many bits as a CRC has, with ones and zeros all over it."""

_LOW_HALVES = int.from_bytes(((1 << BITS // 2) - 1).to_bytes(BITS // 8, "little") * MAX_WORDS, "little")
_TURNED_OUT = int.from_bytes(((1 << TURN) - 1).to_bytes(BITS // 8, "little") * MAX_WORDS, "little")
_TURNED_UP = _TURNED_OUT ^ ((1 << BITS * MAX_WORDS) - 1)


def of(text: str) -> int:
    """The fingerprint of a text; 0 if there is no word in it."""
    words = _words(text)
    return _majority(_runs(words), max(len(words) - WIDTH + 1, 1)) if words else 0


def _words(text: str) -> list[bytes]:
    """The words in UTF-8; the case of ASCII letters does not count."""
    text = text[: LONG_WORD * MAX_WORDS]
    words = text.encode("utf-8", "replace").lower().split(None, MAX_WORDS)
    if len(text) > LONG_WORD * (len(words) + 1):
        words = [character.encode("utf-8", "replace") for character in "".join(text.split())[:MAX_WORDS]]
    return words[:MAX_WORDS]


def _hashes(words: Sequence[bytes]) -> int:
    """The hash of each word in a lane: its CRC, which has half as many bits, spread over the whole."""
    checks = int.from_bytes(pack(f"<{len(words)}Q", *map(crc32, words)), "little")
    spread = checks * SPREAD
    return spread ^ spread >> BITS // 2 & _LOW_HALVES


def _runs(words: Sequence[bytes]) -> int:
    """The hash of each run of words, in the lane of its first word."""
    found = lanes = _hashes(words)
    for step in range(1, min(WIDTH, len(words))):
        turned = (found << TURN & _TURNED_UP) | (found >> BITS - TURN & _TURNED_OUT)
        found = turned ^ lanes >> BITS * step
    return found


def _majority(lanes: int, number: int) -> int:
    """The bits that are set in more than half of the lanes.

    The bits of a column are counted by folding: one half of the lanes is added to the other. A count is kept as
    one integer for each of its binary digits, all columns and lanes at once.
    """
    half_of_all, digits = number // 2, [lanes & (1 << BITS * number) - 1]
    while number > 1:
        half = number // 2
        mask, carry, added = (1 << BITS * half) - 1, 0, []
        for digit in digits:
            one, other = digit & mask, digit >> BITS * half
            either = one ^ other
            added.append(either ^ carry)
            carry = one & other | either & carry
        digits = [*added, carry]
        number -= half
    return _above(digits, half_of_all)


def _above(digits: Sequence[int], limit: int) -> int:
    """The columns whose count is above the limit."""
    above, equal = 0, (1 << BITS) - 1
    for place in range(len(digits) - 1, -1, -1):
        digit = digits[place]
        if limit >> place & 1:
            equal &= digit
        else:
            above |= equal & digit
            equal &= ~digit
    return above


def distance(one: int, other: int) -> int:
    """In how many bits two fingerprints differ."""
    return (one ^ other).bit_count()


def groups(hashes: Sequence[int], within: int = WITHIN) -> list[list[int]]:
    """The indices of fingerprints that hang together, each at most `within` bits from another of its group.

    Only groups of two and more; a text without words, 0, is near to none. Two fingerprints that differ in so few
    bits agree in two of `within + 2` parts at least, so only those that share two parts are compared.
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
    """Every two of the parts that a fingerprint is cut into."""
    count = min(within + 2, BITS)
    edges = [BITS * number // count for number in range(count + 1)]
    parts = [(1 << end) - (1 << start) for start, end in pairwise(edges)]
    yield from (one | other for one, other in combinations(parts, 2))


class _Joined:
    """Which fingerprints hang together so far."""

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
        """Join those of a bucket that are near. What hangs together already is compared until one is near."""
        parts: dict[int, list[int]] = {}
        for value in bucket:
            home = self.root(value)
            for root, part in list(parts.items()):
                if root != home and any((value ^ other).bit_count() <= within for other in part):
                    self._above[root] = home
                    parts[home] = parts.get(home, []) + parts.pop(root)
            parts.setdefault(home, []).append(value)

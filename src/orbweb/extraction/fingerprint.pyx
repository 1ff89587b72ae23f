"""The inner loops of `simhash` and `tokens`: sums over all bytes of a text.

A result depends on the bytes alone, on every machine and in every process.
"""

from libc.stdint cimport uint32_t, uint64_t

cdef enum:
    BITS = 64

    LANES = 8
    # Eight one-byte counters are added at once; they overflow after this many additions.
    BEARABLE = 255
    MAX_KINDS = 32

KINDS = MAX_KINDS
"""The number of byte kinds of a scale."""

cdef uint32_t[256] _checks
cdef uint64_t[256] _lanes


cdef void _fill() noexcept:
    """For each byte its CRC-32 remainder, and its bits in eight lanes."""
    cdef uint32_t number, rest
    cdef uint64_t lanes
    cdef int bit
    for number in range(256):
        rest, lanes = number, 0
        for bit in range(LANES):
            lanes |= <uint64_t> (number >> bit & 1) << LANES * bit
            rest = (rest >> 1) ^ (0xEDB88320U if rest & 1 else 0)
        _checks[number], _lanes[number] = rest, lanes


_fill()


cdef inline uint64_t _hash(const unsigned char* word, Py_ssize_t size, uint64_t spread) noexcept:
    """The hash of a word, ignoring the case of ASCII letters: its CRC, spread over twice as many bits."""
    cdef uint32_t check = 0xFFFFFFFFU
    cdef Py_ssize_t place
    cdef unsigned char sign
    cdef uint64_t wide
    for place in range(size):
        sign = word[place]
        if c"A" <= sign <= c"Z":
            sign += 32
        check = (check >> 8) ^ _checks[(check ^ sign) & 0xFF]
    wide = <uint64_t> (check ^ 0xFFFFFFFFU) * spread
    return wide ^ (wide >> BITS // 2)


cdef inline bint _is_blank(unsigned char sign) noexcept:
    return sign == c" " or 9 <= sign <= 13


cdef void _empty(uint64_t* lanes, int* ones) noexcept:
    """Add the counts of the lanes to the number of ones of each bit."""
    cdef int part, bit
    for part in range(LANES):
        for bit in range(LANES):
            ones[LANES * part + bit] += lanes[part] >> LANES * bit & 0xFF
        lanes[part] = 0


def fingerprint(bytes text, bint by_character, int most, int turn, uint64_t spread):
    """The bits that are set in more than half of the hashes of two consecutive words.

    Uses the first `most` words, or characters that are not white space. The result for a single word is its hash.
    """
    cdef const unsigned char* at = text
    cdef const unsigned char* end = at + len(text)
    cdef const unsigned char* start
    cdef int[BITS] ones
    cdef uint64_t[LANES] lanes
    cdef int words = 0, bit
    cdef uint64_t last = 0, this, run, found = 0
    for bit in range(BITS):
        ones[bit] = 0
    for bit in range(LANES):
        lanes[bit] = 0
    while words < most:
        while at < end and _is_blank(at[0]):
            at += 1
        if at == end:
            break
        start = at
        at += 1
        if by_character:
            while at < end and at[0] & 0xC0 == 0x80:
                at += 1
        else:
            while at < end and not _is_blank(at[0]):
                at += 1
        this = _hash(start, at - start, spread)
        if words:
            run = (last << turn | last >> BITS - turn) ^ this
            for bit in range(LANES):
                lanes[bit] += _lanes[run >> LANES * bit & 0xFF]
            if words % BEARABLE == 0:
                _empty(lanes, ones)
        last = this
        words += 1
    if words < 2:
        return last
    _empty(lanes, ones)
    for bit in range(BITS):
        if ones[bit] > (words - 1) // 2:
            found |= <uint64_t> 1 << bit
    return found


cdef class Scale:
    """A table of what each byte adds to a sum, by its kind and the kind of the byte before.

    `kinds` has the kind of each byte, 0 to 31; the start of a text has kind 0. `added[before][kind]` is added to
    the sum for a byte of `kind` after one of `before`.
    """

    cdef unsigned char[256] kinds
    cdef uint64_t[MAX_KINDS * MAX_KINDS] added

    def __init__(self, kinds, added):
        cdef int place, before
        for place in range(256):
            if not 0 <= kinds[place] < MAX_KINDS:
                raise ValueError("a kind must be a number from 0 to 31")
            self.kinds[place] = kinds[place]
        for before in range(MAX_KINDS):
            for place in range(MAX_KINDS):
                self.added[MAX_KINDS * before + place] = added[before][place]

    def sum(self, bytes text):
        """The sum over all bytes of a text."""
        cdef const unsigned char* at = text
        cdef const unsigned char* end = at + len(text)
        cdef uint64_t total = 0
        cdef unsigned int before = 0, kind
        while at < end:
            kind = self.kinds[at[0]]
            total += self.added[MAX_KINDS * before + kind]
            before = kind
            at += 1
        return total

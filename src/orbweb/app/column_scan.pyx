"""One pass over columns of numbers: which rows are chosen, how many each value would leave, and some rows in order.

The rows of a chunk have positions from `first` on. A row is ordered by its key and then by its position, so a list
continues exactly after any of its rows. Without the interpreter lock: other threads go on meanwhile.
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport uint32_t, uint64_t

cdef extern from "string.h" nogil:
    void *memmem(const void *haystack, size_t size, const void *needle, size_t length)

cdef enum:
    MOST_FACETS = 16

ANY = 0xFFFFFFFF
"""The code of a facet that is not asked for."""


cdef void _offer(uint64_t *heap, Py_ssize_t *size, Py_ssize_t most, uint64_t value) noexcept nogil:
    """Keep the `most` smallest values, the largest of them on top."""
    cdef Py_ssize_t at, child
    if size[0] < most:
        at = size[0]
        size[0] += 1
        while at and heap[(at - 1) >> 1] < value:
            heap[at] = heap[(at - 1) >> 1]
            at = (at - 1) >> 1
        heap[at] = value
        return
    if not most or value >= heap[0]:
        return
    at = 0
    while True:
        child = 2 * at + 1
        if child >= most:
            break
        if child + 1 < most and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= value:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = value


cdef list _sorted(uint64_t *heap, Py_ssize_t size):
    return sorted([heap[at] for at in range(size)])


def scan(list facets, list wanted, list counts, key, bint descending, bytes among, uint32_t first,
         after, Py_ssize_t most, Py_ssize_t before):
    """Scan a chunk. `facets` are arrays of codes, `wanted` a code for each or ANY; `counts`, an array for each, are
    increased by the rows that the other facets choose. `key` is an array, or None for the order of positions;
    `among` has a byte for each row that may be chosen, None for all of them.

    Returns how many rows are chosen, how many of them up to `after`, the `most` first ones after it, and the
    `before` last ones up to it: each as its key and position in one number, in order.
    """
    cdef Py_ssize_t number = len(facets), length = len(facets[0]), row, facet, misses, missed, chosen = 0, passed = 0
    cdef const uint32_t *codes[MOST_FACETS]
    cdef uint64_t *sums[MOST_FACETS]
    cdef uint32_t asked[MOST_FACETS]
    cdef uint32_t nothing = ANY
    cdef const uint32_t[::1] view
    cdef uint64_t[::1] sum_view
    cdef const uint32_t *keys = NULL
    cdef const unsigned char *mask = NULL
    cdef uint64_t value, limit = 0, flip = ANY if descending else 0
    cdef bint begins = after is None
    cdef uint64_t *ahead
    cdef uint64_t *behind
    cdef Py_ssize_t ahead_size = 0, behind_size = 0
    if number > MOST_FACETS:
        raise ValueError(f"{number} facets")
    held = []
    for facet in range(number):
        view, sum_view = facets[facet], counts[facet]
        held.append((view, sum_view))
        codes[facet] = &view[0] if length else NULL
        sums[facet] = &sum_view[0] if sum_view.shape[0] else NULL
        asked[facet] = wanted[facet]
    if key is not None and length:
        view = key
        held.append(view)
        keys = &view[0]
    if among is not None:
        mask = among
    if not begins:
        limit = after
    ahead = <uint64_t *> PyMem_Malloc((most + 1) * sizeof(uint64_t))
    behind = <uint64_t *> PyMem_Malloc((before + 1) * sizeof(uint64_t))
    if ahead == NULL or behind == NULL:
        PyMem_Free(ahead)
        PyMem_Free(behind)
        raise MemoryError
    try:
        with nogil:
            for row in range(length):
                if mask != NULL and not mask[row]:
                    continue
                misses = missed = 0
                for facet in range(number):
                    if asked[facet] != nothing and codes[facet][row] != asked[facet]:
                        misses += 1
                        missed = facet
                if misses == 1:
                    sums[missed][codes[missed][row]] += 1
                if misses:
                    continue
                for facet in range(number):
                    sums[facet][codes[facet][row]] += 1
                chosen += 1
                value = first + row
                if keys != NULL:
                    value |= (keys[row] ^ flip) << 32
                if begins or value > limit:
                    _offer(ahead, &ahead_size, most, value)
                else:
                    passed += 1
                    _offer(behind, &behind_size, before, ~value)
        return chosen, passed, _sorted(ahead, ahead_size), [~value for value in reversed(_sorted(behind, behind_size))]
    finally:
        PyMem_Free(ahead)
        PyMem_Free(behind)


def having(bytes texts, starts, bytes words):
    """A byte for each row, 1 if its text has these words. `starts` is where each text begins; each ends with a line
    end, which `words` has not."""
    cdef const uint32_t[::1] begins = starts
    cdef Py_ssize_t length = begins.shape[0], size = len(texts), at = 0, row = 0, step = len(words)
    cdef const char *text = texts
    cdef const char *sought = words
    cdef const char *found
    cdef bytearray made = bytearray(length)
    cdef unsigned char *mask = made
    with nogil:
        while row < length:
            found = <const char *> memmem(text + at, size - at, sought, step)
            if found == NULL:
                break
            while row + 1 < length and <Py_ssize_t> begins[row + 1] <= found - text:
                row += 1
            mask[row] = 1
            row += 1
            if row < length:
                at = begins[row]
    return bytes(made)

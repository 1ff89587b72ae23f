"""Character references of HTML: a table of names, filled from Python's `html.entities`.

The longest name that matches counts, as in the standard.
"""

from html.entities import html5

from libc.string cimport memcmp, memcpy

from orbweb.parsing.html.characters cimport is_digit, is_letter, lower

# Characters of numeric references from 128 to 159, as in Windows-1252.
cdef int[32] _WINDOWS = [
    0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D, 0x017D,
    0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,
    0x017E, 0x0178,
]


cdef enum:
    ENTITY_SLOTS = 8192
    MAX_ENTITY = 33

cdef struct Entity:
    const char* name
    const char* value
    int size, value_size

cdef struct Entities:
    Entity[ENTITY_SLOTS] slots
    int longest_bare

cdef Entities _entities
# The bytes that the table points to.
cdef list _kept = []


cdef inline unsigned int _entity_slot(const char* name, Py_ssize_t size) noexcept:
    cdef unsigned int found = <unsigned int> size
    cdef Py_ssize_t place
    for place in range(size):
        found = found * 33 + <unsigned char> name[place]
    return (found ^ found >> 13) % ENTITY_SLOTS


def _fill_entities():
    cdef bytes name, value
    cdef unsigned int slot
    for key, character in html5.items():
        name, value = key.encode(), character.encode()
        _kept.extend((name, value))
        slot = _entity_slot(name, len(name))
        while _entities.slots[slot].size:
            slot = (slot + 1) % ENTITY_SLOTS
        _entities.slots[slot].name, _entities.slots[slot].size = name, <int> len(name)
        _entities.slots[slot].value, _entities.slots[slot].value_size = value, <int> len(value)
        if not key.endswith(";") and len(name) > _entities.longest_bare:
            _entities.longest_bare = <int> len(name)


_fill_entities()


cdef const Entity* _entity(const char* name, Py_ssize_t size) noexcept:
    cdef unsigned int slot = _entity_slot(name, size)
    while _entities.slots[slot].size:
        if _entities.slots[slot].size == size and memcmp(_entities.slots[slot].name, name, size) == 0:
            return &_entities.slots[slot]
        slot = (slot + 1) % ENTITY_SLOTS
    return NULL


cdef const char* character(const char* at, const char* end, bint in_attribute, char* to, int* size) noexcept:
    """The character of the reference at `&`, in UTF-8. Returns the position after it; `at` if there is none."""
    cdef const char* start = at + 1
    cdef const char* stop = start
    cdef const Entity* found
    if start[0] == c"#":
        return _numbered(at, end, to, size)
    while stop < end and stop - start < MAX_ENTITY and (is_letter(stop[0]) or is_digit(stop[0])):
        stop += 1
    if stop < end and stop[0] == c";" and stop > start:
        found = _entity(start, stop + 1 - start)
        if found != NULL:
            memcpy(to, found.value, found.value_size)
            size[0] = found.value_size
            return stop + 1
    if stop - start > _entities.longest_bare:
        stop = start + _entities.longest_bare
    while stop - start >= 2:
        found = _entity(start, stop - start)
        if found != NULL:
            if in_attribute and stop < end and (stop[0] == c"=" or is_letter(stop[0]) or is_digit(stop[0])):
                return at
            memcpy(to, found.value, found.value_size)
            size[0] = found.value_size
            return stop
        stop -= 1
    return at


cdef const char* _numbered(const char* at, const char* end, char* to, int* size) noexcept:
    cdef const char* place = at + 2
    cdef const char* start
    cdef unsigned int code = 0
    cdef bint is_hex = place < end and (place[0] == c"x" or place[0] == c"X")
    if is_hex:
        place += 1
    start = place
    while place < end:
        if is_digit(place[0]):
            code = code * (16 if is_hex else 10) + <unsigned int> (place[0] - c"0")
        elif is_hex and c"a" <= lower(place[0]) <= c"f":
            code = code * 16 + <unsigned int> (lower(place[0]) - c"a") + 10
        else:
            break
        if code > 0x10FFFF:
            code = 0x110000
        place += 1
    if place == start:
        return at
    if place < end and place[0] == c";":
        place += 1
    if code == 0 or code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        code = 0xFFFD
    elif 0x80 <= code < 0xA0:
        code = _WINDOWS[code - 0x80]
    size[0] = _write(to, code)
    return place


cdef int _write(char* to, unsigned int code) noexcept:
    """Write a character in UTF-8. Returns its length."""
    if code < 0x80:
        to[0] = <char> code
        return 1
    if code < 0x800:
        to[0], to[1] = <char> (0xC0 | code >> 6), <char> (0x80 | code & 0x3F)
        return 2
    if code < 0x10000:
        to[0], to[1] = <char> (0xE0 | code >> 12), <char> (0x80 | code >> 6 & 0x3F)
        to[2] = <char> (0x80 | code & 0x3F)
        return 3
    to[0], to[1] = <char> (0xF0 | code >> 18), <char> (0x80 | code >> 12 & 0x3F)
    to[2], to[3] = <char> (0x80 | code >> 6 & 0x3F), <char> (0x80 | code & 0x3F)
    return 4

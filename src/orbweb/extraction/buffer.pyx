"""A growing buffer of UTF-8 that becomes a string at the end.

Appending raises MemoryError if there is no memory, and TooComplex if the output is out of proportion to the page,
which depends on the page alone.
"""

from cpython.pyport cimport PY_SSIZE_T_MAX
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from orbweb.errors import TooComplex

MAX_SPARE = 1 << 20
"""The most bytes that an unused buffer keeps. No limit is lower, so reuse does not change a result."""
OUTPUT_BYTES = 4_000_000
OUTPUT_PER_BYTE = 2
"""The limit of the output of a page: a constant, plus a factor of its bytes. Real pages give less than their size:
the largest ratio among 4,400 pages is 0.92."""
cdef Buffer _spare = None


cdef Buffer borrowed(Py_ssize_t source):
    global _spare
    cdef Buffer buffer = _spare
    if buffer is None:
        buffer = Buffer()
    _spare = None
    buffer.size = 0
    buffer.limit = <Py_ssize_t> OUTPUT_BYTES + <Py_ssize_t> OUTPUT_PER_BYTE * source
    return buffer


cdef int give_back(Buffer buffer) except -1:
    global _spare
    if buffer.room <= <Py_ssize_t> MAX_SPARE:
        _spare = buffer
    return 0


cdef class Buffer:
    """Bytes of UTF-8 that grow at the end."""

    def __cinit__(self):
        self.limit = PY_SSIZE_T_MAX

    def __dealloc__(self):
        free(self.data)

    cdef int grow(self, Py_ssize_t more) except -1:
        cdef Py_ssize_t room = self.size + more
        cdef char* data
        if room > self.limit:
            raise TooComplex(f"more than {self.limit / 1e6:.1f} MB of extracted text")
        if room < 2 * self.room:
            room = 2 * self.room
        room = min(room + 64, self.limit)
        data = <char*> realloc(self.data, room)
        if data == NULL:
            raise MemoryError()
        self.data, self.room = data, room
        return 0

    cdef int times(self, char one, Py_ssize_t count) except -1:
        if count > self.room - self.size:
            self.grow(count)
        if count > 0:
            memset(self.data + self.size, one, count)
            self.size += count
        return 0

    cdef int number(self, Py_ssize_t number) except -1:
        cdef char digits[24]
        cdef int place = 24
        while True:
            place -= 1
            digits[place] = <char> (48 + number % 10)
            number //= 10
            if number <= 0:
                break
        self.put(digits + place, 24 - place)
        return 24 - place

    cdef str decoded(self):
        return PyUnicode_DecodeUTF8(self.data, self.size, "surrogatepass") if self.size else ""

from libc.string cimport memcpy


cdef class Buffer:
    cdef char* data
    cdef Py_ssize_t size, room, limit
    # Its size, its capacity and its limit, in bytes.

    cdef int grow(self, Py_ssize_t more) except -1
    # Reserve this many more bytes.
    cdef inline int put(self, const char* start, Py_ssize_t size) except -1:
        if size > self.room - self.size:
            self.grow(size)
        if size > 0:
            memcpy(self.data + self.size, start, size)
            self.size += size
        return 0
    cdef inline int sign(self, char one) except -1:
        if self.size == self.room:
            self.grow(1)
        self.data[self.size] = one
        self.size += 1
        return 0
    cdef int times(self, char one, Py_ssize_t count) except -1
    # Append a byte this many times.
    cdef int number(self, Py_ssize_t number) except -1
    # Append the digits of a non-negative number. Returns their count.
    cdef str decoded(self)

cdef Buffer borrowed(Py_ssize_t source)
# An empty buffer for the output of a page of this size; reuses the memory of a released one.
cdef int give_back(Buffer buffer) except -1

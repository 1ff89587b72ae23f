from libc.string cimport memcpy


cdef class Buffer:
    cdef char* data
    cdef Py_ssize_t size, room, limit
    # What is in it, what there is memory for, and what may be in it at most.

    cdef int grow(self, Py_ssize_t more) except -1
    # Room for so many more bytes.
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
    # The same byte so many times.
    cdef int number(self, Py_ssize_t number) except -1
    # The digits of a number that is not negative. Returns how many.
    cdef str decoded(self)

cdef Buffer borrowed(Py_ssize_t source)
# An empty buffer for what is written of a page of this size, with the room of one that was given back.
cdef int give_back(Buffer buffer) except -1

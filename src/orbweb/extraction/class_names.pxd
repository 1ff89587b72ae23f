# The class and id names of a page, and what they say about its elements.
from orbweb.parsing.html.tree cimport Span, Tree

cdef class Used:
    cdef readonly frozenset classes
    cdef readonly frozenset ids

    cpdef bint are_among(self, Used others) except -1

cpdef Used used(Tree tree, int top)
# The names that are written on the elements below `top`.

cdef enum:
    CHROME, COMMENTS, REVIEWS, CARDS
    # What an element is for, as `NameKind`.

cdef enum:
    WORDS = 256
    # More than there are words.

cdef struct Said:
    int kind
    int word
    # Its place among the words.

cdef bint says(Span names, Said* said) noexcept
# What a class or id attribute says: its first name that says anything. False where it says nothing.
cdef bint is_named(Tree tree, int element) except -1
# Whether the class or the id of an element says anything.
cdef str word(int place)
# A word by its place.

cdef enum:
    # What a class attribute may mean at first sight:
    SAYING = 1
    # that it says something,
    LISTENED_TO = 2
    # that it is for those who listen to a page,
    CAPTION = 4
    # that it has `caption` or `credit` in it.

cdef enum:
    SLOTS = 1024

cdef struct Slot:
    const char* start
    Py_ssize_t size
    int marks

cdef class Collector:
    # Names as they are found, as long as the tree is not changed.
    cdef Slot _attributes[SLOTS]
    cdef Slot _names[SLOTS]
    cdef list _classes, _ids

    cdef int add_class(self, Span names) except -1
    # Returns the marks of a class attribute.
    cdef int add_id(self, Span name) except -1
    cdef Used used(self)
    cdef int _read(self, Span names) except -1

# The class and id names of a page, and what they mean for its elements.
from orbweb.parsing.html.tree cimport Span, Tree

cdef class Used:
    cdef readonly frozenset classes
    cdef readonly frozenset ids

    cpdef bint are_among(self, Used others) except -1

cpdef Used used(Tree tree, int top)
# The names of the elements below `top`.

cdef enum:
    CHROME, COMMENTS, REVIEWS, CARDS
    # The purpose of an element, as `NameKind`.

cdef enum:
    WORDS = 256
    # More than there are words.

cdef struct Said:
    int kind
    int word
    # Its index in the words.

cdef bint says(Span names, Said* said) noexcept
# The verdict of a class or id attribute: that of its first known name. False if it has none.
cdef bint is_named(Tree tree, int element) except -1
# Whether the class or id of an element has a verdict.
cdef str word(int place)
# A word by its index.

cdef enum:
    # Quick flags of a class attribute:
    SAYING = 1
    # it may have a verdict,
    LISTENED_TO = 2
    # it is for screen readers only,
    CAPTION = 4
    # it contains `caption` or `credit`.

cdef enum:
    SLOTS = 1024

cdef struct Slot:
    const char* start
    Py_ssize_t size
    int marks

cdef class Collector:
    # Collects names while the tree is not changed.
    cdef Slot _attributes[SLOTS]
    cdef Slot _names[SLOTS]
    cdef list _classes, _ids

    cdef int add_class(self, Span names) except -1
    # Returns the flags of a class attribute.
    cdef int add_id(self, Span name) except -1
    cdef Used used(self)
    cdef int _read(self, Span names) except -1

# What occurs below an element: its tags, and the elements whose classes mean something.

from orbweb.parsing.html.tree cimport Span, TagSet, Tree

cdef enum:
    DROPPED = 1
    PERMALINK = 2
    FORMULA = 4
    NUMBERS = 8
    LISTING = 16
    SPACED = 32
    NOTE = 64
    INSIDE = 128
    LINE = 256
    TABULAR = 512
    LISTED = 127
    # Those of which the elements are told.

cdef struct Word:
    const char* start
    Py_ssize_t size
    int meant
    int next
    # The word after it that begins with the same byte; NONE after the last.


cdef class Words:
    cdef Word* words
    cdef list held
    cdef int first[256]
    # By the byte that a word begins with.
    cdef int meant
    # All that the words mean.
    cdef int of(self, Span names) noexcept
    # What a class attribute means.


cdef class ElementCensus:
    cdef Words words
    cdef TagSet seen
    cdef list dropped, permalinks, formulas, numbers, listings, spaced, notes
    # The elements whose classes mean that, in document order, as they were when it was made.
    cdef list sources
    # The elements that may be formulas by their tag.
    cdef list telling
    # The elements whose role or style makes something else of them.
    cdef int* noted
    cdef int count, room
    # The elements whose tag some step looks for, in document order. They may have gone since, or have another tag.
    cdef int note(self, int node) except -1
    # One more of them.
    cdef int keep(self, Tree tree, int root) except -1
    # Forget those that have gone.


cdef Words words_of(frozenset classes, dict meanings)
# Those of the classes of a page that mean something.
cdef ElementCensus survey(Tree tree, int root, Words words)
cdef bint has_seen(ElementCensus found, const TagSet* wanted) noexcept
# Whether one of these tags occurs.
cdef bint any_tagged(Tree tree, int top, const TagSet* wanted) except -1
# Whether an element below `top` has one of these tags.

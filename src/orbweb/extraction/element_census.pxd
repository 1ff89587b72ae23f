# The tags below an element, and the elements with classes of interest.

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
    # The tags whose elements are listed.

cdef struct Word:
    const char* start
    Py_ssize_t size
    int meant
    int next
    # The next word with the same first byte; NONE after the last.


cdef class Words:
    cdef Word* words
    cdef list held
    cdef int first[256]
    # By the first byte of a word.
    cdef int meant
    # The union of the meanings of all words.
    cdef int of(self, Span names) noexcept
    # The meanings of a class attribute.


cdef class ElementCensus:
    cdef Words words
    cdef TagSet seen
    cdef list dropped, permalinks, formulas, numbers, listings, spaced, notes
    # The elements by meaning of their classes, in document order, as of the walk.
    cdef list sources
    # The elements that may be formulas, by tag.
    cdef list telling
    # The elements whose role or style changes their meaning.
    cdef int* noted
    cdef int count, room
    # The elements with a tag of interest, in document order. They may have been removed or renamed since.
    cdef int note(self, int node) except -1
    # Add one.
    cdef int keep(self, Tree tree, int root) except -1
    # Drop removed elements.


cdef Words words_of(frozenset classes, dict meanings)
# The classes of a page that have a meaning.
cdef ElementCensus survey(Tree tree, int root, Words words)
cdef bint has_seen(ElementCensus found, const TagSet* wanted) noexcept
# Whether one of these tags occurs.
cdef bint any_tagged(Tree tree, int top, const TagSet* wanted) except -1
# Whether an element below `top` has one of these tags.

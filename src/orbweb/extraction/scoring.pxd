# Scores of the elements of a page by their text.
from orbweb.extraction.blocks cimport Block, Outline

cdef class Blocks:
    # A selection of the blocks of an outline, in document order.
    cdef Outline outline
    cdef int* places
    cdef int count

    cdef Block* at(self, int place) except NULL

cdef class Weights:
    # The elements with text, with the amounts of prose and text in them, by number.
    cdef Outline outline
    cdef double* prose
    cdef double* text
    cdef double* _weights
    cdef int* _heaviest

    cdef int drop(self, int number) except -1
    # Remove an element, and subtract its weight from its ancestors.
    cdef bint is_leaf(self, const Block* block) noexcept
    # Whether the element of a block contains no other block with weight.
    cdef Blocks inside(self, int top)
    # The blocks of an element.
    cdef int descend(self, int top, bint listing) except -1
    # The deepest element with nearly all the prose; for a listing, nearly all the text.
    cdef int enclose(self, int title) except -1
    # The deepest element with nearly all the text outside of links, and with the title (NOWHERE if there is none)
    # if that adds little.
    cdef int narrow(self, int top, Blocks blocks) except -1
    # The deepest element with nearly all the prose of these blocks.
    cdef Blocks columns(self, Blocks blocks)
    # The blocks of the large columns only.
    cdef int _column(self, const Block* block) noexcept
    cdef int _add_up(self, double* weights) noexcept
    cdef int _around_both(self, int one, int other) noexcept
    cdef int _deepest(self, int top, const double* weights, double share) noexcept

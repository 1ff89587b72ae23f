# The texts of an element as blocks.
from orbweb.parsing.html.tree cimport Tree

cdef enum:
    SENTENCE = 25
    # Characters of a block that may be a sentence; shorter ones are labels.
    NOWHERE = -1
    # The number of what is around the root, or around an element that was taken out.

cdef struct Block:
    # The text that an element shows itself, not through another block: its characters, and those of links.
    int number, element, tag
    bint card
    # Whether it lies within a link.
    int column
    # The number of the element in which it and its like stand.
    Py_ssize_t size, linked
    double prose
    # How much of it speaks for content; items count half, because navigation is made of them too.

cdef class Outline:
    cdef Tree tree
    cdef int* numbers
    # By node; NOWHERE where it has none.
    cdef int nodes, count, room
    cdef int* elements
    cdef int* around
    cdef int* depth
    cdef int* block_of
    # By number. The block of an element is NOWHERE where it has none.
    cdef Block* blocks
    cdef int block_count, block_room

    cdef int number(self, int element) except -1
    cdef int number_of(self, int element) noexcept
    # Its number if it has one; NOWHERE if not.
    cdef int _add(self, int element, int around) except -1
    cdef int _block(self, int holder) except -1

cdef Outline read(Tree tree, int root)
# The blocks of an element; None where it has too much text to be weighed.

# The text blocks of an element.
from orbweb.parsing.html.tree cimport Tree

cdef enum:
    SENTENCE = 25
    # Least characters of a block that may be a sentence; shorter ones are labels.
    NOWHERE = -1
    # The number of the parent of the root, or of a removed element.

cdef struct Block:
    # The own text of an element, without nested blocks: its characters, and those of links.
    int number, element, tag
    bint card
    # Whether it is inside a link.
    int column
    # The number of the element that contains it and its siblings.
    Py_ssize_t size, linked
    double prose
    # Its weight as content; list items count half, because navigation consists of them too.

cdef class Outline:
    cdef Tree tree
    cdef int* numbers
    # By node; NOWHERE if it has none.
    cdef int nodes, count, room
    cdef int* elements
    cdef int* around
    cdef int* depth
    cdef int* block_of
    # By number. The block of an element is NOWHERE if it has none.
    cdef Block* blocks
    cdef int block_count, block_room

    cdef int number(self, int element) except -1
    cdef int number_of(self, int element) noexcept
    # Its number; NOWHERE if it has none.
    cdef int _add(self, int element, int around) except -1
    cdef int _block(self, int holder) except -1

cdef Outline read(Tree tree, int root)
# The blocks of an element; None if it has too much text.

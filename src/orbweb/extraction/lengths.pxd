# The length of the text of each element.
from orbweb.parsing.html.tree cimport Tree

cdef class Lengths:
    cdef Tree tree
    cdef int top, _count
    cdef Py_ssize_t whole
    # The characters of all text.
    cdef Py_ssize_t* _before

    cdef Py_ssize_t of(self, int node) except -1
    # The characters of the text in a node.

cdef Lengths measured(Tree tree, int top)
# The lengths of all nodes in `top`, valid until the tree is changed.

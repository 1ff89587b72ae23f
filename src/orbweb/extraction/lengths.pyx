"""The length of the text of each element, from one walk.

A lookup costs at most one path up the tree. Invalid after the tree was changed.
"""

from libc.stdlib cimport calloc, free

from orbweb.parsing.html.walk cimport beyond, following
from orbweb.parsing.html.tree cimport NONE, TEXT, Tree, characters


cdef class Lengths:
    """The characters before each node of a tree, in document order."""

    def __cinit__(self, Tree tree, int top):
        cdef int node = top
        tree.at(top)
        self.tree, self.top, self._count = tree, top, tree.count
        self._before = <Py_ssize_t*> calloc(tree.count, sizeof(Py_ssize_t))
        if self._before == NULL:
            raise MemoryError()
        while True:
            node = following(tree.nodes, node, top)
            if node == NONE:
                break
            self._before[node] = self.whole
            if tree.nodes[node].kind == TEXT:
                self.whole += characters(tree.data(node))

    def __dealloc__(self):
        free(self._before)

    cdef Py_ssize_t of(self, int node) except -1:
        cdef int after
        if not 0 <= node < self._count:
            raise IndexError(node)
        after = beyond(self.tree.nodes, node, self.top)
        return (self.whole if after == NONE else self._before[after]) - self._before[node]


cdef Lengths measured(Tree tree, int top):
    return Lengths(tree, top)

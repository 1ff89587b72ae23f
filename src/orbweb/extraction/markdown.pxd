from orbweb.parsing.html.tree cimport Tree


cdef class Rendered:
    cdef readonly str markdown, text
    cdef readonly tuple headings

cpdef Rendered render(Tree tree, int element, str base, frozenset classes)
# What people read of an element; its links are made absolute against `base`. It has then its shape.
cpdef Rendered rendered(Tree tree, int element)
# The same of an element that has its shape already.

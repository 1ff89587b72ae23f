# The main content of a page.
from orbweb.parsing.html.tree cimport Tree

cdef class Main:
    cdef readonly int element
    # Always a body, div, main, article, section or td.
    cdef readonly double confidence
    cdef readonly str generator
    cdef readonly int hidden
    cdef readonly frozenset classes

cpdef Main choose(Tree tree)
# The main element of a page, cleaned of boilerplate.

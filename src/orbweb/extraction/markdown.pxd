from orbweb.parsing.html.tree cimport Tree


cdef class Rendered:
    cdef readonly str markdown, text
    cdef readonly tuple headings

cpdef Rendered render(Tree tree, int element, str base, frozenset classes)
# The Markdown and text of an element; its links are made absolute against `base`. Normalizes the element.
cpdef Rendered rendered(Tree tree, int element)
# The same for a normalized element.

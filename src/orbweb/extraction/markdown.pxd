from orbweb.parsing.html.tree cimport Tree


cdef class Rendered:
    cdef readonly str markdown, text
    cdef readonly tuple headings

cpdef Rendered render(Tree tree, int element, str base, frozenset classes, bint links=*, bint images=*)
# The Markdown and text of an element; its links are made absolute against `base`. Normalizes the element. Without
# `links` their text is left, without `images` nothing.
cpdef Rendered rendered(Tree tree, int element)
# The same for a normalized element.

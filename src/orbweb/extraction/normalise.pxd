from orbweb.parsing.html.tree cimport Tree

cdef int shape(Tree tree, int root, str base, frozenset classes) except -1
# Normalize the element for Markdown and text. References are made absolute against `base`; only classes among
# `classes` are searched for.
cpdef str base_of(Tree tree, str url)
# The base of the references of a page at `url`.

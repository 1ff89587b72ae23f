from orbweb.parsing.html.tree cimport Tree

cdef int shape(Tree tree, int root, str base, frozenset classes) except -1
# Prepare the element for Markdown and text. References are made absolute against `base`; classes that are not
# among `classes` are not looked for.
cpdef str base_of(Tree tree, str url)
# What references of a page at `url` are relative to.

from orbweb.parsing.html.tree cimport Tree

cdef int new_gap(Tree tree) except -1
# Create a `<p>` that separates two blocks which would be joined, and is not written.

from orbweb.parsing.html.tree cimport Tree

cdef int new_gap(Tree tree) except -1
# A new `<p>` that keeps two blocks apart which would be joined, and is not written.

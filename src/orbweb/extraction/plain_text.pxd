from orbweb.parsing.html.tree cimport TagSet, Tree

cdef TagSet BLOCKS, SKIPPED
# Elements that start a line, and those that are not written.

cpdef str plain(Tree tree, int element)
# The text of a normalized element.
cdef str said(Tree tree, int element, bint* escaped)
# The same, and whether it contains an underscore after a backslash.
cpdef Py_ssize_t words(str text)
# The number of words of a text of `plain`.

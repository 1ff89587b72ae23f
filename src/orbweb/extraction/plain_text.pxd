from orbweb.parsing.html.tree cimport TagSet, Tree

cdef TagSet BLOCKS, SKIPPED
# Elements that begin a line, and those of which nothing is written.

cpdef str plain(Tree tree, int element)
# The text of an element that Markdown was written from.
cdef str said(Tree tree, int element, bint* escaped)
# The same, and whether an underscore in it stands behind a backslash.
cpdef Py_ssize_t words(str text)
# How many words a text of `plain` has.

from orbweb.parsing.html.tree cimport Tree

cpdef str written(Tree tree, int element)
# The Markdown of a normalized element, with placeholders.
cdef str finished(Tree tree, int element, bint underscores, bint* signs, bint* hard)
# The same without gaps and, if `underscores`, without the backslashes of underscores that need none. Also whether
# it contains other placeholders, and non-breaking spaces written as entities.

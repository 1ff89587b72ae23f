from orbweb.parsing.html.tree cimport Tree

cpdef str written(Tree tree, int element)
# An element that has its shape as Markdown, with the signs still in it.
cdef str finished(Tree tree, int element, bint underscores, bint* signs, bint* hard)
# The same without gaps and, if `underscores`, without the backslashes of underscores that need none. Also whether
# there are other signs in it, and blanks that do not break and are written as numbers.

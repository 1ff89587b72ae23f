# What the elements of a page say to the crawl.

from orbweb.parsing.html.tree cimport Tree

cdef bint is_foreign(Tree tree, int node) except -1
# Whether an element that HTML has too is one of an `<svg>` or a `<math>`.

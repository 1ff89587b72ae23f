# The links, resources and robots directives of a page.

from orbweb.parsing.html.tree cimport Tree

cdef bint is_foreign(Tree tree, int node) except -1
# Whether an element with an HTML tag name belongs to an `<svg>` or a `<math>`.

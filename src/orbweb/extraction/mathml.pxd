from orbweb.parsing.html.tree cimport Tree

cdef str tex(Tree tree, int element, int depth)
# The formula of a `<math>`, or of an element at this depth in one.

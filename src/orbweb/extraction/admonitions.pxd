from orbweb.parsing.html.tree cimport Tree

cdef frozenset MARKS

cdef int shape(Tree tree, int root, list marked) except -1
# Turn admonitions into quotations with a bold title. `marked`: the elements with classes of admonitions.
cdef int embolden(Tree tree, int title) except -1
# Make a title bold, unless it is bold already.

from orbweb.parsing.html.tree cimport Tree

cdef frozenset MARKS

cdef int shape(Tree tree, int root, list marked) except -1
# A note is a quotation with a bold title. `marked`: the elements with classes that mark one.
cdef int embolden(Tree tree, int title) except -1
# Make a title bold that is not by itself.

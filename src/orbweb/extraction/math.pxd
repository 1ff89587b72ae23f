from orbweb.parsing.html.tree cimport Tree

cdef frozenset TYPESET
cdef frozenset CLASSES

cdef int shape(Tree tree, int root, list found) except -1
# Convert the formulas among these elements below `root`, recognized by class or tag.
cdef bint is_formula(Tree tree, int node) except -1
# Whether a script or a picture is a formula.

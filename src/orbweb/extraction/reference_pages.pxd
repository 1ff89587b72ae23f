# Manuals and references.
from orbweb.parsing.html.tree cimport Tree

cdef bint is_manual(Tree tree, int root, bint declared) except -1
cdef bint is_linked_to_itself(Tree tree, int element) except -1
# Whether an element is a heading that is the link to its own section.
cdef bint tells(Tree tree, int element, str word) except -1
# Whether an element begins by saying a word of its own name.

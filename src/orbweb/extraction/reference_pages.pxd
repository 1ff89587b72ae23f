# Reference pages and manuals.
from orbweb.parsing.html.tree cimport Tree

cdef bint is_manual(Tree tree, int root, bint declared) except -1
cdef bint is_linked_to_itself(Tree tree, int element) except -1
# Whether an element is a heading that links to its own section.
cdef bint tells(Tree tree, int element, str word) except -1
# Whether an element starts with a word of its own name.

# The text that a page contains only as data.
from orbweb.parsing.html.tree cimport Tree

cdef str text(Tree tree, list found)
# The longest text in the data of the scripts.

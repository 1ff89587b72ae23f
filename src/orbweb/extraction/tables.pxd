from orbweb.parsing.html.tree cimport Tree

cdef str GRID
# The class of a table that Javadoc writes as the cells of a grid, row after row.

cdef int shape(Tree tree, int root, bint grids) except -1
# Bring every table below `root` into a form that a Markdown table can hold, or take it apart.
cdef int from_roles(Tree tree, int found) except -1
# Make a table of what is one to listeners only.

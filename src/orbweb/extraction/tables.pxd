from orbweb.parsing.html.tree cimport Tree

cdef str GRID
# The class of a table that Javadoc writes as a grid of cells, row by row.

cdef int shape(Tree tree, int root, bint grids) except -1
# Bring every table below `root` into a form that Markdown can express, or split it into blocks.
cdef int from_roles(Tree tree, int found) except -1
# Convert elements that are tables by their role only.

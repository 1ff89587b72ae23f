from orbweb.extraction.element_census cimport Survey
from orbweb.parsing.html.tree cimport Tree

cdef int shape(Tree tree, Survey noted) except -1
# Bring every list that was noted into a form that Markdown has.

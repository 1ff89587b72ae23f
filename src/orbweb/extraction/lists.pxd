from orbweb.extraction.element_census cimport ElementCensus
from orbweb.parsing.html.tree cimport Tree

cdef int shape(Tree tree, ElementCensus noted) except -1
# Bring every listed list into a form that Markdown has.

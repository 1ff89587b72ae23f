from orbweb.extraction.element_census cimport ElementCensus
from orbweb.parsing.html.tree cimport TagSet, Tree

cdef TagSet FILMS

cdef int shape(Tree tree, ElementCensus noted) except -1
# Give lazy images their source, turn icons into text, remove tracking pixels and spacers. Returns their number.
cdef int films(Tree tree, ElementCensus noted) except -1
# Replace media and embedded content by links. Returns their number.
cdef bint leads_nowhere(str reference) except -1
# Whether it is not a fetchable URL.

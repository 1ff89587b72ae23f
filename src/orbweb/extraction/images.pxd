from orbweb.extraction.element_census cimport ElementCensus
from orbweb.parsing.html.tree cimport TagSet, Tree

cdef TagSet FILMS

cdef int shape(Tree tree, ElementCensus noted) except -1
# Pictures that load late get their source, signs become text, dots and spacers go. How many there were.
cdef int films(Tree tree, ElementCensus noted) except -1
# What plays or embeds becomes a link to it. How many there were.
cdef bint leads_nowhere(str reference) except -1
# Whether it leads to nothing that can be fetched.

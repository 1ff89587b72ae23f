from orbweb.extraction.element_census cimport ElementCensus
from orbweb.parsing.html.tree cimport Tree

cdef str joined(str reference, str base)
# The absolute form of a reference. One with an invalid host, such as `//[`, is unchanged.
cdef int resolve(Tree tree, ElementCensus noted, str base) except -1
# Make the references of the listed links and images absolute.

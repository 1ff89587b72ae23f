from orbweb.extraction.element_census cimport ElementCensus
from orbweb.parsing.html.tree cimport Tree

cdef str joined(str reference, str base)
# The reference made absolute. One whose host is none, such as `//[`, stays as it is.
cdef int resolve(Tree tree, ElementCensus noted, str base) except -1
# Make what the links and pictures that were noted refer to absolute.

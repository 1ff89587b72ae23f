from orbweb.extraction.element_census cimport Survey
from orbweb.parsing.html.tree cimport Tree

cdef str joined(str reference, str base)
# The reference made absolute. One whose host is none, such as `//[`, stays as it is.
cdef int resolve(Tree tree, Survey noted, str base) except -1
# Make what the links and pictures that were noted refer to absolute.

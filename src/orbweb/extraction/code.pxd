from orbweb.extraction.element_census cimport ElementCensus
from orbweb.parsing.html.tree cimport TagSet, Tree

cdef frozenset NUMBERS_CLASSES, INSIDE_CLASSES, LISTING_CLASSES, SPACED_CLASSES, LINE_CLASSES
cdef str TABULAR_CLASS

cdef int shape(Tree tree, int root, ElementCensus found) except -1
# Normalize every code block below `root`. `found`: the census of `root`.
cdef list outermost(Tree tree, int root, const TagSet* wanted)
# The outermost elements below `root` with such a tag.

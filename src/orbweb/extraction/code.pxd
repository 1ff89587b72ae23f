from orbweb.extraction.element_census cimport ElementCensus
from orbweb.parsing.html.tree cimport TagSet, Tree

cdef frozenset NUMBERS_CLASSES, INSIDE_CLASSES, LISTING_CLASSES, SPACED_CLASSES, LINE_CLASSES
cdef str TABULAR_CLASS

cdef int shape(Tree tree, int root, ElementCensus found) except -1
# Bring every code block below `root` into its plain form. `found`: what occurs below it.
cdef list outermost(Tree tree, int root, const TagSet* wanted)
# The elements below `root` with such a tag that are not inside another.

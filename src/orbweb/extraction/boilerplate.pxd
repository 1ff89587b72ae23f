# Boilerplate around the content of a page.
from orbweb.extraction.page_scan cimport Glance
from orbweb.extraction.scoring cimport Weights
from orbweb.parsing.html.tree cimport Tree

cdef int drop_places(Tree tree, int body, Glance glance, bint shell) except -1
cdef int drop_named(
    Tree tree, int root, Glance glance, Weights weights, bint article, bint manual
) except -1
# Drop elements with names of boilerplate, from the page and from the weights.

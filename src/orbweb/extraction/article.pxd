# The text of an article.
from orbweb.extraction.page_scan cimport Glance
from orbweb.extraction.lengths cimport Lengths
from orbweb.extraction.scoring cimport Blocks, Weights
from orbweb.parsing.html.tree cimport Tree

cdef bint is_declared(Tree tree) except -1
# Whether the head of a page declares an article.
cdef int column(Tree tree, Lengths lengths) except -2
# The element with title and text, if nearly all paragraphs are in one column; NONE otherwise.
cdef list ledes(Tree tree, Weights weights, Blocks text)
# The paragraphs between the title and the text.
cdef int prune(Tree tree, Glance glance, Weights weights, int top, Blocks blocks, bint stated) except -1

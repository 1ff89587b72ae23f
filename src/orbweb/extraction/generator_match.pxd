# Which generator made a page, and where its content is.

from orbweb.extraction.class_names cimport Used
from orbweb.parsing.html.tree cimport Tree

cdef list find(Tree tree, Used used)
# The generators of a page that uses these names, in the order of the table.
cdef int content(object generator, Tree tree, int body, Used used) except -2
# The content of a page of this generator, cleaned of what is not content; NONE where it is not there.

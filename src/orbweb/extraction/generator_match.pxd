# The generator of a page, and its content.

from orbweb.extraction.class_names cimport Used
from orbweb.parsing.html.tree cimport Tree

cdef list find(Tree tree, Used used)
# The generators of a page with these names, in the order of the table.
cdef int content(object generator, Tree tree, int body, Used used) except -2
# The content of a page of this generator, without boilerplate; NONE if it does not exist.

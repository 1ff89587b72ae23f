# The metadata of a page.

from orbweb.parsing.html.tree cimport Tree


cdef class About:
    cdef readonly str title, description, language, author, published


cpdef About read(Tree tree, str url=*)
# The metadata of the page at `url`, whose host may name the site.

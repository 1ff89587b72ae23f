# What a page states about itself.

from orbweb.parsing.html.tree cimport Tree


cdef class About:
    cdef readonly str title, description, language, author, published


cpdef About read(Tree tree, str url=*)
# The statements of a page that was answered at `url`, whose host may name the site.

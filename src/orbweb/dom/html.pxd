# HTML becomes a tree, as browsers do it.

from orbweb.dom.tree cimport Tree

cpdef bint is_utf8(bytes text)
# Whether all of it is UTF-8, which has no surrogates.
cpdef Tree parsed(bytes markup, str encoding)
# The tree of a page in UTF-8, in which surrogates are borne; `encoding` is only kept.

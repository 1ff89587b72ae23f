# One scan of all elements of a page.
from orbweb.extraction.class_names cimport Collector, Used
from orbweb.parsing.html.tree cimport Tree

cdef enum:
    # Flags of the attributes of an element, after those of `class_names`:
    NAMED = 8
    # its id may have a verdict,
    HIDDEN = 16
    # it may be hidden,
    OF_CHROME = 32
    # its role is one of boilerplate,
    NUMBERED = 64
    # it has an id.

cdef class Glance:
    cdef readonly Used used
    # All names of the page.
    cdef readonly int body
    # The first `<body>`; NONE if there is none.
    cdef readonly bint is_article
    # Whether the page marks the text of an article. Reference pages do so too.
    cdef list scripts
    # The scripts, in document order,
    cdef list mute
    # and of the body the elements whose tag shows no content, or formulas,
    cdef list hidden
    # and those that may be hidden.
    cdef unsigned char* _marks
    cdef int _count

    cdef inline int marks(self, int node) noexcept:
        # The flags of an element that was in the page.
        return self._marks[node] if 0 <= node < self._count else 0
    cdef int look(self, Tree tree, int element, Collector names) except -1
    cdef int look_again(self, Tree tree) except -1
    # Scan the body again after it was changed.

cdef Glance read(Tree tree)

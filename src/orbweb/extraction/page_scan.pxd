# One look at every element of a page.
from orbweb.extraction.class_names cimport Collector, Used
from orbweb.parsing.html.tree cimport Tree

cdef enum:
    # What the attributes of an element tell at first sight, after the marks of `names`:
    NAMED = 8
    # its id says something,
    HIDDEN = 16
    # it may be hidden,
    OF_CHROME = 32
    # its role is one of chrome,
    NUMBERED = 64
    # it has an id.

cdef class Glance:
    cdef readonly Used used
    # All names that the page uses.
    cdef readonly int body
    # The first `<body>`; NONE where there is none.
    cdef readonly bint is_article
    # Whether the page marks the text of an article. Manuals do so too.
    cdef list scripts
    # The scripts, in document order,
    cdef list mute
    # and of what is in the body those whose tag shows no text that is content, or formulas,
    cdef list hidden
    # and those that may be hidden.
    cdef unsigned char* _marks
    cdef int _count

    cdef inline int marks(self, int node) noexcept:
        # What is told of an element that was in the page.
        return self._marks[node] if 0 <= node < self._count else 0
    cdef int look(self, Tree tree, int element, Collector names) except -1
    cdef int look_again(self, Tree tree) except -1
    # Tell anew what is in the body, after it was changed.

cdef Glance read(Tree tree)

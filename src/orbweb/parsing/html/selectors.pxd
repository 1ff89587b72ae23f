# CSS selectors on a tree.

from orbweb.parsing.html.tree cimport Tree

cdef struct Test:
    # A test of one element, besides its tag.
    int kind
    int name
    # The attribute: an ATTR_ number, or ATTR_END plus an index into the names of the selector.
    const char* value
    Py_ssize_t size
    bint any_case
    int inner
    # The list of steps in `:is`, `:not` and `:has`.
    int next
    # The next test, which an element must pass too.

cdef struct Step:
    # One element of a selector.
    int tag
    int name
    # For an unknown tag its index in the names of the selector; NONE for any tag.
    int test
    unsigned long long marks
    # The bits of `_marks` that every matching element has.
    int to
    char how
    # The next step, and the combinator between them: blank, `>`, `+` or `~`. Steps are matched from the last to
    # the first, in `:has` from the first to the last; there `how` is the combinator before a step.
    int other
    # The first step of the next selector of a list.

cdef class Selector:
    cdef Step* steps
    cdef Test* tests
    cdef int* numbers
    # The numbers of the selector's names in the current tree.
    cdef int step_count, test_count
    cdef list names, values
    cdef int first
    cdef bint has_classes
    # Whether the selector tests a class, so that marks include classes.
    cdef readonly str text
    cdef int _at
    cdef str _sign

    cdef int _meet(self, Tree tree) except -1
    cdef int _list(self, bint forward) except -2
    cdef int _chain(self, bint forward) except -2
    cdef str _next_sign(self)
    cdef int _step(self) except -2
    cdef int _type(self, int step, str name) except -1
    cdef int _test(self, int step, int kind) except -2
    cdef int _attribute(self, int step, int kind, str name, str value, bint any_case) except -1
    cdef int _name(self, str name) except -1

cdef Selector compiled(str selector)
# Parse a list of selectors. ValueError for unsupported ones.
cdef list all_matching(Tree tree, int top, Selector selector)
# All elements below `top` that match, in document order; their ancestors may be outside of `top`.
cdef list outermost_matching(Tree tree, int top, Selector selector)
# The same without those inside of another that matches.
cdef int first_matching(Tree tree, int top, Selector selector) except -2
# The first of them; NONE if there is none.
cdef bint matches(Tree tree, int node, Selector selector) except -1
# Whether a node is an element that matches.

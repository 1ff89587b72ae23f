# What a page does not show.
from orbweb.extraction.page_scan cimport Glance
from orbweb.parsing.html.tree cimport Tree

cdef Py_ssize_t drop(Tree tree, int body, Glance glance) except -1
# Remove what is not shown. Returns the characters of the hidden text.
cdef bint is_formula_source(Tree tree, int script) except -1
# Whether a script is the TeX or MathML of a formula.

"""Separators between two blocks that the Markdown writer would join."""

from orbweb.extraction import placeholders

from orbweb.parsing.html.tree cimport TAG_P, Tree

cdef str _GAP = placeholders.GAP


cdef int new_gap(Tree tree) except -1:
    return tree.set_text(tree.new_element(TAG_P), _GAP)

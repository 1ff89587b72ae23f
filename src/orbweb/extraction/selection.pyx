"""Content by the caller's selectors instead of by the rules for main content. Time is linear."""

from orbweb.extraction cimport hidden
from orbweb.extraction cimport page_scan as glances
from orbweb.extraction.main_content cimport Main
from orbweb.extraction.page_scan cimport Glance
from orbweb.parsing.html.selectors cimport compiled, outermost_matching
from orbweb.parsing.html.tree cimport (
    NONE, ROOT, TAG_DIV, TAG_LI, TAG_OL, TAG_TABLE, TAG_UL, TagSet, Tree, tags,
)

cdef TagSet _ROWS = tags("tr tbody thead tfoot")


cpdef Main keep(Tree tree, str selector):
    """All visible elements that match, in document order, a nested one inside of the outer one. Nothing else is
    dropped from them."""
    cdef Glance glance = glances.read(tree)
    cdef Py_ssize_t unseen = 0 if glance.body == NONE else hidden.drop(tree, glance.body, glance)
    cdef list parts = outermost_matching(tree, ROOT, compiled(selector))
    return Main(_joined(tree, parts), 1.0 if parts else 0.0, "", unseen, glance.used.classes)


cdef int _joined(Tree tree, list parts) except -1:
    """An element with each part as a block of its own; items of one list and rows of one table stay together."""
    cdef int content = tree.new_element(TAG_DIV), part, around, holder = content, before = NONE, tag
    for part in parts:
        around, tag = tree.parent(part), _container(tree, part)
        if tag == TAG_DIV or tag != tree.tag(holder) or around != before:
            holder = tree.append(content, tree.new_element(tag))
        tree.append(holder, part)
        before = around
    return content


cdef int _container(Tree tree, int part) except -1:
    """The tag of the element that a part must be in."""
    if _ROWS.has[tree.tag(part)]:
        return TAG_TABLE
    if tree.tag(part) == TAG_LI:
        return TAG_OL if tree.tag(tree.parent(part)) == TAG_OL else TAG_UL
    return TAG_DIV


cpdef int drop(Tree tree, str selector) except -1:
    """Remove all elements that match from a page."""
    cdef int part
    for part in outermost_matching(tree, ROOT, compiled(selector)):
        tree.extract(part)
    return 0
